/* One call's source made ready to run: decoded, checked, compiled. Nothing of it has run yet. */
#ifndef SNIPARA_PYHOST_CELL_H
#define SNIPARA_PYHOST_CELL_H

#include "python.h"

#include "guard.h"

#include <stdbool.h>

struct cell {
    PyObject *filename; /* borrowed */
    PyObject *body;     /* code of the statements, NULL when there is only an expression */
    PyObject *value;    /* code of the last expression, NULL when there is none */
    bool binds_result;  /* its own statements assign `result` */
};

/* Keep the builtin compile and the ast classes, before any guest code can replace them. In the zygote. */
int cell_prepare(struct error *err);

/* 0 = ready, 1 = refused by the guard (*findings), -1 = exception set (SyntaxError, MemoryError ...). *future_flags are the
 * session's accumulated `from __future__` features: used, and added to on success, as at the interactive prompt. */
int cell_compile(const char *source, size_t length, PyObject *filename, int *future_flags, struct cell *ret,
                 struct findings *findings);

void cell_free(struct cell *cell);
#define cleanup_cell __attribute__((cleanup(cell_free)))

#endif
