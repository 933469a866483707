/* base/json: the strict reader on RFC 8259's edges, raw members, typed access, and a printer that loses nothing. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct json_limits no_limits = {0};

/* A copy without a byte to spare, so that the sanitizer sees a read past the end. */
static enum json_verdict check_exact(const char *text, size_t length, struct json_limits limits, struct error *err) {
    char *exact = malloc(length ? length : 1);
    enum json_verdict v;

    memcpy(exact, text, length);
    v = json_check(exact, length, limits, err);
    free(exact);
    return v;
}

#define T(text) text, sizeof(text) - 1

static const struct {
    const char *text;
    size_t length;
    enum json_verdict expect;
    const char *says; /* part of the message */
} table[] = {
    /* values */
    {T("null"), JSON_OK, NULL},
    {T("true"), JSON_OK, NULL},
    {T("false"), JSON_OK, NULL},
    {T("\"\""), JSON_OK, NULL},
    {T("[]"), JSON_OK, NULL},
    {T("{}"), JSON_OK, NULL},
    {T(" \t\r\n[ 1 , 2 ] \n"), JSON_OK, NULL},
    {T("{ \"a\" : { \"b\" : [ ] } , \"\" : null }"), JSON_OK, NULL},
    {T("{\"a\":1,\"a\":2}"), JSON_OK, NULL},
    {T(""), JSON_BAD, "line 1, column 1: the text is empty"},
    {T(" \n "), JSON_BAD, "ends too early"},
    {T("nul"), JSON_BAD, "ends too early"},
    {T("nulL"), JSON_BAD, "column 4"},
    {T("True"), JSON_BAD, "not a JSON value"},
    {T("NaN"), JSON_BAD, "not a JSON value"},
    {T("Infinity"), JSON_BAD, "not a JSON value"},
    {T("-Infinity"), JSON_BAD, "digit"},
    {T("undefined"), JSON_BAD, NULL},
    {T("'a'"), JSON_BAD, NULL},
    {T("a"), JSON_BAD, NULL},
    {T("/* */ 1"), JSON_BAD, NULL},
    {T("// x\n1"), JSON_BAD, NULL},
    {T("nullx"), JSON_BAD, "more text"},
    {T("1 2"), JSON_BAD, "line 1, column 3: there is more text"},
    {T("{} {}"), JSON_BAD, "more text"},
    {T("[]]"), JSON_BAD, "more text"},
    {T("1\0"), JSON_BAD, "more text"},
    {T("\0"), JSON_BAD, NULL},
    {T("\xef\xbb\xbf{}"), JSON_BAD, "byte order mark"},
    {T("\xff\xfe{\0}\0"), JSON_BAD, NULL},
    {T("[1]\x0b"), JSON_BAD, NULL},
    {T("[1]\x0c"), JSON_BAD, NULL},
    {T("[\xc2\xa0" "1]"), JSON_BAD, NULL},
    /* numbers */
    {T("0"), JSON_OK, NULL},
    {T("-0"), JSON_OK, NULL},
    {T("10"), JSON_OK, NULL},
    {T("-0.5e-10"), JSON_OK, NULL},
    {T("1E+2"), JSON_OK, NULL},
    {T("1e999"), JSON_OK, NULL},
    {T("0e0"), JSON_OK, NULL},
    {T("01"), JSON_BAD, "must not begin with 0"},
    {T("-01"), JSON_BAD, "must not begin with 0"},
    {T("00"), JSON_BAD, NULL},
    {T("1."), JSON_BAD, NULL},
    {T("[1.]"), JSON_BAD, "digit is missing"},
    {T(".5"), JSON_BAD, NULL},
    {T("+1"), JSON_BAD, NULL},
    {T("-"), JSON_BAD, NULL},
    {T("--1"), JSON_BAD, NULL},
    {T("1e"), JSON_BAD, NULL},
    {T("[1e+]"), JSON_BAD, NULL},
    {T("1.e1"), JSON_BAD, NULL},
    {T("0x10"), JSON_BAD, NULL},
    {T("1_000"), JSON_BAD, NULL},
    {T("1,000"), JSON_BAD, NULL},
    {T("[1 2]"), JSON_BAD, "expected ',' or ']'"},
    {T("123456789012345678901234567890123456789012345678901234567890123"), JSON_OK, NULL},
    {T("1234567890123456789012345678901234567890123456789012345678901234"), JSON_UNFIT, "63 characters"},
    {T("[-1E-400]"), JSON_UNFIT, "column 2"},
    {T("1e-400"), JSON_UNFIT, "close to 0"},
    {T("0.001e-330"), JSON_UNFIT, "close to 0"},
    {T("0e999"), JSON_OK, NULL},
    {T("-0.0E-999"), JSON_OK, NULL},
    {T("1e308"), JSON_OK, NULL},
    {T("5e-324"), JSON_OK, NULL},
    /* strings */
    {T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\""), JSON_OK, NULL},
    {T("\"\\ud83d\\ude00\""), JSON_OK, NULL},
    {T("\"\\uD83D\\uDE00\""), JSON_OK, NULL},
    {T("\"\x7f\""), JSON_OK, NULL},
    {T("\"\xe2\x80\xa8\""), JSON_OK, NULL},
    {T("\"\xef\xbb\xbf\""), JSON_OK, NULL},
    {T("\"\\u0001\""), JSON_OK, NULL},
    {T("\"\\u0000\""), JSON_UNFIT, "line 1, column 2: a string holds NUL"},
    {T("{\"a\\u0000\":1}"), JSON_UNFIT, "NUL"},
    {T("\"\\ud800\""), JSON_UNFIT, "surrogate"},
    {T("\"\\udc00\""), JSON_UNFIT, "surrogate"},
    {T("\"\\ud800\\ud800\\udc00\""), JSON_UNFIT, "column 2"},
    {T("\"\\ud800\\u0041\""), JSON_UNFIT, "surrogate"},
    {T("\"\\ud800x\""), JSON_UNFIT, "surrogate"},
    {T("\"\\udc00\\ud800\""), JSON_UNFIT, "surrogate"},
    {T("[\"\\ud800\", 01]"), JSON_BAD, "must not begin with 0"},
    {T("\"\\ud800\\u12\""), JSON_BAD, "four hexadecimal"},
    {T("\"\\u00g0\""), JSON_BAD, "four hexadecimal"},
    {T("\"\\u\""), JSON_BAD, NULL},
    {T("\"\\u12"), JSON_BAD, NULL},
    {T("\"\\x41\""), JSON_BAD, "escape"},
    {T("\"\\'\""), JSON_BAD, "escape"},
    {T("\"\\\0\""), JSON_BAD, "escape"},
    {T("\"\\U0041\""), JSON_BAD, "escape"},
    {T("\"\\"), JSON_BAD, NULL},
    {T("\""), JSON_BAD, "ends too early"},
    {T("\"a"), JSON_BAD, "ends too early"},
    {T("\"a\nb\""), JSON_BAD, "control character"},
    {T("\"a\tb\""), JSON_BAD, "control character"},
    {T("\"a\0b\""), JSON_BAD, "line 1, column 3: a control character"},
    /* objects and arrays */
    {T("[1,]"), JSON_BAD, "not a JSON value"},
    {T("[,1]"), JSON_BAD, NULL},
    {T("[,]"), JSON_BAD, NULL},
    {T("[1,,2]"), JSON_BAD, NULL},
    {T("["), JSON_BAD, "ends too early"},
    {T("[1"), JSON_BAD, "ends too early"},
    {T("]"), JSON_BAD, NULL},
    {T("[}"), JSON_BAD, NULL},
    {T("[1}"), JSON_BAD, NULL},
    {T("{]"), JSON_BAD, NULL},
    {T("{\"a\":1]"), JSON_BAD, "expected ',' or '}'"},
    {T("{\"a\":1,}"), JSON_BAD, "member name"},
    {T("{,}"), JSON_BAD, "member name"},
    {T("{\"a\"}"), JSON_BAD, "':'"},
    {T("{\"a\" 1}"), JSON_BAD, "':'"},
    {T("{\"a\"::1}"), JSON_BAD, NULL},
    {T("{\"a\":}"), JSON_BAD, NULL},
    {T("{\"a\":"), JSON_BAD, "ends too early"},
    {T("{\"a\""), JSON_BAD, "ends too early"},
    {T("{a:1}"), JSON_BAD, "member name"},
    {T("{1:1}"), JSON_BAD, "member name"},
    {T("{null:1}"), JSON_BAD, NULL},
    {T("{\"a\":1 \"b\":2}"), JSON_BAD, "expected ',' or '}'"},
    {T("{\"a\":1\n,\n  \"b\": oops}"), JSON_BAD, "line 3, column 8"},
    {T("[\"\xc3\xa9\xc3\xa9\", x]"), JSON_BAD, "line 1, column 8"},
};

