/* The directories of policies and of seccomp profiles, in the order in which a name is looked up: installed, the operator's
 * ($XDG_CONFIG_HOME or ~/.config, then /etc), the project's. The first that has a name keeps it: nothing shadows an installed
 * policy.
 */
#ifndef SNIPARA_POLICY_SEARCH_H
#define SNIPARA_POLICY_SEARCH_H

#include "base/buf.h"
#include "policy/policy.h"

#define SEARCH_PLACES 4
#define PROJECT_POLICIES ".snipara-sandbox/policies"

struct place {
    enum policy_origin origin;
    char directory[4096]; /* "" when this host has no such place (no HOME) */
};

void search_places(struct place ret[SEARCH_PLACES]);

/* Path and origin of policy `name`; with `trusted_only` the project's directory is not looked at. The error lists the known
 * names. *ret_path is the caller's. */
int search_policy(const char *name, bool trusted_only, char **ret_path, enum policy_origin *ret_origin, struct error *err);
/* Path of seccomp profile `name` ("seccomp/NAME.json" below a trusted place). */
int search_profile(const char *name, char **ret_path, struct error *err);

/* Origin of a file that was named by its path: it is judged by where it lies. *ret_real is its canonical path (the caller's). */
int search_origin(const char *path, char **ret_real, enum policy_origin *ret_origin, struct error *err);

/* Read a policy file; a project's is walked without following symbolic links. */
int search_read(const char *path, enum policy_origin origin, struct buf *ret, struct error *err);

#endif
