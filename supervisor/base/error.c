#include "base/error.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A message may quote a guest's path or a peer's text. It ends in a terminal, a log line or a JSON string, so it must not
 * carry escape sequences, line breaks or bytes that are not UTF-8. */
static void make_one_line(char *text) {
    size_t length = strlen(text), at = 0;

    while (at < length) {
        size_t good = utf8_valid_prefix(text + at, length - at);

        for (size_t i = at; i < at + good; i++)
            if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
                text[i] = ' ';
        at += good;
        if (at < length)
            text[at++] = '?';
    }
    while (length > 0 && text[length - 1] == ' ')
        text[--length] = '\0';
}

/* out = text + tail. When both do not fit, the text is cut (at a character) and the tail is kept: the errno says more than
 * the end of a long path. */
static void join(char *out, size_t size, const char *text, const char *tail) {
    size_t room = size - 1, text_length = strlen(text), tail_length = strlen(tail);

    if (tail_length > room)
        tail_length = utf8_cut(tail, room);
    if (text_length > room - tail_length)
        text_length = utf8_cut(text, room - tail_length);
    memcpy(out, text, text_length);
    memcpy(out + text_length, tail, tail_length);
    out[text_length + tail_length] = '\0';
}

int error_set(struct error *err, const char *step, int code, const char *format, ...) {
    /* Formatted aside: the arguments may point into *err, as in error_set(err, err->step, 0, "%s", err->message). */
    char text[sizeof err->message], tail[128] = "", name[sizeof err->step];
    int saved = errno;
    va_list args;

    if (!err)
        return -1;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    make_one_line(text);
    if (code) {
        /* Neither translated nor allocated, unlike strerror(3): this also runs between fork and exec. */
        const char *what = strerrordesc_np(code);

        if (what)
            snprintf(tail, sizeof tail, ": %s", what);
        else
            snprintf(tail, sizeof tail, ": error %d", code);
    }
    snprintf(name, sizeof name, "%s", step);
    err->code = code;
    memcpy(err->step, name, sizeof name);
    join(err->message, sizeof err->message, text, tail);
    errno = saved;
    return -1;
}

int error_wrap(struct error *err, const char *format, ...) {
    char context[sizeof err->message], whole[sizeof err->message] = "";
    size_t used, rest;
    int saved = errno;
    va_list args;

    if (!err)
        return -1;
    va_start(args, format);
    if (vsnprintf(context, sizeof context, format, args) < 0)
        context[0] = '\0';
    va_end(args);
    make_one_line(context);
    /* Here the end is the first cause, so a long context gives way, but not all of it. */
    if (strlen(context) > sizeof context / 2)
        context[utf8_cut(context, sizeof context / 2)] = '\0';
    join(whole, sizeof whole, context, ": ");
    used = strlen(whole);
    rest = utf8_cut(err->message, strnlen(err->message, sizeof whole - 1 - used));
    memcpy(whole + used, err->message, rest);
    whole[used + rest] = '\0';
    memcpy(err->message, whole, sizeof whole);
    errno = saved;
    return -1;
}
