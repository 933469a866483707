/* Dispatch of the legacy era's methods. */
#include "mcp/server.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/jsonrpc.h"
#include "mcp/log.h"
#include "mcp/progress.h"
#include "mcp/server_state.h"
#include "mcp/tools.h"

#include <math.h> /* macros only */
#include <stdlib.h>
#include <string.h>

/* What may wait at once: a client that asks without end is told so instead of being stored. */
#define CALLS_MAX 256u
#define WEIGHT_MAX (128u << 20)
#define BATCH_MAX 100u

struct mcp_server *mcp_server_new(uv_loop_t *loop, struct sessions *sessions, const struct error *why, const struct mcp_server_events *events)
{
    struct mcp_server *server = calloc(1, sizeof *server);
    if (!server)
        return NULL;
    server->loop = loop;
    server->sessions = sessions;
    if (why)
        server->why = *why;
    server->events = *events;
    server->version = MCP_LATEST_LEGACY;
    return server;
}

void mcp_server_free(struct mcp_server *server)
{
    if (!server)
        return;
    while (server->calls) {
        server->calls->cancelled = true;
        mcp_call_answer(server->calls, NULL);
    }
    free(server);
}

void mcp_server_send_optional(struct mcp_server *server, const char *line, size_t length)
{
    server->events.send(server->events.context, line, length, true);
}

static void answer(struct mcp_server *server, struct mcp_batch *batch, const struct jsonrpc_message *m, cJSON *result)
{
    cleanup_buf struct buf line = {0};
    if (!result || jsonrpc_put_result(&line, m->id, m->id_length, result) < 0) {
        buf_clear(&line);
        jsonrpc_put_error(&line, m->id, m->id_length, JSONRPC_INTERNAL_ERROR, "out of memory for the answer");
    }
    cJSON_Delete(result);
    mcp_server_emit(server, batch, &line);
}

static void refuse(struct mcp_server *server, struct mcp_batch *batch, const struct jsonrpc_message *m, int code, const char *message)
{
    cleanup_buf struct buf line = {0};
    mcp_log(LOG_LEVEL_INFO, "request refused (%d): %s", code, message);
    jsonrpc_put_error(&line, m->id, m->id_length, code, message);
    mcp_server_emit(server, batch, &line);
}

static struct mcp_call *find_call(struct mcp_server *server, const char *key)
{
    struct mcp_call *call = server->calls;
    while (call && (call->cancelled || strcmp(call->key, key) != 0))
        call = call->next;
    return call;
}

static struct mcp_call *add_call(struct mcp_server *server, struct mcp_batch *batch, const struct jsonrpc_message *m, char *key)
{
    struct mcp_call *call = calloc(1, sizeof *call);
    if (!call || !(call->id = strndup(m->id, m->id_length))) {
        free(call);
        return NULL;
    }
    call->server = server;
    call->key = key;
    call->weight = m->length;
    call->batch = batch;
    if (batch)
        batch->open++;
    call->next = server->calls;
    if (call->next)
        call->next->previous = call;
    server->calls = call;
    server->call_count++;
    server->call_weight += call->weight;
    return call;
}

/* A token is a string or a whole number; 0 and "" are tokens like others. It is echoed as it was written. */
static void start_progress(struct mcp_call *call, const struct jsonrpc_message *m)
{
    static const char *const path[] = {"params", "_meta", "progressToken", NULL};
    const cJSON *meta = json_get(m->params, "_meta"), *token = cJSON_IsObject(meta) ? json_get(meta, "progressToken") : NULL;
    const char *raw;
    size_t length;
    bool whole = cJSON_IsNumber(token) && isfinite(token->valuedouble);
    if ((!cJSON_IsString(token) && !whole) || !jsonrpc_raw_at(m, path, &raw, &length))
        return;
    if (whole && (memchr(raw, '.', length) || memchr(raw, 'e', length) || memchr(raw, 'E', length)))
        return;
    call->progress = mcp_progress_start(call->server->loop, call, raw, length);
}

