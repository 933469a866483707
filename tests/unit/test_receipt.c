/* Receipts: JSON against doc/receipt.schema.json in every status, text, capture, digests, exit codes. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"
#include "receipt/output_text.h"
#include "receipt/receipt.h"
#include "receipt/refusal.h"
#include "unit.h"

#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

/* ---- as much of JSON Schema as the receipt's schema uses */

static const cJSON *schema_root;

static const cJSON *resolve(const cJSON *schema) {
    const char *ref = json_get_string(schema, "$ref");

    return ref ? json_get(json_get(schema_root, "$defs"), ref + strlen("#/$defs/")) : schema;
}

static bool is_type(const cJSON *value, const char *type) {
    if (!strcmp(type, "object"))
        return cJSON_IsObject(value);
    if (!strcmp(type, "array"))
        return cJSON_IsArray(value);
    if (!strcmp(type, "string"))
        return cJSON_IsString(value);
    if (!strcmp(type, "boolean"))
        return cJSON_IsBool(value);
    if (!strcmp(type, "null"))
        return cJSON_IsNull(value);
    return cJSON_IsNumber(value) && (!strcmp(type, "number") || value->valuedouble == (double)(int64_t)value->valuedouble);
}

static bool matches(const char *pattern, const char *text) {
    regex_t compiled;
    bool found;

    ck_assert_int_eq(regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB), 0);
    found = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

static bool type_fits(const cJSON *value, const cJSON *type) {
    const cJSON *one;

    if (!type)
        return true;
    if (cJSON_IsString(type))
        return is_type(value, type->valuestring);
    cJSON_ArrayForEach(one, type) {
        if (is_type(value, one->valuestring))
            return true;
    }
    return false;
}

static bool listed(const cJSON *value, const cJSON *list) {
    const cJSON *one;

    cJSON_ArrayForEach(one, list) {
        if (cJSON_Compare(one, value, true))
            return true;
    }
    return false;
}

static void valid(const cJSON *value, const cJSON *given, const char *path) {
    const cJSON *schema = resolve(given), *constant = json_get(schema, "const"), *list = json_get(schema, "enum"), *child, *sub;
    const cJSON *minimum = json_get(schema, "minimum"), *above = json_get(schema, "exclusiveMinimum");
    const char *pattern = json_get_string(schema, "pattern");
    char below[300];

    ck_assert_msg(type_fits(value, json_get(schema, "type")), "%s: type", path);
    ck_assert_msg(!constant || cJSON_Compare(constant, value, true), "%s: const", path);
    ck_assert_msg(!list || listed(value, list), "%s: enum", path);
    ck_assert_msg(!pattern || !cJSON_IsString(value) || matches(pattern, value->valuestring), "%s: pattern", path);
    ck_assert_msg(!minimum || !cJSON_IsNumber(value) || value->valuedouble >= minimum->valuedouble, "%s: minimum", path);
    ck_assert_msg(!above || !cJSON_IsNumber(value) || value->valuedouble > above->valuedouble, "%s: exclusiveMinimum", path);
    if (cJSON_IsObject(value)) {
        cJSON_ArrayForEach(sub, json_get(schema, "required")) {
            ck_assert_msg(json_get(value, sub->valuestring) != NULL, "%s: %s is missing", path, sub->valuestring);
        }
        cJSON_ArrayForEach(child, value) {
            sub = json_get(json_get(schema, "properties"), child->string);
            snprintf(below, sizeof below, "%s/%s", path, child->string);
            ck_assert_msg(sub || !cJSON_IsFalse(json_get(schema, "additionalProperties")), "%s is not in the schema", below);
            if (sub)
                valid(child, sub, below);
        }
    }
    if (cJSON_IsArray(value) && (sub = json_get(schema, "items"))) {
        cJSON_ArrayForEach(child, value) {
            valid(child, sub, path);
        }
    }
}

