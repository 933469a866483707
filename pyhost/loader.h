/* Modules from directories that are not the interpreter's own (/session, /workspace): their source goes through the guard like a
 * cell, and a .pyc of theirs is never loaded, since nobody has checked it. */
#ifndef SNIPARA_PYHOST_LOADER_H
#define SNIPARA_PYHOST_LOADER_H

#include "configuration.h"

/* Put a path hook for such directories in front of sys.path_hooks. -1: exception set. */
int loader_install(const struct configuration *c);

#endif
