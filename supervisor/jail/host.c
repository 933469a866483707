#include "jail/host.h"

#include "base/cleanup.h"
#include "base/mutant.h"
#include "jail/jail.h"
#include "jail/landlock.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

/* What to do when a layer is not there. NULL: nothing but another host or kernel helps, and the evidence says so. */
static const char *const REMEDIES[LAYER_COUNT] = {
    [LAYER_USER_NAMESPACE] = "sysctl user.max_user_namespaces=15000 and, where they exist, kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0; in a container run it with these allowed, or start the server as root",
    [LAYER_PROC] = "run outside a container, or in one with an unmasked /proc (podman: --security-opt unmask=ALL)",
    [LAYER_DISTINCT_UID] = "start the server as root",
    [LAYER_LANDLOCK] = "boot a kernel with CONFIG_SECURITY_LANDLOCK and landlock in the lsm= list (Linux 5.13)",
    [LAYER_SECCOMP] = "use a kernel with CONFIG_SECCOMP_FILTER",
    [LAYER_SECCOMP_NOTIFY] = "use Linux 5.0 or newer, and do not run below another seccomp listener",
    [LAYER_NO_USER_NAMESPACES] = "make /proc/sys writable for the server; the seccomp filter still refuses new user namespaces",
    [LAYER_CGROUP_MEMORY] = "start as root, or delegate a cgroup v2: systemd-run --user --scope -p Delegate=yes snipara-sandbox ...",
    [LAYER_CGROUP_PIDS] = "start as root, or delegate a cgroup v2; RLIMIT_NPROC counts per jail meanwhile",
    [LAYER_CGROUP_CPU] = "start as root, or delegate the cpu controller",
    [LAYER_CGROUP_KILL] = "mount cgroup v2 (Linux 5.14); the death of the jail's init ends everything meanwhile",
    [LAYER_TIME_NAMESPACE] = "use a kernel with CONFIG_TIME_NS",
};

static void say(struct host *h, enum layer l, bool there, const char *evidence)
{
    struct host_layer *row = &h->layers[l];
    row->layer = l;
    row->there = there;
    snprintf(row->evidence, sizeof row->evidence, "%s", evidence);
    snprintf(row->remedy, sizeof row->remedy, "%s", there || !REMEDIES[l] ? "" : REMEDIES[l]);
    if (there)
        h->there |= LAYER_BIT(l);
}

/* A switch of the kernel that is not in the position we need. */
static void note_switch(struct host *h, const char *name, const char *good, const char *meaning)
{
    char path[96], text[64] = "";
    snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    cleanup_file FILE *f = fopen(path, "re");
    if (!f || !fgets(text, sizeof text, f) || h->note_count == 8 || mutant(15))
        return;
    text[strcspn(text, "\n")] = '\0';
    if (strcmp(text, good) != 0)
        snprintf(h->notes[h->note_count++], sizeof h->notes[0], "kernel.%s is %.8s: %s", name, text, meaning);
}

static void note_host(struct host *h)
{
    char pattern[2] = "";
    cleanup_file FILE *f = fopen("/proc/sys/kernel/core_pattern", "re");
    if (f && fgets(pattern, sizeof pattern, f) && pattern[0] == '|' && h->note_count < 8)
        snprintf(h->notes[h->note_count++], sizeof h->notes[0],
                 "kernel.core_pattern pipes core dumps to a program of the host, which RLIMIT_CORE 0 does not always stop: set it to a file "
                 "name if that program is not trusted with guest memory");
    note_switch(h, "apparmor_restrict_unprivileged_userns", "0",
                "AppArmor restricts user namespaces of ordinary users; run as root, set it to 0, or load a profile with userns for this program");
    note_switch(h, "unprivileged_userns_clone", "1", "ordinary users have no user namespaces; set it to 1 or run as root");
}

/* These need no jail: the kernel answers directly, and each jail verifies them again when it is sealed. */
static void probe_kernel(struct host *h)
{
    char text[200];
    h->landlock_abi = landlock_abi();
    snprintf(text, sizeof text, h->landlock_abi ? "ABI %d" : "landlock_create_ruleset says there is none", h->landlock_abi);
    say(h, LAYER_LANDLOCK, h->landlock_abi > 0, text);
    unsigned action = SECCOMP_RET_ERRNO;
    bool filter = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
    say(h, LAYER_SECCOMP, filter, filter ? "filters are available" : "seccomp(GET_ACTION_AVAIL) is refused");
    action = SECCOMP_RET_USER_NOTIF;
    bool notify = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
    say(h, LAYER_SECCOMP_NOTIFY, notify, notify ? "user notification is available" : "no user notification");
    bool nnp = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) >= 0;
    say(h, LAYER_NO_NEW_PRIVS, nnp, nnp ? "prctl knows it" : "prctl does not know it");
    say(h, LAYER_RLIMITS, true, "setrlimit");
    bool keys = syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -3, 0) >= 0 || errno != ENOSYS;
    say(h, LAYER_KEYRING, keys, keys ? "keyctl is there" : "a kernel without keys: nothing to separate");
}

