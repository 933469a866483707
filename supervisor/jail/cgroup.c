#include "jail/cgroup.h"

#include "base/cleanup.h"
#include "base/mutant.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_v2(const struct cgroup_host *h) { return h->kind == CGROUP_V2; }

static int group_path(const struct cgroup *cg, int hierarchy, const char *file, char *ret, size_t size)
{
    const char *base = cg->host->base[hierarchy];
    if (!base || (size_t)snprintf(ret, size, "%s/%s%s%s", base, cg->name, *file ? "/" : "", file) >= size)
        return -1;
    return 0;
}

int cgroup_open(const struct cgroup *cg, int hierarchy, const char *file, int flags)
{
    char path[4200];
    return group_path(cg, hierarchy, file, path, sizeof path) < 0 ? -1 : open(path, flags | O_CLOEXEC);
}

static bool read_text(const struct cgroup *cg, int hierarchy, const char *file, char *ret, size_t size)
{
    cleanup_fd int fd = cgroup_open(cg, hierarchy, file, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (n < 0)
        return false;
    ret[n] = '\0';
    return true;
}

static bool read_number(const struct cgroup *cg, int hierarchy, const char *file, uint64_t *ret)
{
    char text[64];
    return read_text(cg, hierarchy, file, text, sizeof text) && sscanf(text, "%" SCNu64, ret) == 1;
}

static int write_text(const struct cgroup *cg, int hierarchy, const char *file, const char *text, struct error *err)
{
    char path[4200];
    if (group_path(cg, hierarchy, file, path, sizeof path) < 0)
        return error_set(err, "cgroup.limit", ENAMETOOLONG, "%s", file);
    if (mutant(33) && strcmp(file, "cgroup.kill") != 0)
        return 0;
    return path_write_kernel(AT_FDCWD, path, text, err);
}

/* Set, then read back: a limit that the kernel rounded to a page is fine, one that it ignored is not a limit. */
static int set_number(const struct cgroup *cg, int hierarchy, const char *file, uint64_t value, struct error *err)
{
    char text[32];
    uint64_t seen = 0;
    snprintf(text, sizeof text, "%" PRIu64, value);
    if (write_text(cg, hierarchy, file, text, err) < 0)
        return -1;
    if (!mutant(33) && (!read_number(cg, hierarchy, file, &seen) || seen > value))
        return error_set(err, "cgroup.limit", 0, "%s is %" PRIu64 " after it was set to %" PRIu64, file, seen, value);
    return 0;
}

static int limit_memory(struct cgroup *cg, uint64_t bytes, struct error *err)
{
    struct error ignored;
    uint64_t seen;
    if (is_v2(cg->host)) {
        if (set_number(cg, CG_MEMORY, "memory.max", bytes, err) < 0)
            return -1;
        write_text(cg, CG_MEMORY, "memory.swap.max", "0", &ignored); /* not there without swap accounting: nothing to limit then */
        return 0;
    }
    if (set_number(cg, CG_MEMORY, "memory.limit_in_bytes", bytes, err) < 0)
        return -1;
    /* Swap would make a limit on memory a limit on speed only. */
    if (read_number(cg, CG_MEMORY, "memory.memsw.limit_in_bytes", &seen))
        return set_number(cg, CG_MEMORY, "memory.memsw.limit_in_bytes", bytes, err);
    write_text(cg, CG_MEMORY, "memory.swappiness", "0", &ignored);
    return 0;
}

/* Where everybody wants the processor, jails get a quarter of what the supervisor and its helpers would: what all of them wait for goes
 * first. A wish and no wall. */
static void yield_to_supervisor(struct cgroup *cg)
{
    struct error ignored;
    if (is_v2(cg->host))
        write_text(cg, CG_CPU, "cpu.weight", "25", &ignored); /* of 100 */
    else
        write_text(cg, CG_CPU, "cpu.shares", "256", &ignored); /* of 1024 */
}

static int limit_cpu(struct cgroup *cg, double cpus, struct error *err)
{
    char text[64], seen[64];
    uint64_t quota = (uint64_t)(cpus * 100000.0);
    yield_to_supervisor(cg);
    if (is_v2(cg->host)) {
        snprintf(text, sizeof text, "%" PRIu64 " 100000", quota);
        if (write_text(cg, CG_CPU, "cpu.max", text, err) < 0)
            return -1;
        if (!read_text(cg, CG_CPU, "cpu.max", seen, sizeof seen) || strncmp(seen, text, strlen(text)) != 0)
            return error_set(err, "cgroup.limit", 0, "cpu.max is not %s after it was set", text);
        return 0;
    }
    /* Each write walks over all groups of the host; this is what a new group has. */
    if ((!read_text(cg, CG_CPU, "cpu.cfs_period_us", seen, sizeof seen) || strcmp(seen, "100000\n") != 0) &&
        write_text(cg, CG_CPU, "cpu.cfs_period_us", "100000", err) < 0)
        return -1;
    return set_number(cg, CG_CPU, "cpu.cfs_quota_us", quota, err);
}

static int open_entrance(struct cgroup *cg, int hierarchy, const char *file, struct error *err)
{
    char path[4200];
    if (group_path(cg, hierarchy, file, path, sizeof path) < 0)
        return error_set(err, "cgroup.enter", ENAMETOOLONG, "%s", file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, "cgroup.enter", errno, "%s cannot be opened", path);
    cg->enter[cg->enter_count++] = fd;
    return 0;
}

static int make_directory(struct cgroup *cg, int hierarchy, struct error *err)
{
    char path[4200];
    if (group_path(cg, hierarchy, "", path, sizeof path) < 0)
        return error_set(err, "cgroup.make", ENAMETOOLONG, "%s", cg->name);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return error_set(err, "cgroup.make", errno, "%s cannot be made", path);
    return 0;
}

/* cgroup.kill came with Linux 5.14. */
static layer_set kill_layer(const struct cgroup *cg)
{
    char path[4200];
    bool there = group_path(cg, CG_UNIFIED, "cgroup.kill", path, sizeof path) == 0 && access(path, W_OK) == 0;
    return there ? LAYER_BIT(LAYER_CGROUP_KILL) : 0;
}

static int make_v2(struct cgroup *cg, const struct cgroup_limits *l, struct error *err)
{
    if (make_directory(cg, CG_UNIFIED, err) < 0 || limit_memory(cg, l->memory_bytes, err) < 0 ||
        set_number(cg, CG_PIDS, "pids.max", l->pids, err) < 0 || open_entrance(cg, CG_UNIFIED, "cgroup.procs", err) < 0)
        return -1;
    cg->layers |= LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_PIDS) | kill_layer(cg);
    struct error ignored;
    if (limit_cpu(cg, l->cpus, &ignored) == 0) /* cpu may not be delegated */
        cg->layers |= LAYER_BIT(LAYER_CGROUP_CPU);
    return 0;
}

