#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST 128u

int buf_reserve(struct buf *b, size_t more) {
    size_t need, cap;
    char *data;

    if (b->max && (b->len > b->max || more > b->max - b->len)) {
        errno = ENOBUFS;
        return -1;
    }
    /* One byte for the NUL. PTRDIFF_MAX is malloc's own bound; below it the doubling cannot wrap. */
    if (more >= (size_t)PTRDIFF_MAX - b->len) {
        errno = ENOMEM;
        return -1;
    }
    need = b->len + more + 1;
    if (need <= b->cap)
        return 0;
    cap = b->cap > BUF_FIRST / 2 ? b->cap * 2 : BUF_FIRST;
    if (cap < need)
        cap = need;
    if (b->max && cap > b->max && need <= b->max + 1)
        cap = b->max + 1;
    data = realloc(b->data, cap);
    if (!data) {
        errno = ENOMEM;
        return -1;
    }
    b->data = data;
    b->cap = cap;
    b->data[b->len] = '\0';
    return 0;
}

int buf_add(struct buf *b, const void *data, size_t len) {
    if (buf_reserve(b, len) < 0)
        return -1;
    if (len) /* memcpy(3) from NULL is undefined even for no bytes */
        memcpy(b->data + b->len, data, len);
    b->len += len;
    b->data[b->len] = '\0';
    return 0;
}

int buf_adds(struct buf *b, const char *text) { return buf_add(b, text, strlen(text)); }

int buf_addf(struct buf *b, const char *format, ...) {
    va_list args, again;
    int length;

    va_start(args, format);
    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || buf_reserve(b, (size_t)length) < 0) {
        va_end(again);
        return -1;
    }
    vsnprintf(b->data + b->len, (size_t)length + 1, format, again);
    va_end(again);
    b->len += (size_t)length;
    return 0;
}

void buf_drop(struct buf *b, size_t n) {
    if (n >= b->len) {
        buf_clear(b);
        return;
    }
    if (n == 0)
        return;
    memmove(b->data, b->data + n, b->len - n + 1); /* with the NUL */
    b->len -= n;
}

void buf_clear(struct buf *b) {
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

void buf_free(struct buf *b) {
    free(b->data);
    b->data = NULL;
    b->len = b->cap = 0;
}

char *buf_take(struct buf *b) {
    char *text = b->data;

    b->data = NULL;
    b->len = b->cap = 0;
    return text ? text : calloc(1, 1);
}
