#include "jail/cgroup.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const CONTROLLERS[CGROUP_HIERARCHIES] = {"memory", "pids", "cpu", "cpuacct", ""};

static bool list_has(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; *p;) {
        size_t len = strcspn(p, ",");
        if (len == n && strncmp(p, word, n) == 0)
            return true;
        p += len + (p[len] == ',');
    }
    return false;
}

/* Path of our own group in a hierarchy, from /proc/self/cgroup ("4:memory:/a/b", v2 "0::/a/b"). */
static bool own_path(const char *controller, char *ret, size_t size)
{
    cleanup_file FILE *f = fopen("/proc/self/cgroup", "re");
    char line[4096];
    while (f && fgets(line, sizeof line, f)) {
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (*controller ? list_has(list + 1, controller) : list[1] == '\0')
            return (size_t)snprintf(ret, size, "%s", path) < size;
    }
    return false;
}

/* Mount point and root of a hierarchy, from /proc/self/mountinfo: fields 4 and 5, type and options behind " - ". */
static bool mount_of(const char *controller, char *root, char *point, size_t size)
{
    cleanup_file FILE *f = fopen("/proc/self/mountinfo", "re");
    char line[8192];
    while (f && fgets(line, sizeof line, f)) {
        char *tail = strstr(line, " - ");
        char type[64] = "", source[256] = "", options[1024] = "", r[2048], p[2048];
        if (!tail || sscanf(tail, " - %63s %255s %1023s", type, source, options) < 2 ||
            sscanf(line, "%*s %*s %*s %2047s %2047s", r, p) != 2)
            continue;
        if (*controller ? strcmp(type, "cgroup") == 0 && list_has(options, controller) : strcmp(type, "cgroup2") == 0)
            return (size_t)snprintf(root, size, "%s", r) < size && (size_t)snprintf(point, size, "%s", p) < size;
    }
    return false;
}

/* The directory of our own group, if a group can be made and removed in it. */
static char *usable_base(const char *controller, char *reason, size_t reason_size)
{
    char path[2048], root[2048], point[2048], *base = NULL;
    if (!own_path(controller, path, sizeof path) || !mount_of(controller, root, point, sizeof root))
        return NULL;
    /* A bind-mounted part of the hierarchy (containers) shows only what is below its root. */
    const char *below = path;
    size_t n = strlen(root);
    if (strcmp(root, "/") != 0 && strncmp(path, root, n) == 0)
        below = path + n;
    if (asprintf(&base, "%s%s", point, strcmp(below, "/") == 0 ? "" : below) < 0)
        return NULL;
    char probe[4200];
    snprintf(probe, sizeof probe, "%s/snipara-%d-0", base, getpid());
    if (mkdir(probe, 0755) == 0 || errno == EEXIST) {
        rmdir(probe);
        return base;
    }
    snprintf(reason, reason_size, "no group can be made in %.150s: %s", base, strerror(errno));
    free(base);
    return NULL;
}

static bool v2_has_controllers(const char *base)
{
    char path[4200], text[1024] = "";
    snprintf(path, sizeof path, "%s/cgroup.controllers", base);
    cleanup_file FILE *f = fopen(path, "re");
    return f && fgets(text, sizeof text, f) && strstr(text, "memory") && strstr(text, "pids");
}

static bool write_file(const char *directory, const char *name, const char *text)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    cleanup_file FILE *f = fopen(path, "we");
    return f && fputs(text, f) >= 0 && fflush(f) == 0;
}

/* A v2 group with processes in it cannot hand controllers down ("no internal processes"), except the root: we move into a leaf of
 * our own first. Only where the group is ours to arrange, that is delegated to us (systemd Delegate=yes). */
static bool v2_hand_down(const char *base, char *reason, size_t size)
{
    static const char LEAF[] = "snipara-supervisor";
    char leaf[4200];
    if (write_file(base, "cgroup.subtree_control", "+memory +pids +cpu"))
        return true;
    snprintf(leaf, sizeof leaf, "%s/%s", base, LEAF);
    if ((mkdir(leaf, 0755) == 0 || errno == EEXIST) && write_file(leaf, "cgroup.procs", "0") &&
        write_file(base, "cgroup.subtree_control", "+memory +pids +cpu"))
        return true;
    snprintf(reason, size, "%.80s cannot hand controllers down: %.40s (run the server in a group of its own: systemd-run --scope -p Delegate=yes)",
             base, strerror(errno));
    return false;
}

int cgroup_host_probe(struct cgroup_host *ret, struct error *err)
{
    memset(ret, 0, sizeof *ret);
    snprintf(ret->reason, sizeof ret->reason, "no cgroup file system is mounted");
    char *unified = usable_base("", ret->reason, sizeof ret->reason);
    if (unified && v2_has_controllers(unified)) {
        if (v2_hand_down(unified, ret->reason, sizeof ret->reason)) {
            ret->kind = CGROUP_V2;
            for (int i = 0; i < CGROUP_HIERARCHIES; i++)
                if (!(ret->base[i] = strdup(unified)))
                    return error_set(err, "cgroup", 0, "out of memory");
        }
        free(unified);
        return 0;
    }
    bool v1 = false;
    for (int i = CG_MEMORY; i <= CG_CPUACCT; i++) {
        ret->base[i] = usable_base(CONTROLLERS[i], ret->reason, sizeof ret->reason);
        v1 |= ret->base[i] != NULL;
    }
    ret->shared_cpuacct = ret->base[CG_CPU] && ret->base[CG_CPUACCT] && strcmp(ret->base[CG_CPU], ret->base[CG_CPUACCT]) == 0;
    if (v1) {
        ret->kind = unified ? CGROUP_HYBRID : CGROUP_V1;
    }
    free(unified); /* a v2 mount without controllers limits nothing, and beside v1 it is not worth entering (cgroup.c) */
    return 0;
}

void cgroup_host_free(struct cgroup_host *h)
{
    for (int i = 0; i < CGROUP_HIERARCHIES; i++)
        free(h->base[i]);
    memset(h, 0, sizeof *h);
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
