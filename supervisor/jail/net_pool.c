#include "jail/net_pool.h"

#include "base/cleanup.h"
#include "jail/loopback.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>

static int make(const struct net_pool *pool, struct error *err)
{
    if (unshare(CLONE_NEWNET) < 0)
        return error_set(err, "namespace.network", errno, "a network namespace cannot be made");
    return pool->loopback ? loopback_up(err) : 0;
}

int net_pool_enter(struct net_pool *pool, struct error *err)
{
    if (pool->count == 0)
        return make(pool, err);
    cleanup_fd int fd = pool->ready[--pool->count];
    return setns(fd, CLONE_NEWNET) < 0 ? error_set(err, "namespace.network", errno, "a network namespace cannot be entered") : 0;
}

bool net_pool_fill(struct net_pool *pool)
{
    struct error ignored; /* the request that finds the pool empty tells it */
    if (pool->count == NET_POOL_SIZE || make(pool, &ignored) < 0)
        return false;
    int fd = openat(pool->proc, "self/ns/net", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    pool->ready[pool->count++] = fd;
    return pool->count < NET_POOL_SIZE;
}

int net_pool_open(struct net_pool *pool, struct error *err)
{
    pool->count = 0;
    if (unshare(CLONE_NEWNET) < 0)
        return error_set(err, "namespace.network", errno, "a network namespace cannot be made");
    pool->home = openat(pool->proc, "self/ns/net", O_RDONLY | O_CLOEXEC);
    return pool->home < 0 ? error_set(err, "namespace.network", errno, "our own network namespace cannot be opened") : 0;
}

int net_pool_leave(const struct net_pool *pool, struct error *err)
{
    return setns(pool->home, CLONE_NEWNET) < 0 ? error_set(err, "namespace.network", errno, "our own network namespace cannot be entered") : 0;
}
