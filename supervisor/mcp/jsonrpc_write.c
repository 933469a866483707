/* JSON-RPC 2.0 messages: writing. Each is one line of text; json_print makes no line breaks. */
#include "mcp/jsonrpc.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static int put_head(struct buf *b, const char *id, size_t id_length)
{
    if (buf_adds(b, "{\"jsonrpc\":\"2.0\",\"id\":") < 0)
        return -1;
    return id ? buf_add(b, id, id_length) : buf_adds(b, "null");
}

static int put_value(struct buf *b, const cJSON *value)
{
    char *text = json_print(value);
    int rc = text ? buf_adds(b, text) : -1;
    free(text);
    return rc;
}

int jsonrpc_put_result(struct buf *b, const char *id, size_t id_length, const cJSON *result)
{
    if (put_head(b, id, id_length) < 0 || buf_adds(b, ",\"result\":") < 0 || put_value(b, result) < 0)
        return -1;
    return buf_adds(b, "}");
}

int jsonrpc_put_error(struct buf *b, const char *id, size_t id_length, int code, const char *message)
{
    cleanup_json cJSON *text = json_text(message, strlen(message));
    if (!text || put_head(b, id, id_length) < 0 || buf_addf(b, ",\"error\":{\"code\":%d,\"message\":", code) < 0 || put_value(b, text) < 0)
        return -1;
    return buf_adds(b, "}}");
}

int jsonrpc_put_notification(struct buf *b, const char *method, const char *raw_params)
{
    return buf_addf(b, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":%s}", method, raw_params);
}
