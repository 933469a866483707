/* Length-framed messages between supervisor, init, zygote and payload.
 *
 * A frame is a 16 byte header (u16 magic, u16 type, u32 body length, u64 nonce; host byte order, both ends are one machine)
 * and a body that is a sequence of fields: u16 tag, u16 zero, u32 length, bytes (not padded). There is no nesting and no
 * count to trust: a reader walks fields until the body ends. Pure code except wire_send and wire_recv. Everything that comes
 * out of a jail is read with an explicit bound; a malformed frame is an error of the peer, never undefined behaviour.
 */
#ifndef SNIPARA_BASE_WIRE_H
#define SNIPARA_BASE_WIRE_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_HEADER 16u
#define WIRE_MAGIC 0x4e53u

struct wire_frame {
    uint16_t type;
    uint64_t nonce;
    const char *body; /* points into the caller's bytes */
    size_t length;
};

struct wire_cursor {
    const char *at;
    const char *end;
};

struct wire_field {
    uint16_t tag;
    const char *data; /* not NUL-terminated */
    size_t length;
};

/* Writing: begin, put fields, end. The put functions return -1 (errno ENOBUFS/ENOMEM) like buf_add. */
int wire_begin(struct buf *b, uint16_t type, uint64_t nonce, size_t *ret_start);
int wire_put(struct buf *b, uint16_t tag, const void *data, size_t length);
int wire_puts(struct buf *b, uint16_t tag, const char *text);
int wire_put_u64(struct buf *b, uint16_t tag, uint64_t value);
int wire_put_i64(struct buf *b, uint16_t tag, int64_t value);
void wire_end(struct buf *b, size_t start); /* writes the body length into the header that wire_begin left */

/* Reading. wire_next: 1 = a whole frame stands at `data` (*ret, and *ret_used bytes to drop), 0 = more bytes are needed,
 * -1 = not a frame or its body is longer than max_body (err filled, step "wire"). */
int wire_next(const char *data, size_t length, size_t max_body, struct wire_frame *ret, size_t *ret_used, struct error *err);
struct wire_cursor wire_fields(const struct wire_frame *frame);
/* 1 = *ret filled, 0 = end of the body, -1 = a field runs over the end. */
int wire_field_next(struct wire_cursor *cursor, struct wire_field *ret);
/* The value of an 8 byte field; false when the length is not 8. */
bool wire_u64(const struct wire_field *field, uint64_t *ret);
bool wire_i64(const struct wire_field *field, int64_t *ret);
/* A malloc'ed, NUL-terminated copy; NULL when out of memory or when the bytes contain NUL. */
char *wire_strdup(const struct wire_field *field);

/* An error that crosses a process boundary: three fields, first_tag = step, +1 = errno, +2 = message. */
int wire_put_error(struct buf *b, uint16_t first_tag, const struct error *failure);
/* Fill *err from the frame's three fields ("who" stands in for a missing step). Always returns -1, like error_set. */
int wire_take_error(const struct wire_frame *frame, uint16_t first_tag, const char *who, struct error *err);

/* Blocking stream I/O for the small programs (init, zygote, payload). EINTR is retried.
 * wire_recv: 1 = frame in *ret (pointing into scratch), 0 = end of file before the first byte, -1 = error. */
int wire_send(int fd, const struct buf *b, struct error *err);
int wire_recv(int fd, struct buf *scratch, size_t max_body, struct wire_frame *ret, struct error *err);

#endif
