/* backend/: the guest's claims, read as hostile; a policy compiled for this host. */
#include "unit.h"

#include "backend/claims.h"
#include "backend/plant.h"
#include "backend/pyhost_path.h"
#include "base/utf8.h"
#include "jail/protocol.h"

#include <stdio.h>
#include <string.h>

struct frame_maker {
    struct buf b;
    size_t start;
};

static struct wire_frame finish(struct frame_maker *m)
{
    struct wire_frame frame;
    size_t used;
    struct error err;
    wire_end(&m->b, m->start);
    ck_assert_int_eq(wire_next(m->b.data, m->b.len, 1 << 20, &frame, &used, &err), 1);
    return frame;
}

static void begin(struct frame_maker *m, uint64_t status)
{
    memset(m, 0, sizeof *m);
    ck_assert_int_eq(wire_begin(&m->b, PAYLOAD_DONE, 1, &m->start), 0);
    wire_put_u64(&m->b, PT_STATUS, status);
}

START_TEST(a_value_arrives)
{
    struct frame_maker m;
    struct receipt r;
    struct error err;
    receipt_init(&r);
    begin(&m, PAYLOAD_OK);
    wire_puts(&m.b, PT_VALUE_REPR, "[1, 2]");
    wire_puts(&m.b, PT_VALUE_TYPE, "list");
    wire_puts(&m.b, PT_VALUE_JSON, "[1,2]");
    struct wire_frame f = finish(&m);
    ck_assert_int_eq(claims_take(&f, 65536, &r, &err), 0);
    ck_assert_int_eq(r.status, RECEIPT_OK);
    ck_assert_str_eq(r.value_repr, "[1, 2]");
    ck_assert_int_eq(cJSON_GetArraySize(r.value_json), 2);
    receipt_free(&r);
    buf_free(&m.b);
}
END_TEST

START_TEST(a_forged_claim_is_cut_down)
{
    struct frame_maker m;
    struct receipt r;
    struct error err;
    uint64_t count = 1000000;
    char denied[64];
    memcpy(denied, &count, 8);
    memcpy(denied + 8, "seccomp\0mount", 13);
    receipt_init(&r);
    begin(&m, PAYLOAD_OK);
    wire_put(&m.b, PT_VALUE_REPR, "a\xff\0b", 4);           /* not UTF-8, NUL inside */
    wire_puts(&m.b, PT_VALUE_JSON, "{\"a\": NaN}");          /* not JSON */
    wire_puts(&m.b, PT_ERROR_TYPE, "ValueError");             /* contradicts ok */
    wire_put(&m.b, PT_DENIED, denied, 21);                    /* the kernel's column is not the guest's */
    wire_put(&m.b, PT_EXIT_CODE, "abc", 3);                   /* wrong length */
    struct wire_frame f = finish(&m);
    ck_assert_int_eq(claims_take(&f, 65536, &r, &err), 0);
    ck_assert(utf8_valid(r.value_repr, strlen(r.value_repr)));
    ck_assert_ptr_null(r.value_json);
    ck_assert_ptr_null(r.error_type);
    ck_assert_uint_eq(r.denied_count, 0);
    ck_assert(!r.has_exit_code);
    receipt_free(&r);
    buf_free(&m.b);
}
END_TEST

START_TEST(an_error_has_no_value)
{
    struct frame_maker m;
    struct receipt r;
    struct error err;
    receipt_init(&r);
    begin(&m, PAYLOAD_ERROR);
    wire_puts(&m.b, PT_VALUE_REPR, "42");
    wire_puts(&m.b, PT_ERROR_TYPE, "SystemExit");
    wire_put_i64(&m.b, PT_EXIT_CODE, 3);
    struct wire_frame f = finish(&m);
    ck_assert_int_eq(claims_take(&f, 65536, &r, &err), 0);
    ck_assert_ptr_null(r.value_repr);
    ck_assert(r.has_exit_code && r.exit_code == 3);
    receipt_free(&r);
    buf_free(&m.b);
}
END_TEST

