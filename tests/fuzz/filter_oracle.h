/* What a seccomp profile says, read from its JSON without the code under test, and what a compiled program answers. */
#ifndef SNIPARA_TESTS_FILTER_ORACLE_H
#define SNIPARA_TESTS_FILTER_ORACLE_H

#include "policy/seccomp.h"

#include <linux/seccomp.h>

/* The program is what the kernel takes, and answers every probe as the profile says. */
void filter_check(const cJSON *oci, const struct seccomp_compiled *compiled);

/* Each probe of either profile that `child` lets run is one that `parent` lets run. */
void filter_check_narrower(const cJSON *child_oci, const struct seccomp_compiled *child, const cJSON *parent_oci,
                           const struct seccomp_compiled *parent);

#endif
