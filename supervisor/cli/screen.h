/* What a guest prints on a terminal. Escape sequences can move the cursor, rewrite what stood there, set the clipboard or answer as if
 * the user had typed: control characters are therefore shown (^[, \x9b, <U+202E>) instead of sent. Newline and tab pass. Pure. */
#ifndef SNIPARA_CLI_SCREEN_H
#define SNIPARA_CLI_SCREEN_H

#include "base/buf.h"

struct screen {
    char pending[4]; /* start of a character whose rest has not come yet */
    size_t pending_length;
};

/* Append the visible form of `data` to *ret, across calls. -1: out of memory. */
int screen_show(struct screen *s, const char *data, size_t length, struct buf *ret);
/* What was pending at the end is a broken character. */
int screen_end(struct screen *s, struct buf *ret);

#endif
