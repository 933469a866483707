/* SHA-256 (FIPS 180-4) through libsodium, in the form "sha256:<64 hex digits>" that receipts use. */
#ifndef SNIPARA_BASE_DIGEST_H
#define SNIPARA_BASE_DIGEST_H

#include <sodium.h>
#include <stddef.h>

#define DIGEST_TEXT 72 /* "sha256:" + 64 + NUL */

struct digest {
    crypto_hash_sha256_state state;
};

void digest_begin(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t length);
void digest_end(struct digest *d, char ret_text[DIGEST_TEXT]);
void digest_of(const void *data, size_t length, char ret_text[DIGEST_TEXT]);

#endif
