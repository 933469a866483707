/* The Python source that `exec` is given: bounded, UTF-8, without NUL; errors name the position. */
#ifndef SNIPARA_CLI_SOURCE_H
#define SNIPARA_CLI_SOURCE_H

#include "base/buf.h"
#include "base/error.h"

#define SOURCE_MAX (64u << 20) /* what is read at all; the policy's own bound is lower */

/* `path` "-": standard input. A byte order mark at the start is left out, as Python does. */
int source_read(const char *path, struct buf *ret, struct error *err);
/* Empty, NUL or not UTF-8: an error with line and column. `name` is for the message. */
int source_check(const char *name, const char *text, size_t length, struct error *err);

#endif
