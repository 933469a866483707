#include "jail/cgroup_pool.h"

#include <string.h>

static bool same_limits(const struct cgroup_limits *a, const struct cgroup_limits *b)
{
    return a->memory_bytes == b->memory_bytes && a->pids == b->pids && a->cpus == b->cpus;
}

int cgroup_pool_take(struct cgroup_pool *pool, const struct cgroup_host *h, const struct cgroup_limits *limits, struct cgroup *ret,
                     struct error *err)
{
    for (size_t i = pool->count; i-- > 0;)
        if (same_limits(&pool->kept[i].limits, limits)) {
            *ret = pool->kept[i];
            pool->kept[i] = pool->kept[--pool->count];
            return 0;
        }
    return cgroup_make(h, limits, ret, err);
}

bool cgroup_pool_give(struct cgroup_pool *pool, struct cgroup *cg)
{
    /* Without descriptors it was removed in part already (the call before found it busy). */
    int fit = pool->count < CGROUP_POOL_SIZE && cg->name[0] && cg->enter_count > 0 ? cgroup_renew(cg) : 0;
    if (fit < 0)
        return false;
    if (fit == 0)
        return cgroup_remove(cg);
    pool->kept[pool->count++] = *cg;
    memset(cg, 0, sizeof *cg);
    return true;
}

void cgroup_pool_empty(struct cgroup_pool *pool)
{
    while (pool->count > 0)
        cgroup_remove(&pool->kept[--pool->count]);
}
