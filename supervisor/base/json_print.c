/* The writer of json.h. cJSON's own prints a number with 15 digits when a comparison within DBL_EPSILON finds that near enough
 * (0.30000000000000004 becomes 0.3, 9007199254740991 becomes 9.00719925474099e+15), and leaves U+2028 and U+2029 as they are,
 * which end a line in JavaScript. Here a number reads back as the same double. */
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Trees come from json_parse (at most 1000 levels) or are built by us; deeper is a fault of the builder, not a crash. */
#define DEPTH_MOST 1100

struct printer {
    struct buf out;
    bool pretty;
    bool sorted; /* members in byte order of their names */
    int depth;
};

static int print_value(struct printer *p, const cJSON *item);

/* By hand: printf of a double costs ten times as much. */
static int print_whole(struct buf *b, int64_t v) {
    char text[24], *at = text + sizeof text;
    uint64_t left = v < 0 ? -(uint64_t)v : (uint64_t)v;

    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (v < 0)
        *--at = '-';
    return buf_add(b, at, (size_t)(text + sizeof text - at));
}

static int print_number(struct buf *b, double v) {
    char text[32];

    /* JSON has no infinity; a text such as 1e999 is read as one. */
    if (!isfinite(v))
        return buf_adds(b, "null");
    if (v > -1e17 && v < 1e17 && v == (double)(int64_t)v && (v != 0 || !signbit(v)))
        return print_whole(b, (int64_t)v);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    return buf_adds(b, text);
}

/* The escape for the character at s, with *ret_length bytes of s that it stands for; NULL when it may stand as it is. */
static const char *escape_of(const char *s, char hex[8], size_t *ret_length) {
    static const char from[] = "\"\\\b\f\n\r\t";
    static const char *const to[] = {"\\\"", "\\\\", "\\b", "\\f", "\\n", "\\r", "\\t"};
    const char *short_form = strchr(from, *s);

    *ret_length = 1;
    if (short_form)
        return to[short_form - from];
    if ((unsigned char)*s < 0x20) { /* by hand: a guest's output may be nothing but such bytes */
        memcpy(hex, "\\u00", 4);
        hex[4] = "0123456789abcdef"[*s >> 4];
        hex[5] = "0123456789abcdef"[*s & 15];
        hex[6] = '\0';
        return hex;
    }
    *ret_length = 3;
    if (strncmp(s, "\xe2\x80\xa8", 3) == 0)
        return "\\u2028";
    if (strncmp(s, "\xe2\x80\xa9", 3) == 0)
        return "\\u2029";
    return NULL;
}

/* Bytes that escape_of need not see: a receipt is printed with every call, and nearly all of it is plain. */
static bool is_plain(const unsigned char *s) {
    return *s >= 0x20 && *s != '"' && *s != '\\' && !(*s == 0xe2 && s[1] == 0x80 && (s[2] | 1) == 0xa9);
}

/* How many of the next bytes are plain, counted in words of eight; a lower bound. A byte of a word is below 0x20, or equal to one that is
 * looked for, where taking 0x20 (or 1 from the difference) borrows from its highest bit (Warren, Hacker's Delight, 6-1). The string has
 * `left` bytes. */
static size_t plain_run(const char *s, size_t left, bool may_separate) {
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    size_t n = 0;

    for (uint64_t w; left - n >= sizeof w; n += sizeof w) {
        memcpy(&w, s + n, sizeof w);
        uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\'), wide = w ^ (ones * 0xe2);
        uint64_t found = ((w - ones * 0x20) & ~w) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash) |
                         (may_separate ? (wide - ones) & ~wide : 0);
        if (found & tops)
            break;
    }
    return n;
}

static int print_string(struct buf *b, const char *s) {
    const char *plain = s, *end = s + strlen(s);
    char hex[8];

    /* The last bytes of U+2028 and U+2029: only a string that has one of them looks closer. memchr is fast, memmem is not. */
    bool may_separate = memchr(s, 0xa8, (size_t)(end - s)) || memchr(s, 0xa9, (size_t)(end - s));
    if (buf_reserve(b, (size_t)(end - s) + 2) < 0 || buf_add(b, "\"", 1) < 0)
        return -1;
    for (;;) {
        size_t length;
        const char *escape;

        s += plain_run(s, (size_t)(end - s), may_separate);
        for (int i = 0; i < 64 && is_plain((const unsigned char *)s); i++)
            s++;
        if (is_plain((const unsigned char *)s))
            continue;
        if (!*s)
            break;
        escape = escape_of(s, hex, &length);
        if (!escape) {
            s++;
            continue;
        }
        if (buf_add(b, plain, (size_t)(s - plain)) < 0 || buf_adds(b, escape) < 0)
            return -1;
        s += length;
        plain = s;
    }
    if (buf_add(b, plain, (size_t)(s - plain)) < 0)
        return -1;
    return buf_add(b, "\"", 1);
}

