#include "jail/jail.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/wire.h"
#include "jail/exchange.h"
#include "jail/init.h"
#include "jail/maker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PATIENCE_MS = 10000 };

static int share_denials(struct jail *j, int *ret_memfd, struct error *err)
{
    cleanup_fd int fd = memfd_create("denials", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, sizeof *j->denials) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return error_set(err, "jail.memory", errno, "no shared memory"); /* sealed: a shrunken file would be SIGBUS for us */
    void *map = mmap(NULL, sizeof *j->denials, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return error_set(err, "jail.memory", errno, "shared memory cannot be mapped");
    j->denials = map;
    *ret_memfd = steal_fd(&fd);
    return 0;
}

static int ask_maker(struct jail_maker *maker, struct jail *j, const int *fds, size_t count, struct error *err)
{
    cleanup_buf struct buf request = {0};
    size_t start;
    j->request = ++maker->requests;
    if (wire_begin(&request, MAKER_MAKE, j->request, &start) < 0)
        return error_set(err, "jail", errno, "the request cannot be written");
    wire_end(&request, start);
    if (fdpass_send(maker->process.control, request.data, request.len, fds, count, err) < 0)
        return error_wrap(err, "the jail maker cannot be asked");
    return 0;
}

static int socket_pair(int *ret_ours, int *ret_theirs, struct error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_set(err, "jail", errno, "no socket pair");
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
    return 0;
}

static int request(struct jail_maker *maker, struct jail *j, struct error *err)
{
    cleanup_fd int init_control = -1;
    cleanup_fd int init_notify = -1;
    cleanup_fd int memfd = -1;
    int fds[FDPASS_MAX];
    size_t count = 0;
    if (socket_pair(&j->control, &init_control, err) < 0 || socket_pair(&j->notify, &init_notify, err) < 0)
        return -1;
    if (fcntl(j->control, F_SETFL, O_NONBLOCK) < 0)
        return error_set(err, "jail", errno, "init's socket cannot be made non-blocking");
    if (share_denials(j, &memfd, err) < 0)
        return -1;
    fds[count++] = init_control;
    fds[count++] = init_notify;
    fds[count++] = memfd;
    for (size_t i = 0; i < j->cgroup.enter_count; i++)
        fds[count++] = j->cgroup.enter[i];
    /* Our copies of init's ends close on return, so that a dead init is an end of file. */
    return ask_maker(maker, j, fds, count, err);
}

int jail_begin(struct yard *y, struct jail_maker *maker, struct cgroup_pool *pool, const struct cgroup_limits *limits, struct jail *ret,
               struct error *err)
{
    uint64_t began = clock_now();
    *ret = (struct jail){.init = -1, .init_pidfd = -1, .control = -1, .output = -1, .notify = -1};
    if (yard_find_cgroups(y, err) < 0 || cgroup_pool_take(pool, &y->cgroups, limits, &ret->cgroup, err) < 0)
        return -1;
    ret->times.cgroup = (clock_now() - began) / 1000;
    ret->layers = ret->cgroup.layers;
    if (request(maker, ret, err) == 0)
        return 0;
    jail_end(ret, pool);
    return -1;
}

int jail_made(struct jail *j, const struct maker_word *word, struct error *err)
{
    if (!word->made) {
        *err = word->failure;
        return -1;
    }
    j->init = word->init;
    j->times.clone = word->clone_us;
    /* Our own child that nobody else reaps: its pid cannot be anyone else's before we wait for it. */
    if ((j->init_pidfd = (int)syscall(SYS_pidfd_open, j->init, 0)) < 0)
        return error_set(err, "jail.pidfd", errno, "no pidfd for init");
    return 0;
}

int jail_hear(struct jail *j, struct error *err)
{
    char reply[2048];
    struct wire_frame frame;
    struct wire_field f;
    size_t count = 0, used;
    uint64_t layers = 0;
    cleanup_fd int output = -1;
    ssize_t n = fdpass_recv(j->control, reply, sizeof reply, &output, 1, &count, err);
    if (n < 0 && err->code == EAGAIN)
        return 0;
    if (n < 0)
        return error_wrap(err, "the jail's init");
    if (n == 0)
        return error_set(err, "jail.init", 0, "the jail's init ended without a word");
    if (wire_next(reply, (size_t)n, sizeof reply, &frame, &used, err) != 1)
        return error_wrap(err, "the jail's init");
    if (frame.type != INIT_READY)
        return wire_take_error(&frame, INIT_STEP, "init", err);
    struct wire_cursor c = wire_fields(&frame);
    while (wire_field_next(&c, &f) > 0)
        switch (f.tag) {
        case INIT_LAYERS: wire_u64(&f, &layers); break;
        case INIT_MAPS_US: wire_u64(&f, &j->times.maps); break;
        case INIT_MOUNTS_US: wire_u64(&f, &j->times.mounts); break;
        case INIT_SEAL_US: wire_u64(&f, &j->times.init_seal); break;
        default: break;
        }
    if (output >= 0 && exchange_check(output, err) < 0)
        return -1;
    close_fd(&j->output);
    j->output = steal_fd(&output);
    j->layers |= layers;
    j->ready = true;
    return 1;
}

static int await(int fd, uint64_t deadline, const char *who, struct error *err)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int64_t left = (int64_t)(deadline - clock_now()) / 1000000;
    int r = poll(&p, 1, left > 0 ? (int)left : 0);
    if (r > 0 || (r < 0 && errno == EINTR))
        return 0;
    return error_set(err, "jail.wait", r < 0 ? errno : ETIMEDOUT, "%s does not answer", who);
}

