/* The language guard: one walk over a cell's syntax tree before it is compiled. The jail is the boundary; the guard gives
 * early, plain errors and makes each lower layer harder to reach (doc/SECURITY.md).
 *
 * Every concept has one function, whatever node it comes from: an attribute name, a bound or used name, an imported module, a
 * format string, a keyword (smolagents CVE-2025-9959, then CVE-2026-4963, is what happens otherwise). Node classes that are
 * not in syntax.c's table are refused in restricted mode.
 */
#ifndef SNIPARA_PYHOST_GUARD_H
#define SNIPARA_PYHOST_GUARD_H

#include "python.h"

#include "configuration.h"
#include "base/buf.h"

#define GUARD_FINDINGS 20 /* texts kept; all are counted */

struct findings {
    struct buf text;    /* one a line: "line 3, column 8: attribute '__class__' ...; policy strict refuses it" */
    size_t count;
    long line, column;  /* of the first, both from 1 */
    char rule[32];      /* of the first */
    char remedy[200];   /* of the first */
};

void guard_use(const struct configuration *c);

/* 0 = nothing to refuse (or no guard under this policy), 1 = *ret holds the findings, -1 = exception set (out of memory).
 * `filename` names the registered source (columns are counted in its characters). */
int guard_check(PyObject *tree, PyObject *filename, struct findings *ret);

void findings_free(struct findings *findings);
#define cleanup_findings __attribute__((cleanup(findings_free)))

#endif
