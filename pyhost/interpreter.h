/* The embedded CPython: how it is set up. One per zygote; payloads inherit it by fork and never finalise it. */
#ifndef SNIPARA_PYHOST_INTERPRETER_H
#define SNIPARA_PYHOST_INTERPRETER_H

#include "configuration.h"
#include "base/error.h"

/* Start Python isolated from environment, user site and arguments. */
int interpreter_start(struct error *err);

/* What the policy says of it: sys.executable, and the guest's directories behind the standard library and the installed packages in
 * sys.path, so that no session file can shadow those. */
int interpreter_set_up(const struct configuration *c, struct error *err);

/* Import the policy's preload list; the error names the module. */
int interpreter_preload(const struct configuration *c, struct error *err);

/* After everything is warm: collect once, then move all objects out of the collector's sight, so that no collection in a
 * payload touches (and copies) their pages. */
int interpreter_settle(struct error *err);

/* Number of threads of this process, from /proc/self/task; -1 on failure. */
int interpreter_threads(struct error *err);

#endif
