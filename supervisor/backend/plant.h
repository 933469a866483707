/* A plant: one policy compiled for this host: jail plan, seal plan, environment. */
#ifndef SNIPARA_BACKEND_PLANT_H
#define SNIPARA_BACKEND_PLANT_H

#include "base/error.h"
#include "jail/plan.h"
#include "jail/seal.h"
#include "policy/policy.h"
#include "policy/seccomp.h"

struct plant {
    struct policy *policy;          /* owned */
    struct seccomp_compiled *seccomp;
    struct jail_plan jail;
    struct seal_plan seal;
    layer_set required, optional;
    struct strings environment;     /* NAME=value, NULL-terminated items */
    uint64_t disk_bytes;            /* all tmpfs together */
};

/* All but the seccomp programs; takes the policy over (also on failure). */
int plant_new(struct policy *policy, struct plant **ret, struct error *err);
/* Compile the seccomp programs, once (about 5 ms: a program that runs one call has its interpreter start meanwhile). */
int plant_compile(struct plant *p, struct error *err);
void plant_free(struct plant *p);

/* The body of ZYGOTE_CONFIG (protocol.h). `lean`: nothing is preloaded or warmed up. */
int plant_zygote_config(const struct plant *p, bool lean, struct buf *ret, struct error *err);

#endif
