/* The strict reader of json.h: RFC 8259, iterative, without allocation. Positions are counted only when there is something to
 * report, so that the good case reads every byte once. */
#include "base/json.h"

#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cJSON refuses more than CJSON_NESTING_LIMIT levels by itself; a caller's max_depth cannot ask for more. */
#define DEPTH_HARD 1000
/* cJSON 1.7 copies a number into 64 bytes and would read the rest as garbage. */
#define NUMBER_LONGEST 63

enum { VALUES_MAX = 1000000 };

struct scan {
    const char *text;
    size_t length;
    size_t at;
    int depth;
    size_t values;
    int max_depth;
    unsigned char is_object[DEPTH_HARD / 8 + 1]; /* one bit for each open level */
    const char *unfit;                           /* the first finding that makes the text UNFIT, or NULL */
    size_t unfit_at;
    struct error *err;
};

/* What may come next. */
enum expect { WANT_VALUE, WANT_VALUE_OR_END, WANT_KEY, WANT_KEY_OR_END, WANT_COMMA_OR_END, WANT_NOTHING };

static void report(const struct scan *s, size_t at, const char *what) {
    size_t line = 1, column = 1;

    if (!s->err)
        return;
    for (size_t i = 0; i < at && i < s->length; i++) {
        if (s->text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)s->text[i] & 0xc0) != 0x80) {
            column++; /* characters, as an editor counts them */
        }
    }
    error_set(s->err, "json", 0, "line %zu, column %zu: %s", line, column, what);
}

static bool bad(struct scan *s, const char *what) {
    report(s, s->at, s->at < s->length ? what : "the text ends too early");
    return false;
}

static void mark_unfit(struct scan *s, size_t at, const char *what) {
    if (s->unfit)
        return;
    s->unfit = what;
    s->unfit_at = at;
}

static int peek(const struct scan *s) { return s->at < s->length ? (unsigned char)s->text[s->at] : -1; }

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

