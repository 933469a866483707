/* The jail's file tree, built by init in its own mount namespace: a tmpfs root that holds only what the plan names, then
 * pivot_root and the old tree let go. Everything is nosuid and nodev; what can be written is noexec; the root is read-only. */
#ifndef SNIPARA_JAIL_MOUNTS_H
#define SNIPARA_JAIL_MOUNTS_H

#include "base/error.h"
#include "jail/plan.h"

/* Caller: pid 1 of fresh user, mount and pid namespaces with all capabilities there, its ids already JAIL_UID.
 * On success *ret_layers gets PIVOT_ROOT, READ_ONLY_ROOT and, where the kernel lets it be mounted, PROC. The result has been
 * verified from inside: no mount that the plan does not name, no propagation, no write to the root. */
int mounts_build(const struct jail_plan *plan, layer_set *ret_layers, struct error *err);

#endif
