#include "base/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIELD_HEADER 8u

/* Offsets in the frame header. memcpy throughout: nothing promises that a frame or a field is aligned. */
enum { AT_MAGIC = 0, AT_TYPE = 2, AT_LENGTH = 4, AT_NONCE = 8 };
enum { AT_TAG = 0, AT_ZERO = 2, AT_FIELD_LENGTH = 4 };

static uint16_t load16(const char *p) {
    uint16_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static uint32_t load32(const char *p) {
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

int wire_begin(struct buf *b, uint16_t type, uint64_t nonce, size_t *ret_start) {
    const uint16_t magic = WIRE_MAGIC;
    char header[WIRE_HEADER] = {0};
    size_t start = b->len;

    memcpy(header + AT_MAGIC, &magic, sizeof magic);
    memcpy(header + AT_TYPE, &type, sizeof type);
    memcpy(header + AT_NONCE, &nonce, sizeof nonce);
    if (buf_add(b, header, sizeof header) < 0)
        return -1;
    *ret_start = start;
    return 0;
}

int wire_put(struct buf *b, uint16_t tag, const void *data, size_t length) {
    char header[FIELD_HEADER] = {0};
    uint32_t short_length = (uint32_t)length;

    /* The whole buffer is kept below 4 GiB, so that neither this length nor the one that wire_end writes can be cut. */
    if (length > UINT32_MAX - FIELD_HEADER || b->len > UINT32_MAX - FIELD_HEADER - length) {
        errno = ENOBUFS;
        return -1;
    }
    if (buf_reserve(b, FIELD_HEADER + length) < 0)
        return -1;
    memcpy(header + AT_TAG, &tag, sizeof tag);
    memcpy(header + AT_FIELD_LENGTH, &short_length, sizeof short_length);
    if (buf_add(b, header, sizeof header) < 0 || buf_add(b, data, length) < 0)
        return -1;
    return 0;
}

int wire_puts(struct buf *b, uint16_t tag, const char *text) { return wire_put(b, tag, text, strlen(text)); }

int wire_put_u64(struct buf *b, uint16_t tag, uint64_t value) { return wire_put(b, tag, &value, sizeof value); }

int wire_put_i64(struct buf *b, uint16_t tag, int64_t value) { return wire_put(b, tag, &value, sizeof value); }

void wire_end(struct buf *b, size_t start) {
    uint32_t length = (uint32_t)(b->len - start - WIRE_HEADER);

    memcpy(b->data + start + AT_LENGTH, &length, sizeof length);
}

int wire_next(const char *data, size_t length, size_t max_body, struct wire_frame *ret, size_t *ret_used, struct error *err) {
    uint32_t body;

    /* Judged as soon as the bytes are there: a peer that is not speaking this protocol must not make us wait for more. */
    if (length >= AT_MAGIC + sizeof(uint16_t) && load16(data + AT_MAGIC) != WIRE_MAGIC)
        return error_set(err, "wire", 0, "not a frame: magic is 0x%04x, expected 0x%04x", load16(data), WIRE_MAGIC);
    if (length < AT_LENGTH + sizeof body)
        return 0;
    body = load32(data + AT_LENGTH);
    if (body > max_body)
        return error_set(err, "wire", 0, "frame of type %u has a body of %u bytes, at most %zu are accepted",
                         load16(data + AT_TYPE), body, max_body);
    if (length < WIRE_HEADER || length - WIRE_HEADER < body)
        return 0;
    ret->type = load16(data + AT_TYPE);
    memcpy(&ret->nonce, data + AT_NONCE, sizeof ret->nonce);
    ret->body = data + WIRE_HEADER;
    ret->length = body;
    *ret_used = WIRE_HEADER + (size_t)body;
    return 1;
}

struct wire_cursor wire_fields(const struct wire_frame *frame) {
    return (struct wire_cursor){.at = frame->body, .end = frame->body + frame->length};
}

int wire_field_next(struct wire_cursor *cursor, struct wire_field *ret) {
    size_t left = (size_t)(cursor->end - cursor->at);
    uint32_t length;

    if (left == 0)
        return 0;
    if (left < FIELD_HEADER)
        return -1;
    length = load32(cursor->at + AT_FIELD_LENGTH);
    if (length > left - FIELD_HEADER || load16(cursor->at + AT_ZERO) != 0)
        return -1;
    ret->tag = load16(cursor->at + AT_TAG);
    ret->data = cursor->at + FIELD_HEADER;
    ret->length = length;
    cursor->at += FIELD_HEADER + (size_t)length;
    return 1;
}

bool wire_u64(const struct wire_field *field, uint64_t *ret) {
    if (field->length != sizeof *ret)
        return false;
    memcpy(ret, field->data, sizeof *ret);
    return true;
}

bool wire_i64(const struct wire_field *field, int64_t *ret) {
    if (field->length != sizeof *ret)
        return false;
    memcpy(ret, field->data, sizeof *ret);
    return true;
}

char *wire_strdup(const struct wire_field *field) {
    char *text;

    if (field->length && memchr(field->data, '\0', field->length))
        return NULL;
    text = malloc(field->length + 1);
    if (!text)
        return NULL;
    if (field->length)
        memcpy(text, field->data, field->length);
    text[field->length] = '\0';
    return text;
}

int wire_send(int fd, const struct buf *b, struct error *err) {
    size_t done = 0;
    bool is_socket = true;

    while (done < b->len) {
        /* A dead peer is an error to report, not a SIGPIPE to die of; only sockets have a flag for that. */
        ssize_t n = is_socket ? send(fd, b->data + done, b->len - done, MSG_NOSIGNAL)
                              : write(fd, b->data + done, b->len - done);

        if (n >= 0) {
            done += (size_t)n;
        } else if (errno == ENOTSOCK && is_socket) {
            is_socket = false;
        } else if (errno != EINTR) {
            return error_set(err, "wire.send", errno, "cannot send a frame, %zu of %zu bytes written", done, b->len);
        }
    }
    return 0;
}

/* Read until scratch holds `want` bytes. Returns 1, 0 at end of file before that, -1 on error. */
static int fill(int fd, struct buf *scratch, size_t want, struct error *err) {
    if (buf_reserve(scratch, want - scratch->len) < 0)
        return error_set(err, "wire.recv", errno, "no room for a frame of %zu bytes", want);
    while (scratch->len < want) {
        ssize_t n = read(fd, scratch->data + scratch->len, want - scratch->len);

        if (n == 0)
            return 0;
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return error_set(err, "wire.recv", errno, "cannot receive a frame");
        }
        scratch->len += (size_t)n;
        scratch->data[scratch->len] = '\0';
    }
    return 1;
}

int wire_recv(int fd, struct buf *scratch, size_t max_body, struct wire_frame *ret, struct error *err) {
    size_t used, want = WIRE_HEADER;

    buf_clear(scratch);
    for (;;) {
        int r = fill(fd, scratch, want, err);

        if (r < 0)
            return -1;
        if (r == 0 && scratch->len == 0)
            return 0;
        if (r == 0)
            return error_set(err, "wire.recv", 0, "the peer closed in the middle of a frame, after %zu of %zu bytes",
                             scratch->len, want);
        /* Exactly one frame is read: what follows stays in the socket for whoever reads next. */
        r = wire_next(scratch->data, scratch->len, max_body, ret, &used, err);
        if (r != 0)
            return r;
        want = WIRE_HEADER + (size_t)load32(scratch->data + AT_LENGTH);
    }
}
