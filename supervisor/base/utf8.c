#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* The sequence at p (Unicode 15, table 3-7). Returns its length when well-formed; otherwise 0, with *ret_bad = the length of
 * the maximal subpart: as many bytes as still could have begun a character, at least 1. */
static size_t sequence(const unsigned char *p, size_t left, size_t *ret_bad) {
    unsigned char low = 0x80, high = 0xbf;
    size_t need;

    *ret_bad = 1;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        need = 2;
    else if (p[0] >= 0xe0 && p[0] <= 0xef)
        need = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        need = 4;
    else
        return 0; /* a lone continuation byte, C0 and C1 (overlong), F5 and above (over U+10FFFF) */
    /* The second byte carries the bounds against overlong forms, surrogates and values over U+10FFFF. */
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    for (size_t i = 1; i < need; i++) {
        if (i >= left || p[i] < low || p[i] > high) {
            *ret_bad = i;
            return 0;
        }
        low = 0x80;
        high = 0xbf;
    }
    return need;
}

/* How many bytes from p on are ASCII, counted in words of eight; a lower bound. */
static size_t ascii_run(const unsigned char *p, size_t left) {
    size_t n = 0;
    uint64_t word;

    while (left - n >= sizeof word) {
        memcpy(&word, p + n, sizeof word);
        if (word & UINT64_C(0x8080808080808080))
            break;
        n += sizeof word;
    }
    return n;
}

size_t utf8_valid_prefix(const char *data, size_t length) {
    const unsigned char *p = (const unsigned char *)data;
    size_t at = 0, bad;

    while (at < length) {
        size_t n = p[at] < 0x80 ? ascii_run(p + at, length - at) : 0;

        /* Most of what is not ASCII is two or three bytes away from the edges of table 3-7. */
        if (n == 0 && length - at >= 3 && p[at] > 0xe0 && p[at] < 0xed && (p[at + 1] & 0xc0) == 0x80 && (p[at + 2] & 0xc0) == 0x80)
            n = 3;
        if (n == 0)
            n = sequence(p + at, length - at, &bad);
        if (n == 0)
            break;
        at += n;
    }
    return at;
}

/* The same three bytes so many times. Guests choose what is replaced, and a flood of it is cheap to write: one step for a row of them. */
static int add_times(struct buf *b, const char *character, size_t times) {
    if (buf_reserve(b, 3 * times) < 0)
        return -1;
    for (char *at = b->data + b->len, *end = at + 3 * times; at < end; at += 3)
        memcpy(at, character, 3);
    b->len += 3 * times;
    b->data[b->len] = '\0';
    return 0;
}

/* Valid text with each NUL replaced. */
static int add_valid(struct buf *b, const char *data, size_t length) {
    for (const char *end = data + length; data < end;) {
        const char *nul = memchr(data, '\0', (size_t)(end - data)), *after = nul;

        if (buf_add(b, data, (size_t)((nul ? nul : end) - data)) < 0)
            return -1;
        while (after && after < end && *after == '\0')
            after++;
        if (nul && add_times(b, "\xe2\x90\x80", (size_t)(after - nul)) < 0)
            return -1;
        data = nul ? after : end;
    }
    return 0;
}

int utf8_clean(struct buf *b, const char *data, size_t length) {
    const unsigned char *p = (const unsigned char *)data;
    size_t before = b->len, at = 0;

    if (buf_reserve(b, 0) < 0)
        return -1;
    while (at < length) {
        size_t good = utf8_valid_prefix(data + at, length - at), bad;
        int r = add_valid(b, data + at, good);

        at += good;
        size_t row = 0; /* they come in rows */
        for (; at < length && sequence(p + at, length - at, &bad) == 0; row++)
            at += bad;
        if (r == 0 && row > 0)
            r = add_times(b, "\xef\xbf\xbd", row);
        if (r < 0) { /* nothing was appended: the promise of buf.h */
            b->len = before;
            b->data[before] = '\0';
            return -1;
        }
    }
    return 0;
}

size_t utf8_cut(const char *data, size_t length) {
    const unsigned char *p = (const unsigned char *)data;

    /* Only what stands before the cut is looked at: the first byte of the last character says how long it wants to be. */
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = p[length - back];
        size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

        if ((c & 0xc0) == 0x80)
            continue;
        return need > back ? length - back : length;
    }
    return length;
}

size_t utf8_control(const char *data, size_t length) {
    const unsigned char *p = (const unsigned char *)data;

    if (length > 0 && (p[0] < 0x20 || p[0] == 0x7f))
        return 1;
    if (length > 1 && p[0] == 0xc2 && p[1] < 0xa0)
        return 2;
    return length > 2 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9) ? 3 : 0;
}
