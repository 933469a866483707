/* A refusal before any backend was there. The walls that could not be built are in `why`, in its own words. */
#include "receipt/refusal.h"

#include "base/clock.h"

#include <string.h>

/* The message has the particular remedy where there is one. */
static const char REMEDY[] = "snipara-sandbox doctor tries every layer on this host and says what brings those that are missing";

int receipt_of_refusal(struct receipt *r, const char *session_id, const char *policy, const char *code, size_t code_length,
                       const struct error *why)
{
    receipt_init(r);
    r->status = RECEIPT_REFUSED;
    r->started_wall = r->finished_wall = clock_wall();
    r->session_id = strdup(session_id ? session_id : "default");
    r->environment = strdup("sandbox");
    r->policy = strdup(policy ? policy : "default");
    r->backend = "native";
    r->error_type = strdup("Refused");
    r->error_message = strdup(why->message);
    digest_of(code, code_length, r->digest_code);
    digest_of("", 0, r->out.digest);
    digest_of("", 0, r->err.digest);
    if (!r->session_id || !r->environment || !r->policy || !r->error_type || !r->error_message)
        return -1;
    return receipt_add_missing(r, *why->step ? why->step : "backend", why->message, REMEDY);
}
