/* Findings about a policy: {severity, where, message}. An "error" refuses it in `policy check`, "warning" and "note" do not. */
#ifndef SNIPARA_POLICY_LINT_H
#define SNIPARA_POLICY_LINT_H

#include "policy/policy.h"

struct findings {
    cJSON *list;
    bool failed; /* out of memory: the list is not whole */
};

void finding(struct findings *f, const char *severity, const char *where, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The rules of the resolved seccomp profile. */
void lint_seccomp(const cJSON *oci, struct findings *f);

/* The calls that are allowed with a comment or not at all, by index; NULL behind the last. */
const char *lint_dangerous_call(size_t index);

#endif
