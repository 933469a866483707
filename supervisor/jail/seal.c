#include "jail/seal.h"

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/mutant.h"
#include "jail/capabilities.h"
#include "jail/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The one on open files, or all but that one. */
static int set_rlimits(const struct seal_plan *plan, bool files, struct error *err)
{
    for (size_t i = 0; i < plan->rlimit_count; i++) {
        struct rlimit now, want = {plan->rlimits[i].value, plan->rlimits[i].value};
        int resource = plan->rlimits[i].resource;
        if ((resource == RLIMIT_NOFILE) != files || mutant(resource == RLIMIT_CORE ? 8 : 36))
            continue;
        if (setrlimit((__rlimit_resource_t)resource, &want) < 0) {
            /* A hard limit that is lower already stays: raising it needs CAP_SYS_RESOURCE in the first user namespace, which even root
             * may lack, and a lower limit is never less safe. */
            int code = errno;
            if (getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_max < want.rlim_max)
                want.rlim_cur = want.rlim_max = now.rlim_max;
            if (setrlimit((__rlimit_resource_t)resource, &want) < 0)
                return error_set(err, "rlimits", code, "limit %d cannot be set to %llu", resource, (unsigned long long)want.rlim_max);
        }
        now.rlim_cur = ~want.rlim_cur; /* so that a call that only says it succeeded is seen */
        if (getrlimit((__rlimit_resource_t)resource, &now) < 0 || now.rlim_cur != want.rlim_cur || now.rlim_max != want.rlim_max)
            return error_set(err, "rlimits", errno, "limit %d is not what was set", resource);
    }
    return 0;
}

static int set_ids(const struct seal_plan *plan, struct error *err)
{
    /* setgroups is denied in this user namespace (user_namespaces(7)), so supplementary groups cannot be dropped here: the
     * process that made the namespace dropped them. EPERM is what this rule looks like; anything kept would be caught below. */
    if (setresgid(plan->gid, plan->gid, plan->gid) < 0)
        return error_set(err, "ids", errno, "group id %u cannot be taken", plan->gid);
    if (setresuid(plan->uid, plan->uid, plan->uid) < 0)
        return error_set(err, "ids", errno, "user id %u cannot be taken", plan->uid);
    uid_t u[3];
    gid_t g[3];
    if (getresuid(&u[0], &u[1], &u[2]) < 0 || getresgid(&g[0], &g[1], &g[2]) < 0)
        return error_set(err, "ids", errno, "ids cannot be read");
    for (int i = 0; i < 3; i++)
        if (u[i] != plan->uid || g[i] != plan->gid)
            return error_set(err, "ids", 0, "ids are not what was set");
    return 0;
}

static int load_filter(struct sock_filter *code, size_t count, unsigned flags, struct error *err)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = code};
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (r < 0)
        return error_set(err, "seccomp.load", errno, "the filter of %zu instructions is refused", count);
    return (int)r;
}

/* The number that the kernel gives to the next descriptor of this process (the lowest free one). */
static int next_descriptor(void)
{
    int fd = fcntl(0, F_DUPFD, 0);
    if (fd >= 0)
        close(fd);
    return fd;
}

/* The profile. With a listener the denials are counted by init; EBUSY (an outer sandbox listens already) or an old kernel means
 * the same rules answered by the kernel itself. */
static int load_profile(const struct seal_plan *plan, int notify_sock, layer_set *layers, struct error *err)
{
    if (notify_sock >= 0 && plan->filter_notify_count > 0) {
        struct error ignored;
        /* An outer sandbox may say "done" to a call that it swallows. A listener is a new descriptor, and whether it answers cannot be
         * asked: ioctl is under the filter already, and would wait for init. */
        int expected = next_descriptor();
        int answer = load_filter(plan->filter_notify, plan->filter_notify_count, SECCOMP_FILTER_FLAG_NEW_LISTENER, &ignored);
        cleanup_fd int listener = answer >= 0 && answer == expected ? answer : -1;
        if (listener >= 0) {
            /* sendmsg is allowed by every profile; without a listener in init each denied call would hang, so failure is final. */
            if (fdpass_send(notify_sock, "L", 1, &listener, 1, err) < 0)
                return error_wrap(err, "the seccomp listener cannot be handed to init");
            *layers |= LAYER_BIT(LAYER_SECCOMP_NOTIFY);
            return 0;
        }
    }
    return load_filter(plan->filter, plan->filter_count, 0, err) < 0 ? -1 : 0;
}

static int verify_seccomp(struct error *err)
{
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2)
        return error_set(err, "seccomp.verify", errno, "the kernel does not say that a filter is active");
    return 0;
}

int seal_self(const struct seal_plan *plan, int notify_sock, layer_set *ret_layers, struct error *err)
{
    layer_set layers = 0;
    if (plan->filter_count == 0 || plan->path_count == 0 || plan->rlimit_count == 0)
        return error_set(err, "seal.plan", 0, "the plan lacks a filter, paths or limits: refusing to run without them");

    if (set_rlimits(plan, false, err) < 0)
        return -1;

    /* A session keyring of its own: keys have no namespace (ISOLATION.md row 9). A kernel without keys has none to share. */
    long keyring = mutant(9) ? -1 : syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    if (mutant(9) || (keyring > 0 && syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0) == keyring))
        layers |= LAYER_BIT(LAYER_KEYRING);

    /* Bounding set and securebits need CAP_SETPCAP: before the ids change nothing (no id is root here), but the order of all
     * good peers is ids first; capabilities survive because the namespace's uid 0 is not mapped (capabilities(7)). */
    if (set_ids(plan, err) < 0 || capabilities_close_bounding(err) < 0 || capabilities_lock_securebits(err) < 0)
        return -1;
    layers |= LAYER_BIT(LAYER_SECUREBITS);
    /* Mutant 12: without no_new_privs a filter is taken from nobody but who keeps CAP_SYS_ADMIN (seccomp(2)). */
    if (!mutant(12) && (capabilities_clear(err) < 0 || capabilities_verify_none(err) < 0))
        return -1;
    layers |= LAYER_BIT(LAYER_CAPABILITIES);

    /* After the last change of credentials the kernel has set dumpable to 0 and the files in /proc/self would belong to nobody. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        return error_set(err, "dumpable", errno, "dumpable cannot be set");

    if (!mutant(12) && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1))
        return error_set(err, "no_new_privs", errno, "no_new_privs cannot be set");
    layers |= LAYER_BIT(LAYER_NO_NEW_PRIVS);

    int walled = mutant(43) ? 1 : landlock_restrict(plan, err);
    if (walled < 0)
        return -1;
    if (walled)
        layers |= LAYER_BIT(LAYER_LANDLOCK);

    /* RLIMIT_NOFILE is last: while it is low, the kernel refuses to pass the listener to init as soon as other jails of the same user
     * keep many descriptors in flight (unix(7), ETOOMANYREFS), which is the case on a host without a range of ids. */
    if (load_profile(plan, notify_sock, &layers, err) < 0 || verify_seccomp(err) < 0 || set_rlimits(plan, true, err) < 0)
        return -1;
    layers |= LAYER_BIT(LAYER_SECCOMP) | LAYER_BIT(LAYER_RLIMITS);
    *ret_layers = layers;
    return 0;
}
