/* Captured output as text. */
#include "receipt/output_text.h"

#include "base/utf8.h"

#define NOTE_ROOM 64u /* longest form of the note between head and tail */

bool receipt_output_cut(const struct receipt_output *o)
{
    return o->total > (uint64_t)o->head.len + o->tail.len;
}

static int add_note(struct buf *b, uint64_t bytes)
{
    return buf_addf(b, "\n... [%llu bytes left out] ...\n", (unsigned long long)bytes);
}

/* Bytes at the start that belong to a character whose first byte was left out (at most three, RFC 3629). */
static size_t continuation(const char *data, size_t length)
{
    size_t n = 0;
    while (n < length && n < 3 && ((unsigned char)data[n] & 0xC0) == 0x80)
        n++;
    return n;
}

int receipt_output_text(const struct receipt_output *o, struct buf *ret)
{
    if (!receipt_output_cut(o)) {
        cleanup_buf struct buf whole = {0};
        if (o->tail.len == 0)
            return o->head.len ? utf8_clean(ret, o->head.data, o->head.len) : 0;
        /* A character may lie across the two buffers, so they are joined before they are cleaned. */
        if (buf_add(&whole, o->head.data, o->head.len) < 0 || buf_add(&whole, o->tail.data, o->tail.len) < 0)
            return -1;
        return utf8_clean(ret, whole.data, whole.len);
    }
    size_t head = o->head.len ? utf8_cut(o->head.data, o->head.len) : 0;
    size_t skip = o->tail.len ? continuation(o->tail.data, o->tail.len) : 0;
    uint64_t left_out = o->total - head - (o->tail.len - skip);
    if (head > 0 && utf8_clean(ret, o->head.data, head) < 0)
        return -1;
    if (add_note(ret, left_out) < 0)
        return -1;
    return o->tail.len > skip ? utf8_clean(ret, o->tail.data + skip, o->tail.len - skip) : 0;
}

int receipt_text_shortened(struct buf *ret, const char *text, size_t length, size_t max)
{
    if (length <= max)
        return length ? buf_add(ret, text, length) : 0;
    size_t room = max > NOTE_ROOM ? max - NOTE_ROOM : 0;
    size_t head = utf8_cut(text, room * 2 / 3), from = length - room / 3;
    from += continuation(text + from, length - from);
    if (head > 0 && buf_add(ret, text, head) < 0)
        return -1;
    if (add_note(ret, from - head) < 0)
        return -1;
    return from < length ? buf_add(ret, text + from, length - from) : 0;
}