static void start_tool(struct mcp_call *call, const struct mcp_tool *tool, const cJSON *arguments)
{
    cleanup_buf struct buf problem = {.max = 4096};
    if (buf_addf(&problem, "%s: ", tool->name) == 0 &&
        mcp_arguments_check(tool->arguments, tool->argument_count, arguments, &problem))
        tool->start(call, arguments);
    else
        mcp_call_refuse(call, problem.data ? problem.data : "the arguments are not valid");
}

static const char *admit(struct mcp_server *server, const char *key, size_t weight)
{
    if (!key)
        return "out of memory";
    if (find_call(server, key))
        return "a request with this id is still running: ids must differ";
    if (server->call_count >= CALLS_MAX || (server->call_count > 0 && server->call_weight + weight > WEIGHT_MAX))
        return "too many calls are waiting (256 calls or 128 MiB of requests): wait for answers first";
    return NULL;
}

static void call_tool(struct mcp_server *server, struct mcp_batch *batch, const struct jsonrpc_message *m)
{
    const char *name = m->params ? json_get_string(m->params, "name") : NULL;
    if (!name) {
        refuse(server, batch, m, JSONRPC_INVALID_PARAMS, "tools/call needs params {\"name\": the tool's name, \"arguments\": {...}}");
        return;
    }
    const struct mcp_tool *tool = mcp_tool_by_name(name);
    if (!tool) {
        cleanup_buf struct buf text = {.max = 2048};
        buf_addf(&text, "unknown tool \"%.100s\"; known are ", name);
        mcp_tool_names(&text);
        refuse(server, batch, m, JSONRPC_INVALID_PARAMS, text.data ? text.data : "unknown tool");
        return;
    }
    const cJSON *arguments = json_get(m->params, "arguments");
    if (arguments && !cJSON_IsObject(arguments) && !cJSON_IsNull(arguments)) {
        refuse(server, batch, m, JSONRPC_INVALID_PARAMS, "params.arguments of tools/call must be an object");
        return;
    }
    cleanup_free char *key = jsonrpc_id_key(m->id, m->id_length);
    const char *problem = admit(server, key, m->length);
    struct mcp_call *call = problem ? NULL : add_call(server, batch, m, key);
    if (!call) {
        refuse(server, batch, m, JSONRPC_INVALID_REQUEST, problem ? problem : "out of memory");
        return;
    }
    key = NULL; /* the call's */
    start_progress(call, m);
    start_tool(call, tool, cJSON_IsNull(arguments) ? NULL : arguments);
}

static void initialize(struct mcp_server *server, struct mcp_batch *batch, const struct jsonrpc_message *m)
{
    if (batch) {
        refuse(server, batch, m, JSONRPC_INVALID_REQUEST, "initialize cannot be part of a batch");
        return;
    }
    server->version = mcp_negotiate(m->params ? json_get_string(m->params, "protocolVersion") : NULL);
    answer(server, batch, m, mcp_initialize_result(server->version));
}

static void ping(struct mcp_server *server, struct mcp_batch *batch, const struct jsonrpc_message *m)
{
    answer(server, batch, m, cJSON_CreateObject());
}

/* One page holds all: a cursor can only be one that we never gave, and the whole list is the answer that helps. */
static void list_tools(struct mcp_server *server, struct mcp_batch *batch, const struct jsonrpc_message *m)
{
    answer(server, batch, m, mcp_tools_list(server->version));
}

static const struct {
    const char *name;
    void (*handle)(struct mcp_server *server, struct mcp_batch *batch, const struct jsonrpc_message *m);
} methods[] = {{"tools/call", call_tool}, {"ping", ping}, {"tools/list", list_tools}, {"initialize", initialize}};

