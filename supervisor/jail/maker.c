#include "jail/maker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/mutant.h"
#include "base/path.h"
#include "base/wire.h"
#include "jail/ids.h"
#include "jail/init.h"
#include "jail/net_pool.h"
#include "jail/plan.h"
#include "jail/template.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CONTROL = 3, REQUEST_MAX = 65536 };
enum { FD_INIT_CONTROL, FD_NOTIFY, FD_DENIALS, FD_FIRST_CGROUP };

static struct {
    struct jail_plan plan;
    struct net_pool networks;
    int proc;           /* the host's /proc, for the id maps of inits; none of it is in the template */
    bool range;         /* our namespace maps a range, so that each jail can have an id of its own */
} maker = {.proc = -1};

static void answer(struct buf *b, size_t start)
{
    struct error ignored; /* a supervisor that is gone is found by the next read */
    wire_end(b, start);
    fdpass_send(CONTROL, b->data, b->len, NULL, 0, &ignored);
}

static void answer_failed(uint64_t request, const struct error *err)
{
    cleanup_buf struct buf b = {0};
    size_t start;
    if (wire_begin(&b, MAKER_FAILED, request, &start) == 0 && wire_put_error(&b, MAKER_STEP, err) == 0)
        answer(&b, start);
}

static void answer_ready(uint64_t request)
{
    cleanup_buf struct buf b = {0};
    size_t start;
    if (wire_begin(&b, MAKER_READY, request, &start) == 0)
        answer(&b, start);
}

static void answer_made(uint64_t request, pid_t pid, layer_set layers, uint64_t since)
{
    cleanup_buf struct buf b = {0};
    size_t start;
    if (wire_begin(&b, MAKER_MADE, request, &start) == 0 && wire_put_i64(&b, MAKER_PID, pid) == 0 &&
        wire_put_u64(&b, MAKER_LAYERS, layers) == 0 && wire_put_u64(&b, MAKER_CLONE_US, (clock_now() - since) / 1000) == 0)
        answer(&b, start);
}

/* One user: JAIL_UID inside, `outer` in our namespace. setgroups is denied for good first, as the kernel demands of a map that is
 * written without CAP_SETGID above (user_namespaces(7), CVE-2014-8989). */
static bool setgroups_is_denied(pid_t pid)
{
    char path[64], word[8] = "";
    snprintf(path, sizeof path, "%d/setgroups", pid);
    cleanup_fd int fd = openat(maker.proc, path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, word, sizeof word - 1) > 0 && strncmp(word, "deny", 4) == 0;
}

static int write_maps(pid_t pid, unsigned outer, struct error *err)
{
    char path[64], map[64];
    snprintf(map, sizeof map, "%u %u 1\n", JAIL_UID, outer);
    static const char *const FILES[] = {"setgroups", "gid_map", "uid_map"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%d/%s", pid, FILES[i]);
        if (!(i == 0 && mutant(13)) && path_write_kernel(maker.proc, path, i == 0 ? "deny" : map, err) < 0)
            return error_wrap(err, "id maps of the jail");
    }
    if (!mutant(13) && !setgroups_is_denied(pid))
        return error_set(err, "maps.setgroups", 0, "setgroups is not denied in the jail after it was denied");
    return 0;
}

static bool range_is_mapped(void)
{
    cleanup_file FILE *f = fopen("/proc/self/uid_map", "re");
    unsigned inside, outside, count;
    return f && fscanf(f, "%u %u %u", &inside, &outside, &count) == 3 && inside == 0 && count == HOST_ID_COUNT;
}

static pid_t clone_init(uint64_t flags, struct error *err)
{
    /* exit_signal 0: with CLONE_PARENT the kernel takes the caller's own, SIGCHLD to the supervisor (clone(2)). */
    if (mutant(32))
        flags &= ~(uint64_t)(CLONE_NEWIPC | CLONE_NEWTIME);
    struct clone_args args = {.flags = flags | CLONE_PARENT};
    long pid = syscall(SYS_clone3, &args, sizeof args);
    /* Container profiles hide clone3, whose flags a filter cannot see. clone does the same but for CLONE_NEWTIME, whose bit it reads
     * as part of the exit signal (clone(2)). */
    if (pid < 0 && errno == ENOSYS && !(flags & CLONE_NEWTIME))
        pid = syscall(SYS_clone, args.flags, NULL, NULL, NULL, 0);
    return pid < 0 ? error_set(err, "namespace.clone", errno, "a process in new namespaces cannot be made") : (pid_t)pid;
}

#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)
#define NAMESPACE_LAYERS                                                                                                              \
    (LAYER_BIT(LAYER_USER_NAMESPACE) | LAYER_BIT(LAYER_MOUNT_NAMESPACE) | LAYER_BIT(LAYER_PID_NAMESPACE) |                            \
     LAYER_BIT(LAYER_NETWORK_NAMESPACE) | LAYER_BIT(LAYER_IPC_NAMESPACE) | LAYER_BIT(LAYER_UTS_NAMESPACE))

/* A kernel without time namespaces (before 5.6, or not built in) says EINVAL, one without clone3 ENOSYS: without, unless the policy
 * demands it. */