static cJSON *load_schema(void) {
    const char *source = getenv("srcdir");
    struct error err = {0};
    char path[4096];
    cJSON *schema;

    snprintf(path, sizeof path, "%s/doc/receipt.schema.json", source ? source : ".");
    schema = json_parse_file(path, (struct json_limits){0}, &err);
    ck_assert_msg(schema != NULL, "%s", err.message);
    return schema;
}

/* ---- receipts to look at */

static void print_to(struct receipt_output *to, const char *data, size_t length, uint64_t bound) {
    struct receipt_capture c;

    receipt_capture_begin(&c, to, bound);
    ck_assert_int_eq(receipt_capture_add(&c, data, length), 0);
    receipt_capture_end(&c);
}

static void fill(struct receipt *r, enum receipt_status status) {
    receipt_init(r);
    r->status = status;
    r->session_id = strdup("default");
    r->environment = strdup("sandbox");
    r->policy = strdup("strict");
    r->backend = "native";
    r->rung = "T1";
    r->call = 3;
    r->timeout_seconds = 30;
    r->memory_bytes = 512u << 20;
    r->pids = 64;
    r->cpus = 1;
    r->wall_ms = 12.3456;
    r->memory_peak_bytes = 4096;
    r->memory_counts = "cgroup";
    r->started_wall = 1790000000123000000u;
    r->finished_wall = r->started_wall + 5000000;
    ck_assert_int_eq(receipt_add_layer(r, "seccomp"), 0);
    ck_assert_int_eq(receipt_add_missing(r, "cgroup_cpu", "no cpu controller", "mount it"), 0);
    print_to(&r->out, "out\n", 4, 1000);
    print_to(&r->err, "err\xff", 4, 1000);
    strcpy(r->digest_code, r->out.digest);
    strcpy(r->digest_policy, r->out.digest);
}

static void fail_with(struct receipt *r, const char *type, const char *message) {
    r->error_type = strdup(type);
    r->error_message = strdup(message);
}

/* What a status brings with it. */
static void shape(struct receipt *r) {
    switch (r->status) {
    case RECEIPT_OK:
        r->value_repr = strdup("42");
        r->value_type = strdup("int");
        r->value_json = cJSON_CreateNumber(42);
        break;
    case RECEIPT_ERROR:
        fail_with(r, "ZeroDivisionError", "division by zero");
        r->error_traceback = strdup("Traceback:\nZeroDivisionError: division by zero");
        r->error_line = 1;
        break;
    case RECEIPT_REJECTED:
        fail_with(r, "Rejected", "attribute '__class__'");
        r->error_line = 2;
        r->error_column = 5;
        r->rule = strdup("attribute");
        r->remedy = strdup("use the public interface");
        break;
    case RECEIPT_TIMEOUT:
        r->limit_hit = "timeout";
        r->session_lost = true;
        break;
    case RECEIPT_OUT_OF_MEMORY:
        r->limit_hit = "memory";
        r->session_lost = true;
        break;
    case RECEIPT_CRASHED:
        r->signal = 11;
        r->session_lost = true;
        break;
    case RECEIPT_CANCELLED: break;
    case RECEIPT_REFUSED: fail_with(r, "Refused", "no seccomp"); break;
    }
}

START_TEST(json_satisfies_the_schema) {
    cleanup_json cJSON *schema = load_schema();
    struct receipt r;

    fill(&r, (enum receipt_status)_i);
    shape(&r);
    receipt_add_denied(&r, "seccomp", "socket(AF_INET)", 2);
    cleanup_json cJSON *document = receipt_json(&r);
    schema_root = schema;
    valid(document, schema, "");
    ck_assert_str_eq(json_get_string(document, "status"), receipt_status_name((enum receipt_status)_i));
    ck_assert_int_eq(json_get(document, "result") != NULL, _i == RECEIPT_OK);
    ck_assert_int_eq(json_get(json_get(document, "session"), "session_lost") != NULL, r.session_lost);
    receipt_free(&r);
}
END_TEST

