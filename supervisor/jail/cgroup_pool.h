/* Cgroups with their limits set, kept for the next jail: making and removing one costs more than all mounts of a jail together.
 * One that comes back is taken again only when it is empty and its accounts start afresh (ISOLATION.md row 35): what cannot be reset
 * is either read as a difference (cpu time, OOM kills) or made anew (the pids group, whose peak stays). On cgroup v2 without a
 * resettable memory.peak nothing is kept. */
#ifndef SNIPARA_JAIL_CGROUP_POOL_H
#define SNIPARA_JAIL_CGROUP_POOL_H

#include "jail/cgroup.h"

#define CGROUP_POOL_SIZE 16

struct cgroup_pool {
    struct cgroup kept[CGROUP_POOL_SIZE];
    size_t count;
};

/* One with exactly these limits: from the pool, or made. */
int cgroup_pool_take(struct cgroup_pool *pool, const struct cgroup_host *h, const struct cgroup_limits *limits, struct cgroup *ret,
                     struct error *err);
/* Give back. false: processes are still leaving it, try again in a moment. */
bool cgroup_pool_give(struct cgroup_pool *pool, struct cgroup *cg);
void cgroup_pool_empty(struct cgroup_pool *pool);

#endif
