#include "jail/cgroup.h"

#include "base/cleanup.h"
#include "jail/cgroup_paths.h"
#include "jail/cgroup_unified.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const CONTROLLERS[CGROUP_HIERARCHIES] = {"memory", "pids", "cpu", "cpuacct", NULL};

/* Our own group in a hierarchy; false: the reason says why there is none. */
static bool find_own(const char *controller, struct cgroup_mount *ret, char *reason, size_t reason_size)
{
    char path[2048];
    cleanup_file FILE *cgroup = fopen("/proc/self/cgroup", "re");
    cleanup_file FILE *mounts = fopen("/proc/self/mountinfo", "re");
    if (!cgroup || !mounts || !cgroup_own_path(cgroup, controller, path, sizeof path))
        return false;
    cgroup_find_mount(mounts, controller, path, ret);
    if (ret->seen && !ret->own[0])
        snprintf(reason, reason_size, "what is mounted of cgroups belongs to another cgroup namespace");
    return ret->own[0] != '\0';
}

/* The directory of our own group in a v1 hierarchy, if a group can be made and removed in it. */
static char *usable_base(const char *controller, char *reason, size_t reason_size)
{
    struct cgroup_mount mount;
    if (!find_own(controller, &mount, reason, reason_size))
        return NULL;
    char probe[4200];
    snprintf(probe, sizeof probe, "%s/snipara-%d-0", mount.own, getpid());
    if (mkdir(probe, 0755) == 0 || errno == EEXIST) {
        rmdir(probe);
        return strdup(mount.own);
    }
    snprintf(reason, reason_size, "no group can be made in %.150s: %s", mount.own, strerror(errno));
    return NULL;
}

static bool probe_v1(struct cgroup_host *ret)
{
    bool found = false;
    for (int i = CG_MEMORY; i <= CG_CPUACCT; i++) {
        ret->base[i] = usable_base(CONTROLLERS[i], ret->reason, sizeof ret->reason);
        found |= ret->base[i] != NULL;
    }
    ret->shared_cpuacct = ret->base[CG_CPU] && ret->base[CG_CPUACCT] && strcmp(ret->base[CG_CPU], ret->base[CG_CPUACCT]) == 0;
    return found;
}

static int use_unified(struct cgroup_host *ret, const char *base, struct error *err)
{
    ret->kind = CGROUP_V2;
    for (int i = 0; i < CGROUP_HIERARCHIES; i++)
        if (!(ret->base[i] = strdup(base))) {
            cgroup_host_free(ret);
            return error_set(err, "cgroup", 0, "out of memory");
        }
    return 0;
}

/* A v2 mount beside v1 controllers has none itself and limits nothing, and is not worth entering (cgroup.c): v1 first. */
int cgroup_host_probe(struct cgroup_host *ret, struct error *err)
{
    struct cgroup_mount unified = {.seen = false};
    char base[4096];
    memset(ret, 0, sizeof *ret);
    snprintf(ret->reason, sizeof ret->reason, "no cgroup file system is mounted");
    bool v1 = probe_v1(ret), v2 = find_own("", &unified, ret->reason, sizeof ret->reason);
    if (v1)
        ret->kind = v2 ? CGROUP_HYBRID : CGROUP_V1;
    else if (v2 && cgroup_unified_find(unified.own, unified.point, base, sizeof base, ret->reason, sizeof ret->reason))
        return use_unified(ret, base, err);
    return 0;
}

void cgroup_host_free(struct cgroup_host *h)
{
    for (int i = 0; i < CGROUP_HIERARCHIES; i++)
        free(h->base[i]);
    memset(h, 0, sizeof *h);
}

const char *cgroup_host_reason(const struct cgroup_host *h, enum layer l)
{
    if (l < LAYER_CGROUP_MEMORY || l > LAYER_CGROUP_KILL)
        return NULL;
    if (l == LAYER_CGROUP_KILL && (h->kind == CGROUP_V1 || h->kind == CGROUP_HYBRID))
        return "cgroup v1 has none; the end of init ends every process of the jail";
    if (l == LAYER_CGROUP_KILL && h->kind == CGROUP_V2)
        return "this kernel has no cgroup.kill (Linux 5.14); the end of init ends every process of the jail";
    return h->reason[0] ? h->reason : NULL;
}

static void sweep_directory(const char *base)
{
    cleanup_dir DIR *d = opendir(base);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        int pid, number;
        char path[4400], exact[64];
        if (sscanf(e->d_name, "snipara-%9d-%9d", &pid, &number) != 2 || pid <= 0)
            continue;
        /* Written back it must be the same name: "snipara-1x", "+1" and what overflows are somebody else's (CVE-2026-30892). */
        snprintf(exact, sizeof exact, "snipara-%d-%d", pid, number);
        if (strcmp(exact, e->d_name) != 0 || kill(pid, 0) == 0 || errno != ESRCH)
            continue;
        snprintf(path, sizeof path, "%s/%s", base, e->d_name);
        rmdir(path); /* EBUSY: something still lives there; the next start tries again */
    }
}

void cgroup_host_sweep(const struct cgroup_host *h)
{
    for (int i = 0; i < CGROUP_HIERARCHIES; i++)
        if (h->base[i] && (i == 0 || !h->base[i - 1] || strcmp(h->base[i], h->base[i - 1]) != 0))
            sweep_directory(h->base[i]);
}
