#include "base/digest.h"

#include <sodium.h>
#include <stdint.h>
#include <string.h>

#define PREFIX "sha256:"

_Static_assert(sizeof PREFIX - 1 + 2 * SHA256_DIGEST_SIZE + 1 == DIGEST_TEXT, "the text form of a digest");

void digest_begin(struct digest *d) { sha256_init(&d->state); }

void digest_add(struct digest *d, const void *data, size_t length) { sha256_update(&d->state, length, data); }

void digest_end(struct digest *d, char ret_text[DIGEST_TEXT]) {
    uint8_t hash[SHA256_DIGEST_SIZE];
    const size_t at = sizeof PREFIX - 1;

    sha256_digest(&d->state, sizeof hash, hash);
    memcpy(ret_text, PREFIX, at);
    sodium_bin2hex(ret_text + at, DIGEST_TEXT - at, hash, sizeof hash);
}

void digest_of(const void *data, size_t length, char ret_text[DIGEST_TEXT]) {
    struct digest d;

    digest_begin(&d);
    digest_add(&d, data, length);
    digest_end(&d, ret_text);
}
