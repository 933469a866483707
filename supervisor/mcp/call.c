/* Calls: their end, and how an answer becomes a tool result. */
#include "mcp/call.h"

#include "base/json.h"
#include "mcp/jsonrpc.h"
#include "mcp/log.h"
#include "mcp/progress.h"
#include "mcp/server_state.h"

#include <stdlib.h>
#include <string.h>

enum mcp_version mcp_call_version(const struct mcp_call *call)
{
    return call->server->version;
}

struct sessions *mcp_call_sessions(const struct mcp_call *call, const struct error **ret_why)
{
    *ret_why = &call->server->why;
    return call->server->sessions;
}

cJSON *mcp_tool_result(const char *text, cJSON *structured, bool is_error)
{
    cJSON *result = cJSON_CreateObject(), *content = cJSON_AddArrayToObject(result, "content"), *block = cJSON_CreateObject();
    bool ok = cJSON_AddItemToArray(content, block);
    if (!ok)
        cJSON_Delete(block);
    else
        ok = cJSON_AddStringToObject(block, "type", "text") && cJSON_AddItemToObject(block, "text", json_text(text, strlen(text)));
    if (ok && structured && cJSON_AddItemToObject(result, "structuredContent", structured))
        structured = NULL;
    ok = ok && cJSON_AddBoolToObject(result, "isError", is_error);
    cJSON_Delete(structured);
    if (ok)
        return result;
    cJSON_Delete(result);
    return NULL;
}

static void unlink_call(struct mcp_call *call)
{
    struct mcp_server *server = call->server;
    *(call->previous ? &call->previous->next : &server->calls) = call->next;
    if (call->next)
        call->next->previous = call->previous;
    server->call_count--;
    server->call_weight -= call->weight;
}

void mcp_call_answer(struct mcp_call *call, cJSON *result)
{
    struct mcp_server *server = call->server;
    struct mcp_batch *batch = call->batch;
    cleanup_buf struct buf line = {0};
    mcp_progress_stop(call->progress);
    unlink_call(call);
    if (!call->cancelled) {
        size_t id_length = strlen(call->id);
        if (!result || jsonrpc_put_result(&line, call->id, id_length, result) < 0) {
            buf_clear(&line);
            jsonrpc_put_error(&line, call->id, id_length, JSONRPC_INTERNAL_ERROR, "out of memory for the answer");
        }
        mcp_server_emit(server, batch, &line);
    }
    mcp_batch_close(server, batch);
    cJSON_Delete(result);
    free(call->id);
    free(call->key);
    free(call);
    if (server->call_count == 0)
        server->events.idle(server->events.context);
}

void mcp_call_refuse(struct mcp_call *call, const char *text)
{
    mcp_call_answer(call, mcp_tool_result(text, NULL, true));
}

void mcp_server_emit(struct mcp_server *server, struct mcp_batch *batch, const struct buf *line)
{
    if (line->len == 0)
        mcp_log(LOG_LEVEL_ERROR, "out of memory: an answer is lost");
    else if (!batch)
        server->events.send(server->events.context, line->data, line->len, false);
    else if (buf_adds(&batch->text, batch->text.len == 0 ? "[" : ",") < 0 || buf_add(&batch->text, line->data, line->len) < 0)
        mcp_log(LOG_LEVEL_ERROR, "out of memory: an answer is lost");
}

void mcp_batch_close(struct mcp_server *server, struct mcp_batch *batch)
{
    if (!batch || --batch->open > 0)
        return;
    /* A batch of notifications only is not answered at all (JSON-RPC 2.0, section 6). */
    if (batch->text.len > 0 && buf_adds(&batch->text, "]") == 0)
        server->events.send(server->events.context, batch->text.data, batch->text.len, false);
    buf_free(&batch->text);
    free(batch);
}
