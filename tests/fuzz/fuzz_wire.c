/* libFuzzer target: the bytes are what a hostile peer sends. No read past the end, no frame over the bound; what the reader
 * accepts and the writer writes again is the same frame, byte for byte. */
#include "fuzz.h"

#include "base/wire.h"

#define MAX_BODY 4096u

/* 1 = written again in full, 0 = the body has a bad field. */
static int rewrite(struct buf *b, const struct wire_frame *frame) {
    struct wire_cursor cursor = wire_fields(frame);
    struct wire_field field;
    size_t start;
    int r;

    require(wire_begin(b, frame->type, frame->nonce, &start) == 0);
    while ((r = wire_field_next(&cursor, &field)) == 1) {
        char *text = wire_strdup(&field);
        uint64_t u;
        int64_t i;

        require(field.data >= frame->body && field.data + field.length <= frame->body + frame->length);
        require((text != NULL) == (memchr(field.data, 0, field.length) == NULL));
        require(wire_u64(&field, &u) == (field.length == 8) && wire_i64(&field, &i) == (field.length == 8));
        free(text);
        require(wire_put(b, field.tag, field.data, field.length) == 0);
    }
    wire_end(b, start);
    return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *at = (const char *)data;
    struct wire_frame frame;
    struct error err;
    size_t used;

    while (wire_next(at, size, MAX_BODY, &frame, &used, &err) == 1) {
        cleanup_buf struct buf b = {0};

        require(used == WIRE_HEADER + frame.length && used <= size && frame.length <= MAX_BODY);
        if (rewrite(&b, &frame))
            require(b.len == used && memcmp(b.data, at, used) == 0);
        at += used;
        size -= used;
    }
    return 0;
}
