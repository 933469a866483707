/* base/wire: what is written is read back; what a hostile peer may send is refused at the first byte that shows it. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/wire.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define MAX_BODY 4096u

/* A frame with a text, an integer, an empty field and a field of bytes. */
static void sample(struct buf *b) {
    size_t start;

    ck_assert_int_eq(wire_begin(b, 7, 0x0123456789abcdef, &start), 0);
    ck_assert_int_eq(wire_puts(b, 1, "hello"), 0);
    ck_assert_int_eq(wire_put_i64(b, 2, -5), 0);
    ck_assert_int_eq(wire_put_u64(b, 3, UINT64_MAX), 0);
    ck_assert_int_eq(wire_put(b, 4, NULL, 0), 0);
    ck_assert_int_eq(wire_put(b, 5, "a\0b", 3), 0);
    wire_end(b, start);
}

static void check_sample(const struct wire_frame *frame) {
    struct wire_cursor c = wire_fields(frame);
    struct wire_field f;
    uint64_t u = 0;
    int64_t i = 0;
    char *text;

    ck_assert_uint_eq(frame->type, 7);
    ck_assert(frame->nonce == 0x0123456789abcdef);
    ck_assert_int_eq(wire_field_next(&c, &f), 1);
    ck_assert_uint_eq(f.tag, 1);
    text = wire_strdup(&f);
    ck_assert_str_eq(text, "hello");
    free(text);
    ck_assert(!wire_u64(&f, &u));
    ck_assert(!wire_i64(&f, &i));
    ck_assert_int_eq(wire_field_next(&c, &f), 1);
    ck_assert(wire_i64(&f, &i));
    ck_assert_int_eq(i, -5);
    ck_assert_int_eq(wire_field_next(&c, &f), 1);
    ck_assert(wire_u64(&f, &u));
    ck_assert(u == UINT64_MAX);
    ck_assert_int_eq(wire_field_next(&c, &f), 1);
    ck_assert_uint_eq(f.length, 0);
    text = wire_strdup(&f);
    ck_assert_str_eq(text, "");
    free(text);
    ck_assert_int_eq(wire_field_next(&c, &f), 1);
    ck_assert_uint_eq(f.length, 3);
    ck_assert_mem_eq(f.data, "a\0b", 3);
    ck_assert_ptr_null(wire_strdup(&f)); /* holds NUL: as a C string it would be another text */
    ck_assert_int_eq(wire_field_next(&c, &f), 0);
    ck_assert_int_eq(wire_field_next(&c, &f), 0);
}

START_TEST(round_trip) {
    cleanup_buf struct buf b = {0};
    struct wire_frame frame;
    size_t used;

    ck_assert_int_eq(buf_adds(&b, "x"), 0); /* nothing promises alignment */
    sample(&b);
    sample(&b);
    buf_drop(&b, 1);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(wire_next(b.data, b.len, MAX_BODY, &frame, &used, NULL), 1);
        check_sample(&frame);
        buf_drop(&b, used);
    }
    ck_assert_uint_eq(b.len, 0);
    ck_assert_int_eq(wire_next(b.data, b.len, MAX_BODY, &frame, &used, NULL), 0);
}
END_TEST

START_TEST(truncated_frame_waits_at_every_byte) {
    cleanup_buf struct buf b = {0};
    struct wire_frame frame = {.type = 99};
    size_t used = 12345;

    sample(&b);
    for (size_t n = 0; n < b.len; n++) {
        char *exact = malloc(n ? n : 1); /* so that the sanitizer sees a read past the end */

        memcpy(exact, b.data, n);
        ck_assert_int_eq(wire_next(exact, n, MAX_BODY, &frame, &used, NULL), 0);
        free(exact);
    }
    ck_assert_uint_eq(frame.type, 99);
    ck_assert_uint_eq(used, 12345);
}
END_TEST

START_TEST(truncated_body_ends_or_fails_at_every_byte) {
    cleanup_buf struct buf b = {0};
    const size_t bodies[] = {0, 13, 29, 45, 53, 64}; /* ends of whole fields */

    sample(&b);
    ck_assert_uint_eq(b.len - WIRE_HEADER, 64);
    for (size_t n = 0; n <= 64; n++) {
        char *exact = malloc(n ? n : 1);
        struct wire_frame frame = {.body = exact, .length = n};
        struct wire_cursor c = wire_fields(&frame);
        struct wire_field f;
        bool whole = false;
        int r;

        memcpy(exact, b.data + WIRE_HEADER, n);
        while ((r = wire_field_next(&c, &f)) == 1)
            ck_assert(f.data + f.length <= exact + n);
        for (int i = 0; i < UNIT_ROWS(bodies); i++)
            whole = whole || bodies[i] == n;
        ck_assert_int_eq(r, whole ? 0 : -1);
        free(exact);
    }
}
END_TEST

