/* Under a restricted policy guest code never holds a real module: an allowed module leaks others (`datetime.sys`, `uuid.os`,
 * `json.codecs`), and what is assigned to it would be seen by the library itself. It gets a facade: a module object of the
 * session's own that carries the public names that are no modules, and the allowed submodules as facades. */
#ifndef SNIPARA_PYHOST_FACADE_H
#define SNIPARA_PYHOST_FACADE_H

#include "python.h"

#include "configuration.h"

int facade_prepare(const struct configuration *c);

/* What an import statement of the already imported module `name` (absolute, dotted) is to give: the facade of its first part, or
 * with a fromlist the facade of the module itself, in which each listed name is there or ImportError is set. New reference. */
PyObject *facade_import(PyObject *name, PyObject *fromlist);

#endif
