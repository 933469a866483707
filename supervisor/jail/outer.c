#include "jail/outer.h"

#include "base/cleanup.h"
#include "base/mutant.h"
#include "base/path.h"
#include "jail/ids.h"
#include "jail/mount_calls.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

enum { CHILD_CONTROL = 3, CHILD_PROGRAM = 4, CHILD_ERRORS = 5 };

/* What crosses the close-on-exec pipe when a step fails: end of file without it means that the program runs. */
struct child_error {
    char step[40];
    int code;
};

_Noreturn static void child_fail(int errors, const char *step)
{
    struct child_error e = {.code = errno};
    snprintf(e.step, sizeof e.step, "%s", step);
    ssize_t ignored = write(errors, &e, sizeof e);
    (void)ignored;
    _exit(70);
}

static bool setgroups_is_denied(void)
{
    char text[8] = "";
    cleanup_fd int fd = open("/proc/self/setgroups", O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, text, sizeof text - 1) > 0 && strncmp(text, "deny", 4) == 0;
}

/* A step that only says it succeeded is as bad as one that fails: the questions below are to the kernel, not to the step. errno is 0
 * when the answer is no. */
static bool groups_are_gone(void)
{
    errno = 0;
    return getgroups(0, NULL) == 0 || setgroups_is_denied();
}

static bool namespace_is_joined(int user_namespace)
{
    struct stat ours, wanted;
    errno = 0;
    return stat("/proc/self/ns/user", &ours) == 0 && fstat(user_namespace, &wanted) == 0 && ours.st_ino == wanted.st_ino;
}

static bool root_is_read_only(void)
{
    struct statvfs fs;
    errno = 0;
    return statvfs("/", &fs) == 0 && (fs.f_flag & ST_RDONLY);
}

static bool dies_with_parent(void)
{
    int sig = 0;
    errno = 0;
    return prctl(PR_GET_PDEATHSIG, &sig, 0, 0, 0) == 0 && sig == SIGKILL;
}

/* Supplementary groups would be kept for good once setgroups is denied. An ordinary user cannot drop them, and neither can the
 * "root" of a namespace in which they are denied already (unshare -r). */
static void drop_groups(int errors)
{
    if (geteuid() == 0 && ((setgroups(0, NULL) < 0 && !(errno == EPERM && setgroups_is_denied())) || !groups_are_gone()))
        child_fail(errors, "outer.groups");
}

static void child_enter(const struct outer_program *p, int errors)
{
    drop_groups(errors);
    if (setns(p->user_namespace, CLONE_NEWUSER) < 0 || !namespace_is_joined(p->user_namespace))
        child_fail(errors, "outer.join");
    if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
        child_fail(errors, "outer.ids");
    if (p->read_only && !mutant(29)) {
        struct mount_attr_ attr = {.attr_set = MOUNT_ATTR_RDONLY_, .propagation = MS_PRIVATE};
        if (unshare(CLONE_NEWNS) < 0)
            child_fail(errors, "outer.mount_namespace");
        if (mount_setattr_(AT_FDCWD, "/", AT_RECURSIVE, &attr) < 0 || !root_is_read_only())
            child_fail(errors, "outer.read_only");
    }
}

/* Makes the namespace and stands in it until the parent has a descriptor of it. */
_Noreturn static void namespace_child(int go, int errors)
{
    char byte;
    drop_groups(errors);
    if (unshare(CLONE_NEWUSER) < 0)
        child_fail(errors, "namespace.user");
    if (write(errors, "u", 1) != 1) /* the parent writes the maps now */
        child_fail(errors, "outer.maps");
    ssize_t ignored = read(go, &byte, 1);
    (void)ignored;
    _exit(0);
}

/* /proc/self/exe of every process of a jail leads to the program by the mount that it was opened on, past the jail's own mounts, and
 * whoever owns a file may change its mode, times and attributes, which Landlock does not cover (CVE-2019-5736's neighbourhood: an
 * ordinary user's jail has that user's id). So the program runs from our read-only copy of the mounts. Root's jails own nothing of the
 * host, so there a path that they cannot walk is no matter. */
