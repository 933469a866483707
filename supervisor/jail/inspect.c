#include "jail/jail.h"

#include "base/cleanup.h"
#include "base/mutant.h"
#include "base/path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The value of "Name:\tvalue" in /proc/<pid>/status. */
static bool status_value(const char *text, const char *name, char *ret, size_t size)
{
    size_t n = strlen(name);
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, n) == 0 && line[n] == ':') {
            const char *value = line + n + 1 + strspn(line + n + 1, " \t");
            snprintf(ret, size, "%.*s", (int)strcspn(value, "\n"), value);
            return true;
        }
    return false;
}

static int expect(const char *text, const char *name, const char *wanted, struct error *err)
{
    char seen[128] = "";
    if (!status_value(text, name, seen, sizeof seen) || strcmp(seen, wanted) != 0)
        return error_set(err, "inspect", 0, "the kernel says %s is '%s' for the jailed process, it must be '%s'", name, seen, wanted);
    return 0;
}

/* Is id 0, as we see it, the root of the namespace above? Not so below `unshare -r` of an ordinary user. */
static bool id_zero_is_root(void)
{
    unsigned inside = 0, outside = 0;
    cleanup_file FILE *f = fopen("/proc/self/uid_map", "re");
    return !f || fscanf(f, "%u %u", &inside, &outside) != 2 || inside != 0 || outside == 0;
}

/* How many filters we run under ourselves; they never change. -1: a kernel that does not count (before 5.9). */
static long own_filters(void)
{
    static long count = -2;
    char value[32] = "", own[8192];
    if (count != -2)
        return count;
    cleanup_file FILE *f = fopen("/proc/self/status", "re");
    size_t n = f ? fread(own, 1, sizeof own - 1, f) : 0;
    own[n] = '\0';
    return count = status_value(own, "Seccomp_filters", value, sizeof value) ? strtol(value, NULL, 10) : -1;
}

/* Below an outer sandbox mode 2 is the outer one's: the process needs more filters than we have. */
static int expect_filter(const char *text, struct error *err)
{
    char theirs[32] = "";
    if (own_filters() < 0 || !status_value(text, "Seccomp_filters", theirs, sizeof theirs))
        return 0;
    if (strtol(theirs, NULL, 10) <= own_filters())
        return error_set(err, "inspect", 0, "the jailed process has no seccomp filter beyond our own %ld", own_filters());
    return 0;
}

/* NSpid has a number for each pid namespace from ours down (proc(5)): readable for everybody, unlike the links. */
static int expect_pid_namespace(const char *text, struct error *err)
{
    char seen[128] = "";
    if (status_value(text, "NSpid", seen, sizeof seen) && !strpbrk(seen, " \t"))
        return error_set(err, "inspect", 0, "the jailed process is in our own pid namespace");
    return 0;
}

static int expect_ids(const char *text, layer_set claimed, struct error *err)
{
    char seen[128] = "";
    unsigned real, effective, saved, fs;
    if (!status_value(text, "Uid", seen, sizeof seen) ||
        sscanf(seen, "%u %u %u %u", &real, &effective, &saved, &fs) != 4 || real != effective || real != saved || real != fs)
        return error_set(err, "inspect", 0, "the jailed process has mixed user ids: %s", seen);
    if ((claimed & LAYER_BIT(LAYER_DISTINCT_UID)) && real == geteuid())
        return error_set(err, "inspect", 0, "the jailed process has our own user id");
    if (real == 0 && id_zero_is_root())
        return error_set(err, "inspect", 0, "the jailed process is root on this host: ids cannot be mapped away here; start the server as an ordinary user");
    return 0;
}

static const struct { enum layer layer; const char *name; } NAMESPACE_LINKS[] = {
    {LAYER_USER_NAMESPACE, "user"}, {LAYER_MOUNT_NAMESPACE, "mnt"}, {LAYER_PID_NAMESPACE, "pid"}, {LAYER_NETWORK_NAMESPACE, "net"},
    {LAYER_IPC_NAMESPACE, "ipc"},   {LAYER_UTS_NAMESPACE, "uts"},   {LAYER_CGROUP_NAMESPACE, "cgroup"}, {LAYER_TIME_NAMESPACE, "time"},
};

/* The links of a process that is not dumpable for us cannot be read as an ordinary user (ptrace access, proc(5)); then init's and the
 * payload's own word stands and the integration tests look as root. */