START_TEST(an_empty_receipt_and_a_refusal_satisfy_the_schema) {
    cleanup_json cJSON *schema = load_schema();
    struct error why = {.step = "landlock", .message = "no Landlock"};
    struct receipt r;

    schema_root = schema;
    ck_assert_int_eq(receipt_of_refusal(&r, NULL, NULL, "1", 1, &why), 0);
    cleanup_json cJSON *document = receipt_json(&r);
    valid(document, schema, "");
    ck_assert(cJSON_IsNull(json_get(json_get(document, "metrics"), "wall_ms")));
    ck_assert_int_eq(receipt_exit_code(&r), 4);
    receipt_free(&r);
}
END_TEST

START_TEST(nothing_is_invented) {
    struct receipt r;

    fill(&r, RECEIPT_OK);
    r.wall_ms = 12.3456;
    r.cpu_user_ms = NAN;
    r.queue_ms = INFINITY;
    cleanup_json cJSON *document = receipt_json(&r);
    const cJSON *metrics = json_get(document, "metrics");
    cleanup_free char *text = json_print(metrics);
    ck_assert_ptr_nonnull(strstr(text, "\"wall_ms\":12.346,"));
    ck_assert(cJSON_IsNull(json_get(metrics, "cpu_user_ms")) && cJSON_IsNull(json_get(metrics, "queue_ms")));
    ck_assert(cJSON_IsNull(json_get(metrics, "pids_peak")));
    ck_assert(cJSON_IsNull(json_get(document, "error")) && !json_get(document, "result"));
    ck_assert(!json_get(json_get(document, "digests"), "previous"));
    ck_assert(cJSON_IsNull(json_get(json_get(document, "limits"), "disk_bytes")));
    receipt_free(&r);
}
END_TEST

START_TEST(artifacts_are_listed) {
    cleanup_json cJSON *schema = load_schema();
    struct receipt r;
    char longest[801] = "";

    fill(&r, RECEIPT_OK);
    for (int i = 0; i < 200; i++)
        strcat(longest, "\xf0\x9f\x90\x8d"); /* the cut for people falls into a character unless it looks */
    longest[3] = 'x';
    memmove(longest, longest + 3, strlen(longest) - 2);
    r.artifacts = calloc(2, sizeof *r.artifacts);
    r.artifact_count = 2;
    r.artifacts[0] = (struct receipt_artifact){.path = strdup("a/plot.png"), .bytes = 4};
    r.artifacts[1] = (struct receipt_artifact){.path = strdup(longest), .bytes = 1};
    strcpy(r.artifacts[0].digest, r.out.digest);
    strcpy(r.artifacts[1].digest, r.out.digest);
    ck_assert_int_eq(buf_add(&r.artifacts[0].data, "data", 4), 0);
    r.left_out = calloc(1, sizeof *r.left_out);
    r.left_out_count = 1;
    r.left_out[0] = (struct receipt_left_out){.path = strdup("link"), .reason = "symlink"};
    r.left_out_more = 3;
    r.artifacts_incomplete = "time";
    r.collect_ms = 0.5;
    cleanup_json cJSON *document = receipt_json(&r);
    schema_root = schema;
    valid(document, schema, "");
    const cJSON *first = cJSON_GetArrayItem(json_get(document, "artifacts"), 0);
    ck_assert_str_eq(json_get_string(first, "path"), "a/plot.png");
    ck_assert_str_eq(json_get_string(first, "sha256"), r.out.digest + strlen("sha256:"));
    ck_assert_double_eq(json_get(first, "bytes")->valuedouble, 4);
    ck_assert_double_eq(json_get(document, "artifacts_left_out_more")->valuedouble, 3);
    cleanup_free char *json = json_print(document), *text = receipt_text(&r, 16000);
    ck_assert_ptr_null(strstr(json, "data\"")); /* contents stay out */
    ck_assert_ptr_nonnull(strstr(text, "artifacts: a/plot.png (4 bytes); x"));
    ck_assert_ptr_nonnull(strstr(text, "link (symlink); 3 more\n"));
    ck_assert_ptr_nonnull(strstr(text, "(time)"));
    ck_assert(utf8_valid(text, strlen(text)));
    receipt_free(&r);
}
END_TEST

