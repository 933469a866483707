#include "jail/init.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/mutant.h"
#include "base/wire.h"
#include "jail/capabilities.h"
#include "jail/exchange.h"
#include "jail/ids.h"
#include "jail/init_filter.h"
#include "jail/mount_calls.h"
#include "jail/mounts.h"
#include "jail/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FD_CONTROL = 3, FD_NOTIFY, FD_SIGNALS };

struct steps {
    uint64_t began, mapped, mounted; /* for the receipt's metrics */
    int control;                     /* where the supervisor hears us; fix_descriptors moves it */
    int output;                      /* /session/output, for the supervisor; -1: none */
};

static void report(int control, uint16_t type, layer_set layers, const struct steps *steps, const struct error *err)
{
    cleanup_buf struct buf b = {0};
    size_t start;
    struct error ignored;
    if (wire_begin(&b, type, 0, &start) < 0)
        return;
    if (type == INIT_READY) {
        wire_put_u64(&b, INIT_LAYERS, layers);
        wire_put_u64(&b, INIT_MAPS_US, (steps->mapped - steps->began) / 1000);
        wire_put_u64(&b, INIT_MOUNTS_US, (steps->mounted - steps->mapped) / 1000);
        wire_put_u64(&b, INIT_SEAL_US, (clock_now() - steps->mounted) / 1000);
    } else {
        wire_put_error(&b, INIT_STEP, err);
    }
    wire_end(&b, start);
    fdpass_send(control, b.data, b.len, steps ? &steps->output : NULL, steps && steps->output >= 0, &ignored);
}

