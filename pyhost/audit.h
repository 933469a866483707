/* An audit hook in C (PEP 578): counts a fixed list of events during calls, for PT_OBSERVED. Detection, not a wall. */
#ifndef SNIPARA_PYHOST_AUDIT_H
#define SNIPARA_PYHOST_AUDIT_H

#include "base/error.h"

#include <stdbool.h>

/* Before Py_Initialize, so that the hook cannot be seen or removed. */
int audit_install(struct error *err);
/* Count from now on / no more. */
void audit_watch(bool on);

#endif