START_TEST(denials_add_up_and_are_bounded) {
    struct receipt r;
    char what[32];

    fill(&r, RECEIPT_OK);
    for (int i = 0; i < 100; i++) {
        snprintf(what, sizeof what, "call%d", i % 70);
        ck_assert_int_eq(receipt_add_denied(&r, "seccomp", what, 1), 0);
    }
    ck_assert_uint_eq(r.denied_count, 64);
    ck_assert_uint_eq(r.denied_more, 6);
    ck_assert_uint_eq(r.denied[0].count, 2);
    receipt_add_denied(&r, "seccomp", "call0", UINT64_MAX);
    ck_assert_uint_eq(r.denied[0].count, UINT64_MAX);
    cleanup_json cJSON *document = receipt_json(&r);
    ck_assert_int_eq(cJSON_GetArraySize(json_get(document, "denied")), 64);
    cleanup_free char *text = receipt_text(&r, 65536);
    ck_assert_ptr_nonnull(strstr(text, "denied: seccomp call0 x"));
    ck_assert_ptr_nonnull(strstr(text, "58 more kinds"));
    receipt_free(&r);
}
END_TEST

/* ---- output */

static const size_t chunk_sizes[] = {1, 2, 3, 7, 64, 1000, 5000};

START_TEST(capture_keeps_both_ends) {
    struct receipt_output o = {0};
    struct receipt_capture c;
    char data[4000], whole[DIGEST_TEXT];
    size_t step = chunk_sizes[_i];

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)('a' + i % 26);
    receipt_capture_begin(&c, &o, 101);
    for (size_t at = 0; at < sizeof data; at += step) {
        receipt_capture_add(&c, data + at, sizeof data - at < step ? sizeof data - at : step);
        ck_assert_uint_le(o.tail.len, 200);
    }
    receipt_capture_end(&c);
    digest_of(data, sizeof data, whole);
    ck_assert_str_eq(o.digest, whole);
    ck_assert_uint_eq(o.total, sizeof data);
    ck_assert_uint_eq(o.head.len, 51);
    ck_assert_uint_eq(o.tail.len, 50);
    ck_assert_mem_eq(o.head.data, data, 51);
    ck_assert_mem_eq(o.tail.data, data + sizeof data - 50, 50);
    ck_assert(receipt_output_cut(&o));
    cleanup_buf struct buf text = {0};
    ck_assert_int_eq(receipt_output_text(&o, &text), 0);
    ck_assert_ptr_nonnull(strstr(text.data, "\n... [3899 bytes left out] ...\n"));
    buf_free(&o.head);
    buf_free(&o.tail);
}
END_TEST

START_TEST(a_character_across_head_and_tail_stays_whole) {
    struct receipt_output o = {0};
    cleanup_buf struct buf text = {0};

    print_to(&o, "abc\xe2\x82\xac" "def", 9, 10);
    ck_assert(!receipt_output_cut(&o));
    ck_assert_int_eq(receipt_output_text(&o, &text), 0);
    ck_assert_str_eq(text.data, "abc\xe2\x82\xac" "def");
    buf_free(&o.head);
    buf_free(&o.tail);
}
END_TEST

START_TEST(a_cut_breaks_no_character) {
    struct receipt_output o = {0};
    cleanup_buf struct buf text = {0}, data = {0};

    for (int i = 0; i < 100; i++)
        buf_adds(&data, "\xe2\x82\xac");
    print_to(&o, data.data, data.len, (uint64_t)_i);
    ck_assert_int_eq(receipt_output_text(&o, &text), 0);
    ck_assert(utf8_valid(text.data, text.len));
    ck_assert_ptr_null(strstr(text.data, "\xef\xbf\xbd"));
    ck_assert_ptr_nonnull(strstr(text.data, "bytes left out"));
    buf_free(&o.head);
    buf_free(&o.tail);
}
END_TEST

