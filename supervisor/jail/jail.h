/* One jail: made, killed, measured. The supervisor's side of maker, init and cgroup. Nothing here waits: answers come over
 * descriptors that the caller's loop watches (jail_make, for those who have no loop, is the exception). */
#ifndef SNIPARA_JAIL_JAIL_H
#define SNIPARA_JAIL_JAIL_H

#include "base/error.h"
#include "jail/cgroup.h"
#include "jail/cgroup_pool.h"
#include "jail/denials.h"
#include "jail/outer.h"
#include "jail/plan.h"

#include <stdbool.h>
#include <sys/types.h>

/* The outer user namespace, and where cgroups can be made. One per supervisor. */
struct yard {
    int user_namespace;      /* makers and zygotes join it */
    bool has_looked;         /* for cgroups */
    struct cgroup_host cgroups;
};

/* Makes the namespace. On failure nothing is left; err names the layer and the remedy. */
int yard_open(struct yard *ret, struct error *err);
/* Find where cgroups can be made, and remove what dead supervisors left there: a millisecond, once, before the first jail at the latest.
 * That there are none is no error. */
int yard_find_cgroups(struct yard *y, struct error *err);
void yard_close(struct yard *y);

/* The supervisor's end of a maker: one per plan. */
struct jail_maker {
    struct outer_process process;
    bool ready;              /* its mount template stands */
    uint64_t requests;       /* counted: the nonce of the last one */
};

/* What a maker says. */
struct maker_word {
    uint64_t request;
    bool made;               /* else it failed: `failure` */
    pid_t init;
    uint64_t clone_us;
    struct error failure;
};

/* Start the program: itself again, with MAKER_ARGUMENT and an empty environment. */
int jail_maker_start(struct yard *y, struct jail_maker *ret, struct error *err);
/* Send it the plan, once; it answers READY. Requests may follow at once. */
int jail_maker_plan(struct jail_maker *m, const struct jail_plan *plan, struct error *err);
void jail_maker_stop(struct jail_maker *m);
bool jail_maker_ended(const struct jail_maker *m);
/* Read one message: 1 *ret is filled, 0 nothing there (or the word that it is ready), -1 it is of no use any more, stop it. */
int jail_maker_hear(struct jail_maker *m, struct maker_word *ret, struct error *err);

/* How long the steps took, in microseconds; for the receipt. */
struct jail_times {
    uint64_t cgroup, clone, maps, mounts, init_seal;
};

struct jail {
    pid_t init;              /* pid 1 of the jail, our child, in our pid namespace; -1: not known yet, or reaped */
    int init_pidfd;          /* readable when the whole jail is gone */
    int control;             /* closing it ends init, and with it everything inside */
    int output;              /* the directory /session/output (exchange.h), once it is ready; -1: none */
    int notify;              /* the payload's end for the seccomp listener; closed once it was handed on */
    uint64_t request;        /* at the maker */
    bool ready;              /* init verified the mount tree */
    struct cgroup cgroup;
    struct denials *denials; /* shared with init */
    struct denials seen;
    layer_set layers;        /* that init and the cgroup verified; the payload's own come on top */
    struct jail_times times;
};

/* Ask for a jail. The cgroup comes from `pool` (or is made) and goes back there. -1: nothing was started. */
int jail_begin(struct yard *y, struct jail_maker *maker, struct cgroup_pool *pool, const struct cgroup_limits *limits, struct jail *ret,
               struct error *err);
/* The maker's word for this jail's request. 0: init runs, watch `control` and call jail_hear. -1: jail_kill and jail_end it. */
int jail_made(struct jail *j, const struct maker_word *word, struct error *err);
/* Init's word: 1 ready, 0 nothing there yet, -1 it failed or ended. */
int jail_hear(struct jail *j, struct error *err);
/* All of it, waiting (about 3 ms; bounded at 10 s). */
int jail_make(struct yard *y, struct jail_maker *maker, struct cgroup_pool *pool, const struct cgroup_limits *limits, struct jail *ret,
              struct error *err);

/* SIGKILL to pid 1, which takes every process of the pid namespace with it, and cgroup.kill where there is one. Returns at once. */
void jail_kill(struct jail *j);

/* After init_pidfd became readable: reap, close, give the cgroup back. false: it is still leaving, call again in a moment. A jail
 * whose maker never answered has no init that we know of: closing `control` ends it. */
bool jail_end(struct jail *j, struct cgroup_pool *pool);

/* Reap every dead child of ours that is a jail's process and neither an init nor `known`: a payload whose zygote died before it
 * named it, and for which its init would wait for ever. Whose it was does not matter. */
void jail_reap_orphans(bool (*known)(const void *context, pid_t pid), const void *context);

/* What one process of the jail looks like from outside (/proc/<pid>): no_new_privs, a seccomp filter, no capabilities, a uid that
 * is not ours as root, namespaces other than ours. Adds nothing: an error when a claim does not hold. */
int jail_inspect(pid_t pid, layer_set claimed, struct error *err);
/* The same for init, which seals itself before it reports, and its place in the cgroup. */
int jail_inspect_init(const struct jail *j, struct error *err);

/* Is one of the bounded file systems of this process's jail full, of bytes or of files? From the kernel (statfs(2)); false when the
 * process is gone. */
bool jail_disk_full(pid_t pid);

#endif