/* Headers as bytes, host order being little endian on every machine this runs on. */
static const struct {
    const char *name;
    size_t length;
    int expect;
    const char bytes[24];
} headers[] = {
    {"nothing", 0, 0, ""},
    {"half a magic", 1, 0, "\x53"},
    {"half of a wrong magic says nothing yet", 1, 0, "\xff"},
    {"magic only", 2, 0, "\x53\x4e"},
    {"zero magic", 2, -1, "\0\0"},
    {"magic in the wrong order", 2, -1, "\x4e\x53"},
    {"first byte wrong", 2, -1, "\x52\x4e"},
    {"second byte wrong", 2, -1, "\x53\x4f"},
    {"an HTTP request", 16, -1, "GET / HTTP/1.1\r\n"},
    {"a JSON line", 16, -1, "{\"jsonrpc\":\"2.0\""},
    {"length not there yet", 7, 0, "\x53\x4e\x01\0\xff\xff\xff"},
    {"length 2^32-1 is refused before the nonce comes", 8, -1, "\x53\x4e\x01\0\xff\xff\xff\xff"},
    {"length 2^31", 8, -1, "\x53\x4e\x01\0\0\0\0\x80"},
    {"length one over the bound", 16, -1, "\x53\x4e\x01\0\x01\x10\0\0\0\0\0\0\0\0\0\0"},
    {"length at the bound waits", 16, 0, "\x53\x4e\x01\0\0\x10\0\0\0\0\0\0\0\0\0\0"},
    {"nonce cut", 15, 0, "\x53\x4e\x01\0\0\0\0\0\0\0\0\0\0\0\0\0"},
    {"empty body", 16, 1, "\x53\x4e\x01\0\0\0\0\0\0\0\0\0\0\0\0\0"},
    {"body shorter than said", 17, 0, "\x53\x4e\x01\0\x02\0\0\0\0\0\0\0\0\0\0\0x"},
    {"body and more", 20, 1, "\x53\x4e\x01\0\x02\0\0\0\0\0\0\0\0\0\0\0xyzz"},
};

START_TEST(header_table) {
    char *exact = malloc(headers[_i].length + 1);
    struct wire_frame frame;
    struct error err = {.code = 77};
    size_t used = 0;
    int r;

    memcpy(exact, headers[_i].bytes, headers[_i].length);
    r = wire_next(exact, headers[_i].length, MAX_BODY, &frame, &used, &err);
    ck_assert_msg(r == headers[_i].expect, "%s: %d, expected %d", headers[_i].name, r, headers[_i].expect);
    ck_assert_int_eq(err.code, r < 0 ? 0 : 77);
    if (r < 0)
        ck_assert_str_eq(err.step, "wire");
    if (r > 0)
        ck_assert_uint_eq(used, WIRE_HEADER + frame.length);
    free(exact);
}
END_TEST

/* Bodies: how many fields are read before the end (0) or the refusal (-1). */
static const struct {
    const char *name;
    size_t length;
    int fields, last;
    const char bytes[32];
} bodies[] = {
    {"empty", 0, 0, 0, ""},
    {"one empty field", 8, 1, 0, "\1\0\0\0\0\0\0\0"},
    {"header cut at 1", 1, 0, -1, "\1"},
    {"header cut at 7", 7, 0, -1, "\1\0\0\0\0\0\0"},
    {"reserved bytes set", 8, 0, -1, "\1\0\1\0\0\0\0\0"},
    {"reserved high byte set", 8, 0, -1, "\1\0\0\x80\0\0\0\0"},
    {"one byte over", 8, 0, -1, "\1\0\0\0\1\0\0\0"},
    {"one byte over, with data", 10, 0, -1, "\1\0\0\0\3\0\0\0ab"},
    {"2^32-1", 16, 0, -1, "\1\0\0\0\xff\xff\xff\xff" "12345678"},
    {"2^32-8 would wrap to the start", 16, 0, -1, "\1\0\0\0\xf8\xff\xff\xff" "12345678"},
    {"2^31", 16, 0, -1, "\1\0\0\0\0\0\0\x80" "12345678"},
    {"exact", 16, 1, 0, "\1\0\0\0\x8\0\0\0" "12345678"},
    {"a good field, then a short one", 17, 1, -1, "\1\0\0\0\x1\0\0\0" "a\2\0\0\0\1\0\0\0"},
    {"a good field, then trailing bytes", 12, 1, -1, "\1\0\0\0\x1\0\0\0" "axyz"},
    {"two fields of one tag", 18, 2, 0, "\1\0\0\0\x1\0\0\0" "a\1\0\0\0\1\0\0\0b"},
};

