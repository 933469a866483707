/* The receipt of a call for which there was no backend: nothing ran, and the receipt says what is missing and the remedy. */
#ifndef SNIPARA_RECEIPT_REFUSAL_H
#define SNIPARA_RECEIPT_REFUSAL_H

#include "base/error.h"
#include "receipt/receipt.h"

/* Fill *r (receipt_init is done here; the caller frees it). `session_id` and `policy` may be NULL ("default"). -1: out of memory,
 * then *r holds what was made so far. */
int receipt_of_refusal(struct receipt *r, const char *session_id, const char *policy, const char *code, size_t code_length,
                       const struct error *why);

#endif
