/* What the maker and init need to know to build a jail: plain data, made once per policy by the backend. */
#ifndef SNIPARA_JAIL_PLAN_H
#define SNIPARA_JAIL_PLAN_H

#include "base/error.h"
#include "base/wire.h"
#include "jail/layers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_MOUNTS 64

enum plan_mount_kind { PLAN_BIND_RO, PLAN_BIND_RW, PLAN_TMPFS };

struct plan_mount {
    uint8_t kind;
    bool optional;   /* a source that is not there is left out */
    bool exec;       /* false: noexec */
    uint64_t bytes, inodes; /* tmpfs */
    char *source;    /* "" for tmpfs */
    char *target;    /* absolute, in the jail */
};

struct jail_plan {
    struct plan_mount mounts[PLAN_MOUNTS];
    size_t mount_count;
    char *rootfs;            /* a directory used as root, read-only, instead of single mounts; NULL: none */
    bool loopback;           /* bring lo up */
    bool single;             /* one jail is all that will be asked for: the maker prepares nothing for the next */
    bool distinct_uid;       /* set by the maker: the outer namespace maps a range */
    bool need_time_namespace, need_cgroup_namespace; /* refuse when the kernel has none; else leave them out */
    int16_t errno_of[1024];  /* what init answers to a denied call, by number */
};

int jail_plan_add(struct jail_plan *plan, struct plan_mount mount, struct error *err); /* copies the strings */
void jail_plan_free(struct jail_plan *plan);
int jail_plan_put(const struct jail_plan *plan, struct buf *b);
/* Fill an empty plan from fields (unknown tags are errors). */
int jail_plan_take(struct jail_plan *plan, struct wire_cursor fields, struct error *err);

#endif
