/* Python exceptions as values: taken out of the thread state, read without trusting them, turned into struct error. */
#ifndef SNIPARA_PYHOST_EXCEPTION_H
#define SNIPARA_PYHOST_EXCEPTION_H

#include "python.h"

#include "base/buf.h"
#include "base/error.h"

/* The exception that is set, normalised, with its traceback in __traceback__; NULL when there is none. The thread state has
 * no exception afterwards. */
PyObject *exception_take(void);

/* The bare class name, read in C: no guest code runs. Never NULL; the text lives as long as `ret_holder` (which may be NULL). */
const char *exception_type(PyObject *exception, PyObject **ret_holder);

/* str(exception), appended to `b`; a __str__ that raises gives what the interpreter prints then. At most `max` bytes: head and
 * tail of a longer text. Leaves no exception set. 1 when SIGINT ended the __str__ (do not ask it again), -1 out of memory. */
int exception_message(PyObject *exception, size_t max, struct buf *b);

/* Append `text` as UTF-8 (lone surrogates as \udcXX), at most `max` bytes: the first three quarters and the end of a longer
 * one, with a line between them that says so. Leaves no exception set. */
int exception_text(PyObject *text, size_t max, struct buf *b);

/* Fill *err from the exception that is set (and clear it): "what: Type: message". Returns -1. */
int error_from_python(struct error *err, const char *step, const char *what);

#endif
