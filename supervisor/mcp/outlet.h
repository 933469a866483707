/* Writing to a stream from the event loop: what the reader does not take waits in a queue, and the loop goes on.
 * The owner watches outlet_queued and stops producing; the queue itself has no bound. */
#ifndef SNIPARA_MCP_OUTLET_H
#define SNIPARA_MCP_OUTLET_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct outlet;

struct outlet_events {
    void (*drained)(void *context);        /* the queue became empty, from the loop; may be NULL */
    void (*gone)(void *context, int code); /* nobody reads any more (EPIPE and other errors), once, possibly inside outlet_write */
    void *context;
};

int outlet_new(uv_loop_t *loop, int fd, const struct outlet_events *events, struct outlet **ret, struct error *err);
/* Write now what can be written and queue the rest. After `gone` bytes are dropped silently. -1: out of memory. */
int outlet_write(struct outlet *o, const char *data, size_t length);
/* The same and a newline, in one piece: the reader is woken once. */
int outlet_write_line(struct outlet *o, const char *line, size_t length);
size_t outlet_queued(const struct outlet *o);
/* Block until the queue is empty, at most `milliseconds`. true when it is. A signal ends the wait early. */
bool outlet_flush(struct outlet *o, int milliseconds);
/* Drop what is queued and close; the memory goes when the loop has closed the handle. NULL is fine. */
void outlet_free(struct outlet *o);

#endif
