/* The pure parts of mcp/: messages, ids, batches, versions, arguments, near matches. */
#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/arguments.h"
#include "mcp/jsonrpc.h"
#include "mcp/near_match.h"
#include "mcp/protocol.h"
#include "mcp/tools.h"
#include "unit.h"

#include <string.h>

/* ---- messages */

static const struct {
    const char *text;
    enum jsonrpc_kind kind;
    int code;       /* of JSONRPC_INVALID */
    const char *id; /* raw, or NULL */
} messages[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", JSONRPC_REQUEST, 0, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\",\"params\":null}", JSONRPC_REQUEST, 0, "0"},
    {" {\"method\":\"ping\", \"id\" : -4 ,\"jsonrpc\":\"2.0\"} ", JSONRPC_REQUEST, 0, "-4"},
    {"{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"method\":\"ping\"}", JSONRPC_REQUEST, 0, "9007199254740993"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.50,\"method\":\"ping\"}", JSONRPC_REQUEST, 0, "1.50"},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\"}", JSONRPC_REQUEST, 0, "\"\""},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\\u00e9\\ud83d\\ude00\",\"method\":\"ping\"}", JSONRPC_REQUEST, 0, "\"\\u00e9\\ud83d\\ude00\""},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", JSONRPC_NOTIFICATION, 0, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}", JSONRPC_NOTHING, 0, "3"},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", JSONRPC_NOTHING, 0, NULL},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[1]}", JSONRPC_NOTHING, 0, NULL},
    {"[]", JSONRPC_BATCH, 0, NULL},
    {" [{}]", JSONRPC_BATCH, 0, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", JSONRPC_INVALID, JSONRPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", JSONRPC_INVALID, JSONRPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", JSONRPC_INVALID, JSONRPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", JSONRPC_INVALID, JSONRPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}", JSONRPC_INVALID, JSONRPC_INVALID_REQUEST, "5"},
    {"{\"id\":5,\"method\":\"ping\"}", JSONRPC_INVALID, JSONRPC_INVALID_REQUEST, "5"},
    {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}", JSONRPC_INVALID, JSONRPC_INVALID_REQUEST, "5"},
    {"{\"jsonrpc\":\"2.0\",\"id\":5}", JSONRPC_INVALID, JSONRPC_INVALID_REQUEST, "5"},
    {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"params\":[1]}", JSONRPC_INVALID, JSONRPC_INVALID_PARAMS, "5"},
    {"17", JSONRPC_INVALID, JSONRPC_INVALID_REQUEST, NULL},
    {"\"text\"", JSONRPC_INVALID, JSONRPC_INVALID_REQUEST, NULL},
    {"", JSONRPC_INVALID, JSONRPC_PARSE_ERROR, NULL},
    {"{", JSONRPC_INVALID, JSONRPC_PARSE_ERROR, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xff\"}", JSONRPC_INVALID, JSONRPC_PARSE_ERROR, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"} x", JSONRPC_INVALID, JSONRPC_PARSE_ERROR, NULL},
    /* NUL and lone surrogates: refused under the request's own id */
    {"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"m\",\"params\":{\"c\":\"1\\u0000\"}}", JSONRPC_INVALID, JSONRPC_INVALID_PARAMS, "6"},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\",\"params\":{\"c\":\"\\ud800\"}}", JSONRPC_INVALID, JSONRPC_INVALID_PARAMS, "\"a\""},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\",\"params\":\"\\u0000\"}", JSONRPC_INVALID, JSONRPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":\"\\u0000\"}", JSONRPC_NOTHING, 0, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":\"\\u0000\"}", JSONRPC_NOTHING, 0, "6"},
};