static int probe_plan(struct jail_plan *plan, struct error *err)
{
    if (jail_plan_add(plan, (struct plan_mount){.kind = PLAN_BIND_RO, .exec = true, .source = (char *)"/usr", .target = (char *)"/usr"}, err) < 0)
        return -1;
    return jail_plan_add(plan, (struct plan_mount){.kind = PLAN_TMPFS, .bytes = 65536, .inodes = 16, .target = (char *)"/tmp"}, err);
}

static void probe_jail(struct host *h)
{
    struct error err = {0};
    struct yard yard;
    struct jail_plan plan = {0};
    struct jail_maker maker = {.process = {.pid = -1, .pidfd = -1, .control = -1}};
    struct cgroup_pool pool = {.count = 0};
    struct jail jail;
    static const struct cgroup_limits LIMITS = {.memory_bytes = 64u << 20, .pids = 8, .cpus = 1.0};
    layer_set made = 0;
    char why[256] = "";
    struct cgroup_host groups = {.kind = CGROUP_NONE}; /* what outlives the yard: kind and reason */
    if (yard_open(&yard, &err) < 0) {
        snprintf(why, sizeof why, "%s: %.200s", err.step, err.message);
    } else {
        yard_find_cgroups(&yard, &err); /* tried again, and told, by jail_make */
        h->cgroup = yard.cgroups.kind;
        groups.kind = yard.cgroups.kind;
        memcpy(groups.reason, yard.cgroups.reason, sizeof groups.reason);
        if (probe_plan(&plan, &err) < 0 || jail_maker_start(&yard, &maker, &err) < 0 || jail_maker_plan(&maker, &plan, &err) < 0 ||
            jail_make(&yard, &maker, &pool, &LIMITS, &jail, &err) < 0) {
            snprintf(why, sizeof why, "%s: %.200s", err.step, err.message);
        } else {
            made = jail.layers;
            jail_kill(&jail);
            for (int i = 0; i < 1000 && !jail_end(&jail, &pool); i++)
                poll(NULL, 0, 2);
        }
        jail_maker_stop(&maker);
        cgroup_pool_empty(&pool);
        jail_plan_free(&plan);
        yard_close(&yard);
    }
    for (int l = 0; l < LAYER_COUNT; l++) {
        if (h->layers[l].evidence[0])
            continue;
        bool there = made & LAYER_BIT(l);
        const char *cgroup = cgroup_host_reason(&groups, (enum layer)l);
        const char *evidence = there ? "a jail was made with it"
                             : why[0] ? why
                             : cgroup ? cgroup
                             : l == LAYER_DISTINCT_UID ? "only one host id could be mapped, our own"
                             : "a jail was made without it";
        if (l == LAYER_CAPABILITIES || l == LAYER_SECUREBITS) { /* init gives them up before it reports, so a jail is the proof */
            there = made != 0;
            evidence = there ? "the jail's init gave them up and read them back" : why;
        }
        say(h, (enum layer)l, there, evidence);
    }
}

const char *host_rung(layer_set there, const char **ret_text)
{
    static const char *const RUNGS[][2] = {
        {"T0", "root: every namespace, a host uid per jail, cgroups where they are mounted"},
        {"T1", "ordinary user with user namespaces"},
        {"T2", "user namespaces, but no fresh /proc (inside a container)"},
        {"T3", "no user namespaces: the native backend refuses"},
        {"T4", "no walls can be built here"},
    };
    const layer_set both = LAYER_BIT(LAYER_USER_NAMESPACE) | LAYER_BIT(LAYER_MOUNT_NAMESPACE);
    int rung;
    if ((there & both) != both)
        rung = there & LAYER_BIT(LAYER_LANDLOCK) ? 3 : 4;
    else if (!(there & LAYER_BIT(LAYER_PROC)))
        rung = 2;
    else
        rung = there & LAYER_BIT(LAYER_DISTINCT_UID) ? 0 : 1;
    *ret_text = RUNGS[rung][1];
    return RUNGS[rung][0];
}

const char *host_remedy(enum layer l)
{
    return (unsigned)l < LAYER_COUNT ? REMEDIES[l] : NULL;
}

int host_probe(struct host *ret, struct error *err)
{
    struct utsname u;
    memset(ret, 0, sizeof *ret);
    if (uname(&u) < 0)
        return error_set(err, "host.probe", errno, "uname");
    snprintf(ret->kernel, sizeof ret->kernel, "%.60s %.40s", u.release, u.machine);
    probe_kernel(ret);
    probe_jail(ret);
    const char *text;
    ret->rung = host_rung(ret->there, &text);
    snprintf(ret->rung_text, sizeof ret->rung_text, "%s", text);
    note_host(ret);
    return 0;
}