static int hex_value(int c) {
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Four hex digits at p (of which `left` bytes exist); -1 when they are not there. */
static int hex4(const char *p, size_t left) {
    int value = 0;

    if (left < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value((unsigned char)p[i]);

        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

static bool is_high(int unit) { return unit >= 0xd800 && unit <= 0xdbff; }
static bool is_low(int unit) { return unit >= 0xdc00 && unit <= 0xdfff; }

/* Behind "\u". A pair of surrogates is taken whole. */
static bool unicode_escape(struct scan *s) {
    size_t start = s->at - 2;
    int unit = hex4(s->text + s->at, s->length - s->at), second;

    if (unit < 0)
        return bad(s, "\\u needs four hexadecimal digits");
    s->at += 4;
    if (unit == 0)
        mark_unfit(s, start, "a string holds NUL (\\u0000), which is not accepted");
    if (is_high(unit) && s->length - s->at >= 6 && s->text[s->at] == '\\' && s->text[s->at + 1] == 'u') {
        second = hex4(s->text + s->at + 2, s->length - s->at - 2);
        if (is_low(second)) {
            s->at += 6;
            return true;
        }
    }
    if (is_high(unit) || is_low(unit))
        mark_unfit(s, start, "a string holds half of a surrogate pair, which is not accepted");
    return true;
}

static bool escape(struct scan *s) {
    int c;

    s->at++;
    c = peek(s);
    if (c < 0 || !memchr("\"\\/bfnrtu", c, 9))
        return bad(s, "not an escape of JSON; allowed are \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
    s->at++;
    return c != 'u' || unicode_escape(s);
}

/* The end of the run of bytes that need no look of their own. */
static size_t plain_end(const struct scan *s) {
    size_t i = s->at;

    while (i < s->length && s->text[i] != '"' && s->text[i] != '\\' && (unsigned char)s->text[i] >= 0x20)
        i++;
    return i;
}

static bool string(struct scan *s) {
    s->at++;
    for (;;) {
        size_t end = plain_end(s), good = utf8_valid_prefix(s->text + s->at, end - s->at);
        int c;

        if (good < end - s->at) {
            s->at += good;
            return bad(s, "a byte that is not UTF-8");
        }
        s->at = end;
        c = peek(s);
        if (c == '"') {
            s->at++;
            return true;
        }
        if (c != '\\')
            return bad(s, "a control character in a string must be written as an escape");
        if (!escape(s))
            return false;
    }
}

static bool digits(struct scan *s) {
    if (!is_digit(peek(s)))
        return bad(s, "a digit is missing in a number");
    while (is_digit(peek(s)))
        s->at++;
    return true;
}

/* A double that is 0 where the text is not would pass as a right 0 (CVE-2026-30892 is what comes of that); infinity fits no range, so it
 * needs no look here. Only an exponent can do it: NUMBER_LONGEST digits cannot. */
static bool reads_as_zero(const char *text, size_t length) {
    char copy[NUMBER_LONGEST + 1];
    size_t mantissa = 0;
    bool zero = true;

    for (; mantissa < length && text[mantissa] != 'e' && text[mantissa] != 'E'; mantissa++)
        zero = zero && !(text[mantissa] >= '1' && text[mantissa] <= '9');
    if (mantissa == length || zero)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return strtod(copy, NULL) == 0;
}

static bool number(struct scan *s) {
    size_t start = s->at;

    if (peek(s) == '-')
        s->at++;
    if (peek(s) == '0') {
        s->at++;
        if (is_digit(peek(s)))
            return bad(s, "a number must not begin with 0");
    } else if (!digits(s)) {
        return false;
    }
    if (peek(s) == '.') {
        s->at++;
        if (!digits(s))
            return false;
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        s->at++;
        if (peek(s) == '+' || peek(s) == '-')
            s->at++;
        if (!digits(s))
            return false;
    }
    if (s->at - start > NUMBER_LONGEST)
        mark_unfit(s, start, "a number has more than 63 characters, which is not accepted");
    else if (reads_as_zero(s->text + start, s->at - start))
        mark_unfit(s, start, "a number is too close to 0 to be read");
    return true;
}

static bool literal(struct scan *s, const char *word) {
    size_t n = strlen(word);

    for (size_t i = 0; i < n; i++, s->at++)
        if (peek(s) != word[i])
            return bad(s, "not a JSON value (expected an object, array, string, number, true, false or null)");
    return true;
}

static bool open_level(struct scan *s, bool object) {
    unsigned char bit;

    if (s->depth >= s->max_depth) {
        char what[64];

        snprintf(what, sizeof what, "nested deeper than the %d levels that are accepted", s->max_depth);
        return bad(s, what);
    }
    bit = (unsigned char)(1u << (s->depth % 8));
    if (object)
        s->is_object[s->depth / 8] |= bit;
    else
        s->is_object[s->depth / 8] &= (unsigned char)~bit;
    s->depth++;
    s->at++;
    return true;
}

static bool in_object(const struct scan *s) {
    return s->is_object[(s->depth - 1) / 8] >> ((s->depth - 1) % 8) & 1;
}

static enum expect after_value(const struct scan *s) { return s->depth ? WANT_COMMA_OR_END : WANT_NOTHING; }

static bool skip_space(struct scan *s) {
    while (s->at < s->length && memchr(" \t\n\r", s->text[s->at], 4))
        s->at++;
    return s->at < s->length;
}

static bool value(struct scan *s, enum expect *next) {
    int c = peek(s);
    bool ok;

    /* cJSON takes 64 bytes and an allocation for each, so a text of commas would grow to many times its length. */
    if (++s->values > VALUES_MAX)
        return bad(s, "more than 1000000 values");
    if (c == '{') {
        *next = WANT_KEY_OR_END;
        return open_level(s, true);
    }
    if (c == '[') {
        *next = WANT_VALUE_OR_END;
        return open_level(s, false);
    }
    if (c == '"')
        ok = string(s);
    else if (c == '-' || is_digit(c))
        ok = number(s);
    else
        ok = literal(s, c == 't' ? "true" : c == 'f' ? "false" : "null");
    *next = after_value(s);
    return ok;
}

static bool key(struct scan *s) {
    if (peek(s) != '"')
        return bad(s, "expected a member name in double quotes");
    if (!string(s))
        return false;
    skip_space(s);
    if (peek(s) != ':')
        return bad(s, "expected ':' after a member name");
    s->at++;
    return true;
}

static bool close_level(struct scan *s, enum expect *next) {
    s->depth--;
    s->at++;
    *next = after_value(s);
    return true;
}

static bool step(struct scan *s, enum expect *next) {
    int c = peek(s);

    switch (*next) {
    case WANT_VALUE_OR_END:
        if (c == ']')
            return close_level(s, next);
        return value(s, next);
    case WANT_VALUE:
        return value(s, next);
    case WANT_KEY_OR_END:
        if (c == '}')
            return close_level(s, next);
        /* fall through */
    case WANT_KEY:
        *next = WANT_VALUE;
        return key(s);
    case WANT_COMMA_OR_END:
        if (c == ',') {
            s->at++;
            *next = in_object(s) ? WANT_KEY : WANT_VALUE;
            return true;
        }
        if (c == (in_object(s) ? '}' : ']'))
            return close_level(s, next);
        return bad(s, in_object(s) ? "expected ',' or '}' after a member" : "expected ',' or ']' after an element");
    case WANT_NOTHING:
        break;
    }
    return bad(s, "there is more text after the end of the value");
}

enum json_verdict json_check(const char *text, size_t length, struct json_limits limits, struct error *err) {
    struct scan s = {.text = text, .length = length, .max_depth = JSON_DEPTH, .err = err};
    enum expect next = WANT_VALUE;

    if (limits.max_depth > 0)
        s.max_depth = limits.max_depth < DEPTH_HARD ? limits.max_depth : DEPTH_HARD;
    if (limits.max_bytes && length > limits.max_bytes) {
        error_set(err, "json", 0, "line 1, column 1: the text has %zu bytes, at most %zu are accepted", length, limits.max_bytes);
        return JSON_BAD;
    }
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        report(&s, 0, "the text begins with a byte order mark; save it as UTF-8 without one");
        return JSON_BAD;
    }
    while (skip_space(&s))
        if (!step(&s, &next))
            return JSON_BAD;
    if (next != WANT_NOTHING) {
        report(&s, s.at, length ? "the text ends too early" : "the text is empty");
        return JSON_BAD;
    }
    if (s.unfit) {
        report(&s, s.unfit_at, s.unfit);
        return JSON_UNFIT;
    }
    return JSON_OK;
}
