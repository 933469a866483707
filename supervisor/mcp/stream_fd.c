/* Standard streams without blocking. */
#include "mcp/stream_fd.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>

/* Opening the master side of a pseudo terminal anew would make another terminal (pts(4)). */
static bool can_reopen(int fd, mode_t mode)
{
    unsigned number;
    return S_ISFIFO(mode) || (S_ISCHR(mode) && isatty(fd) && ioctl(fd, TIOCGPTN, &number) < 0);
}

static bool can_poll(int fd)
{
    cleanup_fd int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    return epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 || errno != EPERM;
}

int stream_fd_open(int fd, int access, struct stream_fd *ret, struct error *err)
{
    struct stat st;
    struct stream_fd s = {.fd = -1, .original_flags = -1};
    if (fstat(fd, &st) < 0)
        return error_set(err, "stdio.open", errno, "descriptor %d is not open", fd);
    if (can_reopen(fd, st.st_mode)) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        s.fd = open(path, access | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    }
    if (s.fd < 0) {
        s.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (s.fd < 0)
            return error_set(err, "stdio.open", errno, "cannot duplicate descriptor %d", fd);
        s.always_ready = !can_poll(s.fd);
        int flags = fcntl(s.fd, F_GETFL);
        if (!s.always_ready && flags >= 0 && !(flags & O_NONBLOCK) && fcntl(s.fd, F_SETFL, flags | O_NONBLOCK) == 0)
            s.original_flags = flags;
    }
    *ret = s;
    return 0;
}

void stream_fd_close(struct stream_fd *s)
{
    if (s->fd >= 0 && s->original_flags >= 0)
        fcntl(s->fd, F_SETFL, s->original_flags);
    close_fd(&s->fd);
    s->original_flags = -1;
}
