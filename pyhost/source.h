/* The text of a call: decoded once, shown line by line in tracebacks, warnings and inspect.getsource.
 *
 * There are two line caches: the public one of the linecache module (the guest's: warnings and inspect read it) and a private
 * one that only C holds and the private traceback module reads, so a guest that patches linecache changes its own view only.
 */
#ifndef SNIPARA_PYHOST_SOURCE_H
#define SNIPARA_PYHOST_SOURCE_H

#include "python.h"

#include "base/error.h"

/* Decode strictly: UTF-8, a byte order mark in front is dropped, NUL is a SyntaxError as in the interpreter. NULL with an
 * exception set. The str is what is checked and what is compiled: an encoding cookie has no say (compile() of a str). */
PyObject *source_decode(const char *data, size_t length);

/* Make the private line cache; in the zygote. It is borrowed by the private linecache module. */
int source_prepare(struct error *err);
PyObject *source_private_cache(void);

/* Put all that is registered into the public cache: linecache has just been imported. */
int source_publish(struct error *err);

/* Register the lines under `filename`. Never fails the call: without memory, lines are just not shown. */
void source_register(PyObject *filename, PyObject *text);

/* Take a filename out again (the zygote's warm-up). */
void source_forget(PyObject *filename);

/* A registered line (from 1), borrowed; NULL when it is not known. */
PyObject *source_line(PyObject *filename, long line);

/* 1-based column in characters for a 0-based byte offset in a 1-based line; the offset + 1 when the line is not known. */
long source_column(PyObject *filename, long line, long byte_offset);

#endif
