#include "config.h"

#include "python.h"

#include "spawn.h"

#include "fork_hooks.h"
#include "interpreter.h"
#include "payload.h"
#include "reseed.h"
#include "base/cleanup.h"
#include "base/mutant.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/slice.h"
#include "jail/protocol.h"
#include "jail/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FD_INIT, FD_CHANNEL, FD_STDOUT, FD_STDERR, FD_NOTIFY, FD_CGROUPS }; /* order in ZYGOTE_SPAWN */
#define FIXED_FDS FD_CGROUPS
#define NOTIFY_FD 4       /* in the child, until it is sealed */
#define INIT_MS 10000
#define FIRST_HIGH_FD 64  /* where the child parks descriptors while it fills the low numbers */

struct request {
    uint64_t rlimit_data, warm;
    uint64_t asked;        /* clock_now of the request */
    const int *fds;
    size_t count;
};

static int read_request(const struct wire_frame *frame, struct request *r, struct error *err)
{
    struct wire_cursor cursor = wire_fields(frame);
    struct wire_field field;
    int more;
    while ((more = wire_field_next(&cursor, &field)) > 0) {
        uint64_t *value = field.tag == ZT_WARM ? &r->warm : field.tag == ZT_RLIMIT_DATA ? &r->rlimit_data : NULL;
        if (!value || !wire_u64(&field, value))
            return error_set(err, "spawn", 0, "field %u of the spawn request is not understood", field.tag);
    }
    if (more < 0 || r->count < FIXED_FDS)
        return error_set(err, "spawn", 0, "the spawn request has %zu descriptors, at least %d are needed", r->count, FIXED_FDS);
    return 0;
}

/* "0" stands for the writer itself. On cgroup v1 this goes through `tasks`, which, unlike cgroup.procs, does not wait for an RCU
 * grace period. Before the namespaces are joined: afterwards we are no longer the user who may write there. */
static int join_cgroups(const struct request *r, struct error *err)
{
    for (size_t i = FD_CGROUPS; i < r->count; i++)
        if (write(r->fds[i], "0", 1) != 1)
            return error_set(err, "cgroup.attach", errno, "the payload cannot enter cgroup %zu", i - FD_CGROUPS);
    return 0;
}

/* We were forked while init still built the jail. Its word also says which namespaces there are; its end is an end of file. */
static int await_init(int notify, layer_set *ret_layers, struct error *err)
{
    struct pollfd p = {.fd = notify, .events = POLLIN};
    struct init_word word = {0};
    size_t count = 0;
    int ready;
    while ((ready = poll(&p, 1, INIT_MS)) < 0 && errno == EINTR)
        ;
    if (ready <= 0)
        return error_set(err, "setns.wait", ready < 0 ? errno : ETIMEDOUT, "the jail's init does not say that it is ready");
    if (fdpass_recv(notify, &word, sizeof word, NULL, 0, &count, err) != sizeof word || word.ready != 'R')
        return error_set(err, "setns.wait", 0, "the jail's init ended before it was ready");
    *ret_layers = word.layers;
    return 0;
}

static const struct { uint64_t flag; const char *name; } NAMESPACES[] = {
    {CLONE_NEWUSER, "ns/user"}, {CLONE_NEWNS, "ns/mnt"},  {CLONE_NEWPID, "ns/pid"},       {CLONE_NEWNET, "ns/net"},
    {CLONE_NEWIPC, "ns/ipc"},   {CLONE_NEWUTS, "ns/uts"}, {CLONE_NEWCGROUP, "ns/cgroup"}, {CLONE_NEWTIME, "ns/time"},
};
#define NAMESPACE_COUNT (sizeof NAMESPACES / sizeof *NAMESPACES)

static ino_t zygote_namespaces[NAMESPACE_COUNT]; /* looked up once, by the zygote */

/* Of a process, by its directory in the host's /proc; 0: that kind is not there. */
static void namespace_inodes(int directory, ino_t ret[NAMESPACE_COUNT])
{
    struct stat st;
    for (size_t i = 0; i < NAMESPACE_COUNT; i++)
        ret[i] = fstatat(directory, NAMESPACES[i].name, &st, 0) == 0 ? st.st_ino : 0;
}

