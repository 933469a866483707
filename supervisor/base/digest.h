/* SHA-256 (FIPS 180-4) through nettle, in the form "sha256:<64 hex digits>" that receipts use. nettle and not libsodium, which has no
 * code for the SHA instructions: 900 against 150 MB/s here, and all that a guest writes is digested on the one thread of the server. */
#ifndef SNIPARA_BASE_DIGEST_H
#define SNIPARA_BASE_DIGEST_H

#include <nettle/sha2.h>
#include <stddef.h>

#define DIGEST_TEXT 72 /* "sha256:" + 64 + NUL */

struct digest {
    struct sha256_ctx state;
};

void digest_begin(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t length);
void digest_end(struct digest *d, char ret_text[DIGEST_TEXT]);
void digest_of(const void *data, size_t length, char ret_text[DIGEST_TEXT]);

#endif
