/* Network namespaces made ahead of their use (about 0.5 ms each), each handed out once: TIME_WAIT sockets and counters of one jail
 * must not be another's. They belong to the outer user namespace, so no process of a jail has capabilities over its own. */
#ifndef SNIPARA_JAIL_NET_POOL_H
#define SNIPARA_JAIL_NET_POOL_H

#include "base/error.h"

#include <stdbool.h>

#define NET_POOL_SIZE 4

struct net_pool {
    int ready[NET_POOL_SIZE];
    int count;
    int home;          /* our own */
    int proc;          /* descriptor of a /proc that shows us; the caller's */
    bool loopback;     /* lo is brought up */
};

/* Enter a network namespace that nobody has used; a new one when none is ready. Children are born in it. */
int net_pool_enter(struct net_pool *pool, struct error *err);

/* `proc` and `loopback` are set. Moves to a new namespace of our own: the host's could not be entered again. */
int net_pool_open(struct net_pool *pool, struct error *err);

/* Make one more; true while there is room. */
bool net_pool_fill(struct net_pool *pool);

/* Back to our own namespace, so that none of a jail's lives on through us. */
int net_pool_leave(const struct net_pool *pool, struct error *err);

#endif
