#include "jail/net_pool.h"

#include "base/cleanup.h"
#include "base/mutant.h"
#include "jail/loopback.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

static int make(const struct net_pool *pool, struct error *err)
{
    if (unshare(CLONE_NEWNET) < 0)
        return error_set(err, "namespace.network", errno, "a network namespace cannot be made");
    return pool->loopback ? loopback_up(err) : 0;
}

/* Two jails in one network namespace would see each other: what says that it moved us is asked where we are. */
static int enter(const struct net_pool *pool, int fd, struct error *err)
{
    struct stat wanted, now;
    if (setns(fd, CLONE_NEWNET) < 0)
        return error_set(err, "namespace.network", errno, "a network namespace cannot be entered");
    if (fstat(fd, &wanted) < 0 || fstatat(pool->proc, "self/ns/net", &now, 0) < 0 || wanted.st_ino != now.st_ino)
        return error_set(err, "namespace.network", 0, "the network namespace is not the one that was entered");
    return 0;
}

int net_pool_enter(struct net_pool *pool, struct error *err)
{
    if (mutant(30))
        return 0;
    if (pool->count == 0)
        return make(pool, err);
    cleanup_fd int fd = pool->ready[--pool->count];
    return enter(pool, fd, err);
}

bool net_pool_fill(struct net_pool *pool)
{
    struct error ignored; /* the request that finds the pool empty tells it */
    if (pool->count == NET_POOL_SIZE || mutant(30) || make(pool, &ignored) < 0)
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
    if (!mutant(30) && unshare(CLONE_NEWNET) < 0)
        return error_set(err, "namespace.network", errno, "a network namespace cannot be made");
    pool->home = openat(pool->proc, "self/ns/net", O_RDONLY | O_CLOEXEC);
    return pool->home < 0 ? error_set(err, "namespace.network", errno, "our own network namespace cannot be opened") : 0;
}

int net_pool_leave(const struct net_pool *pool, struct error *err)
{
    return !mutant(30) && enter(pool, pool->home, err) < 0 ? error_wrap(err, "our own network namespace") : 0;
}
