/* The text of an exception, as the interpreter prints it, without frames of ours.
 *
 * The traceback and linecache modules that do it are private copies: fresh module objects made from the standard library's
 * source, with a builtins dict of their own, known to C only. A guest that patches traceback, linecache or builtins changes
 * nothing here; when it breaks what these copies import (os, tokenize), a plain C form of the text is the answer.
 */
#ifndef SNIPARA_PYHOST_TRACEBACK_H
#define SNIPARA_PYHOST_TRACEBACK_H

#include "python.h"

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>

#define TRACEBACK_MAX (64u * 1024)

/* Make the private copies; in the zygote, before any guest code. Without it they are made with the first exception. */
int traceback_prepare(struct error *err);

/* Append the text, at most TRACEBACK_MAX bytes and a line that says what was left out. Leaves no exception set. */
int traceback_format(PyObject *exception, struct buf *b);
/* The plain form, made in C without any call into Python: for an exception whose __str__ does not come to an end. */
int traceback_format_plain(PyObject *exception, const struct buf *message, struct buf *b);

/* A SyntaxError that the compiler found in a tree has no source line, since it looks for a file: put it in. */
void traceback_complete(PyObject *exception, PyObject *filename);

/* Drop the frames in front of the first one of `filename`, if there is one: those of an event loop that ran a cell. */
void traceback_trim(PyObject *exception, PyObject *filename);

/* Line in `filename` of its innermost frame, or where a SyntaxError in it is; false when neither is there. *ret_column is 0
 * unless it is such a SyntaxError. */
bool traceback_position(PyObject *exception, PyObject *filename, long *ret_line, long *ret_column);

#endif
