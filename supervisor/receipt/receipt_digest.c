/* The digest of a receipt: of its compact JSON with the members of every object in byte order of their names. */
#include "receipt/receipt.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <string.h>

void receipt_digest(const cJSON *receipt, char ret_text[DIGEST_TEXT])
{
    cleanup_free char *text = json_print_sorted(receipt);
    ret_text[0] = '\0'; /* out of memory: an absent digest is true, a wrong one is not */
    if (text)
        digest_of(text, strlen(text), ret_text);
}