START_TEST(no_status_and_odd_status_are_malformed)
{
    struct frame_maker m;
    struct receipt r;
    struct error err;
    receipt_init(&r);
    begin(&m, 17);
    struct wire_frame f = finish(&m);
    ck_assert_int_lt(claims_take(&f, 65536, &r, &err), 0);
    buf_free(&m.b);
    memset(&m, 0, sizeof m);
    wire_begin(&m.b, PAYLOAD_DONE, 1, &m.start);
    f = finish(&m);
    ck_assert_int_lt(claims_take(&f, 65536, &r, &err), 0);
    receipt_free(&r);
    buf_free(&m.b);
}
END_TEST

static const char *const POLICIES[] = {"default", "strict", "open", "validation"};

START_TEST(each_shipped_policy_compiles)
{
    struct policy *policy;
    struct plant *plant;
    struct error err = {0};
    struct buf config = {0};
    ck_assert_msg(policy_load(POLICIES[_i], &policy, &err) == 0, "%s", err.message);
    ck_assert_msg(plant_new(policy, &plant, &err) == 0, "%s", err.message);
    ck_assert_msg(plant_compile(plant, &err) == 0, "%s", err.message);
    ck_assert_uint_gt(plant->seal.filter_count, 10);
    ck_assert_uint_gt(plant->seal.filter_notify_count, 10);
    ck_assert_uint_gt(plant->disk_bytes, 0);
    ck_assert(plant->required & LAYER_BIT(LAYER_SECCOMP));
    ck_assert(plant->required & LAYER_BIT(LAYER_USER_NAMESPACE));
    ck_assert_int_eq(plant_zygote_config(plant, false, &config, &err), 0);
    buf_free(&config);
    plant_free(plant);
}
END_TEST

START_TEST(only_listed_variables_go_in)
{
    struct policy *policy;
    struct plant *plant;
    struct error err = {0};
    setenv("AWS_SECRET_ACCESS_KEY", "canary", 1);
    setenv("TZ", "UTC", 1);
    ck_assert_int_eq(policy_load("default", &policy, &err), 0);
    ck_assert_int_eq(plant_new(policy, &plant, &err), 0);
    bool zone = false;
    for (size_t i = 0; i < plant->environment.count; i++) {
        ck_assert_ptr_null(strstr(plant->environment.items[i], "canary"));
        zone |= strcmp(plant->environment.items[i], "TZ=UTC") == 0;
    }
    ck_assert(zone);
    plant_free(plant);
}
END_TEST

START_TEST(a_wrong_pyhost_is_named)
{
    char path[4200], *before = getenv("SNIPARA_SANDBOX_PYHOST");
    struct error err = {0};
    before = before ? strdup(before) : NULL;
    setenv("SNIPARA_SANDBOX_PYHOST", "/no/such/pyhost", 1);
    ck_assert_int_lt(pyhost_path(path, sizeof path, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.message, "/no/such/pyhost"));
    if (before)
        setenv("SNIPARA_SANDBOX_PYHOST", before, 1);
    else
        unsetenv("SNIPARA_SANDBOX_PYHOST");
    free(before);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("backend");
    TCase *claims = unit_group(s, "claims");
    tcase_add_test(claims, a_value_arrives);
    tcase_add_test(claims, a_forged_claim_is_cut_down);
    tcase_add_test(claims, an_error_has_no_value);
    tcase_add_test(claims, no_status_and_odd_status_are_malformed);
    TCase *plant = unit_group(s, "plant");
    tcase_add_loop_test(plant, each_shipped_policy_compiles, 0, UNIT_ROWS(POLICIES));
    tcase_add_test(plant, only_listed_variables_go_in);
    tcase_add_test(plant, a_wrong_pyhost_is_named);
    return s;
}

UNIT_MAIN(suite)