static int expect_namespaces(pid_t pid, layer_set claimed, struct error *err)
{
    static struct stat own[sizeof NAMESPACE_LINKS / sizeof *NAMESPACE_LINKS]; /* we never change ours */
    for (size_t i = 0; i < sizeof NAMESPACE_LINKS / sizeof *NAMESPACE_LINKS; i++) {
        char theirs[64], ours[64];
        struct stat a;
        if (!(claimed & LAYER_BIT(NAMESPACE_LINKS[i].layer)))
            continue;
        snprintf(theirs, sizeof theirs, "/proc/%d/ns/%s", pid, NAMESPACE_LINKS[i].name);
        if (stat(theirs, &a) < 0) {
            if (errno == EACCES || errno == EPERM)
                continue;
            return error_set(err, "inspect", errno, "%s", theirs);
        }
        snprintf(ours, sizeof ours, "/proc/self/ns/%s", NAMESPACE_LINKS[i].name);
        if (!own[i].st_ino && stat(ours, &own[i]) < 0)
            return error_set(err, "inspect", errno, "%s", ours);
        if (a.st_ino == own[i].st_ino && a.st_dev == own[i].st_dev)
            return error_set(err, "inspect", 0, "the jailed process is in our own %s namespace", NAMESPACE_LINKS[i].name);
    }
    return 0;
}

int jail_inspect(pid_t pid, layer_set claimed, struct error *err)
{
    char path[64], text[8192];
    if (mutant_any()) /* the probe has to notice, not this */
        return 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (path_read_kernel(path, text, sizeof text) <= 0)
        return error_set(err, "inspect", errno, "%s cannot be read", path);
    static const char *const CAPABILITY_SETS[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    for (int i = 0; i < 5; i++)
        if ((claimed & LAYER_BIT(LAYER_CAPABILITIES)) && expect(text, CAPABILITY_SETS[i], "0000000000000000", err) < 0)
            return -1;
    if (((claimed & LAYER_BIT(LAYER_NO_NEW_PRIVS)) && expect(text, "NoNewPrivs", "1", err) < 0) ||
        ((claimed & LAYER_BIT(LAYER_SECCOMP)) && (expect(text, "Seccomp", "2", err) < 0 || expect_filter(text, err) < 0)) ||
        ((claimed & LAYER_BIT(LAYER_PID_NAMESPACE)) && expect_pid_namespace(text, err) < 0))
        return -1;
    return expect_ids(text, claimed, err) < 0 ? -1 : expect_namespaces(pid, claimed, err);
}

int jail_inspect_init(const struct jail *j, struct error *err)
{
    /* The payload took its namespaces from init: where its links are not ours, nor are init's. The pid namespace is asked for by NSpid. */
    const layer_set claimed = LAYER_BIT(LAYER_CAPABILITIES) | LAYER_BIT(LAYER_NO_NEW_PRIVS) | LAYER_BIT(LAYER_SECCOMP) |
                              (j->layers & (LAYER_BIT(LAYER_DISTINCT_UID) | LAYER_BIT(LAYER_PID_NAMESPACE)));
    if (jail_inspect(j->init, claimed, err) < 0 || cgroup_holds(&j->cgroup, j->init, err) < 0)
        return error_wrap(err, "the jail's init");
    return 0;
}

/* Dead, and process number 2 or above of a pid namespace below ours. */
static bool is_dead_guest(pid_t pid)
{
    char path[64], text[8192], state[32] = "", ids[128] = "";
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    cleanup_file FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    if (!status_value(text, "State", state, sizeof state) || state[0] != 'Z' || !status_value(text, "NSpid", ids, sizeof ids))
        return false;
    const char *last = strpbrk(ids, " \t") ? ids + strlen(ids) : NULL;
    while (last && last > ids && last[-1] != ' ' && last[-1] != '\t')
        last--;
    return last && strtol(last, NULL, 10) > 1;
}

void jail_reap_orphans(bool (*known)(const void *context, pid_t pid), const void *context)
{
    char path[64];
    int pid;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid()); /* one thread; not there without CONFIG_PROC_CHILDREN */
    cleanup_file FILE *f = fopen(path, "re");
    while (f && fscanf(f, "%d", &pid) == 1)
        if (!known(context, pid) && is_dead_guest(pid))
            waitpid(pid, NULL, WNOHANG);
}
