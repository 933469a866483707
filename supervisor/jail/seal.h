/* The last stage: a process in the jail's namespaces gives up everything before guest code runs.
 * Order (ISOLATION.md, rule 1): rlimits (but the one on open files, which is last of all), ids, bounding and ambient and the other capability sets, securebits locked, parent
 * death signal is not used here (the jail ends with its init), no_new_privs, Landlock, seccomp last. Each step is read back
 * from the kernel after it was set. Used by the zygote's children; links only base/ (error, wire, fdpass).
 */
#ifndef SNIPARA_JAIL_SEAL_H
#define SNIPARA_JAIL_SEAL_H

#include "base/error.h"
#include "base/wire.h"
#include "jail/layers.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#define SEAL_RLIMITS 16
#define SEAL_PATHS 64

struct seal_path {
    char *path;   /* in the jail */
    bool write;   /* files may be made and changed below it */
    bool exec;
};

struct seal_plan {
    uint32_t uid, gid;                       /* inside the jail */
    struct { int resource; uint64_t value; } rlimits[SEAL_RLIMITS]; /* soft = hard */
    size_t rlimit_count;
    struct seal_path paths[SEAL_PATHS];      /* Landlock; other files are out of reach, directories may be listed */
    size_t path_count;
    bool landlock_network;                   /* true: TCP bind and connect stay possible */
    bool landlock_optional;                  /* true: a kernel without Landlock will do */
    struct sock_filter *filter, *filter_notify;
    size_t filter_count, filter_notify_count;
};

void seal_plan_free(struct seal_plan *plan);

/* The plan as wire fields (tags SEAL_TAG_*, below), for the zygote's configuration message. */
int seal_plan_put(const struct seal_plan *plan, struct buf *b);
/* Take one field into the plan: 1 = it was one of ours, 0 = not ours, -1 = malformed. */
int seal_plan_take(struct seal_plan *plan, const struct wire_field *field, struct error *err);

enum {
    SEAL_TAG_FIRST = 0x100,
    SEAL_TAG_IDS = SEAL_TAG_FIRST, /* u32 uid, u32 gid */
    SEAL_TAG_RLIMIT,               /* u64 resource, u64 value */
    SEAL_TAG_PATH,                 /* byte write, byte exec, path */
    SEAL_TAG_LANDLOCK,     /* u64: 1 network, 2 optional */
    SEAL_TAG_FILTER,               /* struct sock_filter[] */
    SEAL_TAG_FILTER_NOTIFY,
    SEAL_TAG_LAST = SEAL_TAG_FILTER_NOTIFY
};

/* Seal the calling single-threaded process for good. `notify_sock` (or -1): a unix socket over which the seccomp listener is
 * handed to init; -1, or a kernel that refuses a listener, means the filter that answers by itself. *ret_layers gets the bits of
 * the layers that were set and verified. `deny_exec` etc. are part of the filter. On failure nothing may run: the caller exits.
 * The caller has already joined the namespaces and closed the descriptors that the guest must not have. */
int seal_self(const struct seal_plan *plan, int notify_sock, layer_set *ret_layers, struct error *err);

#endif
