/* Visible forms of control characters. */
#include "cli/screen.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

/* Bytes at the end that begin a character and lack its rest (0 when the text ends with a whole or a broken one). */
static size_t unfinished(const char *data, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = (unsigned char)data[length - back];
        if (c >= 0xC0)
            return back < (c >= 0xF0 ? 4u : c >= 0xE0 ? 3u : 2u) ? back : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

/* Marks that turn the direction of text can make code read differently from what it does (CVE-2021-42574). */
static bool turns_text(const unsigned char *p)
{
    return p[0] == 0xE2 && ((p[1] == 0x80 && p[2] >= 0xAA && p[2] <= 0xAE) || (p[1] == 0x81 && p[2] >= 0xA6 && p[2] <= 0xA9));
}

/* Length of the character at p that must not reach a terminal, its visible form in `shown`; 0: harmless. */
static size_t control(const unsigned char *p, size_t left, char shown[12])
{
    static const char hex[] = "0123456789abcdef";
    if ((p[0] < 0x20 && p[0] != '\n' && p[0] != '\t') || p[0] == 0x7f) {
        shown[0] = '^';
        shown[1] = (char)(p[0] ^ 0x40);
        shown[2] = '\0';
        return 1;
    }
    if (left >= 2 && p[0] == 0xC2 && p[1] < 0xA0) {
        memcpy(shown, (char[]){'\\', 'x', hex[p[1] >> 4], hex[p[1] & 15], '\0'}, 5);
        return 2;
    }
    if (left >= 3 && turns_text(p)) {
        unsigned low = ((p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu)) & 0xFF;
        memcpy(shown, "<U+20", 5);
        shown[5] = hex[low >> 4];
        shown[6] = (char)(hex[low & 15] >= 'a' ? hex[low & 15] - 32 : hex[low & 15]);
        memcpy(shown + 7, ">", 2);
        return 3;
    }
    return 0;
}

static int show_clean(const struct buf *clean, struct buf *ret)
{
    size_t from = 0, i = 0;
    while (i < clean->len) {
        char shown[12];
        size_t skip = control((const unsigned char *)clean->data + i, clean->len - i, shown);
        if (skip > 0) {
            if ((i > from && buf_add(ret, clean->data + from, i - from) < 0) || buf_adds(ret, shown) < 0)
                return -1;
            from = i + skip;
        }
        i += skip ? skip : 1;
    }
    return clean->len > from ? buf_add(ret, clean->data + from, clean->len - from) : 0;
}

int screen_show(struct screen *s, const char *data, size_t length, struct buf *ret)
{
    cleanup_buf struct buf whole = {0}, clean = {0};
    if (buf_add(&whole, s->pending, s->pending_length) < 0 || buf_add(&whole, data, length) < 0)
        return -1;
    s->pending_length = unfinished(whole.data, whole.len);
    size_t ready = whole.len - s->pending_length;
    memcpy(s->pending, whole.data + ready, s->pending_length);
    if (ready == 0)
        return 0;
    return utf8_clean(&clean, whole.data, ready) < 0 ? -1 : show_clean(&clean, ret);
}

int screen_end(struct screen *s, struct buf *ret)
{
    size_t length = s->pending_length;
    s->pending_length = 0;
    return length ? utf8_clean(ret, s->pending, length) : 0;
}
