#include "python.h"

#include "zygote.h"

#include "audit.h"
#include "classes.h"
#include "configuration.h"
#include "deferred.h"
#include "exception.h"
#include "execute.h"
#include "fork_hooks.h"
#include "imports.h"
#include "huge_pages.h"
#include "interpreter.h"
#include "print.h"
#include "source.h"
#include "spawn.h"
#include "tracker.h"
#include "streams.h"
#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/mutant.h"
#include "base/wire.h"
#include "jail/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#ifdef SNIPARA_MUTANTS
#include <pthread.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define PACKET_MAX 4096
#define EX_FAILED 1

static struct configuration configuration;

static int send_message(struct buf *b, size_t start, const int *fds, size_t count)
{
    wire_end(b, start);
    return fdpass_send(ZYGOTE_CONTROL_FD, b->data, b->len, fds, count, NULL);
}

int zygote_send_failed(uint64_t nonce, const struct error *failure)
{
    cleanup_buf struct buf b = {0};
    size_t start;
    if (wire_begin(&b, ZYGOTE_FAILED, nonce, &start) < 0 || wire_put_error(&b, ZT_STEP, failure) < 0)
        return -1;
    return send_message(&b, start, NULL, 0);
}

int zygote_send_spawned(uint64_t nonce, pid_t pid, int pidfd)
{
    cleanup_buf struct buf b = {0};
    size_t start;
    if (wire_begin(&b, ZYGOTE_SPAWNED, nonce, &start) < 0 || wire_put_u64(&b, ZT_PID, (uint64_t)pid) < 0)
        return -1;
    return send_message(&b, start, &pidfd, 1);
}

static int send_ready(int threads)
{
    cleanup_buf struct buf b = {0};
    size_t start;
    char version[32];
    snprintf(version, sizeof version, "%.*s", (int)strcspn(Py_GetVersion(), " "), Py_GetVersion());
    if (wire_begin(&b, ZYGOTE_READY, 0, &start) < 0 || wire_puts(&b, ZT_VERSION, version) < 0 ||
        wire_put_u64(&b, ZT_THREADS, (uint64_t)threads) < 0)
        return -1;
    return send_message(&b, start, NULL, 0);
}

static uint64_t microseconds(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_usec;
}

static int send_exited(pid_t pid, int status, const struct rusage *usage)
{
    cleanup_buf struct buf b = {0};
    size_t start;
    if (wire_begin(&b, ZYGOTE_EXITED, 0, &start) < 0 || wire_put_u64(&b, ZT_PID, (uint64_t)pid) < 0 ||
        wire_put_i64(&b, ZT_STATUS, status) < 0 || wire_put_u64(&b, ZT_UTIME_US, microseconds(usage->ru_utime)) < 0 ||
        wire_put_u64(&b, ZT_STIME_US, microseconds(usage->ru_stime)) < 0 ||
        wire_put_u64(&b, ZT_MAXRSS_KB, (uint64_t)usage->ru_maxrss) < 0)
        return -1;
    return send_message(&b, start, NULL, 0);
}

static int reap(void)
{
    for (;;) {
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        if (pid <= 0)
            return 0;
        if (send_exited(pid, status, &usage) < 0)
            return -1;
    }
}

/* Dispositions and mask as in a program that was started from a clean shell, so that Python sets up its own and payloads
 * inherit exactly those: a supervisor run under nohup must not leave SIGHUP ignored in a jail. */