START_TEST(body_table) {
    char *exact = malloc(bodies[_i].length + 1);
    struct wire_frame frame = {.body = exact, .length = bodies[_i].length};
    struct wire_cursor c = wire_fields(&frame);
    struct wire_field f;
    int count = 0, r;

    memcpy(exact, bodies[_i].bytes, bodies[_i].length);
    while ((r = wire_field_next(&c, &f)) == 1)
        count++;
    ck_assert_msg(r == bodies[_i].last && count == bodies[_i].fields, "%s: %d fields, then %d", bodies[_i].name, count, r);
    ck_assert_int_eq(wire_field_next(&c, &f), r); /* and it stays so */
    free(exact);
}
END_TEST

START_TEST(every_flipped_bit_is_safe) {
    cleanup_buf struct buf b = {0};

    sample(&b);
    for (size_t bit = 0; bit < b.len * 8; bit++) {
        char *copy = malloc(b.len);
        struct wire_frame frame;
        struct wire_field f;
        size_t used;

        memcpy(copy, b.data, b.len);
        copy[bit / 8] = (char)(copy[bit / 8] ^ (1 << bit % 8));
        if (wire_next(copy, b.len, MAX_BODY, &frame, &used, NULL) == 1) {
            struct wire_cursor c = wire_fields(&frame);

            ck_assert_uint_le(used, b.len);
            while (wire_field_next(&c, &f) == 1)
                ck_assert(f.data >= copy && f.data + f.length <= copy + used);
        }
        free(copy);
    }
}
END_TEST

START_TEST(only_eight_bytes_are_an_integer) {
    uint64_t u = 1;
    int64_t i = 1;

    for (size_t n = 0; n <= 16; n++) {
        struct wire_field f = {.data = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", .length = n};

        ck_assert(wire_u64(&f, &u) == (n == 8));
        ck_assert(wire_i64(&f, &i) == (n == 8));
    }
}
END_TEST

START_TEST(put_is_all_or_nothing) {
    for (size_t max = 1; max < 40; max++) {
        cleanup_buf struct buf b = {.max = max};
        size_t start = 0;

        if (wire_begin(&b, 1, 1, &start) < 0) {
            ck_assert_uint_lt(max, WIRE_HEADER);
            ck_assert_uint_eq(b.len, 0);
            continue;
        }
        if (wire_puts(&b, 1, "12345") < 0) {
            ck_assert_int_eq(errno, ENOBUFS);
            ck_assert_uint_lt(max, WIRE_HEADER + 13);
            ck_assert_uint_eq(b.len, WIRE_HEADER);
        }
    }
}
END_TEST

START_TEST(put_refuses_what_32_bits_cannot_say) {
    cleanup_buf struct buf b = {0};
    const size_t lengths[] = {SIZE_MAX, SIZE_MAX - 7, UINT32_MAX, (size_t)UINT32_MAX + 1, UINT32_MAX - 15};
    size_t start;

    ck_assert_int_eq(wire_begin(&b, 1, 1, &start), 0);
    for (int i = 0; i < UNIT_ROWS(lengths); i++) {
        errno = 0;
        ck_assert_int_eq(wire_put(&b, 1, "", lengths[i]), -1);
        ck_assert_int_eq(errno, ENOBUFS);
        ck_assert_uint_eq(b.len, WIRE_HEADER);
    }
}
END_TEST

START_TEST(sends_and_receives_one_frame_at_a_time) {
    cleanup_buf struct buf b = {0}, scratch = {0};
    struct wire_frame frame;
    int fds[2];

    if (_i == 0)
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    else
        ck_assert_int_eq(pipe(fds), 0); /* fds[0] is the end to read from in both */
    cleanup_fd int from = fds[0];
    cleanup_fd int to = fds[1];

    sample(&b);
    ck_assert_int_eq(wire_send(to, &b, NULL), 0);
    ck_assert_int_eq(wire_send(to, &b, NULL), 0);
    close_fd(&to);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(wire_recv(from, &scratch, MAX_BODY, &frame, NULL), 1);
        check_sample(&frame);
    }
    ck_assert_int_eq(wire_recv(from, &scratch, MAX_BODY, &frame, NULL), 0);
}
END_TEST

