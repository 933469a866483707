/* Control groups: one group per jail, its limits set before anything enters it, metrics read from it, gone with it.
 * v1 (one hierarchy per controller), also beside a v2 mount without controllers (hybrid), and v2.
 * Groups are made below the group that the supervisor itself is in (v2: or near it, cgroup_unified.h), named
 * snipara-<pid of the supervisor>-<number>; groups of supervisors that no longer live are swept when the next one starts. Sources: admin-guide/cgroup-v1 and cgroup-v2.rst of the kernel.
 */
#ifndef SNIPARA_JAIL_CGROUP_H
#define SNIPARA_JAIL_CGROUP_H

#include "base/error.h"
#include "jail/layers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2, CGROUP_HYBRID };

#define CGROUP_HIERARCHIES 5 /* memory, pids, cpu, cpuacct, unified */
enum { CG_MEMORY, CG_PIDS, CG_CPU, CG_CPUACCT, CG_UNIFIED };

/* Where this process may make groups. */
struct cgroup_host {
    enum cgroup_kind kind;
    char *base[CGROUP_HIERARCHIES]; /* where groups are made, NULL: not usable; v2: all the same directory */
    bool shared_cpuacct;            /* cpu and cpuacct are one hierarchy */
    char reason[256];               /* in words: why there is none (NONE), why there is no CPU limit (V2) */
};

int cgroup_host_probe(struct cgroup_host *ret, struct error *err);
void cgroup_host_free(struct cgroup_host *h);
/* Why one of the CGROUP_* layers is missing; NULL: not known here. */
const char *cgroup_host_reason(const struct cgroup_host *h, enum layer l);
/* Remove groups that dead supervisors left. */
void cgroup_host_sweep(const struct cgroup_host *h);

enum { METER_MEMORY_PEAK, METER_OOM, METER_CPU_USER, METER_CPU_SYSTEM, METER_PIDS_PEAK, CGROUP_METERS };

struct cgroup_limits {
    uint64_t memory_bytes; /* of everything: heap, page cache of the jail's own files, tmpfs */
    uint64_t pids;
    double cpus;
};

struct cgroup {
    const struct cgroup_host *host;
    struct cgroup_limits limits;
    char name[64];
    layer_set layers;                /* CGROUP_* that hold */
    int enter[CGROUP_HIERARCHIES];   /* files that take "0" from a process that enters (v1 `tasks`, v2 `cgroup.procs`) */
    size_t enter_count;
    int meters[CGROUP_METERS];       /* accounts, read with every call: open since the group was made; -1: this kernel has none */
};

struct cgroup_usage {
    double memory_peak;   /* bytes, or -1 */
    double cpu_user_ms, cpu_system_ms; /* or -1 */
    double pids_peak;     /* or -1 */
    uint64_t oom_kills;
};

/* Make a group and set its limits; each limit is read back. Without any controller: an empty group with no layers, and 0. */
int cgroup_make(const struct cgroup_host *h, const struct cgroup_limits *limits, struct cgroup *ret, struct error *err);
/* Is the process in this group, in every hierarchy that has one? Without a group: 0. */
int cgroup_holds(const struct cgroup *cg, pid_t pid, struct error *err);
enum { CGROUP_CPU = 1, CGROUP_PEAKS = 2, CGROUP_KILLS = 4 };
/* Of CPU time, peaks and OOM kills what is asked for: each is a file to read, on the way of a call. The rest is -1, or no kills. */
void cgroup_usage(const struct cgroup *cg, unsigned what, struct cgroup_usage *ret);
void cgroup_reset_peak(const struct cgroup *cg); /* where the kernel allows it */
void cgroup_kill(const struct cgroup *cg);       /* cgroup.kill; nothing on v1, where the death of init ends everything */
/* Make the group of a jail that ended fit for the next one (ISOLATION.md row 35): 1 it is, 0 it cannot be (remove it), -1 processes are
 * still leaving it. */
int cgroup_renew(struct cgroup *cg);
/* Close the descriptors and remove the directories. false: processes are still leaving, try again in a moment (the descriptors
 * are closed already). */
bool cgroup_remove(struct cgroup *cg);

/* Between cgroup.c and cgroup_accounts.c: a file of the group, close-on-exec; one of its meters, -1 where the kernel has none. */
int cgroup_open(const struct cgroup *cg, int hierarchy, const char *file, int flags);
void cgroup_open_meter(struct cgroup *cg, int meter);

#endif