static int note_own_namespaces(struct error *err)
{
    if (zygote_namespaces[0])
        return 0;
    cleanup_fd int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (self < 0)
        return error_set(err, "setns.verify", errno, "/proc/self cannot be opened");
    namespace_inodes(self, zygote_namespaces);
    return 0;
}

/* Every namespace that was to be joined is another one than the zygote's afterwards; the pid namespace was taken at the fork. The
 * supervisor looks too, but as an ordinary user it cannot see the links of a process that is not dumpable for it (proc(5)). */
static int join_namespaces(const struct request *r, struct error *err)
{
    layer_set there = 0;
    ino_t now[NAMESPACE_COUNT];
    cleanup_fd int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC); /* the host's: the jail's own /proc may be absent */
    if (self < 0)
        return error_set(err, "setns.verify", errno, "/proc/self cannot be opened");
    if (await_init(r->fds[FD_NOTIFY], &there, err) < 0)
        return -1;
    int flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    flags |= there & LAYER_BIT(LAYER_CGROUP_NAMESPACE) ? CLONE_NEWCGROUP : 0;
    flags |= there & LAYER_BIT(LAYER_TIME_NAMESPACE) ? CLONE_NEWTIME : 0;
    flags &= ~(mutant(30) ? CLONE_NEWNET : mutant(32) ? CLONE_NEWIPC | CLONE_NEWCGROUP | CLONE_NEWTIME : 0);
    /* One setns for all: the user namespace and what it owns are entered together, with the capabilities that this gives. */
    if (setns(r->fds[FD_INIT], flags) < 0)
        return error_set(err, "setns", errno, "the jail's namespaces cannot be joined");
    namespace_inodes(self, now);
    for (size_t i = 0; i < NAMESPACE_COUNT; i++)
        if ((((uint64_t)flags | CLONE_NEWPID) & NAMESPACES[i].flag) && (now[i] == 0 || now[i] == zygote_namespaces[i]))
            return error_set(err, "setns.verify", 0, "%s is still the zygote's after the jail's was joined", NAMESPACES[i].name);
    return 0;
}

/* Leaves 0 = the jail's /dev/null, 1, 2, 3 = channel, 4 = notify socket, and nothing else: closed before RLIMIT_NOFILE and
 * seccomp are set, since both would get in the way. */
static int arrange_descriptors(const struct request *r, struct error *err)
{
    int high[FIXED_FDS];
    for (int i = FD_CHANNEL; i < FIXED_FDS; i++)
        if ((high[i] = fcntl(r->fds[i], F_DUPFD_CLOEXEC, FIRST_HIGH_FD)) < 0)
            return error_set(err, "descriptors", errno, "a descriptor cannot be copied");
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0)
        return error_set(err, "descriptors", errno, "/dev/null is missing in the jail");
    if (dup2(null, 0) < 0 || dup2(high[FD_STDOUT], 1) < 0 || dup2(high[FD_STDERR], 2) < 0 ||
        dup3(high[FD_CHANNEL], PAYLOAD_CHANNEL_FD, O_CLOEXEC) < 0 || dup3(high[FD_NOTIFY], NOTIFY_FD, O_CLOEXEC) < 0)
        return error_set(err, "descriptors", errno, "the standard descriptors cannot be set");
    if (!mutant(2) && (syscall(SYS_close_range, NOTIFY_FD + 1, ~0U, 0) < 0 || fcntl(high[FD_CHANNEL], F_GETFD) >= 0))
        return error_set(err, "descriptors", errno, "close_range");
    return 0;
}

/* Set and read back. A lower hard limit that is there already is no less safe, and cannot be raised. */
static int bound(__rlimit_resource_t resource, uint64_t bytes)
{
    struct rlimit limit = {bytes, bytes}, seen = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(resource, &limit) < 0)
        return -1;
    errno = 0;
    return getrlimit(resource, &seen) == 0 && seen.rlim_cur <= bytes && seen.rlim_max <= bytes ? 0 : -1;
}

