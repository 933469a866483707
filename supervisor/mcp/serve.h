/* `mcp-serve`: the server on a transport, from the first message to the last process gone. */
#ifndef SNIPARA_MCP_SERVE_H
#define SNIPARA_MCP_SERVE_H

#include "base/error.h"
#include "session/session.h"

#include <uv.h>

/* Serve MCP on two descriptors until end of input, SIGTERM, SIGINT, SIGHUP or until the client is gone. Takes `sessions` (NULL when no
 * backend could be set up: `why` says so in each answer) and frees it. Returns the exit code: 0, or 1 when serving could not begin. */
int mcp_serve(uv_loop_t *loop, struct sessions *sessions, const struct error *why, int in, int out);

#endif