static int make_v1(struct cgroup *cg, const struct cgroup_limits *l, struct error *err)
{
    const struct cgroup_host *h = cg->host;
    for (int i = CG_MEMORY; i <= CG_CPUACCT; i++) {
        if (!h->base[i] || (i == CG_CPUACCT && h->shared_cpuacct))
            continue;
        /* `tasks` and not `cgroup.procs`: the latter waits for an RCU grace period, 7 to 11 ms; the ones who enter have one thread. */
        if (make_directory(cg, i, err) < 0 || open_entrance(cg, i, "tasks", err) < 0)
            return -1;
    }
    if (h->base[CG_MEMORY]) {
        if (limit_memory(cg, l->memory_bytes, err) < 0)
            return -1;
        cg->layers |= LAYER_BIT(LAYER_CGROUP_MEMORY);
    }
    if (h->base[CG_PIDS]) {
        if (set_number(cg, CG_PIDS, "pids.max", l->pids, err) < 0)
            return -1;
        cg->layers |= LAYER_BIT(LAYER_CGROUP_PIDS);
    }
    if (h->base[CG_CPU]) {
        if (limit_cpu(cg, l->cpus, err) < 0)
            return -1;
        cg->layers |= LAYER_BIT(LAYER_CGROUP_CPU);
    }
    /* A v2 mount without controllers beside these would give cgroup.kill, which ends no more than the death of init does, and entering it
     * costs an RCU grace period each time (7 to 14 ms): its cgroup.procs takes the threadgroup lock, and it has no `tasks`. */
    return 0;
}

int cgroup_make(const struct cgroup_host *h, const struct cgroup_limits *limits, struct cgroup *ret, struct error *err)
{
    static unsigned number;
    memset(ret, 0, sizeof *ret);
    ret->host = h;
    ret->limits = *limits;
    if (h->kind == CGROUP_NONE)
        return 0;
    snprintf(ret->name, sizeof ret->name, "snipara-%d-%u", getpid(), ++number);
    for (int i = 0; i < CGROUP_METERS; i++)
        ret->meters[i] = -1;
    if ((is_v2(h) ? make_v2(ret, limits, err) : make_v1(ret, limits, err)) < 0) {
        cgroup_remove(ret);
        return error_wrap(err, "cgroup %s", ret->name);
    }
    for (int i = 0; i < CGROUP_METERS; i++)
        cgroup_open_meter(ret, i);
    return 0;
}