static int limit_data(uint64_t bytes, struct error *err)
{
    if (!bytes)
        return 0;
    if (bound(RLIMIT_DATA, bytes) < 0)
        return error_set(err, "rlimit.data", errno, "%llu bytes", (unsigned long long)bytes);
#ifndef SANITIZED /* whose shadow memory is terabytes of address space */
    /* RLIMIT_DATA does not see shared anonymous mappings. Address space does, but also sees stacks and libraries that nobody
     * touches, so its bound is a loose one. */
    uint64_t space = 2 * bytes + (1ull << 30);
    if (bound(RLIMIT_AS, space) < 0)
        return error_set(err, "rlimit.as", errno, "%llu bytes", (unsigned long long)space);
#endif
    return 0;
}

static int enter_jail(const struct configuration *c, const struct request *r, struct error *err)
{
    sigset_t none;
    sigemptyset(&none);
    if (!mutant(1) && sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        return error_set(err, "signals", errno, "the signal mask cannot be emptied");
    slice_ask(SLICE_GUEST_NS);
    cleanup_fd int host = mutant(21) ? open("/", O_PATH | O_CLOEXEC) : -1;
    if (join_cgroups(r, err) < 0 || join_namespaces(r, err) < 0)
        return -1;
    if (!mutant(4) && (setsid() < 0 || getsid(0) != getpid()))
        return error_set(err, "setsid", errno, "no session of its own");
    umask(022);
    if ((mutant(21) ? fchdir(host) : chdir(c->cwd)) < 0)
        return error_set(err, "chdir", errno, "%s", c->cwd);
    return 0;
}

/* Everything between fork and guest code. The channel is told when a step fails; nothing runs then. */
static _Noreturn void become_payload(const struct configuration *c, const struct request *r)
{
    struct error err;
    struct payload_start start = {.warm = r->warm, .forked = clock_now()};
    int channel = r->fds[FD_CHANNEL];
    start.fork_us = (start.forked - r->asked) / 1000;
    if (enter_jail(c, r, &err) < 0 || arrange_descriptors(r, &err) < 0)
        payload_fail(channel, &err);
    channel = PAYLOAD_CHANNEL_FD;
    start.joined = clock_now();
    if (limit_data(r->rlimit_data, &err) < 0 || reseed(&err) < 0 || seal_self(&c->seal, NOTIFY_FD, &start.layers, &err) < 0)
        payload_fail(channel, &err);
    close(NOTIFY_FD);
    payload_run(c, &start);
}

static pid_t fork_payload(const struct configuration *c, const struct request *r)
{
    /* libc's fork, not a raw clone: glibc caches the thread id, and OpenSSL and others have their own fork handlers. */
    fork_hooks_quiet(true);
    PyOS_BeforeFork();
    pid_t pid = fork();
    if (pid != 0) {
        int code = errno;
        PyOS_AfterFork_Parent();
        errno = code;
        return pid;
    }
    PyOS_AfterFork_Child();
    fork_hooks_quiet(false);
    become_payload(c, r);
}

int spawn_payload(const struct configuration *c, const struct wire_frame *frame, const int *fds, size_t count, struct error *err)
{
    struct request r = {.fds = fds, .count = count, .asked = clock_now()};
    if (read_request(frame, &r, err) < 0)
        return -1;
    int threads = interpreter_threads(err);
    if (threads != 1)
        return threads < 0 ? -1 : error_set(err, "threads", 0, "the zygote has %d threads and does not fork", threads);
    if (note_own_namespaces(err) < 0)
        return -1;
    /* Only children are moved: a process cannot change its own pid namespace. */
    if (setns(fds[FD_INIT], CLONE_NEWPID) < 0)
        return error_set(err, "setns.pid", errno, "the jail's pid namespace cannot be joined (has its init ended?)");
    pid_t pid = fork_payload(c, &r);
    if (pid < 0)
        return error_set(err, "fork", errno, "the payload cannot be forked");
    cleanup_fd int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        kill(pid, SIGKILL);
        return error_set(err, "pidfd", errno, "pidfd_open of the payload");
    }
    if (zygote_send_spawned(frame->nonce, pid, pidfd) < 0) {
        kill(pid, SIGKILL);
        return error_set(err, "control", 0, "the supervisor did not take the answer");
    }
    return 0;
}