static pid_t clone_with_time(struct init_setup *setup, struct error *err)
{
    setup->layers |= LAYER_BIT(LAYER_TIME_NAMESPACE);
    pid_t pid = clone_init(NAMESPACES | CLONE_NEWTIME, err);
    if (pid >= 0 || (err->code != EINVAL && err->code != ENOSYS))
        return pid;
    if (maker.plan.need_time_namespace)
        return error_wrap(err, "time_namespace, which the policy requires");
    setup->layers &= ~LAYER_BIT(LAYER_TIME_NAMESPACE);
    return clone_init(NAMESPACES, err);
}

static int make(uint64_t request, const int *fds, size_t count, struct error *err)
{
    uint64_t began = clock_now();
    if (count < FD_FIRST_CGROUP)
        return error_set(err, "maker", 0, "a request came without its descriptors");
    cleanup_fd int read_end = -1;
    cleanup_fd int write_end = -1;
    int mapped[2];
    if (pipe2(mapped, O_CLOEXEC) < 0)
        return error_set(err, "maker", errno, "no pipe");
    read_end = mapped[0];
    write_end = mapped[1];
    struct init_setup setup = {.plan = &maker.plan, .layers = NAMESPACE_LAYERS, .control = fds[FD_INIT_CONTROL], .notify = fds[FD_NOTIFY],
                               .mapped = read_end, .denials = fds[FD_DENIALS], .cgroups = fds + FD_FIRST_CGROUP,
                               .cgroup_count = count - FD_FIRST_CGROUP, .host_proc = maker.proc};
    if (maker.range)
        setup.layers |= LAYER_BIT(LAYER_DISTINCT_UID);
    if (net_pool_enter(&maker.networks, err) < 0)
        return -1;
    pid_t pid = clone_with_time(&setup, err);
    if (pid < 0)
        return -1;
    if (pid == 0) {
        close(write_end); /* else our own copy keeps the pipe open when the maker dies */
        close(CONTROL);
        init_run(&setup);
    }
    if (write_maps(pid, !maker.range ? 0 : mutant(13) ? 1u : (unsigned)pid, err) < 0 || write(write_end, "", 1) != 1) {
        kill(pid, SIGKILL); /* the supervisor, its parent, reaps it */
        return -1;
    }
    answer_made(request, pid, setup.layers, began);
    return 0;
}

static int take_plan(const struct wire_frame *frame, struct error *err)
{
    int proc = -1;
    if (maker.proc >= 0)
        return error_set(err, "maker", 0, "there is a plan already");
    if ((proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        return error_set(err, "maker.proc", errno, "/proc cannot be opened");
    maker.range = range_is_mapped();
    if (jail_plan_take(&maker.plan, wire_fields(frame), err) < 0 || template_enter(&maker.plan, err) < 0)
        return -1;
    maker.networks = (struct net_pool){.proc = proc, .loopback = maker.plan.loopback};
    if (net_pool_open(&maker.networks, err) < 0)
        return -1;
    maker.proc = proc;
    answer_ready(frame->nonce);
    return 0;
}

static int serve_one(char *request)
{
    int fds[FDPASS_MAX];
    size_t count = 0, used;
    struct error err = {0};
    struct wire_frame frame = {0};
    ssize_t n = fdpass_recv(CONTROL, request, REQUEST_MAX, fds, FDPASS_MAX, &count, &err);
    if (n <= 0)
        return 0; /* the supervisor is gone: so are we */
    int r = wire_next(request, (size_t)n, REQUEST_MAX, &frame, &used, &err) == 1 ? 0 : -1;
    if (r == 0 && frame.type == MAKER_PLAN)
        r = take_plan(&frame, &err);
    else if (r == 0 && frame.type == MAKER_MAKE && maker.proc >= 0)
        r = make(frame.nonce, fds, count, &err);
    else if (r == 0)
        r = error_set(&err, "maker", 0, "a request is not understood");
    if (r < 0)
        answer_failed(frame.nonce, &err);
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    return 1;
}

/* While nobody asks, one network namespace more at a time, so that a request never waits for more than one. */
static int fill_pool(struct error *err)
{
    struct pollfd p = {.fd = CONTROL, .events = POLLIN};
    if (maker.proc < 0)
        return 0; /* no plan yet, or it failed */
    while (!maker.plan.single && poll(&p, 1, 0) == 0 && net_pool_fill(&maker.networks))
        ;
    return poll(&p, 1, 0) == 0 ? net_pool_leave(&maker.networks, err) : 0;
}

int maker_main(void)
{
    static char request[REQUEST_MAX];
    if (fcntl(CONTROL, F_GETFD) < 0) {
        fputs("snipara-sandbox " MAKER_ARGUMENT ": started by the supervisor only\n", stderr);
        return 2;
    }
    /* For all inits: dispositions are inherited, and nobody here sets one. */
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    /* init must belong to us in /proc for the id maps to be written; a program that entered a user namespace is not dumpable. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    struct error err;
    while (serve_one(request))
        if (fill_pool(&err) < 0) {
            fprintf(stderr, "snipara-sandbox " MAKER_ARGUMENT ": %s\n", err.message);
            return 1;
        }
    return 0;
}