START_TEST(no_room_at_all) {
    struct receipt_output o = {0};
    cleanup_buf struct buf text = {0};

    print_to(&o, "abc", 3, 0);
    ck_assert_int_eq(receipt_output_text(&o, &text), 0);
    ck_assert_str_eq(text.data, "\n... [3 bytes left out] ...\n");
    buf_free(&o.head);
    buf_free(&o.tail);
}
END_TEST

/* ---- text */

static const char *const status_words[] = {
    [RECEIPT_OK] = "result: 42", [RECEIPT_ERROR] = "ZeroDivisionError: division by zero", [RECEIPT_REJECTED] = "rejected: policy strict",
    [RECEIPT_TIMEOUT] = "timeout: the call was stopped at its time limit of 30 s", [RECEIPT_OUT_OF_MEMORY] = "its limit of 512 MiB",
    [RECEIPT_CRASHED] = "signal 11 (SIGSEGV)", [RECEIPT_CANCELLED] = "cancelled", [RECEIPT_REFUSED] = "no seccomp"};

START_TEST(text_is_whole_by_itself) {
    struct receipt r;

    fill(&r, (enum receipt_status)_i);
    shape(&r);
    cleanup_free char *text = receipt_text(&r, 65536);
    ck_assert_int_eq(strncmp(text, "out\nstderr:\nerr\xef\xbf\xbd\n", 19), 0);
    ck_assert_msg(strstr(text, status_words[_i]) != NULL, "%s", text);
    ck_assert_int_eq(strstr(text, "the session's variables are lost; the next call starts a new interpreter") != NULL, r.session_lost);
    if (_i == RECEIPT_REJECTED)
        ck_assert_ptr_nonnull(strstr(text, "line 2: attribute '__class__'\nrule: attribute\nremedy: use the public interface\n"));
    if (_i == RECEIPT_REFUSED)
        ck_assert_ptr_nonnull(strstr(text, "missing: cgroup_cpu: no cpu controller Remedy: mount it\n"));
    receipt_free(&r);
}
END_TEST

/* A rule is the guest's word: 200 NULs are 600 bytes once they are cleaned, and the cut falls inside a character. */
START_TEST(a_long_rule_is_cut_at_a_character) {
    struct receipt r;
    cleanup_buf struct buf rule = {0};

    receipt_init(&r);
    r.status = RECEIPT_REJECTED;
    for (int i = 0; i < 200; i++)
        ck_assert_int_eq(buf_adds(&rule, "\xe2\x90\x80"), 0);
    r.rule = buf_take(&rule);
    cleanup_free char *text = receipt_text(&r, 4096);
    ck_assert(utf8_valid(text, strlen(text)));
    ck_assert_ptr_nonnull(strstr(text, "rule: \xe2\x90\x80"));
    ck_assert_ptr_nonnull(strstr(text, "bytes left out"));
    receipt_free(&r);
}
END_TEST

START_TEST(text_is_bounded) {
    static const size_t bounds[] = {200, 1000, 4096, 65536};
    cleanup_buf struct buf long_text = {0};
    struct receipt r;

    for (int i = 0; i < 40000; i++)
        buf_adds(&long_text, "\xc3\xa9\xe2\x82\xac");
    fill(&r, RECEIPT_ERROR);
    buf_free(&r.out.head);
    buf_free(&r.err.head);
    r.out.total = r.err.total = 0;
    print_to(&r.out, long_text.data, long_text.len, 1 << 20);
    print_to(&r.err, long_text.data, long_text.len, 1 << 20);
    r.value_repr = strdup(long_text.data);
    r.error_type = strdup("E");
    r.error_traceback = strdup(long_text.data);
    cleanup_free char *text = receipt_text(&r, bounds[_i]);
    ck_assert_uint_le(strlen(text), bounds[_i]);
    ck_assert(utf8_valid(text, strlen(text)));
    ck_assert_ptr_nonnull(strstr(text, "bytes left out"));
    receipt_free(&r);
}
END_TEST

