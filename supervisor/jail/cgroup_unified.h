/* cgroup v2: the group below which jails can have theirs. Internal to cgroup_host.c. */
#ifndef SNIPARA_JAIL_CGROUP_UNIFIED_H
#define SNIPARA_JAIL_CGROUP_UNIFIED_H

#include <stdbool.h>
#include <stddef.h>

/* `own` is the directory of our own group, `top` the mount point. The first that can be had of
 * - our own group, when it is the root or already hands controllers down;
 * - our own group after we moved into a leaf of it, snipara-supervisor: with everybody else who is in it when it was delegated
 *   (systemd Delegate=, the root of a container's cgroup namespace), else only if we are alone in it;
 * - the nearest group above that we may use: a slice for root in a login session, app.slice for a user below systemd --user.
 * true: ret_base is set; a reason then says why there will be no CPU limit, "" when there will be. false: the reason says why. */
bool cgroup_unified_find(const char *own, const char *top, char *ret_base, size_t size, char *reason, size_t reason_size);

#endif
