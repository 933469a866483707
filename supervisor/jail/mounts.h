/* What a jail's mount tree has of its own, on top of the template that its namespace is a copy of (template.h): a fresh /proc and
 * the writable tmpfs mounts. Then the whole tree is read back from the kernel. */
#ifndef SNIPARA_JAIL_MOUNTS_H
#define SNIPARA_JAIL_MOUNTS_H

#include "base/error.h"
#include "jail/layers.h"
#include "jail/plan.h"

/* For init, in its new namespaces, before it seals itself. `host_proc`: a descriptor of a /proc that shows init, for the reading
 * back. Adds LAYER_PROC, LAYER_PIVOT_ROOT, LAYER_READ_ONLY_ROOT as they hold. */
int mounts_own(const struct jail_plan *plan, int host_proc, layer_set *ret_layers, struct error *err);

#endif
