/* Modules of the standard library that we adjust, but that few programs need: they are adjusted when the guest imports them, instead of
 * being imported at the start. For a program that runs one call (configuration.lean) that is all of them. */
#ifndef SNIPARA_PYHOST_DEFERRED_H
#define SNIPARA_PYHOST_DEFERRED_H

#include "base/error.h"

struct deferred {
    const char *module;
    int (*adjust)(struct error *err); /* right after its code has run; a failure becomes an ImportError */
};

/* `list` ends with a NULL module and stays the caller's. Before the policy's own import hooks. */
int deferred_install(const struct deferred *list, struct error *err);

#endif
