#include "jail/jail.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/wire.h"
#include "jail/init.h"
#include "jail/maker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PATIENCE_MS = 10000 };

/* One message of a helper, waited for with a bound: a helper that hangs must not hang the server. */
static int receive(int sock, char *data, size_t size, struct wire_frame *ret, const char *who, struct error *err)
{
    struct pollfd p = {.fd = sock, .events = POLLIN};
    uint64_t deadline = clock_now() + PATIENCE_MS * 1000000ull;
    size_t count = 0, used;
    int r;
    do {
        int64_t left = (int64_t)(deadline - clock_now()) / 1000000;
        r = poll(&p, 1, left > 0 ? (int)left : 0);
    } while (r < 0 && errno == EINTR);
    if (r <= 0)
        return error_set(err, "jail.wait", r < 0 ? errno : ETIMEDOUT, "%s does not answer", who);
    ssize_t n = fdpass_recv(sock, data, size, NULL, 0, &count, err);
    if (n < 0)
        return error_wrap(err, "%s", who);
    if (n == 0 || wire_next(data, (size_t)n, size, ret, &used, err) != 1)
        return error_set(err, "jail.wait", 0, "%s ended without an answer", who);
    return 0;
}

static int get_u64(const struct wire_frame *frame, uint16_t tag, uint64_t *ret)
{
    struct wire_cursor c = wire_fields(frame);
    struct wire_field f;
    while (wire_field_next(&c, &f) > 0)
        if (f.tag == tag && wire_u64(&f, ret))
            return 0;
    return -1;
}

/* `user_namespace` -1: a new outer namespace; else the maker joins that one. */
static int start_maker(int user_namespace, struct outer_process *ret, struct error *err)
{
    static const char *const ARGV[] = {"snipara-sandbox", MAKER_ARGUMENT, NULL}, *const ENV[] = {NULL};
    cleanup_fd int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (self < 0)
        return error_set(err, "yard", errno, "our own program cannot be opened");
    struct outer_program program = {.program = self, .argv = ARGV, .env = ENV, .user_namespace = user_namespace};
    return outer_start(&program, ret, err);
}