static int read_only_program(const struct outer_program *p)
{
    char link[32], path[4200];
    struct stat given, found;
    snprintf(link, sizeof link, "/proc/self/fd/%d", p->program);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    cleanup_fd int fd = n > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fstat(p->program, &given) < 0)
        return -1;
    if (fd >= 0 && fstat(fd, &found) == 0 && found.st_dev == given.st_dev && found.st_ino == given.st_ino)
        return steal_fd(&fd);
    return given.st_uid == geteuid() ? -1 : p->program;
}

_Noreturn static void child(const struct outer_program *p, int control, int errors, pid_t parent)
{
    child_enter(p, errors);
    int program = p->read_only ? read_only_program(p) : p->program;
    if (program < 0)
        child_fail(errors, "outer.program");
    sigset_t none;
    sigemptyset(&none);
    for (int sig = 1; sig < NSIG && !mutant(1); sig++)
        signal(sig, SIG_DFL);
    if (!mutant(1))
        sigprocmask(SIG_SETMASK, &none, NULL);
    if (!mutant(4) && (setsid() < 0 || getsid(0) != getpid()))
        child_fail(errors, "outer.session");
    /* After the last change of credentials, which clears it (prctl(2)); the re-check closes the gap before it. */
    if ((!mutant(6) && (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || !dies_with_parent())) || getppid() != parent)
        child_fail(errors, "outer.parent");
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
        child_fail(errors, "outer.stdio");
    /* Out of the way first: the numbers below may be in use by what is moved there. stderr stays the supervisor's: a helper that
     * dies says why there. */
    int c = fcntl(control, F_DUPFD_CLOEXEC, 64), x = fcntl(program, F_DUPFD_CLOEXEC, 64), e = fcntl(errors, F_DUPFD_CLOEXEC, 64);
    if (c < 0 || x < 0 || e < 0 || dup2(c, CHILD_CONTROL) < 0 || dup3(x, CHILD_PROGRAM, O_CLOEXEC) < 0 || dup3(e, CHILD_ERRORS, O_CLOEXEC) < 0)
        child_fail(errors, "outer.descriptors");
    if (syscall(SYS_close_range, CHILD_ERRORS + 1, ~0u, 0) < 0 || fcntl(e, F_GETFD) >= 0)
        child_fail(CHILD_ERRORS, "outer.descriptors");
    syscall(SYS_execveat, CHILD_PROGRAM, "", p->argv, p->env, AT_EMPTY_PATH);
    child_fail(CHILD_ERRORS, "outer.exec");
}

static int write_map(pid_t pid, const char *file, const char *text, struct error *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    return path_write_kernel(AT_FDCWD, path, text, err);
}

static int write_maps(pid_t pid, struct error *err)
{
    char range[64], own[64];
    struct error ignored;
    snprintf(range, sizeof range, "0 %u %u\n", HOST_ID_BASE, HOST_ID_COUNT);
    /* In a container without that range (EPERM), and as an ordinary user, one id: our own. */
    if (geteuid() == 0 && write_map(pid, "uid_map", range, &ignored) == 0)
        return write_map(pid, "gid_map", range, err);
    snprintf(own, sizeof own, "0 %u 1\n", geteuid());
    if (write_map(pid, "uid_map", own, err) < 0 || write_map(pid, "setgroups", "deny", err) < 0)
        return error_wrap(err, "outer user namespace");
    snprintf(own, sizeof own, "0 %u 1\n", getegid());
    return write_map(pid, "gid_map", own, err);
}

