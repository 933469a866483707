/* Finding a member in JSON text without building a tree: the raw text is what an id must be echoed as. The text has passed
 * json_check, so the walk needs no grammar; it still trusts no length. */
#include "base/json.h"

#include <string.h>

struct walk {
    const char *at;
    const char *end;
};

static void skip_space(struct walk *w) {
    while (w->at < w->end && memchr(" \t\n\r", *w->at, 4))
        w->at++;
}

static bool take(struct walk *w, char c) {
    skip_space(w);
    if (w->at >= w->end || *w->at != c)
        return false;
    w->at++;
    return true;
}

/* From the opening quote to behind the closing one. */
static bool skip_string(struct walk *w) {
    for (w->at++; w->at < w->end; w->at++) {
        if (*w->at == '\\')
            w->at++;
        else if (*w->at == '"') {
            w->at++;
            return true;
        }
    }
    w->at = w->end;
    return false;
}

static bool skip_value(struct walk *w) {
    size_t depth = 0;

    while (w->at < w->end) {
        char c = *w->at;

        if (c == '"') {
            if (!skip_string(w))
                return false;
            continue;
        }
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && depth > 0)
            depth--;
        else if (depth == 0 && memchr(",}] \t\n\r", c, 7))
            return true;
        w->at++;
    }
    return depth == 0;
}

static unsigned hex4(const char *p, const char *end) {
    unsigned v = 0;

    for (int i = 0; i < 4 && p < end; i++, p++) {
        unsigned c = (unsigned char)*p;

        v = v << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        v &= 0xffff;
    }
    return v;
}

/* The character behind a backslash at *p, as UTF-8 in out. Returns its length; 0 for what no C string can hold, which
 * therefore equals no name. */
static size_t decode_escape(const char **p, const char *end, char out[4]) {
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char c = *(*p)++, *simple;
    unsigned v, low;

    if (c != 'u') {
        simple = memchr(from, c, sizeof from - 1);
        out[0] = simple ? to[simple - from] : c;
        return 1;
    }
    v = hex4(*p, end);
    *p += end - *p < 4 ? end - *p : 4;
    if (v >= 0xd800 && v <= 0xdbff && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        low = hex4(*p + 2, end);
        if (low >= 0xdc00 && low <= 0xdfff) {
            *p += 6;
            v = 0x10000 + ((v - 0xd800) << 10 | (low - 0xdc00));
        }
    }
    if (v == 0 || (v >= 0xd800 && v <= 0xdfff))
        return 0;
    if (v < 0x80) {
        out[0] = (char)v;
        return 1;
    }
    if (v < 0x800) {
        out[0] = (char)(0xc0 | v >> 6);
        out[1] = (char)(0x80 | (v & 0x3f));
        return 2;
    }
    if (v < 0x10000) {
        out[0] = (char)(0xe0 | v >> 12);
        out[1] = (char)(0x80 | (v >> 6 & 0x3f));
        out[2] = (char)(0x80 | (v & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | v >> 18);
    out[1] = (char)(0x80 | (v >> 12 & 0x3f));
    out[2] = (char)(0x80 | (v >> 6 & 0x3f));
    out[3] = (char)(0x80 | (v & 0x3f));
    return 4;
}

/* Does the string between the quotes spell `name`? "\u0069d" is "id" too: cJSON sees it so, and two readers of one text must
 * not find two different members. */
static bool spells(const char *p, const char *end, const char *name) {
    size_t left = strlen(name);

    while (p < end) {
        char out[4] = {*p};
        size_t n = 1;

        if (*p++ == '\\') {
            if (p >= end)
                return false;
            n = decode_escape(&p, end, out);
        }
        if (n == 0 || n > left || memcmp(out, name, n) != 0)
            return false;
        name += n;
        left -= n;
    }
    return left == 0;
}

bool json_raw_member(const char *text, size_t length, const char *name, const char **ret_at, size_t *ret_length) {
    struct walk w = {.at = text, .end = text + length};

    if (!take(&w, '{'))
        return false;
    do {
        const char *key, *value;
        bool found;

        skip_space(&w);
        if (w.at >= w.end || *w.at != '"')
            return false;
        key = w.at + 1;
        if (!skip_string(&w))
            return false;
        found = spells(key, w.at - 1, name);
        if (!take(&w, ':'))
            return false;
        skip_space(&w);
        value = w.at;
        if (!skip_value(&w))
            return false;
        if (found) {
            *ret_at = value;
            *ret_length = (size_t)(w.at - value);
            return true;
        }
    } while (take(&w, ','));
    return false;
}
