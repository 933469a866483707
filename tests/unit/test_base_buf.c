/* base/buf and base/error: bounds, overflow, ownership; one line, cut at a character, aliasing. */
#include "unit.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

START_TEST(appends_and_terminates) {
    cleanup_buf struct buf b = {0};

    ck_assert_int_eq(buf_adds(&b, "ab"), 0);
    ck_assert_int_eq(buf_add(&b, "\0c", 2), 0);
    ck_assert_int_eq(buf_add(&b, NULL, 0), 0);
    ck_assert_int_eq(buf_addf(&b, "%d-%s", 42, "x"), 0);
    ck_assert_uint_eq(b.len, 8);
    ck_assert_mem_eq(b.data, "ab\0c42-x", 9);
}
END_TEST

START_TEST(reserve_makes_an_empty_string) {
    cleanup_buf struct buf b = {0};

    ck_assert_int_eq(buf_reserve(&b, 0), 0);
    ck_assert_str_eq(b.data, "");
    ck_assert_uint_eq(b.len, 0);
}
END_TEST

START_TEST(grows_through_every_size) {
    cleanup_buf struct buf b = {0};

    for (unsigned i = 0; i < 5000; i++) {
        char c = (char)('a' + i % 26);

        ck_assert_int_eq(buf_add(&b, &c, 1), 0);
        ck_assert_uint_eq(b.len, i + 1);
        ck_assert_int_eq(b.data[b.len], 0);
    }
    for (unsigned i = 0; i < 5000; i++)
        ck_assert_int_eq(b.data[i], 'a' + (int)(i % 26));
}
END_TEST

START_TEST(bound_is_exact) {
    for (size_t max = 1; max < 300; max++) {
        cleanup_buf struct buf b = {.max = max};

        for (size_t i = 0; i < max; i++)
            ck_assert_int_eq(buf_add(&b, "x", 1), 0);
        errno = 0;
        ck_assert_int_eq(buf_add(&b, "y", 1), -1);
        ck_assert_int_eq(errno, ENOBUFS);
        ck_assert_int_eq(buf_addf(&b, "%s", "yy"), -1);
        ck_assert_uint_eq(b.len, max);
        ck_assert_uint_eq(strlen(b.data), max);
        ck_assert_uint_le(b.cap, max + 1 > 128 ? max + 1 : 128);
        ck_assert_int_eq(buf_add(&b, "", 0), 0);
    }
}
END_TEST

START_TEST(refusal_appends_nothing) {
    cleanup_buf struct buf b = {.max = 10};

    ck_assert_int_eq(buf_adds(&b, "12345678"), 0);
    ck_assert_int_eq(buf_adds(&b, "abc"), -1);
    ck_assert_int_eq(buf_addf(&b, "%d", 123), -1);
    ck_assert_str_eq(b.data, "12345678");
    ck_assert_int_eq(buf_adds(&b, "ab"), 0);
    ck_assert_str_eq(b.data, "12345678ab");
}
END_TEST

static const size_t absurd[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 3, SIZE_MAX / 2, SIZE_MAX / 2 + 1, PTRDIFF_MAX};

START_TEST(absurd_sizes_are_refused) {
    cleanup_buf struct buf b = {0}, bounded = {.max = SIZE_MAX};

    ck_assert_int_eq(buf_adds(&b, "abc"), 0);
    errno = 0;
    ck_assert_int_eq(buf_reserve(&b, absurd[_i]), -1);
    ck_assert_int_eq(errno, ENOMEM);
    ck_assert_str_eq(b.data, "abc");
    ck_assert_int_eq(buf_reserve(&bounded, absurd[_i]), -1);
    ck_assert_ptr_null(bounded.data);
}
END_TEST

START_TEST(drop_keeps_the_tail) {
    for (size_t n = 0; n <= 6; n++) {
        cleanup_buf struct buf b = {0};

        ck_assert_int_eq(buf_adds(&b, "abcdef"), 0);
        buf_drop(&b, n);
        ck_assert_uint_eq(b.len, 6 - n);
        ck_assert_str_eq(b.data, &"abcdef"[n]);
    }
}
END_TEST

START_TEST(clear_free_and_take) {
    struct buf b = {.max = 100};
    char *text;

    buf_clear(&b);
    buf_drop(&b, 0);
    text = buf_take(&b);
    ck_assert_str_eq(text, "");
    free(text);
    ck_assert_int_eq(buf_adds(&b, "abc"), 0);
    text = buf_take(&b);
    ck_assert_str_eq(text, "abc");
    free(text);
    ck_assert_ptr_null(b.data);
    ck_assert_uint_eq(b.len, 0);
    ck_assert_int_eq(buf_adds(&b, "d"), 0);
    buf_clear(&b);
    ck_assert_str_eq(b.data, "");
    buf_free(&b);
    buf_free(&b);
    ck_assert_ptr_null(b.data);
    ck_assert_uint_eq(b.max, 100);
}
END_TEST

