/* A growing byte buffer with an upper bound. Always NUL-terminated after `len` bytes when `data` is not NULL, so text can be
 * used as a C string; bytes may contain NUL. Zero-initialise ({0}) for an unbounded buffer, or set `max`.
 * Errors: -1 with errno ENOBUFS (bound reached; nothing was appended) or ENOMEM. */
#ifndef SNIPARA_BASE_BUF_H
#define SNIPARA_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max; /* largest len; 0 means no bound */
};

int buf_reserve(struct buf *b, size_t more); /* room for `more` further bytes */
int buf_add(struct buf *b, const void *data, size_t len);
int buf_adds(struct buf *b, const char *text);
int buf_addf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_drop(struct buf *b, size_t n);  /* forget the first n bytes (n <= len) */
void buf_clear(struct buf *b);           /* len = 0, memory kept */
void buf_free(struct buf *b);            /* everything back to zero, `max` kept */
char *buf_take(struct buf *b);           /* the caller owns the text (never NULL unless out of memory); b is empty then */

static inline void cleanup_buf_(struct buf *b) { buf_free(b); }
#define cleanup_buf __attribute__((cleanup(cleanup_buf_)))

#endif