/* The maker writes the maps once it knows our pid; a byte says that it did. */
static int wait_for_maps(const struct init_setup *s, struct error *err)
{
    char byte;
    ssize_t n;
    while ((n = read(s->mapped, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (n != 1)
        return error_set(err, "init.maps", n < 0 ? errno : 0, "the id maps were not written");
    /* No id of this namespace is root, so the kernel keeps our capabilities over this change (capabilities(7)), and files that we
     * make belong to an id that the namespace knows. */
    if (setresgid(JAIL_UID, JAIL_UID, JAIL_UID) < 0 || setresuid(JAIL_UID, JAIL_UID, JAIL_UID) < 0)
        return error_set(err, "init.ids", errno, "uid %u of the jail cannot be taken", JAIL_UID);
    return 0;
}

/* No user namespace can be made below ours, whatever the filter lets through: the count limit is per namespace and we may lower
 * our own (user_namespaces(7)). The jail's own /proc shows only processes, and in the host's each living namespace has an entry of its
 * own in one chain of the name cache: with 1,000 jails the look-up took 1.6 ms. So through one that nobody else sees. */
static void forbid_user_namespaces(int host_proc, layer_set *layers)
{
    char seen[4] = "";
    cleanup_fd int proc = detached_mount_("proc");
    cleanup_fd int fd = mutant(14) ? -1 : openat(proc >= 0 ? proc : host_proc, "sys/user/max_user_namespaces", O_RDWR | O_CLOEXEC);
    if (fd >= 0 && write(fd, "0", 1) == 1 && pread(fd, seen, sizeof seen - 1, 0) > 0 && strcmp(seen, "0\n") == 0)
        *layers |= LAYER_BIT(LAYER_NO_USER_NAMESPACES);
}

/* Inode of our own cgroup namespace; 0: a kernel without. */
static ino_t cgroup_namespace(int host_proc)
{
    struct stat st;
    return fstatat(host_proc, "self/ns/cgroup", &st, 0) == 0 ? st.st_ino : 0;
}

/* Limits were set before; the files were opened by the supervisor, whose credentials count for the write. The cgroup namespace is
 * taken after the move, so that its root is the jail's own group. */
static int enter_cgroup(const struct init_setup *s, layer_set *layers, struct error *err)
{
    for (size_t i = 0; i < s->cgroup_count; i++)
        if (write(s->cgroups[i], "0", 1) != 1)
            return error_set(err, "cgroup.attach", errno, "init cannot enter its cgroup");
    ino_t before = cgroup_namespace(s->host_proc);
    errno = 0;
    if (mutant(32) || (unshare(CLONE_NEWCGROUP) == 0 && cgroup_namespace(s->host_proc) != before))
        *layers |= LAYER_BIT(LAYER_CGROUP_NAMESPACE);
    else if (s->plan->need_cgroup_namespace)
        return error_set(err, "namespace.cgroup", errno, "a cgroup namespace cannot be made");
    return 0;
}

/* A fixed layout, everything else closed: init holds no descriptor of the host's tree (CVE-2024-21626). */
static int fix_descriptors(const struct init_setup *s, struct steps *steps, struct error *err)
{
    int control = fcntl(s->control, F_DUPFD_CLOEXEC, 64), notify = fcntl(s->notify, F_DUPFD_CLOEXEC, 64);
    if (control < 0 || notify < 0 || dup2(control, FD_CONTROL) < 0 || dup2(notify, FD_NOTIFY) < 0)
        return error_set(err, "init.descriptors", errno, "descriptors cannot be arranged");
    steps->control = FD_CONTROL;
    for (int fd = 0; fd < FD_CONTROL; fd++)
        close(fd);
    if (syscall(SYS_close_range, FD_NOTIFY + 1, ~0u, 0) < 0 || fcntl(control, F_GETFD) >= 0)
        return error_set(err, "init.descriptors", errno, "descriptors cannot be closed");
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0 || (signals != FD_SIGNALS && dup2(signals, FD_SIGNALS) < 0))
        return error_set(err, "init.descriptors", errno, "no signalfd");
    if (signals != FD_SIGNALS)
        close(signals);
    return 0;
}

static int seal(struct error *err)
{
    if (capabilities_close_bounding(err) < 0 || capabilities_lock_securebits(err) < 0 || capabilities_clear(err) < 0 ||
        capabilities_verify_none(err) < 0)
        return -1;
    /* Not dumpable: no /proc/1/mem, no ptrace by the guest, which has the same uid; hidden by hidepid as well. */
    if (prctl(PR_SET_DUMPABLE, mutant(7) ? 1 : 0, 0, 0, 0) < 0 || (!mutant(7) && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_set(err, "init.seal", errno, "init cannot seal itself");
    return init_filter_load(err);
}

static void reap(void)
{
    struct signalfd_siginfo info;
    while (read(FD_SIGNALS, &info, sizeof info) == sizeof info)
        ;
    while (!mutant(16) && waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

/* One denied call: count it, answer the errno of its number. Never CONTINUE and never a look at guest memory, which the guest could
 * change between our look and the kernel's (seccomp_unotify(2)). */
static void answer_denial(int listener, struct denials *table, const struct jail_plan *plan)
{
    struct seccomp_notif request;
    struct seccomp_notif_resp response;
    memset(&request, 0, sizeof request);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
        return; /* ENOENT: the caller died meanwhile */
    uint64_t args[6];
    for (int i = 0; i < 6; i++)
        args[i] = request.data.args[i];
    unsigned number = (unsigned)request.data.nr;
    denials_note(table, number, args);
    size_t known = sizeof plan->errno_of / sizeof *plan->errno_of;
    int code = number < known && plan->errno_of[number] > 0 ? plan->errno_of[number] : EPERM;
    memset(&response, 0, sizeof response);
    response.id = request.id;
    response.error = -code;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static void take_listener(struct pollfd *notify, struct pollfd *listener)
{
    char byte;
    int fd;
    size_t count = 0;
    struct error ignored;
    ssize_t n = fdpass_recv(FD_NOTIFY, &byte, 1, &fd, 1, &count, &ignored);
    if (n <= 0) { /* the payload closed its end: no listener will come any more */
        notify->fd = -1;
        return;
    }
    if (count == 1 && listener->fd < 0)
        listener->fd = fd;
}

_Noreturn static void serve(struct denials *table, const struct jail_plan *plan)
{
    struct pollfd p[4] = {{.fd = FD_CONTROL, .events = POLLIN}, {.fd = FD_NOTIFY, .events = POLLIN},
                          {.fd = FD_SIGNALS, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    for (;;) {
        if (ppoll(p, 4, NULL, NULL) < 0) {
            if (errno == EINTR)
                continue;
            _exit(71);
        }
        if (p[0].revents && mutant(6))
            p[0].fd = -1;
        else if (p[0].revents) /* nothing is ever sent to us: this is end of file, the supervisor is gone or wants us gone */
            _exit(0);
        if (p[3].revents & POLLIN)
            answer_denial(p[3].fd, table, plan);
        else if (p[3].revents)
            p[3].fd = -1; /* POLLHUP: no task uses the filter any more */
        if (p[1].revents)
            take_listener(&p[1], &p[3]);
        if (p[2].revents)
            reap();
    }
}

/* From the id maps to the seal. *host_proc is closed with everything else on the way. */
static int build(const struct init_setup *s, layer_set *layers, struct steps *steps, struct error *err)
{
    steps->mapped = clock_now();
    if (enter_cgroup(s, layers, err) < 0)
        return -1;
    forbid_user_namespaces(s->host_proc, layers);
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS && errno != EPERM)
        return error_set(err, "init.keyring", errno, "no session keyring");
    struct utsname names = {0};
    if (sethostname("sandbox", 7) < 0 || uname(&names) < 0 || strcmp(names.nodename, "sandbox") != 0)
        return error_set(err, "init.hostname", errno, "the host name cannot be set");
    if (mounts_own(s->plan, s->host_proc, layers, err) < 0)
        return -1;
    steps->mounted = clock_now();
    if (fix_descriptors(s, steps, err) < 0 || exchange_open(&steps->output, err) < 0)
        return -1;
    return seal(err);
}

/* The payload is forked while we build, and joins our namespaces at this word. It may be gone already. */
static void tell_payload(layer_set layers)
{
    struct error ignored;
    struct init_word word = {.ready = 'R', .layers = layers};
    fdpass_send(FD_NOTIFY, &word, sizeof word, NULL, 0, &ignored);
}

_Noreturn void init_run(const struct init_setup *s)
{
    struct error err = {0};
    layer_set layers = s->layers;
    struct steps steps = {.began = clock_now(), .control = s->control, .output = -1};
    /* The parent is the supervisor (CLONE_PARENT), outside of our pid namespace, so getppid() cannot be re-checked; the control
     * socket's end of file covers the moment before this call. */
    if (!mutant(6))
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    struct denials *table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, s->denials, 0);
    if (table == MAP_FAILED)
        error_set(&err, "init.memory", errno, "the shared table cannot be mapped");
    else if (setsid() < 0 || getsid(0) != getpid())
        error_set(&err, "init.session", errno, "setsid");
    else if (wait_for_maps(s, &err) == 0 && build(s, &layers, &steps, &err) == 0) {
        tell_payload(layers);
        report(FD_CONTROL, INIT_READY, layers, &steps, NULL);
        close_fd(&steps.output);
        serve(table, s->plan);
    }
    report(steps.control, INIT_FAILED, 0, NULL, &err);
    _exit(70);
}
