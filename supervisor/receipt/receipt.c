/* The receipt as a value: life, bounded lists, names and exit codes. */
#include "receipt/receipt.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define DENIED_KINDS 64u
#define WHAT_MAX 256u /* bytes kept of a name that the guest chose */

void receipt_init(struct receipt *r)
{
    memset(r, 0, sizeof *r);
    uuid_v7(r->id);
    r->tool = "execute_python";
    r->wall_ms = r->queue_ms = r->setup_ms = r->cpu_user_ms = r->cpu_system_ms = r->collect_ms = RECEIPT_NO_METRIC;
    r->memory_peak_bytes = r->pids_peak = RECEIPT_NO_METRIC;
}

static void free_output(struct receipt_output *o)
{
    buf_free(&o->head);
    buf_free(&o->tail);
}

void receipt_free(struct receipt *r)
{
    char *texts[] = {r->session_id, r->environment, r->policy, r->value_repr, r->value_type,
                     r->error_type, r->error_message, r->error_traceback, r->rule, r->remedy};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    cJSON_Delete(r->value_json);
    receipt_free_artifacts(r);
    free_output(&r->out);
    free_output(&r->err);
    free(r->layers);
    for (size_t i = 0; i < r->missing_count; i++) {
        free(r->missing[i].layer);
        free(r->missing[i].reason);
        free(r->missing[i].remedy);
    }
    free(r->missing);
    for (size_t i = 0; i < r->denied_count; i++) {
        free(r->denied[i].layer);
        free(r->denied[i].what);
    }
    free(r->denied);
    memset(r, 0, sizeof *r);
}

const char *receipt_status_name(enum receipt_status s)
{
    static const char *const names[] = {"ok", "error", "rejected", "timeout", "out_of_memory", "crashed", "cancelled", "refused"};
    return (size_t)s < sizeof names / sizeof *names ? names[s] : "crashed";
}

int receipt_add_denied(struct receipt *r, const char *layer, const char *what, uint64_t count)
{
    size_t what_length = strnlen(what, WHAT_MAX);
    for (size_t i = 0; i < r->denied_count; i++) {
        struct receipt_denied *d = &r->denied[i];
        if (strcmp(d->layer, layer) == 0 && strlen(d->what) == what_length && memcmp(d->what, what, what_length) == 0) {
            d->count = d->count > UINT64_MAX - count ? UINT64_MAX : d->count + count;
            return 0;
        }
    }
    /* A guest chooses `what`, so the number of kinds is bounded: beyond it only their number is kept. */
    if (r->denied_count >= DENIED_KINDS) {
        r->denied_more++;
        return 0;
    }
    struct receipt_denied *grown = realloc(r->denied, (r->denied_count + 1) * sizeof *grown);
    if (!grown)
        return -1;
    r->denied = grown;
    struct receipt_denied d = {.layer = strdup(layer), .what = strndup(what, what_length), .count = count};
    if (!d.layer || !d.what) {
        free(d.layer);
        free(d.what);
        return -1;
    }
    r->denied[r->denied_count++] = d;
    return 0;
}

int receipt_add_missing(struct receipt *r, const char *layer, const char *reason, const char *remedy)
{
    struct receipt_missing *grown = realloc(r->missing, (r->missing_count + 1) * sizeof *grown);
    if (!grown)
        return -1;
    r->missing = grown;
    struct receipt_missing m = {.layer = strdup(layer), .reason = strdup(reason),
                                .remedy = remedy && *remedy ? strdup(remedy) : NULL};
    if (!m.layer || !m.reason || (remedy && *remedy && !m.remedy)) {
        free(m.layer);
        free(m.reason);
        free(m.remedy);
        return -1;
    }
    r->missing[r->missing_count++] = m;
    return 0;
}

int receipt_add_layer(struct receipt *r, const char *name)
{
    for (size_t i = 0; i < r->layer_count; i++)
        if (strcmp(r->layers[i], name) == 0)
            return 0;
    const char **grown = realloc(r->layers, (r->layer_count + 1) * sizeof *grown);
    if (!grown)
        return -1;
    r->layers = grown;
    r->layers[r->layer_count++] = name;
    return 0;
}

int receipt_exit_code(const struct receipt *r)
{
    switch (r->status) {
    case RECEIPT_OK: return 0;
    case RECEIPT_ERROR: return r->has_exit_code ? (int)(r->exit_code & 0xff) : 1;
    case RECEIPT_REJECTED: return 3;
    case RECEIPT_REFUSED: return 4;
    case RECEIPT_TIMEOUT: return 124;
    case RECEIPT_OUT_OF_MEMORY:
    case RECEIPT_CANCELLED: return 128 + SIGKILL;
    case RECEIPT_CRASHED: return 128 + SIGSEGV; /* whatever ended it: the code stands for the status, the receipt has the signal */
    }
    return 1;
}
