/* libFuzzer target: one line of a client. Whatever it is, it is told apart without touching memory that is not its own, its id
 * points into it, the elements of a batch are JSON, and the answer that it earns is one line of good JSON with the id as it came. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/arguments.h"
#include "mcp/jsonrpc.h"
#include "mcp/tools.h"

static void check_answer(const struct jsonrpc_message *m) {
    cleanup_buf struct buf line = {0};
    const char *id;
    size_t length;

    require(jsonrpc_put_error(&line, m->id, m->id_length, m->code, m->message) == 0);
    require(json_check(line.data, line.len, (struct json_limits){0}, NULL) != JSON_BAD);
    require(json_raw_member(line.data, line.len, "id", &id, &length));
    require(m->id ? length == m->id_length && memcmp(id, m->id, length) == 0 : length == 4);
}

static void check_arguments(const struct jsonrpc_message *m) {
    cleanup_buf struct buf problem = {.max = 4096};
    const cJSON *arguments = json_get(m->params, "arguments");

    if (!cJSON_IsObject(arguments))
        return;
    bool right = mcp_arguments_check(mcp_execute_python.arguments, mcp_execute_python.argument_count, arguments, &problem);
    require(right == (problem.len == 0));
}

static void check_raw(const struct jsonrpc_message *m) {
    static const char *const token[] = {"params", "_meta", "progressToken", NULL};
    const char *at;
    size_t length;

    if (jsonrpc_raw_at(m, token, &at, &length))
        require(at >= m->text && at + length <= m->text + m->length);
}

static void check(const char *text, size_t length, bool inside);

/* Each element is JSON, and there are as many as cJSON counts. */
static void check_batch(const char *text, size_t length) {
    cleanup_json cJSON *whole = json_parse(text, length, (struct json_limits){0}, NULL);
    const char *at;
    size_t cursor = 0, part, count = 0;

    while (jsonrpc_batch_next(text, length, &cursor, &at, &part)) {
        require(at > text && at + part <= text + length);
        require(json_check(at, part, (struct json_limits){0}, NULL) != JSON_BAD);
        check(at, part, true);
        count++;
    }
    require(!whole || count == (size_t)cJSON_GetArraySize(whole));
}

static void check(const char *text, size_t length, bool inside) {
    cleanup_jsonrpc struct jsonrpc_message m;

    jsonrpc_read(text, length, &m);
    require(!m.id || (m.id >= text && m.id + m.id_length <= text + length));
    check_answer(&m);
    if (m.id) {
        cleanup_free char *key = jsonrpc_id_key(m.id, m.id_length);
        require(key != NULL || m.id[0] == '"'); /* a string that no C string can hold has no key */
    }
    if (m.kind == JSONRPC_BATCH && !inside)
        check_batch(text, length);
    if (m.kind != JSONRPC_REQUEST && m.kind != JSONRPC_NOTIFICATION)
        return;
    require(m.method != NULL);
    check_arguments(&m);
    check_raw(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check((const char *)data, size, false);
    return 0;
}
