/* What comes out of a jail on the channel: frames, then the claims of a call, then the receipt that is made of them. Whatever the
 * bytes say, the receipt prints as JSON that reads back, and its exit code is one of the documented ones. */
#include "fuzz.h"

#include "backend/claims.h"
#include "base/json.h"
#include "base/utf8.h"
#include "receipt/receipt.h"

/* Bounded, clean, and without contradictions; only what a payload can know of is in the list of denials. */
static void check_claims(const struct receipt *r)
{
    const char *texts[] = {r->value_repr, r->value_type, r->error_type, r->error_message, r->error_traceback, r->rule, r->remedy};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        require(!texts[i] || utf8_valid(texts[i], strlen(texts[i])));
    require(r->status == RECEIPT_OK || r->status == RECEIPT_ERROR || r->status == RECEIPT_REJECTED);
    if (r->status == RECEIPT_OK)
        require(!r->error_type && !r->error_message && !r->error_traceback && !r->rule && !r->has_exit_code && !r->error_line);
    else
        require(!r->value_repr && !r->value_json && !r->value_truncated);
    require(r->denied_count <= 32 && r->error_line >= 0 && r->error_column >= 0);
    for (size_t i = 0; i < r->denied_count; i++)
        require(!strcmp(r->denied[i].layer, "import") || !strcmp(r->denied[i].layer, "language"));
}

static void print_receipt(struct receipt *r)
{
    cJSON *json = receipt_json(r);
    char *text = json ? json_print(json) : NULL;
    char *words = receipt_text(r, 4096);
    require(text && json_check(text, strlen(text), (struct json_limits){.max_depth = JSON_DEPTH + 2}, NULL) == JSON_OK);
    require(words && utf8_valid(words, strlen(words)) && strlen(words) <= 4096);
    check_claims(r);
    int code = receipt_exit_code(r);
    require(code >= 0 && code <= 255);
    free(words);
    free(text);
    cJSON_Delete(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
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
    if (claims_take(&frame, 65536, &r, &err) == 0)
        print_receipt(&r);
    receipt_free(&r);
    return 0;
}
