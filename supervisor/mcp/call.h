/* One tools/call between its request and its answer.
 *
 * A call is made by the server, started by its tool, and ends with exactly one of the mcp_call_* functions that answer. A call that
 * was cancelled by the client ends silently. Calls know how to send (a batch gathers, a stream writes), not where to.
 */
#ifndef SNIPARA_MCP_CALL_H
#define SNIPARA_MCP_CALL_H

#include "base/buf.h"
#include "mcp/protocol.h"
#include "session/session.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <uv.h>

struct mcp_server;
struct mcp_progress;

/* Answers of one JSON-RPC batch, sent together when the last has come. */
struct mcp_batch {
    struct buf text;
    size_t open; /* answers that are still to come, and one while the batch is being read */
};

struct mcp_call {
    struct mcp_call *next, *previous;
    struct mcp_server *server;
    struct mcp_batch *batch;        /* or NULL */
    char *id;                       /* raw, NUL-terminated */
    char *key;                      /* jsonrpc_id_key */
    size_t weight;                  /* bytes of the request, for the bound on what waits */
    bool cancelled;                 /* by the client: nothing more is sent */
    struct session_call *work;      /* what session_cancel takes; NULL when there is nothing to cancel */
    struct mcp_progress *progress;  /* or NULL */
};

/* Answer with a tool result. Takes `result` (NULL: out of memory). The call is gone afterwards. */
void mcp_call_answer(struct mcp_call *call, cJSON *result);
/* Answer with a tool error: isError and a text that is whole by itself. The call is gone afterwards. */
void mcp_call_refuse(struct mcp_call *call, const char *text);

/* A tool result of one text block; `structured` is taken (may be NULL). It is sent to clients of every version: results are open
 * objects, those that do not know structuredContent pass it by, and several read it without having asked for its version. */
cJSON *mcp_tool_result(const char *text, cJSON *structured, bool is_error);

enum mcp_version mcp_call_version(const struct mcp_call *call);
/* NULL when no backend could be set up; *ret_why then says why. */
struct sessions *mcp_call_sessions(const struct mcp_call *call, const struct error **ret_why);

#endif