START_TEST(verdict_table) {
    struct error err = {.message = "untouched"};
    enum json_verdict v = check_exact(table[_i].text, table[_i].length, no_limits, &err);
    cleanup_json cJSON *tree = json_parse(table[_i].text, table[_i].length, no_limits, NULL);

    ck_assert_msg(v == table[_i].expect, "%s: verdict %d, expected %d (%s)", table[_i].text, (int)v, (int)table[_i].expect, err.message);
    ck_assert_msg(!table[_i].says || strstr(err.message, table[_i].says), "%s: %s", table[_i].text, err.message);
    ck_assert_int_eq(strcmp(err.message, "untouched") == 0, v == JSON_OK);
    ck_assert_int_eq(tree != NULL, v == JSON_OK);
    if (v != JSON_OK)
        ck_assert_str_eq(err.step, "json");
    ck_assert_int_eq(json_check(table[_i].text, table[_i].length, no_limits, NULL), v);
}
END_TEST

START_TEST(every_prefix_is_refused) {
    static const char text[] = "{\"k\\u00e9\\ud83d\\ude00\":[1,-2.5e+3,true,false,null,\"\xf0\x9f\x98\x80\",{\"\":{}}],\"z\":\"\\n\"}";

    for (size_t n = 0; n < sizeof text - 1; n++)
        ck_assert_int_eq(check_exact(text, n, no_limits, NULL), JSON_BAD);
    ck_assert_int_eq(check_exact(text, sizeof text - 1, no_limits, NULL), JSON_OK);
}
END_TEST

