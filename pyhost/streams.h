/* sys.stdin, sys.stdout and sys.stderr of the payloads, and of the zygote. */
#ifndef SNIPARA_PYHOST_STREAMS_H
#define SNIPARA_PYHOST_STREAMS_H

#include "base/error.h"

#include <stdbool.h>

/* Make the three streams and set them (sys.__stdout__ and its like too). Called once, in the zygote; the objects are bound to
 * the numbers 0, 1, 2, so a payload only changes what these descriptors are. */
int streams_install(struct error *err);

/* Make those anew that are still ours and were closed: exit() closes sys.stdin, and the session goes on after it. */
void streams_reopen(void);

/* Whether this is the sys.stdout that was made here. NULL is not. */
bool streams_is_ours(const void *stream);

/* Flush whatever sys.stdout and sys.stderr are now. Never fails: the guest may have replaced or closed them. */
void streams_flush(void);

#endif
