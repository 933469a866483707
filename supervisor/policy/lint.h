/* Findings about a policy: {severity, where, message}. */
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

#endif
