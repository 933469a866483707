/* The builtins that __main__ sees under a policy of restricted language: a reduced copy. */
#ifndef SNIPARA_PYHOST_RESTRICT_H
#define SNIPARA_PYHOST_RESTRICT_H

#include "python.h"

#include "configuration.h"

/* What `__builtins__` of __main__ is to be (new reference): the builtins module, or under a restricted policy a dict in which
 * each denied builtin is a function that says so. NULL with an exception set. */
PyObject *restrict_builtins(const struct configuration *c);

#endif
