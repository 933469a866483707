/* notifications/progress of one call: the tail of stdout, at most four times a second, with values that only grow; a sign of life
 * every five seconds when the code prints nothing, because many clients give a call up after a minute of silence. */
#ifndef SNIPARA_MCP_PROGRESS_H
#define SNIPARA_MCP_PROGRESS_H

#include "mcp/call.h"

/* `raw_token` is the JSON text of the token (a string or a number). NULL when it cannot be started. */
struct mcp_progress *mcp_progress_start(uv_loop_t *loop, struct mcp_call *call, const char *raw_token, size_t length);
void mcp_progress_output(struct mcp_progress *p, const char *data, size_t length);
/* Nothing is sent after this; the memory goes when the loop has closed the timer. NULL is fine. */
void mcp_progress_stop(struct mcp_progress *p);

#endif