static void take_request(struct mcp_server *server, struct mcp_batch *batch, const struct jsonrpc_message *m)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, m->method) == 0) {
            methods[i].handle(server, batch, m);
            return;
        }
    cleanup_buf struct buf text = {.max = 1024};
    buf_addf(&text, "unknown method \"%.100s\"", m->method);
    refuse(server, batch, m, JSONRPC_UNKNOWN_METHOD, text.data ? text.data : "unknown method");
}

static void take_notification(struct mcp_server *server, const struct jsonrpc_message *m)
{
    static const char *const path[] = {"params", "requestId", NULL};
    const char *raw;
    size_t length;
    if (strcmp(m->method, "notifications/cancelled") != 0 || !jsonrpc_raw_at(m, path, &raw, &length))
        return;
    cleanup_free char *key = jsonrpc_id_key(raw, length);
    struct mcp_call *call = key ? find_call(server, key) : NULL;
    if (!call)
        return; /* answered already: the two crossed */
    call->cancelled = true;
    mcp_progress_stop(call->progress);
    call->progress = NULL;
    if (call->work)
        session_cancel(call->work);
}

static void take_batch(struct mcp_server *server, const struct jsonrpc_message *whole);

static void take_one(struct mcp_server *server, struct mcp_batch *batch, const char *text, size_t length)
{
    cleanup_jsonrpc struct jsonrpc_message m;
    jsonrpc_read(text, length, &m);
    switch (m.kind) {
    case JSONRPC_REQUEST: take_request(server, batch, &m); break;
    case JSONRPC_NOTIFICATION: take_notification(server, &m); break;
    case JSONRPC_NOTHING: break;
    case JSONRPC_INVALID: refuse(server, batch, &m, m.code, m.message); break;
    case JSONRPC_BATCH:
        if (batch)
            refuse(server, batch, &m, JSONRPC_INVALID_REQUEST, "a batch cannot hold a batch");
        else
            take_batch(server, &m);
        break;
    }
}

static void take_batch(struct mcp_server *server, const struct jsonrpc_message *whole)
{
    const char *at;
    size_t length, count = 0;
    size_t cursor = 0;
    while (count <= BATCH_MAX && jsonrpc_batch_next(whole->text, whole->length, &cursor, &at, &length))
        count++;
    const char *problem = !mcp_has_batches(server->version) ? "batches are part of MCP 2025-03-26 only: send one message per line"
                          : count == 0 ? "an empty batch"
                          : count > BATCH_MAX ? "a batch may hold at most 100 messages" : NULL;
    struct mcp_batch *batch = problem ? NULL : calloc(1, sizeof *batch);
    if (!batch) {
        refuse(server, NULL, whole, JSONRPC_INVALID_REQUEST, problem ? problem : "out of memory");
        return;
    }
    batch->open = 1;
    for (cursor = 0; jsonrpc_batch_next(whole->text, whole->length, &cursor, &at, &length);)
        take_one(server, batch, at, length);
    mcp_batch_close(server, batch);
}

void mcp_server_take(struct mcp_server *server, const char *text, size_t length)
{
    take_one(server, NULL, text, length);
}

void mcp_server_too_long(struct mcp_server *server, size_t limit)
{
    cleanup_buf struct buf text = {0};
    struct jsonrpc_message none = {.kind = JSONRPC_INVALID};
    buf_addf(&text, "a message is longer than the limit of %zu MiB and was dropped unread", limit >> 20);
    refuse(server, NULL, &none, JSONRPC_INVALID_REQUEST, text.data ? text.data : "a message is too long");
}

size_t mcp_server_open_calls(const struct mcp_server *server)
{
    return server->call_count;
}

void mcp_server_cancel_all(struct mcp_server *server)
{
    /* session_cancel may end a call at once, so the walk begins anew after each; `work` is taken so that each is cancelled once. */
    for (struct mcp_call *call = server->calls; call;) {
        struct session_call *work = call->work;
        call->work = NULL;
        if (work)
            session_cancel(work);
        call = work ? server->calls : call->next;
    }
}
