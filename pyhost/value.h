/* A call's value as text: repr, bare type name, and JSON where the value is JSON. */
#ifndef SNIPARA_PYHOST_VALUE_H
#define SNIPARA_PYHOST_VALUE_H

#include "python.h"

#include "base/buf.h"

#include <stdbool.h>

/* repr(value) as UTF-8 with lone surrogates escaped, cut at `max` bytes. Runs guest code (__repr__). -1: the exception that it
 * raised is set. */
int value_repr(PyObject *value, size_t max, struct buf *ret, bool *ret_truncated);

/* The value as JSON text of at most `max` bytes. Only exact builtin types are looked at, in C, so no guest code runs: None,
 * bool, int within +-2^53, finite float, str without lone surrogates and NUL, list, tuple, dict with str keys, 20 levels.
 * 0 = *ret holds it, 1 = it has no JSON (ret is empty). Leaves no exception set. */
int value_json(PyObject *value, size_t max, struct buf *ret);

#endif