START_TEST(error_carries_step_code_and_text) {
    struct error err = {0};

    errno = EXDEV;
    ck_assert_int_eq(error_set(&err, "mount.proc", EPERM, "cannot mount %s", "/proc"), -1);
    ck_assert_int_eq(errno, EXDEV);
    ck_assert_int_eq(err.code, EPERM);
    ck_assert_str_eq(err.step, "mount.proc");
    ck_assert_str_eq(err.message, "cannot mount /proc: Operation not permitted");
    ck_assert_int_eq(error_wrap(&err, "jail %d", 7), -1);
    ck_assert_str_eq(err.message, "jail 7: cannot mount /proc: Operation not permitted");
    ck_assert_str_eq(err.step, "mount.proc");
    ck_assert_int_eq(err.code, EPERM);
    ck_assert_int_eq(error_set(&err, "json", 0, "bad"), -1);
    ck_assert_str_eq(err.message, "bad");
    ck_assert_int_eq(error_set(&err, "x", 12345, "odd"), -1);
    ck_assert_str_eq(err.message, "odd: error 12345");
    ck_assert_int_eq(error_set(NULL, "x", 1, "y"), -1);
    ck_assert_int_eq(error_wrap(NULL, "y"), -1);
}
END_TEST

START_TEST(error_may_quote_itself) {
    struct error err;

    error_set(&err, "first", 0, "one");
    error_set(&err, err.step, EINVAL, "again: %s", err.message);
    ck_assert_str_eq(err.step, "first");
    ck_assert_str_eq(err.message, "again: one: Invalid argument");
    error_wrap(&err, "%s", err.step);
    ck_assert_str_eq(err.message, "first: again: one: Invalid argument");
}
END_TEST

/* What a guest may put into a name must not reach a terminal or a log line. */
static const struct {
    const char *in, *out;
} hostile[] = {
    {"a\nb", "a b"},          {"trailing\n\n", "trailing"}, {"\x1b[31mred", " [31mred"}, {"a\xff" "b", "a?b"},
    {"\xed\xa0\x80", "???"}, {"caf\xc3\xa9", "caf\xc3\xa9"}, {"a\x7f", "a"},             {"", ""},
};

START_TEST(error_is_one_clean_line) {
    struct error err;

    error_set(&err, "x", 0, "%s", hostile[_i].in);
    ck_assert_str_eq(err.message, hostile[_i].out);
    error_set(&err, "x", 0, "y");
    error_wrap(&err, "%s", hostile[_i].in);
    ck_assert_ptr_null(strpbrk(err.message, "\n\x1b\x7f"));
    ck_assert(utf8_valid(err.message, strlen(err.message)));
}
END_TEST

START_TEST(error_long_text_keeps_the_cause) {
    struct error err;
    char path[3000];

    for (size_t shift = 0; shift < 3; shift++) { /* the cut falls at each place of a three byte character */
        memset(path, 'a', sizeof path);
        for (size_t i = shift; i + 3 < sizeof path; i += 3)
            memcpy(path + i, "\xe2\x82\xac", 3);
        path[sizeof path - 1] = '\0';
        error_set(&err, "a.step.with.a.name.that.is.longer.than.the.room.it.has", ENOENT, "%s", path);
        ck_assert_uint_lt(strlen(err.message), sizeof err.message);
        ck_assert_uint_gt(strlen(err.message), sizeof err.message - 8);
        ck_assert(utf8_valid(err.message, strlen(err.message)));
        ck_assert_ptr_nonnull(strstr(err.message, ": No such file or directory"));
        ck_assert_uint_eq(strlen(err.step), sizeof err.step - 1);
        error_set(&err, "x", 0, "the first cause");
        error_wrap(&err, "%s", path);
        ck_assert_ptr_nonnull(strstr(err.message, ": the first cause"));
        ck_assert(utf8_valid(err.message, strlen(err.message)));
        error_set(&err, "x", 0, "%s", path);
        for (int i = 0; i < 20; i++)
            error_wrap(&err, "round %d", i);
        ck_assert(utf8_valid(err.message, strlen(err.message)));
        ck_assert_int_eq(strncmp(err.message, "round 19: round 18: ", 20), 0);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("base/buf");
    TCase *t = unit_group(s, "buf");

    tcase_add_test(t, appends_and_terminates);
    tcase_add_test(t, reserve_makes_an_empty_string);
    tcase_add_test(t, grows_through_every_size);
    tcase_add_test(t, bound_is_exact);
    tcase_add_test(t, refusal_appends_nothing);
    tcase_add_loop_test(t, absurd_sizes_are_refused, 0, UNIT_ROWS(absurd));
    tcase_add_test(t, drop_keeps_the_tail);
    tcase_add_test(t, clear_free_and_take);
    t = unit_group(s, "error");
    tcase_add_test(t, error_carries_step_code_and_text);
    tcase_add_test(t, error_may_quote_itself);
    tcase_add_loop_test(t, error_is_one_clean_line, 0, UNIT_ROWS(hostile));
    tcase_add_test(t, error_long_text_keeps_the_cause);
    return s;
}

UNIT_MAIN(suite)
