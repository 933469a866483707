/* Output capture: the first and the last bytes are kept, all are counted and digested, memory stays bounded whatever is written. */
#include "receipt/receipt.h"

#include "base/mutant.h"

#include <string.h>

void receipt_capture_begin(struct receipt_capture *c, struct receipt_output *to, uint64_t output_bytes)
{
    c->to = to;
    c->head_max = (size_t)(output_bytes - output_bytes / 2);
    c->tail_max = (size_t)(output_bytes / 2);
    if (mutant(37))
        c->head_max = SIZE_MAX;
    digest_begin(&c->digest);
}

/* The tail may grow to twice its bound before the old half is dropped, so that moving bytes costs O(1) per byte written. */
static int add_tail(struct receipt_capture *c, const char *data, size_t length)
{
    struct buf *tail = &c->to->tail;
    if (length >= c->tail_max) {
        buf_clear(tail);
        return buf_add(tail, data + (length - c->tail_max), c->tail_max);
    }
    if (tail->len + length > 2 * c->tail_max)
        buf_drop(tail, tail->len + length - c->tail_max); /* leaves tail_max - length, which is not negative here */
    return buf_add(tail, data, length);
}

int receipt_capture_add(struct receipt_capture *c, const char *data, size_t length)
{
    struct receipt_output *to = c->to;
    digest_add(&c->digest, data, length);
    to->total += length;
    size_t room = c->head_max - to->head.len, take = length < room ? length : room;
    if (take > 0 && buf_add(&to->head, data, take) < 0)
        return -1;
    return length > take ? add_tail(c, data + take, length - take) : 0;
}

void receipt_capture_end(struct receipt_capture *c)
{
    struct buf *tail = &c->to->tail;
    if (tail->len > c->tail_max)
        buf_drop(tail, tail->len - c->tail_max);
    digest_end(&c->digest, c->to->digest);
}