START_TEST(sixteen_kilobytes_are_shown_whole) {
    cleanup_buf struct buf data = {0};
    struct receipt r;

    for (int i = 0; i < 16384; i++)
        buf_adds(&data, "x");
    fill(&r, RECEIPT_OK);
    buf_free(&r.out.head);
    r.out.total = 0;
    print_to(&r.out, data.data, data.len, 1 << 18);
    cleanup_free char *text = receipt_text(&r, 65536);
    ck_assert_ptr_nonnull(strstr(text, data.data));
    receipt_free(&r);
}
END_TEST

START_TEST(silence_is_said) {
    struct receipt r;

    receipt_init(&r);
    cleanup_free char *text = receipt_text(&r, 65536);
    ck_assert_str_eq(text, "ok: no output and no value\n");
    receipt_free(&r);
}
END_TEST

/* ---- digest and exit codes */

START_TEST(digest_does_not_depend_on_order) {
    static const char *const same[] = {"{\"b\":[1,{\"y\":null,\"x\":\"\\u00e9\"}],\"a\":true}", "{\"a\":true,\"b\":[1,{\"x\":\"\\u00e9\",\"y\":null}]}"};
    static const char canonical[] = "{\"a\":true,\"b\":[1,{\"x\":\"\xc3\xa9\",\"y\":null}]}";
    char expected[DIGEST_TEXT], got[DIGEST_TEXT];

    digest_of(canonical, sizeof canonical - 1, expected);
    for (size_t i = 0; i < 2; i++) {
        cleanup_json cJSON *value = json_parse(same[i], strlen(same[i]), (struct json_limits){0}, NULL);
        receipt_digest(value, got);
        ck_assert_str_eq(got, expected);
    }
}
END_TEST

START_TEST(exit_codes) {
    static const int codes[] = {0, 1, 3, 124, 137, 139, 137, 4};
    struct receipt r;

    for (size_t i = 0; i < UNIT_ROWS(codes); i++) {
        receipt_init(&r);
        r.status = (enum receipt_status)i;
        ck_assert_int_eq(receipt_exit_code(&r), codes[i]);
    }
    r.status = RECEIPT_ERROR;
    r.has_exit_code = true;
    r.exit_code = 256 + 7;
    ck_assert_int_eq(receipt_exit_code(&r), 7);
    r.exit_code = -1;
    ck_assert_int_eq(receipt_exit_code(&r), 255);
    receipt_free(&r);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("receipt");
    TCase *t = unit_group(s, "json");

    tcase_add_loop_test(t, json_satisfies_the_schema, RECEIPT_OK, RECEIPT_REFUSED + 1);
    tcase_add_test(t, an_empty_receipt_and_a_refusal_satisfy_the_schema);
    tcase_add_test(t, nothing_is_invented);
    tcase_add_test(t, artifacts_are_listed);
    tcase_add_test(t, denials_add_up_and_are_bounded);
    t = unit_group(s, "output");
    tcase_add_loop_test(t, capture_keeps_both_ends, 0, UNIT_ROWS(chunk_sizes));
    tcase_add_test(t, a_character_across_head_and_tail_stays_whole);
    tcase_add_loop_test(t, a_cut_breaks_no_character, 1, 12);
    tcase_add_test(t, no_room_at_all);
    t = unit_group(s, "text");
    tcase_add_loop_test(t, text_is_whole_by_itself, RECEIPT_OK, RECEIPT_REFUSED + 1);
    tcase_add_loop_test(t, text_is_bounded, 0, 4);
    tcase_add_test(t, a_long_rule_is_cut_at_a_character);
    tcase_add_test(t, sixteen_kilobytes_are_shown_whole);
    tcase_add_test(t, silence_is_said);
    t = unit_group(s, "digest and exit code");
    tcase_add_test(t, digest_does_not_depend_on_order);
    tcase_add_test(t, exit_codes);
    return s;
}

UNIT_MAIN(suite)
