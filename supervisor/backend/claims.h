/* What a payload says of its call: PAYLOAD_DONE into a receipt. Everything in it is the guest's claim: bounded, checked as UTF-8,
 * its JSON read strictly, unknown fields left aside. Pure; fuzzed. */
#ifndef SNIPARA_BACKEND_CLAIMS_H
#define SNIPARA_BACKEND_CLAIMS_H

#include "base/error.h"
#include "base/wire.h"
#include "receipt/receipt.h"

/* `value_bytes`: the policy's bound, to which an honest payload keeps; a longer JSON value is left out. Sets status (ok, error, rejected) and the claimed members. -1: malformed, *r may be half filled with claims, all valid. */
int claims_take(const struct wire_frame *done, uint64_t value_bytes, struct receipt *r, struct error *err);

/* Forget everything that was claimed: the call did not end as its payload said. */
void claims_drop(struct receipt *r);

#endif
