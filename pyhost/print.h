/* print() that leaves the process in one piece. CPython writes each argument, separator and end on its own, and sys.stdout is unbuffered
 * (streams.h): `print(1)` is two system calls, and the supervisor is woken for both. */
#ifndef SNIPARA_PYHOST_PRINT_H
#define SNIPARA_PYHOST_PRINT_H

#include "base/error.h"

/* Put it in place of builtins.print. What it is not made for (another file, arguments that are not understood) it hands to CPython's
 * own. Once, in the zygote, after streams_install. 0, or -1 with the error set. */
int print_install(struct error *err);

#endif