/* Raw text is JSON that somebody checked: a line break in it stands between tokens and means no more than a space. */
static int print_raw(struct buf *b, const char *raw) {
    while (*raw) {
        size_t n = strcspn(raw, "\r\n\xe2"), length;
        char hex[8];
        const char *escape;

        if (buf_add(b, raw, n) < 0)
            return -1;
        raw += n;
        if (!*raw)
            break;
        escape = *raw == '\xe2' ? escape_of(raw, hex, &length) : " ";
        if (*raw != '\xe2' || !escape)
            length = 1;
        if ((escape ? buf_adds(b, escape) : buf_add(b, raw, 1)) < 0)
            return -1;
        raw += length;
    }
    return 0;
}

static int print_break(struct printer *p) {
    if (!p->pretty)
        return 0;
    return buf_addf(&p->out, "\n%*s", 2 * p->depth, "");
}

static int print_child(struct printer *p, const cJSON *item, const cJSON *child, bool first) {
    if ((!first && buf_add(&p->out, ",", 1) < 0) || print_break(p) < 0)
        return -1;
    if (cJSON_IsObject(item) && (print_string(&p->out, child->string ? child->string : "") < 0 ||
                                 buf_adds(&p->out, p->pretty ? ": " : ":") < 0))
        return -1;
    return print_value(p, child);
}

static int by_name(const void *a, const void *b) {
    const cJSON *const *x = a, *const *y = b;

    return strcmp((*x)->string, (*y)->string);
}

static int print_sorted(struct printer *p, const cJSON *object) {
    size_t count = (size_t)cJSON_GetArraySize(object), n = 0;
    const cJSON **members = calloc(count + 1, sizeof *members), *m;
    int r = members ? 0 : -1;

    if (members) {
        cJSON_ArrayForEach(m, object) members[n++] = m;
        qsort(members, n, sizeof *members, by_name);
    }
    for (size_t i = 0; i < n && r == 0; i++)
        r = print_child(p, object, members[i], i == 0);
    free(members);
    return r;
}

static int print_children(struct printer *p, const cJSON *item, const char *brackets) {
    const cJSON *child;

    if (buf_add(&p->out, brackets, 1) < 0 || ++p->depth > DEPTH_MOST)
        return -1;
    if (p->sorted && cJSON_IsObject(item)) {
        if (print_sorted(p, item) < 0)
            return -1;
    } else {
        cJSON_ArrayForEach(child, item) {
            if (print_child(p, item, child, child == item->child) < 0)
                return -1;
        }
    }
    p->depth--;
    if (item->child && print_break(p) < 0)
        return -1;
    return buf_add(&p->out, brackets + 1, 1);
}

static int print_value(struct printer *p, const cJSON *item) {
    switch (item->type & 0xff) {
    case cJSON_NULL:
        return buf_adds(&p->out, "null");
    case cJSON_False:
        return buf_adds(&p->out, "false");
    case cJSON_True:
        return buf_adds(&p->out, "true");
    case cJSON_Number:
        return print_number(&p->out, item->valuedouble);
    case cJSON_String:
        return print_string(&p->out, item->valuestring ? item->valuestring : "");
    case cJSON_Raw:
        return print_raw(&p->out, item->valuestring ? item->valuestring : "null");
    case cJSON_Array:
        return print_children(p, item, "[]");
    case cJSON_Object:
        return print_children(p, item, "{}");
    default:
        return -1;
    }
}

static char *print(const cJSON *value, struct printer p) {
    if (!value || print_value(&p, value) < 0) {
        buf_free(&p.out);
        return NULL;
    }
    return buf_take(&p.out);
}

char *json_print(const cJSON *value) { return print(value, (struct printer){.depth = 0}); }

char *json_print_pretty(const cJSON *value) { return print(value, (struct printer){.pretty = true}); }

char *json_print_sorted(const cJSON *value) { return print(value, (struct printer){.sorted = true}); }
