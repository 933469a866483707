#include "jail/cgroup.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct meter {
    int hierarchy;
    const char *file;
};
static const struct meter METERS_V1[CGROUP_METERS] = {
    [METER_MEMORY_PEAK] = {CG_MEMORY, "memory.max_usage_in_bytes"}, [METER_OOM] = {CG_MEMORY, "memory.oom_control"},
    [METER_CPU_USER] = {CG_CPUACCT, "cpuacct.usage_user"}, [METER_CPU_SYSTEM] = {CG_CPUACCT, "cpuacct.usage_sys"},
    [METER_PIDS_PEAK] = {CG_PIDS, "pids.peak"}};
static const struct meter METERS_V2[CGROUP_METERS] = {
    [METER_MEMORY_PEAK] = {CG_MEMORY, "memory.peak"}, [METER_OOM] = {CG_MEMORY, "memory.events"},
    [METER_CPU_USER] = {CG_CPU, "cpu.stat"}, [METER_CPU_SYSTEM] = {CG_CPU, "cpu.stat"}, [METER_PIDS_PEAK] = {CG_PIDS, "pids.peak"}};

void cgroup_open_meter(struct cgroup *cg, int i)
{
    const struct meter *m = cg->host->kind == CGROUP_V2 ? &METERS_V2[i] : &METERS_V1[i];
    cg->meters[i] = i == METER_MEMORY_PEAK ? cgroup_open(cg, m->hierarchy, m->file, O_RDWR) : -1;
    if (cg->meters[i] < 0)
        cg->meters[i] = cgroup_open(cg, m->hierarchy, m->file, O_RDONLY);
}

static bool meter_text(const struct cgroup *cg, int i, char *ret, size_t size)
{
    ssize_t n = cg->meters[i] < 0 ? -1 : pread(cg->meters[i], ret, size - 1, 0);
    if (n < 0)
        return false;
    ret[n] = '\0';
    return true;
}

static bool meter_number(const struct cgroup *cg, int i, uint64_t *ret)
{
    char text[64], *end;
    if (!meter_text(cg, i, text, sizeof text))
        return false;
    *ret = strtoull(text, &end, 10);
    return end != text;
}

/* "key value" lines (memory.events, cpu.stat, memory.oom_control). */
static bool meter_keyed(const struct cgroup *cg, int i, const char *key, uint64_t *ret)
{
    char text[4096], *end;
    size_t n = strlen(key);
    if (!meter_text(cg, i, text, sizeof text))
        return false;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, n) == 0 && line[n] == ' ') {
            *ret = strtoull(line + n, &end, 10);
            return end != line + n;
        }
    return false;
}

void cgroup_usage(const struct cgroup *cg, unsigned what, struct cgroup_usage *ret)
{
    uint64_t v, w;
    *ret = (struct cgroup_usage){.memory_peak = -1, .cpu_user_ms = -1, .cpu_system_ms = -1, .pids_peak = -1};
    if (cg->name[0] == '\0')
        return;
    bool v2 = cg->host->kind == CGROUP_V2;
    if (what & CGROUP_PEAKS && meter_number(cg, METER_MEMORY_PEAK, &v))
        ret->memory_peak = (double)v;
    if (what & CGROUP_PEAKS && meter_number(cg, METER_PIDS_PEAK, &v))
        ret->pids_peak = (double)v;
    bool has_cpu = what & CGROUP_CPU &&
                   (v2 ? meter_keyed(cg, METER_CPU_USER, "user_usec", &v) && meter_keyed(cg, METER_CPU_SYSTEM, "system_usec", &w)
                       : meter_number(cg, METER_CPU_USER, &v) && meter_number(cg, METER_CPU_SYSTEM, &w));
    if (has_cpu) {
        double unit = v2 ? 1e3 : 1e6; /* microseconds, nanoseconds */
        ret->cpu_user_ms = (double)v / unit;
        ret->cpu_system_ms = (double)w / unit;
    }
    if (what & CGROUP_KILLS && meter_keyed(cg, METER_OOM, "oom_kill", &v))
        ret->oom_kills = v;
}

/* v1: any number sets the mark to what is used now. v2 (Linux 6.12): the same, for this descriptor; older ones refuse the write and
 * keep the peak since the group was made. */
void cgroup_reset_peak(const struct cgroup *cg)
{
    if (cg->name[0] && cg->meters[METER_MEMORY_PEAK] >= 0 && pwrite(cg->meters[METER_MEMORY_PEAK], "0", 1, 0) < 0)
        return;
}