START_TEST(messages_are_told_apart) {
    cleanup_jsonrpc struct jsonrpc_message m;
    const char *id = messages[_i].id;

    jsonrpc_read(messages[_i].text, strlen(messages[_i].text), &m);
    ck_assert_msg(m.kind == messages[_i].kind, "%s: kind %d", messages[_i].text, (int)m.kind);
    ck_assert_int_eq(m.code, messages[_i].code);
    ck_assert_int_eq(*m.message != '\0', m.kind == JSONRPC_INVALID);
    ck_assert_msg(!id == !m.id, "%s", messages[_i].text);
    if (id) {
        ck_assert_uint_eq(m.id_length, strlen(id));
        ck_assert_mem_eq(m.id, id, m.id_length);
    }
    if (m.kind == JSONRPC_REQUEST || m.kind == JSONRPC_NOTIFICATION)
        ck_assert_ptr_nonnull(m.method);
}
END_TEST

START_TEST(unfit_text_says_where) {
    static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"m\",\"params\":{\"c\":\"1\\u0000\"}}";
    cleanup_jsonrpc struct jsonrpc_message m;

    jsonrpc_read(text, sizeof text - 1, &m);
    ck_assert_ptr_nonnull(strstr(m.message, "line 1, column"));
    ck_assert_ptr_nonnull(strstr(m.message, "NUL"));
}
END_TEST

static const struct { const char *raw, *key; } keys[] = {
    {"1", "1"}, {"1.50", "1.50"}, {"-4", "-4"}, {"\"1\"", "\"1"}, {"\"\\u00e9\"", "\"\xc3\xa9"}, {"\"\xc3\xa9\"", "\"\xc3\xa9"},
    {"null", NULL}, {"{}", NULL}, {"true", NULL}, {"[1]", NULL}, {"", NULL}};

START_TEST(equal_ids_have_equal_keys) {
    cleanup_free char *key = jsonrpc_id_key(keys[_i].raw, strlen(keys[_i].raw));

    if (keys[_i].key)
        ck_assert_str_eq(key, keys[_i].key);
    else
        ck_assert_ptr_null(key);
}
END_TEST

static const struct { const char *text; const char *parts[5]; } batches[] = {
    {"[]", {NULL}}, {" [ ] ", {NULL}}, {"[1]", {"1", NULL}}, {"[{\"a\":[1,2]},\"x,]\\\"\",[3,[4]]]", {"{\"a\":[1,2]}", "\"x,]\\\"\"", "[3,[4]]", NULL}},
    {"[ 1 , 2 ]", {"1 ", "2 ", NULL}}};

START_TEST(batches_are_split) {
    const char *text = batches[_i].text, *at;
    size_t cursor = 0, length, n = 0;

    while (jsonrpc_batch_next(text, strlen(text), &cursor, &at, &length)) {
        ck_assert_ptr_nonnull(batches[_i].parts[n]);
        ck_assert_uint_eq(length, strlen(batches[_i].parts[n]));
        ck_assert_mem_eq(at, batches[_i].parts[n], length);
        n++;
    }
    ck_assert_ptr_null(batches[_i].parts[n]);
}
END_TEST

START_TEST(answers_echo_the_raw_id) {
    cleanup_buf struct buf b = {0};
    cleanup_json cJSON *result = cJSON_Parse("{\"a\":\"line\\nbreak\"}");

    jsonrpc_put_result(&b, "1.50", 4, result);
    ck_assert_str_eq(b.data, "{\"jsonrpc\":\"2.0\",\"id\":1.50,\"result\":{\"a\":\"line\\nbreak\"}}");
    buf_clear(&b);
    jsonrpc_put_error(&b, NULL, 0, -32700, "quote \" and \xff");
    ck_assert_str_eq(b.data, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"quote \\\" and \xef\xbf\xbd\"}}");
    ck_assert_ptr_null(memchr(b.data, '\n', b.len));
}
END_TEST

/* ---- versions */

static const struct { const char *asked, *given; } versions[] = {
    {"2024-11-05", "2024-11-05"}, {"2025-03-26", "2025-03-26"}, {"2025-06-18", "2025-06-18"}, {"2025-11-25", "2025-11-25"},
    {"2031-01-01", "2025-11-25"}, {"2026-07-28", "2025-11-25"}, {"", "2025-11-25"},       {NULL, "2025-11-25"}};