int yard_open(struct yard *ret, struct error *err)
{
    struct yard y = {.maker = {.pid = -1, .pidfd = -1, .control = -1}, .user_namespace = -1};
    if (cgroup_host_probe(&y.cgroups, err) < 0)
        return -1;
    cgroup_host_sweep(&y.cgroups);
    if (start_maker(-1, &y.maker, err) < 0) {
        cgroup_host_free(&y.cgroups);
        return -1;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", y.maker.pid);
    if ((y.user_namespace = open(path, O_RDONLY | O_CLOEXEC)) < 0) {
        error_set(err, "yard", errno, "the outer user namespace cannot be opened");
        yard_close(&y);
        return -1;
    }
    *ret = y;
    return 0;
}

/* Somebody ended the maker (the host's OOM killer, say). Its namespace lives on in our descriptor and in the zygotes, so a new maker
 * goes into the same one, and everything that stands goes on. */
static int revive_maker(struct yard *y, struct error *err)
{
    struct pollfd p = {.fd = y->maker.pidfd, .events = POLLIN};
    if (y->maker.pid > 0 && poll(&p, 1, 0) == 0)
        return 0;
    outer_stop(&y->maker);
    return start_maker(y->user_namespace, &y->maker, err) < 0 ? error_wrap(err, "the jail maker ended and cannot be started again") : 0;
}

void yard_close(struct yard *y)
{
    close_fd(&y->user_namespace);
    outer_stop(&y->maker);
    cgroup_host_free(&y->cgroups);
}

static int ask_maker(struct yard *y, const struct jail_plan *plan, const int *fds, size_t count, struct jail *j, struct error *err)
{
    cleanup_buf struct buf request = {0};
    struct wire_frame frame;
    char reply[2048];
    size_t start;
    uint64_t pid, layers, id = ++y->requests;
    if (wire_begin(&request, MAKER_MAKE, id, &start) < 0 || jail_plan_put(plan, &request) < 0)
        return error_set(err, "jail", errno, "the plan cannot be written");
    wire_end(&request, start);
    if (fdpass_send(y->maker.control, request.data, request.len, fds, count, err) < 0)
        return error_wrap(err, "the jail maker cannot be asked");
    do {
        if (receive(y->maker.control, reply, sizeof reply, &frame, "the jail maker", err) < 0) {
            outer_stop(&y->maker); /* the next request finds a new one; a late answer would be taken for that of another request */
            return -1;
        }
    } while (frame.nonce != id);
    if (frame.type != MAKER_MADE)
        return wire_take_error(&frame, MAKER_STEP, "maker", err);
    if (get_u64(&frame, MAKER_PID, &pid) < 0 || get_u64(&frame, MAKER_LAYERS, &layers) < 0 || pid == 0)
        return error_set(err, "jail", 0, "the jail maker's answer is malformed");
    j->init = (pid_t)pid;
    /* Our own child that nobody else reaps: its pid cannot be anyone else's before we wait for it. */
    if ((j->init_pidfd = (int)syscall(SYS_pidfd_open, j->init, 0)) < 0)
        return error_set(err, "jail.pidfd", errno, "no pidfd for init");
    return 0;
}

static int await_init(struct jail *j, struct error *err)
{
    char reply[2048];
    struct wire_frame frame;
    uint64_t layers;
    if (receive(j->control, reply, sizeof reply, &frame, "the jail's init", err) < 0)
        return -1;
    if (frame.type != INIT_READY)
        return wire_take_error(&frame, INIT_STEP, "init", err);
    if (get_u64(&frame, INIT_LAYERS, &layers) < 0)
        return error_set(err, "jail", 0, "init's answer is malformed");
    j->layers |= layers;
    return 0;
}

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

static void give_up(struct jail *j)
{
    jail_kill(j);
    for (int i = 0; i < 500 && !jail_end(j); i++)
        usleep(2000);
}

static int assemble(struct yard *y, const struct jail_plan *plan, struct jail *j, struct error *err)
{
    cleanup_fd int init_control = -1;
    cleanup_fd int init_notify = -1;
    cleanup_fd int memfd = -1;
    int pair[2], fds[FDPASS_MAX];
    size_t count = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_set(err, "jail", errno, "no socket pair");
    j->control = pair[0];
    init_control = pair[1];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_set(err, "jail", errno, "no socket pair");
    j->notify = pair[0];
    init_notify = pair[1];
    if (share_denials(j, &memfd, err) < 0)
        return -1;
    fds[count++] = init_control;
    fds[count++] = init_notify;
    fds[count++] = memfd;
    for (size_t i = 0; i < j->cgroup.enter_count; i++)
        fds[count++] = j->cgroup.enter[i];
    if (ask_maker(y, plan, fds, count, j, err) < 0)
        return -1;
    close_fd(&init_control); /* so that a dead init is an end of file */
    return await_init(j, err);
}

int jail_make(struct yard *y, const struct jail_plan *plan, const struct cgroup_limits *limits, struct jail *ret, struct error *err)
{
    struct jail j = {.init = -1, .init_pidfd = -1, .control = -1, .notify = -1};
    if (revive_maker(y, err) < 0 || cgroup_make(&y->cgroups, limits, &j.cgroup, err) < 0)
        return -1;
    j.layers = j.cgroup.layers;
    if (assemble(y, plan, &j, err) < 0) {
        give_up(&j);
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
    cgroup_kill(&j->cgroup);
}

bool jail_end(struct jail *j)
{
    if (j->init > 0) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)j->init, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
            return false; /* still leaving */
        j->init = -1;
    }
    close_fd(&j->init_pidfd);
    close_fd(&j->control);
    close_fd(&j->notify);
    if (j->denials)
        munmap(j->denials, sizeof *j->denials);
    j->denials = NULL;
    return cgroup_remove(&j->cgroup);
}