START_TEST(invalid_utf8_at_each_byte) {
    char text[] = "{\"abcdefgh\xc3\xa9ijklmnop\":\"xyz\"}";
    const size_t n = sizeof text - 1;

    for (size_t at = 0; at < n; at++) {
        for (unsigned byte = 0x80; byte <= 0xff; byte++) {
            char kept = text[at];
            bool still_valid;

            text[at] = (char)byte;
            still_valid = utf8_valid(text, n);
            ck_assert_int_eq(check_exact(text, n, no_limits, NULL), still_valid ? JSON_OK : JSON_BAD);
            text[at] = kept;
        }
    }
}
END_TEST

START_TEST(every_control_character_is_refused_in_a_string) {
    for (char c = 0; c < 0x20; c++) {
        char text[] = "\"a?b\"";

        text[2] = c;
        ck_assert_int_eq(check_exact(text, 5, no_limits, NULL), JSON_BAD);
    }
}
END_TEST

static enum json_verdict nested(int depth, int limit, const char *open, const char *close, struct error *err) {
    cleanup_buf struct buf b = {0};

    for (int i = 0; i < depth; i++)
        buf_adds(&b, open);
    buf_adds(&b, "1");
    for (int i = 0; i < depth; i++)
        buf_adds(&b, close);
    enum json_verdict v = check_exact(b.data, b.len, (struct json_limits){.max_depth = limit}, err);
    cleanup_json cJSON *tree = json_parse(b.data, b.len, (struct json_limits){.max_depth = limit}, NULL);

    ck_assert_int_eq(tree != NULL, v == JSON_OK);
    if (tree) {
        cleanup_free char *printed = json_print(tree);

        ck_assert_str_eq(printed, b.data);
    }
    return v;
}

