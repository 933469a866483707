/* What comes out of a jail on the channel: frames, then the claims of a call, then the receipt that is made of them. Whatever the
 * bytes say, the receipt prints as JSON that reads back, and its exit code is one of the documented ones. */
#include "backend/claims.h"
#include "base/json.h"
#include "receipt/receipt.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void print_receipt(struct receipt *r)
{
    cJSON *json = receipt_json(r);
    char *text = json ? json_print(json) : NULL;
    char *words = receipt_text(r, 4096);
    struct error err;
    if (text && json_check(text, strlen(text), (struct json_limits){0}, &err) == JSON_BAD)
        abort();
    int code = receipt_exit_code(r);
    if (code < 0 || code > 255)
        abort();
    free(words);
    free(text);
    cJSON_Delete(json);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct wire_frame frame;
    struct error err;
    struct receipt r;
    size_t used;
    /* Half of the inputs are whole frames, the other half bodies, so that the fuzzer need not learn the header. */
    if (size > 0 && (data[0] & 1)) {
        if (wire_next((const char *)data + 1, size - 1, 1 << 20, &frame, &used, &err) != 1)
            return 0;
    } else if (size > 0) {
        frame = (struct wire_frame){.body = (const char *)data + 1, .length = size - 1};
    } else {
        return 0;
    }
    receipt_init(&r);
    if (claims_take(&frame, &r, &err) == 0)
        print_receipt(&r);
    receipt_free(&r);
    return 0;
}
