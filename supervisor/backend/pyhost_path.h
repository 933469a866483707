/* Where the embedded interpreter's program is: SNIPARA_SANDBOX_PYHOST, beside this executable, or PKGLIBEXECDIR. */
#ifndef SNIPARA_BACKEND_PYHOST_PATH_H
#define SNIPARA_BACKEND_PYHOST_PATH_H

#include "base/error.h"

#include <stddef.h>

/* The error lists every place that was looked at. */
int pyhost_path(char *ret, size_t size, struct error *err);

#endif
