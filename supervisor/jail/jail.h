/* One jail: made, killed, measured. The supervisor's side of maker, init and cgroup. */
#ifndef SNIPARA_JAIL_JAIL_H
#define SNIPARA_JAIL_JAIL_H

#include "base/error.h"
#include "jail/cgroup.h"
#include "jail/denials.h"
#include "jail/outer.h"
#include "jail/plan.h"

#include <sys/types.h>

/* The yard: the maker in its outer user namespace, and where cgroups can be made. One per supervisor. */
struct yard {
    struct outer_process maker;
    int user_namespace;      /* of the maker, for zygotes to join */
    struct cgroup_host cgroups;
    uint64_t requests;       /* to the maker, counted: the nonce of the last one */
};

/* Starts the maker (this program again, with MAKER_ARGUMENT and an empty environment). On failure nothing is left. */
int yard_open(struct yard *ret, struct error *err);
void yard_close(struct yard *y);

struct jail {
    pid_t init;              /* pid 1 of the jail, our child, in our pid namespace */
    int init_pidfd;          /* readable when the whole jail is gone */
    int control;             /* closing it ends init, and with it everything inside */
    int notify;              /* the payload's end for the seccomp listener; closed once it was handed on */
    struct cgroup cgroup;
    struct denials *denials; /* shared with init */
    struct denials seen;
    layer_set layers;        /* that init and the cgroup verified; the payload's own come on top */
};

/* Make a jail and wait until its init has verified the mount tree (about 3 ms; bounded at 10 s). */
int jail_make(struct yard *y, const struct jail_plan *plan, const struct cgroup_limits *limits, struct jail *ret, struct error *err);

/* SIGKILL to pid 1, which takes every process of the pid namespace with it, and cgroup.kill where there is one. Returns at once. */
void jail_kill(struct jail *j);

/* After init_pidfd became readable: reap, close, remove the cgroup. false: the cgroup is still emptying (rare: a process in
 * uninterruptible exit); call again. */
bool jail_end(struct jail *j);

/* What one process of the jail looks like from outside (/proc/<pid>): no_new_privs, a seccomp filter, no capabilities, a uid that
 * is not ours as root, namespaces other than ours. Adds nothing: an error when a claim does not hold. */
int jail_inspect(pid_t pid, layer_set claimed, struct error *err);

#endif
