#include "base/wire.h"

#include <stdio.h>

int wire_put_error(struct buf *b, uint16_t first_tag, const struct error *failure)
{
    if (wire_puts(b, first_tag, failure->step) < 0 || wire_put_i64(b, (uint16_t)(first_tag + 1), failure->code) < 0)
        return -1;
    return wire_puts(b, (uint16_t)(first_tag + 2), failure->message);
}

int wire_take_error(const struct wire_frame *frame, uint16_t first_tag, const char *who, struct error *err)
{
    struct wire_cursor c = wire_fields(frame);
    struct wire_field f;
    int64_t code = 0;
    char step[sizeof err->step], message[sizeof err->message] = "no reason was given";
    snprintf(step, sizeof step, "%s", who);
    while (wire_field_next(&c, &f) > 0) {
        int n = f.length < sizeof message ? (int)f.length : (int)sizeof message - 1;
        if (f.tag == first_tag)
            snprintf(step, sizeof step, "%.*s", n, f.data);
        else if (f.tag == first_tag + 1)
            wire_i64(&f, &code);
        else if (f.tag == first_tag + 2)
            snprintf(message, sizeof message, "%.*s", n, f.data);
    }
    error_set(err, step, 0, "%s", message); /* the message has the errno's text already */
    if (err)
        err->code = (int)code;
    return -1;
}
