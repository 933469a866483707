#include "base/digest.h"

#include <string.h>

#define PREFIX "sha256:"

_Static_assert(sizeof PREFIX - 1 + 2 * crypto_hash_sha256_BYTES + 1 == DIGEST_TEXT, "the text form of a digest");

/* The hash functions of libsodium need no sodium_init: they keep no global state. */
void digest_begin(struct digest *d) { crypto_hash_sha256_init(&d->state); }

void digest_add(struct digest *d, const void *data, size_t length) { crypto_hash_sha256_update(&d->state, data, length); }

void digest_end(struct digest *d, char ret_text[DIGEST_TEXT]) {
    unsigned char hash[crypto_hash_sha256_BYTES];
    const size_t at = sizeof PREFIX - 1;

    crypto_hash_sha256_final(&d->state, hash);
    memcpy(ret_text, PREFIX, at);
    sodium_bin2hex(ret_text + at, DIGEST_TEXT - at, hash, sizeof hash);
}

void digest_of(const void *data, size_t length, char ret_text[DIGEST_TEXT]) {
    struct digest d;

    digest_begin(&d);
    digest_add(&d, data, length);
    digest_end(&d, ret_text);
}
