/* Captured output as text: valid UTF-8, a cut said in words where it is. */
#ifndef SNIPARA_RECEIPT_OUTPUT_TEXT_H
#define SNIPARA_RECEIPT_OUTPUT_TEXT_H

#include "receipt/receipt.h"

/* Were bytes in the middle left out? */
bool receipt_output_cut(const struct receipt_output *o);
/* Append head, "\n... [N bytes left out] ...\n" when there is a cut, and tail, cleaned as utf8_clean does. -1: out of memory. */
int receipt_output_text(const struct receipt_output *o, struct buf *ret);
/* Append `text` (valid UTF-8), cut in its middle to about `max` bytes with the same note. -1: out of memory. */
int receipt_text_shortened(struct buf *ret, const char *text, size_t length, size_t max);

#endif
