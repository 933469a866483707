#include "base/fdpass.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Room for more descriptors than anyone may send: what arrives must be seen to be closed. */
union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * FDPASS_MAX)];
};

int fdpass_send(int sock, const void *data, size_t length, const int *fds, size_t count, struct error *err) {
    union control control;
    struct iovec iov = {.iov_base = (void *)data, .iov_len = length};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n;

    /* Without a byte the descriptors of a stream would get lost and a packet would look like end of file (unix(7)). */
    if (length == 0 || count > FDPASS_MAX)
        return error_set(err, "fdpass.send", EINVAL, "a message needs at least 1 byte and at most %d descriptors, not %zu and %zu",
                         FDPASS_MAX, length, count);
    if (count > 0) {
        struct cmsghdr *c;

        memset(&control, 0, sizeof control);
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
    }
    do
        n = sendmsg(sock, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_set(err, "fdpass.send", errno, "cannot send %zu bytes and %zu descriptors", length, count);
    if ((size_t)n != length)
        return error_set(err, "fdpass.send", 0, "only %zd of %zu bytes were sent", n, length);
    return 0;
}

static void close_all(const int *fds, size_t count) {
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
}

/* Every descriptor that came, at most `max` of them kept in fds; the others are closed. Returns how many came. */
static size_t collect(struct msghdr *msg, int *fds, size_t max) {
    size_t seen = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        size_t here;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < here; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (seen < max)
                fds[seen] = fd;
            else
                close(fd);
            seen++;
        }
    }
    return seen;
}

ssize_t fdpass_recv(int sock, void *data, size_t size, int *ret_fds, size_t max_fds, size_t *ret_count, struct error *err) {
    union control control;
    struct iovec iov = {.iov_base = data, .iov_len = size};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    int fds[FDPASS_MAX];
    size_t count, kept;
    ssize_t n;

    do
        n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_set(err, "fdpass.recv", errno, "cannot receive a message");
    count = collect(&msg, fds, FDPASS_MAX);
    kept = count < FDPASS_MAX ? count : FDPASS_MAX;
    if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || count > max_fds) {
        close_all(fds, kept);
        if (msg.msg_flags & MSG_TRUNC)
            return error_set(err, "fdpass.recv", EMSGSIZE, "the message is longer than %zu bytes", size);
        return error_set(err, "fdpass.recv", EMSGSIZE, "the message carries more than %zu descriptors", max_fds);
    }
    /* A hostile peer can send an empty packet with descriptors; it reads like end of file and must not leak them. */
    if (n == 0) {
        close_all(fds, kept);
        count = 0;
    }
    if (count)
        memcpy(ret_fds, fds, count * sizeof *fds);
    if (ret_count)
        *ret_count = count;
    return n;
}
