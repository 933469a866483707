/* UTF-8 as in RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF. Pure. */
#ifndef SNIPARA_BASE_UTF8_H
#define SNIPARA_BASE_UTF8_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Length of the valid prefix; equal to `length` when all of it is valid. */
size_t utf8_valid_prefix(const char *data, size_t length);
static inline bool utf8_valid(const char *data, size_t length) { return utf8_valid_prefix(data, length) == length; }

/* Append `data` to b with each maximal ill-formed subpart replaced by U+FFFD (Unicode 15, section 3.9) and NUL by U+2400. */
int utf8_clean(struct buf *b, const char *data, size_t length);

/* The largest n <= length such that data[0..n) does not end inside a character. For cutting a text that is valid. */
size_t utf8_cut(const char *data, size_t length);

/* Bytes of the character that valid UTF-8 begins with, if a terminal or a reader of lines may obey it: C0, DEL, C1, and the line and
 * paragraph separators (U+2028, U+2029). 0: any other one. */
size_t utf8_control(const char *data, size_t length);

#endif
