/* From a complete document to struct policy, and the rule that `extends` only narrows. */
#ifndef SNIPARA_POLICY_BUILD_H
#define SNIPARA_POLICY_BUILD_H

#include "policy/policy.h"

/* `json` is a checked and merged document. Values are checked against each other here. Errors begin with the key. */
int policy_build(const cJSON *json, struct policy **ret, struct error *err);

/* Does `child` allow nothing that `parent` does not? With `project` also: no preload or environment of its own. The error names the
 * key and both sides, without the remedy. Pure. */
int policy_narrower(const struct policy *parent, const struct policy *child, bool project, struct error *err);

#endif