START_TEST(end_of_file_at_every_byte) {
    cleanup_buf struct buf b = {0}, scratch = {0};

    sample(&b);
    for (size_t n = 0; n <= b.len; n++) {
        struct wire_frame frame;
        struct error err = {0};
        int fds[2];

        ck_assert_int_eq(pipe(fds), 0);
        ck_assert_int_eq(write(fds[1], b.data, n), (ssize_t)n);
        close(fds[1]);
        ck_assert_int_eq(wire_recv(fds[0], &scratch, MAX_BODY, &frame, &err), n == 0 ? 0 : n == b.len ? 1 : -1);
        if (n > 0 && n < b.len)
            ck_assert_str_eq(err.step, "wire.recv");
        close(fds[0]);
    }
}
END_TEST

START_TEST(a_claim_over_the_bound_is_not_waited_for) {
    cleanup_buf struct buf scratch = {.max = 1024};
    struct wire_frame frame;
    struct error err;
    int fds[2];

    ck_assert_int_eq(pipe(fds), 0); /* the writing end stays open: a reader that waits would wait for ever */
    ck_assert_int_eq(write(fds[1], "\x53\x4e\1\0\x01\x10\0\0\0\0\0\0\0\0\0\0", 16), 16);
    ck_assert_int_eq(wire_recv(fds[0], &scratch, MAX_BODY, &frame, &err), -1);
    ck_assert_str_eq(err.step, "wire");
    ck_assert_int_eq(write(fds[1], "\x53\x4e\1\0\x00\x10\0\0\0\0\0\0\0\0\0\0", 16), 16);
    ck_assert_int_eq(wire_recv(fds[0], &scratch, MAX_BODY, &frame, &err), -1);
    ck_assert_int_eq(err.code, ENOBUFS); /* within max_body, over the buffer's own bound */
    close(fds[0]);
    close(fds[1]);
}
END_TEST

START_TEST(a_large_frame_in_pieces) {
    const size_t size = 3000000;
    cleanup_buf struct buf b = {0}, scratch = {0};
    struct wire_frame frame;
    struct wire_field f;
    int fds[2], status;
    size_t start;
    pid_t child;

    ck_assert_int_eq(wire_begin(&b, 1, 2, &start), 0);
    ck_assert_int_eq(buf_reserve(&scratch, size), 0);
    memset(scratch.data, 'x', size);
    ck_assert_int_eq(wire_put(&b, 9, scratch.data, size), 0);
    wire_end(&b, start);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    child = fork();
    if (child == 0)
        _exit(wire_send(fds[1], &b, NULL) == 0 ? 0 : 1);
    close(fds[1]);
    ck_assert_int_eq(wire_recv(fds[0], &scratch, size + 8, &frame, NULL), 1);
    struct wire_cursor c = wire_fields(&frame);

    ck_assert_int_eq(wire_field_next(&c, &f), 1);
    ck_assert_uint_eq(f.length, size);
    ck_assert_int_eq(f.data[size - 1], 'x');
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    close(fds[0]);
}
END_TEST

START_TEST(a_dead_peer_is_an_error_and_no_signal) {
    cleanup_buf struct buf b = {0};
    struct error err = {0};
    int fds[2];

    sample(&b);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    close(fds[0]);
    ck_assert_int_eq(wire_send(fds[1], &b, &err), -1);
    ck_assert_int_eq(err.code, EPIPE);
    ck_assert_str_eq(err.step, "wire.send");
    close(fds[1]);
    ck_assert_int_eq(wire_send(-1, &b, &err), -1);
    ck_assert_int_eq(err.code, EBADF);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("base/wire");
    TCase *t = unit_group(s, "frames");

    tcase_add_test(t, round_trip);
    tcase_add_test(t, truncated_frame_waits_at_every_byte);
    tcase_add_test(t, truncated_body_ends_or_fails_at_every_byte);
    tcase_add_loop_test(t, header_table, 0, UNIT_ROWS(headers));
    tcase_add_loop_test(t, body_table, 0, UNIT_ROWS(bodies));
    tcase_add_test(t, every_flipped_bit_is_safe);
    tcase_add_test(t, only_eight_bytes_are_an_integer);
    tcase_add_test(t, put_is_all_or_nothing);
    tcase_add_test(t, put_refuses_what_32_bits_cannot_say);
    t = unit_group(s, "streams");
    tcase_add_loop_test(t, sends_and_receives_one_frame_at_a_time, 0, 2);
    tcase_add_test(t, end_of_file_at_every_byte);
    tcase_add_test(t, a_claim_over_the_bound_is_not_waited_for);
    tcase_add_test(t, a_large_frame_in_pieces);
    tcase_add_test(t, a_dead_peer_is_an_error_and_no_signal);
    return s;
}

UNIT_MAIN(suite)