START_TEST(depth) {
    struct error err = {0};

    ck_assert_int_eq(nested(64, 0, "[", "]", NULL), JSON_OK);
    ck_assert_int_eq(nested(65, 0, "[", "]", &err), JSON_BAD);
    ck_assert_ptr_nonnull(strstr(err.message, "line 1, column 65: nested deeper than the 64 levels"));
    ck_assert_int_eq(nested(32, 0, "{\"a\":[", "]}", NULL), JSON_OK);
    ck_assert_int_eq(nested(33, 0, "{\"a\":[", "]}", NULL), JSON_BAD);
    ck_assert_int_eq(nested(3, 3, "[", "]", NULL), JSON_OK);
    ck_assert_int_eq(nested(4, 3, "[", "]", NULL), JSON_BAD);
    ck_assert_int_eq(nested(1000, 1000000, "[", "]", NULL), JSON_OK);
    ck_assert_int_eq(nested(1001, 1000000, "[", "]", NULL), JSON_BAD);
    ck_assert_int_eq(nested(100000, 0, "[", "]", NULL), JSON_BAD); /* and no stack is needed to say so */
}
END_TEST

START_TEST(size_bound) {
    struct error err;

    ck_assert_int_eq(check_exact("[1,2]", 5, (struct json_limits){.max_bytes = 5}, NULL), JSON_OK);
    ck_assert_int_eq(check_exact("[1,2]", 5, (struct json_limits){.max_bytes = 4}, &err), JSON_BAD);
    ck_assert_ptr_nonnull(strstr(err.message, "5 bytes, at most 4"));
}
END_TEST

static const struct {
    const char *text, *name, *raw; /* raw NULL: no such member */
} members[] = {
    {"{\"id\":9007199254740993}", "id", "9007199254740993"},
    {"{ \"a\" : [1,{\"id\":2}] , \"id\" : 1.50 , \"z\":0}", "id", "1.50"},
    {"{\"id\":\"a\\u0000\\\"}\"}", "id", "\"a\\u0000\\\"}\""},
    {"{\"x\":\"\\\\\",\"id\":1}", "id", "1"},
    {"{\"x\":\"\\\\\\\"\",\"id\":{\"a\":[1,\"]}\"]}}", "id", "{\"a\":[1,\"]}\"]}"},
    {"{\"id\":1,\"id\":2}", "id", "1"},
    {"{\"\\u0069\\u0064\":3}", "id", "3"},
    {"{\"\\u0069d\":3,\"id\":4}", "id", "3"},
    {"{\"\\u00e9\":3}", "\xc3\xa9", "3"},
    {"{\"\\ud83d\\ude00\":3}", "\xf0\x9f\x98\x80", "3"},
    {"{\"\\u20ac\\/\\n\":null}", "\xe2\x82\xac/\n", "null"},
    {"{\"id\\u0000\":3}", "id", NULL},
    {"{\"\\ud800\":3}", "\xed\xa0\x80", NULL},
    {"{\"i\":1,\"idx\":2,\"ID\":3}", "id", NULL},
    {"{\"\":5}", "", "5"},
    {"{\"a\":{\"id\":1}}", "id", NULL},
    {"{}", "id", NULL},
    {"[\"id\",1]", "id", NULL},
    {"\"id\"", "id", NULL},
    {" \n{\"id\"\n:\ttrue\n}", "id", "true"},
    {"{\"id\":-1e5,\"b\":1}", "id", "-1e5"},
};

START_TEST(raw_members) {
    const char *at = NULL;
    size_t length = strlen(members[_i].text), got = 0;
    char *exact = malloc(length);
    bool found;

    memcpy(exact, members[_i].text, length);
    ck_assert_int_ne(json_check(exact, length, no_limits, NULL), JSON_BAD);
    found = json_raw_member(exact, length, members[_i].name, &at, &got);
    ck_assert_msg(found == (members[_i].raw != NULL), "%s", members[_i].text);
    if (found) {
        ck_assert_uint_eq(got, strlen(members[_i].raw));
        ck_assert_mem_eq(at, members[_i].raw, got);
    }
    free(exact);
}
END_TEST

