/* The legacy era's server: messages in, messages out, calls in between. Knows no transport: a text comes in by mcp_server_take and
 * answers leave through `send`. Runs on the caller's loop, which only progress timers and sessions need. */
#ifndef SNIPARA_MCP_SERVER_H
#define SNIPARA_MCP_SERVER_H

#include "base/error.h"
#include "session/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct mcp_server;

struct mcp_server_events {
    /* One message, without line end. `optional` ones (progress) may be left out when the client is slow. */
    void (*send)(void *context, const char *line, size_t length, bool optional);
    void (*idle)(void *context); /* the last open call has been answered */
    void *context;
};

/* `sessions` stays the caller's and may be NULL: then execute_python answers with a `refused` receipt that says `why`. */
struct mcp_server *mcp_server_new(uv_loop_t *loop, struct sessions *sessions, const struct error *why, const struct mcp_server_events *events);
/* Only after sessions_free (observers point here). Calls that are still open are forgotten without an answer. */
void mcp_server_free(struct mcp_server *server);

void mcp_server_take(struct mcp_server *server, const char *text, size_t length);
/* The transport dropped a message that was longer than `limit` bytes. */
void mcp_server_too_long(struct mcp_server *server, size_t limit);

size_t mcp_server_open_calls(const struct mcp_server *server);
/* Cancel what can be cancelled; the calls are answered with their receipts. */
void mcp_server_cancel_all(struct mcp_server *server);

void mcp_server_send_optional(struct mcp_server *server, const char *line, size_t length);

#endif