START_TEST(versions_are_negotiated) {
    enum mcp_version v = mcp_negotiate(versions[_i].asked);
    cleanup_json cJSON *result = mcp_initialize_result(v);

    ck_assert_str_eq(json_get_string(result, "protocolVersion"), versions[_i].given);
    ck_assert_str_eq(json_get_string(json_get(result, "serverInfo"), "name"), "snipara-sandbox");
    ck_assert(cJSON_IsObject(json_get(json_get(result, "capabilities"), "tools")));
}
END_TEST

START_TEST(only_one_version_has_batches) {
    for (enum mcp_version v = MCP_2024_11_05; v <= MCP_LATEST_LEGACY; v++)
        ck_assert_int_eq(mcp_has_batches(v), v == MCP_2025_03_26);
}
END_TEST

START_TEST(the_list_of_tools) {
    cleanup_json cJSON *list = mcp_tools_list((enum mcp_version)_i), *again = mcp_tools_list((enum mcp_version)_i);
    cleanup_free char *one = json_print(list), *two = json_print(again);
    const cJSON *tool;

    ck_assert_str_eq(one, two);
    cJSON_ArrayForEach(tool, json_get(list, "tools")) {
        const cJSON *input = json_get(tool, "inputSchema");
        ck_assert_ptr_nonnull(mcp_tool_by_name(json_get_string(tool, "name")));
        ck_assert_str_eq(json_get_string(input, "type"), "object");
        ck_assert(cJSON_IsFalse(json_get(input, "additionalProperties")));
        ck_assert_int_eq(json_get(tool, "outputSchema") != NULL, _i >= MCP_2025_06_18);
        ck_assert_uint_gt(strlen(json_get_string(tool, "description")), 40);
    }
    ck_assert_int_eq(cJSON_GetArraySize(json_get(list, "tools")), 3);
    ck_assert_ptr_null(mcp_tool_by_name("execute_ruby"));
}
END_TEST

/* ---- arguments */

static const struct { const char *arguments; const char *words[4]; } wrong[] = {
    {"{}", {"\"code\" is missing", NULL}},
    {"{\"code\":5}", {"\"code\"", "a string", "the number 5", NULL}},
    {"{\"code\":null}", {"\"code\"", "got null", NULL}},
    {"{\"code\":\"1\",\"timeout\":0}", {"\"timeout\"", "from 1 to 300", "the number 0", NULL}},
    {"{\"code\":\"1\",\"timeout\":-1}", {"\"timeout\"", "the number -1", NULL}},
    {"{\"code\":\"1\",\"timeout\":0.04}", {"\"timeout\"", NULL}},
    {"{\"code\":\"1\",\"timeout\":301}", {"\"timeout\"", "301", NULL}},
    {"{\"code\":\"1\",\"timeout\":1e99}", {"\"timeout\"", NULL}},
    {"{\"code\":\"1\",\"timeout\":1e999}", {"\"timeout\"", NULL}},
    {"{\"code\":\"1\",\"timeout\":\"5\"}", {"\"timeout\"", "the string \"5\"", NULL}},
    {"{\"code\":\"1\",\"timeout\":true}", {"\"timeout\"", "got true", NULL}},
    {"{\"code\":\"1\",\"timeout\":{}}", {"\"timeout\"", "an object", NULL}},
    {"{\"code\":\"1\",\"environment\":\"sandbx\"}", {"\"environment\"", "Did you mean \"sandbox\"?", NULL}},
    {"{\"code\":\"1\",\"profile\":7}", {"\"profile\"", "\"quick\", \"default\", \"analysis\", \"extended\"", NULL}},
    {"{\"code\":\"1\",\"files\":{}}", {"\"files\"", "an array", NULL}},
    {"{\"code\":\"1\",\"sesion_id\":\"a\"}", {"unknown argument \"sesion_id\"", "Did you mean \"session_id\"?", NULL}},
    {"{\"code\":\"1\",\"surprise\":1}", {"unknown argument \"surprise\"", "known are code, session_id", NULL}},
};