START_TEST(typed_access) {
    static const char text[] = "{\"s\":\"x\",\"t\":true,\"f\":false,\"i\":7,\"n\":-9007199254740992,\"big\":9007199254740994,\"h\":1.5,"
                               "\"inf\":1e999,\"null\":null,\"a\":[1],\"S\":\"upper\"}";
    const char *known[] = {"s", "t", "f", "i", "n", "big", "h", "inf", "null", "S", NULL};
    cleanup_json cJSON *o = json_parse(text, sizeof text - 1, no_limits, NULL);
    int64_t i = 5;
    bool b = false;

    ck_assert_str_eq(json_get_string(o, "s"), "x");
    ck_assert_str_eq(json_get_string(o, "S"), "upper");
    ck_assert_ptr_null(json_get_string(o, "i"));
    ck_assert_ptr_null(json_get_string(o, "missing"));
    ck_assert_ptr_null(json_get(json_get(o, "a"), "s"));
    ck_assert_ptr_null(json_get(NULL, "s"));
    ck_assert(json_get_bool(o, "t", &b) && b);
    ck_assert(json_get_bool(o, "f", &b) && !b);
    ck_assert(!json_get_bool(o, "i", &b));
    ck_assert(!json_get_int(o, "big", &i) && !json_get_int(o, "h", &i) && !json_get_int(o, "inf", &i));
    ck_assert(!json_get_int(o, "s", &i) && !json_get_int(o, "null", &i) && !json_get_int(o, "missing", &i));
    ck_assert_int_eq(i, 5);
    ck_assert(json_get_int(o, "i", &i));
    ck_assert_int_eq(i, 7);
    ck_assert(json_get_int(o, "n", &i));
    ck_assert_int_eq(i, -9007199254740992);
    ck_assert_str_eq(json_unknown_member(o, known), "a");
    ck_assert_ptr_null(json_unknown_member(json_get(o, "a"), known));
    ck_assert_ptr_null(json_unknown_member(NULL, known));
}
END_TEST

