/* The stdio transport: one message per line in, one per line out. Knows lines, not JSON.
 *
 * A line is at most MCP_LINE_MAX bytes; a longer one is dropped while it comes (never kept) and reported once. While more than
 * MCP_QUEUE_MAX bytes wait for a client that does not read, nothing is read from it: its requests wait in its own pipe. */
#ifndef SNIPARA_MCP_STDIO_H
#define SNIPARA_MCP_STDIO_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#define MCP_LINE_MAX (64u << 20)
#define MCP_QUEUE_MAX (8u << 20)

struct mcp_stdio;

struct mcp_stdio_events {
    void (*line)(void *context, const char *text, size_t length); /* without its line end; never empty */
    void (*too_long)(void *context);
    void (*end)(void *context);            /* end of input, once */
    void (*gone)(void *context, int code); /* the client does not read any more; possibly inside mcp_stdio_send */
    void *context;
};

int mcp_stdio_new(uv_loop_t *loop, int in, int out, const struct mcp_stdio_events *events, struct mcp_stdio **ret, struct error *err);
/* Send one line; the line end is added. `optional`: left out when anything is queued. */
void mcp_stdio_send(struct mcp_stdio *t, const char *line, size_t length, bool optional);
void mcp_stdio_stop_reading(struct mcp_stdio *t);
bool mcp_stdio_flush(struct mcp_stdio *t, int milliseconds);
/* The memory goes when the loop has closed the handles. NULL is fine. */
void mcp_stdio_free(struct mcp_stdio *t);

#endif
