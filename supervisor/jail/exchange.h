/* /session/output: the directory of a jail out of which files are collected, and how the supervisor comes by it.
 *
 * It is a mount of its own, a bind of a directory of /session (so one tmpfs bounds both): the guest can neither rename nor remove
 * a mount point, and RESOLVE_NO_XDEV keeps a walk in it. Nothing in it is a device, a program, set-id or a link that is followed.
 * init opens it before any guest code is there and hands the descriptor over its control socket. No path into a running jail is
 * ever resolved by the supervisor: /proc/<pid>/root would be a name for whatever the guest has made of it by then, and joining
 * the jail's namespaces would put a process of ours among the guest's.
 */
#ifndef SNIPARA_JAIL_EXCHANGE_H
#define SNIPARA_JAIL_EXCHANGE_H

#include "base/error.h"

#define EXCHANGE_DIRECTORY "session/output"

/* In init, the working directory being the root of the tree, after /session was mounted there. */
int exchange_mount(struct error *err);
/* In init, in the finished tree and before the payload may join. *ret is -1 in a jail without /session. */
int exchange_open(int *ret, struct error *err);
/* In the supervisor: is this descriptor a directory on a tmpfs? */
int exchange_check(int directory, struct error *err);

#endif