static void reset_signals(void)
{
    if (mutant(1))
        return;
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* 0 is always /dev/null; 1 and 2 exist, since Python and the payloads take these numbers for granted. */
static int standard_descriptors(struct error *err)
{
    cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return error_set(err, "descriptors", errno, "/dev/null cannot be opened");
    if (dup2(null, 0) < 0)
        return error_set(err, "descriptors", errno, "no standard input");
    for (int fd = 1; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && dup2(null, fd) < 0)
            return error_set(err, "descriptors", errno, "no standard output");
    if (null <= 2)
        steal_fd(&null);
    return 0;
}

static int receive_configuration(struct error *err)
{
    char packet[PACKET_MAX];
    int fds[FDPASS_MAX];
    size_t count = 0;
    ssize_t length = fdpass_recv(ZYGOTE_CONTROL_FD, packet, sizeof packet, fds, FDPASS_MAX, &count, err);
    if (length < 0)
        return error_wrap(err, "descriptor 3 is not the supervisor's control socket");
    if (length == 0)
        return error_set(err, "config", 0, "the supervisor closed the control socket before it sent the configuration");
    struct wire_frame frame;
    size_t used;
    int result = -1;
    if (wire_next(packet, (size_t)length, sizeof packet, &frame, &used, err) != 1 || frame.type != ZYGOTE_CONFIG || count != 1)
        error_set(err, "config", 0, "the first message must be ZYGOTE_CONFIG with one descriptor");
    else
        result = configuration_read(fds[0], &configuration, err);
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    return result;
}

/* Few programs need multiprocessing, and its modules would be in every payload's memory. */
static const struct deferred LATER[] = {{"multiprocessing.resource_tracker", tracker_silence}, {NULL, NULL}};
static const struct deferred ALL_LATER[] = {{"multiprocessing.resource_tracker", tracker_silence}, {"inspect", classes_patch_inspect},
                                            {"linecache", source_publish}, {NULL, NULL}};

static int adjust(bool lean, struct error *err)
{
    if (lean)
        return deferred_install(ALL_LATER, err);
    PyObject *inspect = PyImport_ImportModule("inspect"); /* imports linecache, too */
    Py_XDECREF(inspect);
    if (!inspect)
        return error_from_python(err, "interpreter", "inspect cannot be imported");
    return classes_patch_inspect(err) < 0 ? -1 : deferred_install(LATER, err);
}

#ifdef SNIPARA_MUTANTS
static void *sleep_for_ever(void *unused)
{
    sigset_t all;
    sigfillset(&all); /* SIGCHLD is for the signalfd */
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    for (;;)
        pause();
    return unused;
}
#endif

static int start_python(int *ret_threads, struct error *err)
{
    if (fork_hooks_collect(err) < 0 || interpreter_set_up(&configuration, err) < 0 || streams_install(err) < 0 || print_install(err) < 0 ||
        adjust(configuration.lean, err) < 0 || interpreter_preload(&configuration, err) < 0 ||
        imports_install(&configuration, err) < 0 || execute_prepare(&configuration, err) < 0 || fork_hooks_settle(err) < 0)
        return -1;
    if (!configuration.lean && execute_warm(err) < 0)
        return -1;
    huge_pages_release();
    if (!configuration.lean && interpreter_settle(err) < 0)
        return -1;
#ifdef SNIPARA_MUTANTS
    pthread_t second;
    if (mutant(47) && pthread_create(&second, NULL, sleep_for_ever, NULL) != 0)
        return error_set(err, "threads", 0, "mutant 47 has no thread");
#endif
    int threads = interpreter_threads(err);
    if (threads < 0)
        return -1;
    /* fork copies one thread; what another one held stays locked for ever in the child */
    if (threads != 1)
        return error_set(err, "threads", 0,
                         "the interpreter has %d threads after the preload list of policy %s; it must have one "
                         "(set OPENBLAS_NUM_THREADS=1 or leave the module out of imports.preload)", threads, configuration.policy);
    *ret_threads = threads;
    return 0;
}

/* One message from the supervisor. 1: go on, 0: the supervisor is gone, -1: the control socket is broken. */
static int serve_message(void)
{
    char packet[PACKET_MAX];
    int fds[FDPASS_MAX];
    size_t count = 0;
    struct error err;
    ssize_t length = fdpass_recv(ZYGOTE_CONTROL_FD, packet, sizeof packet, fds, FDPASS_MAX, &count, &err);
    if (length <= 0)
        return length < 0 && err.code == EAGAIN ? 1 : (int)length;
    struct wire_frame frame;
    size_t used;
    int result = 0;
    if (wire_next(packet, (size_t)length, sizeof packet, &frame, &used, &err) == 1 && frame.type == ZYGOTE_SPAWN) {
        if (spawn_payload(&configuration, &frame, fds, count, &err) < 0)
            result = zygote_send_failed(frame.nonce, &err);
    } else {
        error_set(&err, "control", 0, "unexpected message");
        result = zygote_send_failed(0, &err);
    }
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    return result < 0 ? -1 : 1;
}

static int serve(int signals)
{
    struct pollfd watched[] = {{.fd = ZYGOTE_CONTROL_FD, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    for (;;) {
        if (poll(watched, 2, -1) < 0 && errno != EINTR)
            return EX_FAILED;
        struct signalfd_siginfo info;
        if (watched[1].revents && read(signals, &info, sizeof info) > 0 && reap() < 0)
            return EX_FAILED;
        if (!watched[0].revents)
            continue;
        int more = serve_message();
        if (more <= 0)
            return more == 0 ? 0 : EX_FAILED;
    }
}

static int watch_children(struct error *err)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &child, NULL) < 0)
        return error_set(err, "signals", errno, "SIGCHLD cannot be blocked");
    int fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? error_set(err, "signals", errno, "no signalfd") : fd;
}

static int prepare(int *ret_signals, int *ret_threads, struct error *err)
{
    /* The supervisor's death is ours, and it may have died before this line ran. */
    if (!mutant(6) && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return error_set(err, "parent", errno, "PR_SET_PDEATHSIG");
    int type;
    socklen_t size = sizeof type;
    if (getsockopt(ZYGOTE_CONTROL_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET)
        return error_set(err, "control", errno, "descriptor 3 is not a SOCK_SEQPACKET socket: "
                         "snipara-pyhost is started by snipara-sandbox, not by hand");
    if (fcntl(ZYGOTE_CONTROL_FD, F_SETFD, FD_CLOEXEC) < 0)
        return error_set(err, "control", errno, "descriptor 3");
    /* The interpreter first: the supervisor compiles the policy meanwhile. */
    if (standard_descriptors(err) < 0 || audit_install(err) < 0 || interpreter_start(err) < 0 || receive_configuration(err) < 0 ||
        start_python(ret_threads, err) < 0)
        return -1;
    *ret_signals = watch_children(err);
    return *ret_signals < 0 ? -1 : 0;
}

int zygote_main(void)
{
    pid_t parent = getppid();
    reset_signals();
    struct error err;
    int signals = -1, threads = 0;
    if (prepare(&signals, &threads, &err) < 0) {
        if (zygote_send_failed(0, &err) < 0)
            fprintf(stderr, "snipara-pyhost: %s: %s\n", err.step, err.message);
        return EX_FAILED;
    }
    if (getppid() != parent)
        return EX_FAILED;
    return send_ready(threads) < 0 ? EX_FAILED : serve(signals);
}