static const struct {
    const char *in, *out;
} prints[] = {
    {"[1, 2 ,{ \"a\":\n[ ] }]", "[1,2,{\"a\":[]}]"},
    {"0.30000000000000004", "0.30000000000000004"},
    {"9007199254740991", "9007199254740991"},
    {"-9007199254740992", "-9007199254740992"},
    {"1234567890123456", "1234567890123456"},
    {"0.1", "0.1"},
    {"1e22", "1e+22"},
    {"1e300", "1e+300"},
    {"5e-324", "4.94065645841247e-324"},
    {"1.7976931348623157e308", "1.7976931348623157e+308"},
    {"-0", "-0"},
    {"2.50", "2.5"},
    {"[0,-1,10,-9007199254740993,1e17]", "[0,-1,10,-9007199254740992,1e+17]"},
    {"1e999", "null"},
    {"true", "true"},
    {"\"\\u2028\xe2\x80\xa9\xe2\x80\xaa\"", "\"\\u2028\\u2029\xe2\x80\xaa\""},
    {"{\"\xe2\x80\xa8\":1}", "{\"\\u2028\":1}"},
    {"\"\\u0001\\u001f\\u007f\\/\\\"\\\\\\b\\f\\n\\r\\t\"", "\"\\u0001\\u001f\x7f/\\\"\\\\\\b\\f\\n\\r\\t\""},
    {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
};

START_TEST(print_table) {
    cleanup_json cJSON *tree = json_parse(prints[_i].in, strlen(prints[_i].in), no_limits, NULL);
    cleanup_free char *text = json_print(tree);
    cleanup_free char *pretty = json_print_pretty(tree);
    cleanup_json cJSON *again = json_parse(pretty, strlen(pretty), no_limits, NULL);
    cleanup_free char *second = json_print(again);

    ck_assert_str_eq(text, prints[_i].out);
    ck_assert_str_eq(second, prints[_i].out);
}
END_TEST

START_TEST(doubles_read_back_the_same) {
    uint64_t bits = 88172645463325252u;

    for (int i = 0; i < 20000; i++) {
        double v, back;

        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17; /* xorshift64 */
        memcpy(&v, &bits, sizeof v);
        if (i % 2) /* numbers as people write them, too */
            v = (double)(int64_t)(bits % 2000000000) / 1000;
        if (!isfinite(v))
            continue;
        cleanup_json cJSON *number = cJSON_CreateNumber(v);
        cleanup_free char *text = json_print(number);

        ck_assert_int_eq(json_check(text, strlen(text), no_limits, NULL), JSON_OK);
        back = strtod(text, NULL);
        ck_assert_mem_eq(&v, &back, sizeof v);
    }
}
END_TEST

START_TEST(pretty_and_raw) {
    static const char text[] = "{\"a\":[1,{}],\"b\":{\"c\":[]}}";
    cleanup_json cJSON *tree = json_parse(text, sizeof text - 1, no_limits, NULL);
    cleanup_free char *pretty = json_print_pretty(tree);
    cleanup_json cJSON *raw = cJSON_CreateRaw("{\n \"id\":\r\n 1.50,\"s\":\"\xe2\x80\xa8\xe2\x82\xac\"}");
    cleanup_free char *line = json_print(raw);
    cleanup_json cJSON *odd = cJSON_CreateNull();

    ck_assert_str_eq(pretty, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {\n    \"c\": []\n  }\n}");
    ck_assert_str_eq(line, "{  \"id\":   1.50,\"s\":\"\\u2028\xe2\x82\xac\"}");
    odd->type = 0;
    ck_assert_ptr_null(json_print(odd));
    ck_assert_ptr_null(json_print(NULL));
}
END_TEST

START_TEST(text_is_cleaned) {
    cleanup_json cJSON *item = json_text("a\0b\xff\xf0\x9f\x98", 7);
    cleanup_json cJSON *empty = json_text(NULL, 0);
    cleanup_free char *text = json_print(item);

    ck_assert_str_eq(text, "\"a\xe2\x90\x80" "b\xef\xbf\xbd\xef\xbf\xbd\"");
    ck_assert_str_eq(empty->valuestring, "");
}
END_TEST

static void file_with(char *path, const char *text) {
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

START_TEST(files) {
    char good[] = "/tmp/snipara-json-XXXXXX", broken[] = "/tmp/snipara-json-XXXXXX";
    struct error err;
    cJSON *tree;

    file_with(good, "{\"a\":1}\n");
    file_with(broken, "{\"a\":1,\n}\n");
    tree = json_parse_file(good, no_limits, &err);
    ck_assert_ptr_nonnull(json_get(tree, "a"));
    cJSON_Delete(tree);
    ck_assert_ptr_null(json_parse_file(broken, no_limits, &err));
    ck_assert_int_eq(strncmp(err.message, broken, strlen(broken)), 0);
    ck_assert_ptr_nonnull(strstr(err.message, ": line 2, column 1: expected a member name"));
    ck_assert_ptr_null(json_parse_file(good, (struct json_limits){.max_bytes = 7}, &err));
    ck_assert_ptr_nonnull(strstr(err.message, good));
    ck_assert_ptr_null(json_parse_file("/nonexistent/policy.json", no_limits, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "/nonexistent/policy.json"));
    unlink(good);
    unlink(broken);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("base/json");
    TCase *t = unit_group(s, "check");

    tcase_add_loop_test(t, verdict_table, 0, UNIT_ROWS(table));
    tcase_add_test(t, every_prefix_is_refused);
    tcase_add_test(t, invalid_utf8_at_each_byte);
    tcase_add_test(t, every_control_character_is_refused_in_a_string);
    tcase_add_test(t, depth);
    tcase_add_test(t, size_bound);
    t = unit_group(s, "access");
    tcase_add_loop_test(t, raw_members, 0, UNIT_ROWS(members));
    tcase_add_test(t, typed_access);
    tcase_add_test(t, files);
    t = unit_group(s, "print");
    tcase_add_loop_test(t, print_table, 0, UNIT_ROWS(prints));
    tcase_add_test(t, doubles_read_back_the_same);
    tcase_add_test(t, pretty_and_raw);
    tcase_add_test(t, text_is_cleaned);
    return s;
}

UNIT_MAIN(suite)
