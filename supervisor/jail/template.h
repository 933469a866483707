/* The part of a jail's mount tree that all jails of a policy share, built once by the maker as its own root: the policy's binds,
 * /dev, /etc and an empty /proc, everything but devices read-only. Each jail gets it as a copy when its mount namespace is
 * made (clone3 copies the maker's), so a jail needs no pivot_root and no detaching of an old root, whose wait for an RCU grace
 * period would be most of its p99. The copies are locked: nothing in a jail can unmount or loosen them (mount_namespaces(7)).
 */
#ifndef SNIPARA_JAIL_TEMPLATE_H
#define SNIPARA_JAIL_TEMPLATE_H

#include "base/error.h"
#include "jail/plan.h"

/* Enter a mount namespace that holds the template and nothing of the host's; "/" and the working directory are its root then.
 * The caller has capabilities in the user namespace that owns it. */
int template_enter(const struct jail_plan *plan, struct error *err);

#endif
