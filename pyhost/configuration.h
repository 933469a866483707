/* The policy as pyhost needs it: read once by the zygote from the memfd of ZYGOTE_CONFIG, then constant. It holds no secret:
 * every payload inherits it. */
#ifndef SNIPARA_PYHOST_CONFIGURATION_H
#define SNIPARA_PYHOST_CONFIGURATION_H

#include "base/error.h"
#include "jail/seal.h"

#include <stdbool.h>
#include <stddef.h>

struct names {
    char **items;
    size_t count;
};

struct configuration {
    char *policy;                 /* name, for messages */
    bool restricted;              /* the language is the policy's subset */
    struct names denied_nodes, denied_attributes, denied_builtins, allowed_names; /* sorted */
    bool imports_allow_list;      /* true: only `imports`; false: all but `imports` */
    struct names imports;         /* sorted */
    struct names preload, guest_paths;
    bool lean;                    /* no warm-up: one call will come */
    size_t value_bytes;
    char *executable;             /* sys.executable in the jail, "" for none */
    char *cwd;
    struct seal_plan seal;
};

/* Read the whole descriptor (at most 8 MiB) and take every field. Unknown tags are errors: both ends are one release. */
int configuration_read(int fd, struct configuration *ret, struct error *err);

/* Is `name` in a sorted list? */
bool names_have(const struct names *names, const char *name);

/* Does the guard have anything to say under this policy? */
bool configuration_guarded(const struct configuration *c);

#endif
