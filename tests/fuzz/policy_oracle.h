/* "Narrower" by what a policy lets happen, told without policy_narrower: modules that can be imported, what is seen at a path. */
#ifndef SNIPARA_TESTS_POLICY_ORACLE_H
#define SNIPARA_TESTS_POLICY_ORACLE_H

#include "policy/policy.h"

/* Aborts when `child` allows what `parent` does not. The programs of seccomp are compared elsewhere (filter_oracle.h). */
void policy_check_narrower(const struct policy *parent, const struct policy *child);

#endif