/* What the child says on its close-on-exec pipe: *ret_word a byte 'u', or 0 for the end of file (it runs the program). -1: a step failed. */
static int listen_to_child(int errors, char *ret_word, struct error *err)
{
    struct child_error e = {.step = ""};
    size_t have = 0;
    ssize_t n;
    *ret_word = 0;
    while (have < sizeof e && (n = read(errors, (char *)&e + have, sizeof e - have)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(err, "outer", errno, "the helper cannot be followed");
        if (have == 0 && n == 1) { /* no step is that short */
            *ret_word = *(char *)&e;
            return 0;
        }
        have += (size_t)n;
    }
    if (have == 0)
        return 0;
    e.step[sizeof e.step - 1] = '\0';
    const char *remedy = strcmp(e.step, "namespace.user") == 0
        ? ": user namespaces are not available (see /proc/sys/user/max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
        : "";
    return error_set(err, e.step, e.code, "a helper program cannot be started, step %s failed%s", e.step, remedy);
}

static int make_pipe(int *ret_read, int *ret_write, struct error *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set(err, "outer", errno, "no pipe");
    *ret_read = fds[0];
    *ret_write = fds[1];
    return 0;
}

static void reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int take_namespace(pid_t pid, int errors, int *ret, struct error *err)
{
    char word, path[64];
    if (listen_to_child(errors, &word, err) < 0)
        return -1;
    if (word != 'u')
        return error_set(err, "outer", 0, "the helper ended before it had a user namespace");
    if (write_maps(pid, err) < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
    if ((*ret = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        return error_set(err, "outer", errno, "the outer user namespace cannot be opened");
    return 0;
}

int outer_namespace(int *ret, struct error *err)
{
    cleanup_fd int go_read = -1;
    cleanup_fd int go_write = -1;
    cleanup_fd int errors_read = -1;
    cleanup_fd int errors_write = -1;
    if (make_pipe(&go_read, &go_write, err) < 0 || make_pipe(&errors_read, &errors_write, err) < 0)
        return -1;
    pid_t pid = fork();
    if (pid < 0)
        return error_set(err, "outer.fork", errno, "no process");
    if (pid == 0) {
        close(go_write); /* so that our death is an end of file for it */
        namespace_child(go_read, errors_write);
    }
    close_fd(&errors_write);
    int r = take_namespace(pid, errors_read, ret, err);
    close_fd(&go_write);
    reap(pid);
    return r;
}

static int start(const struct outer_program *p, int theirs, pid_t *ret_pid, struct error *err)
{
    cleanup_fd int errors_read = -1;
    cleanup_fd int errors_write = -1;
    char word;
    if (make_pipe(&errors_read, &errors_write, err) < 0)
        return -1;
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return error_set(err, "outer.fork", errno, "no process");
    if (pid == 0)
        child(p, theirs, errors_write, parent);
    *ret_pid = pid;
    close_fd(&errors_write);
    return listen_to_child(errors_read, &word, err);
}

int outer_start(const struct outer_program *p, struct outer_process *ret, struct error *err)
{
    cleanup_fd int ours = -1;
    cleanup_fd int theirs = -1;
    int pair[2];
    struct outer_process process = {.pid = -1, .pidfd = -1, .control = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_set(err, "outer", errno, "no socket pair");
    ours = pair[0];
    theirs = pair[1];
    int r = start(p, theirs, &process.pid, err);
    if (r == 0 && (process.pidfd = (int)syscall(SYS_pidfd_open, process.pid, 0)) < 0)
        r = error_set(err, "outer.pidfd", errno, "no pidfd (Linux 5.3)");
    if (r < 0) {
        if (process.pid > 0) {
            kill(process.pid, SIGKILL);
            reap(process.pid);
        }
        return -1;
    }
    process.control = steal_fd(&ours);
    *ret = process;
    return 0;
}

void outer_stop(struct outer_process *p)
{
    if (p->pid > 0) {
        kill(p->pid, SIGKILL);
        reap(p->pid);
    }
    close_fd(&p->pidfd);
    close_fd(&p->control);
    p->pid = -1;
}
