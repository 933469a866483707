/* A policy's seccomp section made whole: profile file, additions, and what the network mode needs. Pure. */
#ifndef SNIPARA_POLICY_SECCOMP_RESOLVE_H
#define SNIPARA_POLICY_SECCOMP_RESOLVE_H

#include "policy/policy.h"

/* `profile` over which `add` (array or NULL) is laid, oldest entry first. An entry without arguments decides its calls alone: all
 * that stood before about them is dropped. An entry that permits with arguments drops what denied them. *ret is a new OCI object. */
int seccomp_resolve(const cJSON *profile, const cJSON *add, enum network_mode network, cJSON **ret, struct error *err);

/* May `child` have these additions, given its parent's? It may deny more; it may not permit. The message names the entry. */
int seccomp_narrower(const cJSON *parent_add, const cJSON *child_add, struct error *err);

#endif
