/* JSON-RPC 2.0 messages: reading. */
#include "mcp/jsonrpc.h"

#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The transport bounds the length; this bounds the tree. A member more than JSON_DEPTH deep is of no use to any method. */
static const struct json_limits limits = {0, 0};

static void __attribute__((format(printf, 3, 4))) invalid(struct jsonrpc_message *m, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m->message, sizeof m->message, format, args);
    va_end(args);
    m->kind = JSONRPC_INVALID;
    m->code = code;
}

static bool raw_is_id(const char *raw, size_t length)
{
    return length > 0 && (raw[0] == '"' || raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9'));
}

static char first_character(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r\n", text[i]))
            return text[i];
    return '\0';
}

/* A string holds NUL or a lone surrogate, or a number is no double. Who sent it must hear so under its own id; a notification cannot be answered. */
static void read_unfit(struct jsonrpc_message *m, bool has_id, const struct error *why)
{
    const char *at;
    size_t length;
    if (!json_raw_member(m->text, m->length, "method", &at, &length) || !has_id) {
        m->kind = JSONRPC_NOTHING;
        return;
    }
    if (!m->id) {
        invalid(m, JSONRPC_INVALID_REQUEST, "the request's id must be a string or a number");
        return;
    }
    invalid(m, JSONRPC_INVALID_PARAMS,
            "the request cannot be used: %.200s%s", why->message, strstr(why->message, "a number ") ? "" :
            ". Python source and tool arguments cannot hold NUL or lone surrogates: leave them out, or let the code make them with chr()");
}

static void read_object(struct jsonrpc_message *m, bool has_id)
{
    const cJSON *version = json_get(m->body, "jsonrpc"), *method = json_get(m->body, "method"), *params = json_get(m->body, "params");
    if (!method && (json_get(m->body, "result") || json_get(m->body, "error"))) {
        m->kind = JSONRPC_NOTHING;
        return;
    }
    if (has_id && !m->id) {
        invalid(m, JSONRPC_INVALID_REQUEST, "the request's id must be a string or a number, not null, a boolean, an object or an array");
        return;
    }
    if (!cJSON_IsString(version) || strcmp(version->valuestring, "2.0") != 0) {
        invalid(m, JSONRPC_INVALID_REQUEST, "member \"jsonrpc\" must be \"2.0\"");
        return;
    }
    if (!cJSON_IsString(method)) {
        invalid(m, JSONRPC_INVALID_REQUEST, method ? "member \"method\" must be a string" : "member \"method\" is missing");
        return;
    }
    if (params && !cJSON_IsObject(params) && !cJSON_IsNull(params)) {
        if (has_id)
            invalid(m, JSONRPC_INVALID_PARAMS, "member \"params\" must be an object");
        else
            m->kind = JSONRPC_NOTHING;
        return;
    }
    m->method = method->valuestring;
    m->params = cJSON_IsObject(params) ? params : NULL;
    m->kind = has_id ? JSONRPC_REQUEST : JSONRPC_NOTIFICATION;
}

void jsonrpc_read(const char *text, size_t length, struct jsonrpc_message *ret)
{
    *ret = (struct jsonrpc_message){.text = text, .length = length};
    struct error err = {0};
    enum json_verdict verdict = json_check(text, length, limits, &err);
    if (verdict == JSON_BAD) {
        invalid(ret, JSONRPC_PARSE_ERROR, "the line is not one JSON text: %.300s", err.message);
        return;
    }
    char first = first_character(text, length);
    if (first == '[') {
        ret->kind = JSONRPC_BATCH;
        return;
    }
    if (first != '{') {
        invalid(ret, JSONRPC_INVALID_REQUEST, "a message must be a JSON object");
        return;
    }
    const char *raw;
    size_t raw_length;
    bool has_id = json_raw_member(text, length, "id", &raw, &raw_length);
    if (has_id && raw_is_id(raw, raw_length)) {
        ret->id = raw;
        ret->id_length = raw_length;
    }
    if (verdict == JSON_UNFIT) {
        read_unfit(ret, has_id, &err);
        return;
    }
    ret->body = json_parse(text, length, limits, &err);
    if (!ret->body)
        invalid(ret, JSONRPC_INTERNAL_ERROR, "the request could not be taken: %.300s", err.message);
    else
        read_object(ret, has_id);
}

void jsonrpc_free(struct jsonrpc_message *m)
{
    cJSON_Delete(m->body);
    *m = (struct jsonrpc_message){0};
}

/* The text passed json_check, so a comma or bracket outside strings at depth 1 is the array's own. */
bool jsonrpc_batch_next(const char *text, size_t length, size_t *cursor, const char **ret_at, size_t *ret_length)
{
    size_t i = *cursor;
    if (i == 0) {
        const char *open = memchr(text, '[', length);
        if (!open)
            return false;
        i = (size_t)(open - text) + 1;
    }
    while (i < length && strchr(" \t\r\n", text[i]))
        i++;
    size_t start = i;
    int depth = 0;
    bool quoted = false;
    for (; i < length; i++) {
        char c = text[i];
        if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if (depth == 0 && (c == ',' || c == ']')) {
            break;
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    if (i >= length || (i == start && text[i] == ']'))
        return false;
    /* After the last element the cursor stays on the bracket, so that the next call finds nothing. */
    *cursor = text[i] == ',' ? i + 1 : i;
    *ret_at = text + start;
    *ret_length = i - start;
    return true;
}

bool jsonrpc_raw_at(const struct jsonrpc_message *m, const char *const *names, const char **ret_at, size_t *ret_length)
{
    const char *at = m->text;
    size_t length = m->length;
    for (; *names; names++)
        if (!json_raw_member(at, length, *names, &at, &length))
            return false;
    *ret_at = at;
    *ret_length = length;
    return true;
}

char *jsonrpc_id_key(const char *raw, size_t length)
{
    if (!raw_is_id(raw, length))
        return NULL;
    if (raw[0] != '"')
        return strndup(raw, length);
    cleanup_json cJSON *value = json_parse(raw, length, limits, NULL);
    cleanup_buf struct buf key = {0};
    if (!cJSON_IsString(value) || buf_addf(&key, "\"%s", value->valuestring) < 0)
        return NULL;
    return buf_take(&key);
}
