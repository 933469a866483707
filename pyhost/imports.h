/* Which modules guest code may import, and the hooks that hold it.
 *
 * The importing code decides: the frames are walked up past importlib, and code that lies in this interpreter's standard library
 * or its site-packages may import anything (pandas needs ctypes); everything else is guest. The file name of a code object can be
 * forged by guest code that may call compile(), so under an unrestricted language this is a clear early error, not a wall.
 */
#ifndef SNIPARA_PYHOST_IMPORTS_H
#define SNIPARA_PYHOST_IMPORTS_H

#include "python.h"

#include "configuration.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Replace builtins.__import__ (it also sees modules that are in sys.modules already) and importlib.import_module, put a finder in
 * front of sys.meta_path and the guest loader in front of sys.path_hooks. In the zygote, after the preloads. */
int imports_install(const struct configuration *c, struct error *err);

/* May guest code import the module `name` (absolute, dotted)? */
bool imports_allowed(const char *name);
/* ... or is it a package on the way to an allowed module? */
bool imports_leads_to_allowed(const char *name);
/* Why not, and what is allowed instead: "import of 'ctypes' is refused by policy default: it opens native code". */
void imports_explain(const char *name, char *ret, size_t size);

/* Is the innermost frame outside importlib guest code? */
bool imports_by_guest(void);
/* Does `filename` lie in the standard library or site-packages of this interpreter? */
bool imports_trusted_file(const char *filename);

/* Count the refusal and set ImportError. Returns NULL. */
PyObject *imports_refuse(const char *name);

#endif
