/* One policy file as it was found: where, how far it is believed, its checked document. */
#ifndef SNIPARA_POLICY_LOAD_H
#define SNIPARA_POLICY_LOAD_H

#include "base/digest.h"
#include "policy/policy.h"

struct policy_source {
    char *path;               /* set by the caller, as is the origin */
    enum policy_origin origin;
    cJSON *json;
    char digest[DIGEST_TEXT]; /* of the file's bytes */
};

/* Read and check the file at s->path. A project's file whose text is on record becomes POLICY_PROJECT_TRUSTED; with `trusting` it
 * does so without a record (policy_trust is about to make one). Errors begin with the path. */
int policy_source_read(struct policy_source *s, bool trusting, struct error *err);
void policy_source_free(struct policy_source *s);
#define cleanup_policy_source __attribute__((cleanup(policy_source_free)))

#endif
