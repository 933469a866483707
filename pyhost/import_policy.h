/* Between imports.c, which installs the hooks, and import_policy.c, which decides. */
#ifndef SNIPARA_PYHOST_IMPORT_POLICY_H
#define SNIPARA_PYHOST_IMPORT_POLICY_H

#include "configuration.h"

#include <stdbool.h>

void import_policy_use(const struct configuration *c);
/* Code below `directory` is not guest code. -1: out of memory. */
int import_policy_trust(const char *directory);
/* Is it a file of the import system itself, which imports on behalf of its caller? */
bool import_policy_is_machinery(const char *filename);

#endif
