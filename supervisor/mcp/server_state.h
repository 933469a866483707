/* What the server's own files share. */
#ifndef SNIPARA_MCP_SERVER_STATE_H
#define SNIPARA_MCP_SERVER_STATE_H

#include "mcp/call.h"
#include "mcp/server.h"

struct mcp_server {
    uv_loop_t *loop;
    struct sessions *sessions;
    struct error why;
    struct mcp_server_events events;
    enum mcp_version version;
    struct mcp_call *calls; /* open ones */
    size_t call_count;
    size_t call_weight;     /* bytes of their requests */
};

/* Send one message, or add it to its batch. Takes nothing. */
void mcp_server_emit(struct mcp_server *server, struct mcp_batch *batch, const struct buf *line);
/* One answer less is to come; sends the batch when it was the last. NULL is fine. */
void mcp_batch_close(struct mcp_server *server, struct mcp_batch *batch);

#endif
