/* What the fuzz targets share: an assertion that a fuzzer sees, and a reader that turns its bytes into values. */
#ifndef SNIPARA_TESTS_FUZZ_H
#define SNIPARA_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Say which property does not hold, and stop where a fuzzer sees it. */
#define require(holds) ((holds) ? (void)0 : require_failed(#holds, __FILE__, __LINE__))
static inline _Noreturn void require_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

struct input {
    const uint8_t *at;
    size_t left;
};

/* The next `size` bytes into `ret`; zeros where the input has ended. */
static inline void input_take(struct input *in, void *ret, size_t size)
{
    size_t n = size < in->left ? size : in->left;
    memset(ret, 0, size);
    if (n)
        memcpy(ret, in->at, n);
    in->at += n;
    in->left -= n;
}

static inline uint8_t input_u8(struct input *in)
{
    uint8_t v;
    input_take(in, &v, sizeof v);
    return v;
}

static inline uint16_t input_u16(struct input *in)
{
    uint16_t v;
    input_take(in, &v, sizeof v);
    return v;
}

static inline uint64_t input_u64(struct input *in)
{
    uint64_t v;
    input_take(in, &v, sizeof v);
    return v;
}

static inline double input_double(struct input *in)
{
    double v;
    input_take(in, &v, sizeof v);
    return v;
}

/* A piece of the input: its length stands in front of it as two bytes. */
static inline struct input input_piece(struct input *in)
{
    size_t wanted = input_u16(in), n = wanted < in->left ? wanted : in->left;
    struct input piece = {in->at, n};
    in->at += n;
    in->left -= n;
    return piece;
}

#endif
