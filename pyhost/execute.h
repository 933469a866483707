/* The cells of a session, run in __main__ as a notebook runs them. */
#ifndef SNIPARA_PYHOST_EXECUTE_H
#define SNIPARA_PYHOST_EXECUTE_H

#include "python.h"

#include "configuration.h"
#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>

struct call {
    const char *source;   /* UTF-8, not NUL-terminated */
    size_t length;
    const char *filename; /* UTF-8; shown in tracebacks */
    size_t filename_length;
};

/* In the zygote: hold on to __main__ and to all that executing needs, so that nothing a guest removes is missed later. */
int execute_prepare(const struct configuration *c, struct error *err);

/* In the zygote: run one snippet of our own through the whole machinery and forget it, so that payloads find warm pages. */
int execute_warm(struct error *err);

/* Run one call and append the fields of PAYLOAD_DONE. -1 only when even the reply cannot be written (out of memory). In a
 * process that the guest forked, this does not return. */
int execute_call(const struct call *call, struct buf *reply);

#endif