static unsigned distinct_hierarchies(const struct cgroup_host *h)
{
    unsigned count = 0;
    for (int i = 0; i < CGROUP_HIERARCHIES; i++) {
        bool seen = !h->base[i];
        for (int k = 0; k < i && !seen; k++)
            seen = h->base[k] && strcmp(h->base[k], h->base[i]) == 0;
        count += !seen;
    }
    return count;
}

int cgroup_holds(const struct cgroup *cg, pid_t pid, struct error *err)
{
    char path[64], text[8192];
    unsigned found = 0;
    size_t n = strlen(cg->name);
    if (n == 0)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    if (path_read_kernel(path, text, sizeof text) < 0)
        text[0] = '\0';
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        size_t length = strlen(line);
        found += length > n && line[length - n - 1] == '/' && strcmp(line + length - n, cg->name) == 0;
    }
    if (found < distinct_hierarchies(cg->host))
        return error_set(err, "cgroup.verify", 0, "process %d is in %u of the %u groups %s that it entered", pid, found,
                         distinct_hierarchies(cg->host), cg->name);
    return 0;
}

void cgroup_kill(const struct cgroup *cg)
{
    struct error ignored;
    if (cg->layers & LAYER_BIT(LAYER_CGROUP_KILL))
        write_text(cg, CG_UNIFIED, "cgroup.kill", "1", &ignored);
}

static bool is_empty(const struct cgroup *cg, int hierarchy, const char *file)
{
    char text[32];
    return !cg->host->base[hierarchy] || (read_text(cg, hierarchy, file, text, sizeof text) && text[0] == '\0');
}

enum { PIDS_OF_EVERY_JAIL = 2 };

/* pids.peak cannot be reset: a group of its own for each jail, where the kernel has it. Unless the peak is what every jail comes to (init
 * and payload): then it says nothing of the one before. The entrance follows. */
static int renew_pids(struct cgroup *cg)
{
    char path[4200];
    struct error ignored;
    struct cgroup_usage usage;
    if (cg->meters[METER_PIDS_PEAK] < 0)
        return 1;
    cgroup_usage(cg, CGROUP_PEAKS, &usage);
    if (usage.pids_peak >= 0 && usage.pids_peak <= PIDS_OF_EVERY_JAIL)
        return 1;
    if (group_path(cg, CG_PIDS, "", path, sizeof path) < 0 || rmdir(path) < 0)
        return errno == EBUSY ? -1 : 0;
    close_fd(&cg->meters[METER_PIDS_PEAK]);
    if (make_directory(cg, CG_PIDS, &ignored) < 0 || set_number(cg, CG_PIDS, "pids.max", cg->limits.pids, &ignored) < 0)
        return 0;
    /* make_v1 opens memory first, then pids. */
    size_t at = cg->host->base[CG_MEMORY] ? 1 : 0, count = cg->enter_count;
    close_fd(&cg->enter[at]);
    cg->enter_count = at;
    int r = open_entrance(cg, CG_PIDS, "tasks", &ignored);
    cg->enter_count = count;
    cgroup_open_meter(cg, METER_PIDS_PEAK);
    return r < 0 ? 0 : 1;
}

enum { RESIDUE_BYTES = 1 << 20 }; /* what the kernel itself may still hold on behalf of a group without processes */

int cgroup_renew(struct cgroup *cg)
{
    uint64_t usage;
    if (is_v2(cg->host) || cg->host->kind == CGROUP_NONE) /* v2: memory.peak is reset for one descriptor only (Linux 6.12) */
        return 0;
    /* Who enters does so in this order, and a dying process leaves all hierarchies at once: the first one has everybody. */
    int first = CG_MEMORY;
    while (first < CG_CPUACCT && !cg->host->base[first])
        first++;
    if (!is_empty(cg, first, "tasks"))
        return -1;
    if (cg->host->base[CG_MEMORY]) {
        if (!read_number(cg, CG_MEMORY, "memory.usage_in_bytes", &usage) || usage > RESIDUE_BYTES)
            return 0;
        cgroup_reset_peak(cg);
    }
    return cg->host->base[CG_PIDS] ? renew_pids(cg) : 1;
}

bool cgroup_remove(struct cgroup *cg)
{
    bool gone = true;
    for (size_t i = 0; i < cg->enter_count; i++)
        close_fd(&cg->enter[i]);
    cg->enter_count = 0;
    if (cg->name[0] == '\0')
        return true;
    for (int i = 0; i < CGROUP_METERS; i++)
        close_fd(&cg->meters[i]);
    for (int i = 0; i < CGROUP_HIERARCHIES; i++) {
        char path[4200];
        if (cg->host->base[i] && group_path(cg, i, "", path, sizeof path) == 0 && rmdir(path) < 0 && errno == EBUSY)
            gone = false;
    }
    return gone;
}
