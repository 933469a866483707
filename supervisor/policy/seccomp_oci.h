/* The OCI runtime-spec seccomp object (config-linux.md, "Seccomp") as rules by call number. Pure but for libseccomp's tables. */
#ifndef SNIPARA_POLICY_SECCOMP_OCI_H
#define SNIPARA_POLICY_SECCOMP_OCI_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OCI_ARGUMENTS 6

struct oci_rule {
    int number;        /* on the architecture that the profile is read for: for tables and BPF */
    int native;        /* what libseccomp's interface takes: the native number, or its pseudo number for a call that is not native */
    const char *name;  /* lives in the JSON */
    uint32_t action;   /* SCMP_ACT_* with its errno */
    struct scmp_arg_cmp args[OCI_ARGUMENTS];
    unsigned arg_count;
};

struct oci_profile {
    uint32_t default_action;
    struct oci_rule *rules;
    size_t count;
};

/* Unknown keys, actions, operators and what this program cannot honour (flags, listenerPath, docker's template members) are
 * errors that name the entry ("syscalls[3].args[0].op"). Calls that `arch` (SCMP_ARCH_*, the native one by its own value) lacks are
 * left out. */
int oci_parse(const cJSON *oci, uint32_t arch, struct oci_profile *ret, struct error *err);
void oci_free(struct oci_profile *profile);

/* Check an array in the form of `syscalls`; `where` is its name in messages. */
int oci_check_entries(const cJSON *entries, const char *where, struct error *err);

/* Does the action let the call run? (ALLOW and LOG) */
bool oci_permits(const char *action);

static inline bool action_is_errno(uint32_t action) { return (action & 0xffff0000u) == SCMP_ACT_ERRNO(0); }
static inline int action_errno(uint32_t action) { return (int)(action & 0xffffu); }

#endif