static int finish(struct jail_maker *maker, struct jail *j, struct error *err)
{
    uint64_t deadline = clock_now() + PATIENCE_MS * 1000000ull;
    struct maker_word word = {0};
    int r;
    do {
        if (await(maker->process.control, deadline, "the jail maker", err) < 0)
            return -1;
        r = jail_maker_hear(maker, &word, err);
    } while (r == 0 || (r > 0 && word.request != j->request));
    if (r < 0 || jail_made(j, &word, err) < 0)
        return -1;
    do {
        if (await(j->control, deadline, "the jail's init", err) < 0)
            return -1;
    } while ((r = jail_hear(j, err)) == 0);
    return r < 0 ? -1 : 0;
}

int jail_make(struct yard *y, struct jail_maker *maker, struct cgroup_pool *pool, const struct cgroup_limits *limits, struct jail *ret,
              struct error *err)
{
    struct jail j;
    if (jail_begin(y, maker, pool, limits, &j, err) < 0)
        return -1;
    if (finish(maker, &j, err) < 0) {
        jail_kill(&j);
        for (int i = 0; i < 500 && !jail_end(&j, pool); i++)
            poll(NULL, 0, 2);
        return -1;
    }
    *ret = j;
    return 0;
}

void jail_kill(struct jail *j)
{
    if (j->init_pidfd >= 0)
        syscall(SYS_pidfd_send_signal, j->init_pidfd, SIGKILL, NULL, 0);
    else if (j->init > 0)
        kill(j->init, SIGKILL); /* our own child that nobody has reaped: the pid is still its */
    else
        close_fd(&j->control); /* an init that the maker has not told us of ends at this end of file */
    cgroup_kill(&j->cgroup);
}

bool jail_end(struct jail *j, struct cgroup_pool *pool)
{
    if (j->init > 0) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)j->init, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
            return false; /* still leaving */
        j->init = -1;
    }
    close_fd(&j->init_pidfd);
    close_fd(&j->control);
    close_fd(&j->output); /* before the cgroup goes on: its pages are charged there */
    close_fd(&j->notify);
    if (j->denials)
        munmap(j->denials, sizeof *j->denials);
    j->denials = NULL;
    return cgroup_pool_give(pool, &j->cgroup);
}
