/* The one place that includes Python.h: it must come before every other header, with Py_ssize_t lengths in "#" formats. */
#ifndef SNIPARA_PYHOST_PYTHON_H
#define SNIPARA_PYHOST_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static inline void cleanup_object_(PyObject **object) { Py_XDECREF(*object); }
/* A strong reference that is given back on every path out of the function. */
#define cleanup_object __attribute__((cleanup(cleanup_object_)))

#endif
