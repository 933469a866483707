/* The record of trusted project policies: $XDG_STATE_HOME/snipara-sandbox/trusted-policies, one "digest path" a line. A text is
 * trusted at one place: elsewhere its paths and its parent mean other things. */
#ifndef SNIPARA_POLICY_TRUST_H
#define SNIPARA_POLICY_TRUST_H

#include "base/digest.h"
#include "base/error.h"

#include <stdbool.h>

/* `real_path` is canonical. *ret is false when there is no record. An unsafe record file (not the user's own, or writable by others) is an error. */
int trust_check(const char *digest, const char *real_path, bool *ret, struct error *err);
/* Add it, or put a new digest in the place of the old one for this path. The file is replaced atomically. */
int trust_record(const char *digest, const char *real_path, struct error *err);

#endif
