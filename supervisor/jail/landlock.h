/* Landlock (landlock(7)): every right that the running kernel knows is handled, so what no rule allows is denied. */
#ifndef SNIPARA_JAIL_LANDLOCK_H
#define SNIPARA_JAIL_LANDLOCK_H

#include "base/error.h"
#include "jail/seal.h"

/* ABI version of the running kernel; 0: none (not built in, or disabled at boot). */
int landlock_abi(void);

/* Restrict the calling thread, for good, to the paths of the plan. no_new_privs must be set. A path that does not exist is
 * skipped: what is not there needs no rule. TCP bind and connect are denied unless plan->landlock_network; signals and abstract
 * sockets are scoped to the jail (ABI 6). 1: in force, and seen to be; 0: a kernel without Landlock, and plan->landlock_optional. */
int landlock_restrict(const struct seal_plan *plan, struct error *err);

#endif