START_TEST(wrong_arguments_are_explained) {
    cleanup_json cJSON *given = cJSON_Parse(wrong[_i].arguments);
    cleanup_buf struct buf problem = {0};

    ck_assert(!mcp_arguments_check(mcp_execute_python.arguments, mcp_execute_python.argument_count, given, &problem));
    for (size_t i = 0; wrong[_i].words[i]; i++)
        ck_assert_msg(strstr(problem.data, wrong[_i].words[i]) != NULL, "%s: %s", wrong[_i].arguments, problem.data);
}
END_TEST

static const char *const right[] = {
    "{\"code\":\"1\"}", "{\"code\":\" \"}", "{\"code\":\"1\",\"timeout\":300}", "{\"code\":\"1\",\"timeout\":0.05}", "{\"code\":\"1\",\"timeout\":1.5}",
    "{\"code\":\"1\",\"timeout\":null,\"session_id\":null}", "{\"code\":\"1\",\"environment\":\"docker\",\"profile\":\"quick\",\"files\":[]}"};

START_TEST(right_arguments_pass) {
    cleanup_json cJSON *given = cJSON_Parse(right[_i]);
    cleanup_buf struct buf problem = {0};

    ck_assert_msg(mcp_arguments_check(mcp_execute_python.arguments, mcp_execute_python.argument_count, given, &problem), "%s", problem.data);
}
END_TEST

START_TEST(long_wrong_values_are_shortened) {
    cleanup_buf struct buf text = {0}, problem = {0};

    buf_adds(&text, "{\"code\":\"1\",\"timeout\":\"");
    for (int i = 0; i < 10000; i++)
        buf_adds(&text, "\xc3\xa9");
    buf_adds(&text, "\"}");
    cleanup_json cJSON *given = cJSON_Parse(text.data);
    ck_assert(!mcp_arguments_check(mcp_execute_python.arguments, mcp_execute_python.argument_count, given, &problem));
    ck_assert_uint_lt(problem.len, 300);
}
END_TEST

static const struct { const char *word, *near; } words[] = {
    {"exce", "exec"}, {"doctr", "doctor"}, {"polcy", "policy"}, {"mcpserve", "mcp-serve"}, {"", NULL}, {"zzz", NULL}, {"x", NULL}};

START_TEST(near_words) {
    static const char *const known[] = {"exec", "mcp-serve", "policy", "doctor", "version", "help"};
    const char *near = near_match(words[_i].word, known, UNIT_ROWS(known));

    ck_assert_msg(words[_i].near ? near && !strcmp(near, words[_i].near) : !near, "%s: %s", words[_i].word, near ? near : "none");
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("mcp/protocol");
    TCase *t = unit_group(s, "messages");

    tcase_add_loop_test(t, messages_are_told_apart, 0, UNIT_ROWS(messages));
    tcase_add_test(t, unfit_text_says_where);
    tcase_add_loop_test(t, equal_ids_have_equal_keys, 0, UNIT_ROWS(keys));
    tcase_add_loop_test(t, batches_are_split, 0, UNIT_ROWS(batches));
    tcase_add_test(t, answers_echo_the_raw_id);
    t = unit_group(s, "versions");
    tcase_add_loop_test(t, versions_are_negotiated, 0, UNIT_ROWS(versions));
    tcase_add_test(t, only_one_version_has_batches);
    tcase_add_loop_test(t, the_list_of_tools, MCP_2024_11_05, MCP_LATEST_LEGACY + 1);
    t = unit_group(s, "arguments");
    tcase_add_loop_test(t, wrong_arguments_are_explained, 0, UNIT_ROWS(wrong));
    tcase_add_loop_test(t, right_arguments_pass, 0, UNIT_ROWS(right));
    tcase_add_test(t, long_wrong_values_are_shortened);
    tcase_add_loop_test(t, near_words, 0, UNIT_ROWS(words));
    return s;
}

UNIT_MAIN(suite)
