/* The receipt in plain words, for clients that show text only.
 *
 * Whatever the guest printed comes first and as it is: a guest can print "result: 42" or "timeout: ..." there, and no quoting
 * would stop a reader from being taken in. Text is therefore fenced by position only, and nothing may parse it: the structure
 * is in structuredContent, where the guest's bytes are values of `stdout`, `stderr` and `result` and cannot leave them.
 */
#include "receipt/receipt.h"

#include "base/utf8.h"
#include "receipt/output_text.h"

#include <inttypes.h>
#include <string.h>

#define DENIED_SHOWN 12u

/* The pieces, made one by one so that stdout can have what the others leave of the room. */
struct parts {
    struct buf printed, printed_errors, value, status, errors, words;
};

static void free_parts(struct parts *p)
{
    buf_free(&p->status);
    buf_free(&p->errors);
    buf_free(&p->value);
    buf_free(&p->words);
    buf_free(&p->printed);
    buf_free(&p->printed_errors);
}
#define cleanup_parts __attribute__((cleanup(free_parts)))

static int end_line(struct buf *b)
{
    return b->len > 0 && b->data[b->len - 1] != '\n' ? buf_adds(b, "\n") : 0;
}

static int add_guest_text(struct buf *b, const char *text, size_t max)
{
    cleanup_buf struct buf clean = {0};
    if (utf8_clean(&clean, text, strlen(text)) < 0)
        return -1;
    return receipt_text_shortened(b, clean.data ? clean.data : "", clean.len, max);
}

static int add_bytes(struct buf *b, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    return buf_addf(b, "%" PRIu64 " %s", bytes, units[unit]);
}

static int word_crash(struct buf *b, const struct receipt *r)
{
    if (r->signal > 0) {
        const char *name = sigabbrev_np(r->signal);
        return buf_addf(b, "crashed: the interpreter was ended by signal %d (SIG%s).\n", r->signal, name ? name : "?");
    }
    if (r->has_exit_code)
        return buf_addf(b, "crashed: the code ended the interpreter with exit code %" PRId64 " (os._exit or the like).\n", r->exit_code);
    return buf_adds(b, "crashed: the interpreter ended without an answer.\n");
}

static int word_out_of_memory(struct buf *b, const struct receipt *r)
{
    if (r->memory_bytes == 0)
        return buf_adds(b, "out of memory: the call needed more than its memory limit and was ended by the kernel.\n");
    if (buf_adds(b, "out of memory: the call needed more than its limit of ") < 0 || add_bytes(b, r->memory_bytes) < 0)
        return -1;
    return buf_adds(b, " and was ended by the kernel.\n");
}

static int word_status(struct buf *b, const struct receipt *r)
{
    switch (r->status) {
    case RECEIPT_OK:
    case RECEIPT_ERROR:
        return 0;
    case RECEIPT_TIMEOUT:
        return r->timeout_seconds > 0
            ? buf_addf(b, "timeout: the call was stopped at its time limit of %g s.\n", r->timeout_seconds)
            : buf_adds(b, "timeout: the call was stopped at its time limit.\n");
    case RECEIPT_OUT_OF_MEMORY: return word_out_of_memory(b, r);
    case RECEIPT_CRASHED: return word_crash(b, r);
    case RECEIPT_CANCELLED: return buf_adds(b, "cancelled: the call was stopped by the caller.\n");
    case RECEIPT_REJECTED:
        return buf_addf(b, "rejected: policy %s refused the code before it ran; nothing was executed.\n", r->policy ? r->policy : "?");
    case RECEIPT_REFUSED:
        return buf_adds(b, "refused: the walls that the policy demands could not be built; nothing ran.\n");
    }
    return 0;
}

static int word_session(struct buf *b, const struct receipt *r)
{
    if (r->session_lost && r->created)
        return buf_adds(b, "session: the interpreter had ended since the last call; variables of earlier calls are lost.\n");
    if (r->session_lost)
        return buf_adds(b, "session: the session's variables are lost; the next call starts a new interpreter.\n");
    if (r->rolled_back)
        return buf_adds(b, "session: rolled back to where it was before this call; its variables are kept.\n");
    return r->resumed ? buf_adds(b, "session: resumed from what was stored.\n") : 0;
}

static int word_denied(struct buf *b, const struct receipt *r)
{
    for (size_t i = 0; i < r->denied_count && i < DENIED_SHOWN; i++) {
        const struct receipt_denied *d = &r->denied[i];
        if (buf_adds(b, i == 0 ? "denied: " : "; ") < 0 || buf_adds(b, d->layer) < 0 || buf_adds(b, " ") < 0 ||
            add_guest_text(b, d->what, 120) < 0 || buf_addf(b, " x%" PRIu64, d->count) < 0)
            return -1;
    }
    uint64_t more = r->denied_more + (r->denied_count > DENIED_SHOWN ? r->denied_count - DENIED_SHOWN : 0);
    if (more > 0 && buf_addf(b, "; %" PRIu64 " more kinds", more) < 0)
        return -1;
    return end_line(b);
}

/* What the policy requires and is missing: the reader's next step is its remedy. */
static int word_missing(struct buf *b, const struct receipt *r)
{
    if (r->status != RECEIPT_REFUSED)
        return 0;
    for (size_t i = 0; i < r->missing_count; i++) {
        const struct receipt_missing *m = &r->missing[i];
        bool said = r->error_message && strcmp(m->reason, r->error_message) == 0; /* by the error */
        if (said && !m->remedy)
            continue;
        if ((said ? buf_addf(b, "missing: %s.", m->layer) : buf_addf(b, "missing: %s: %s", m->layer, m->reason)) < 0 ||
            (m->remedy && buf_addf(b, " Remedy: %s", m->remedy) < 0) || end_line(b) < 0)
            return -1;
    }
    return 0;
}

static int add_error(struct buf *b, const struct receipt *r, size_t max)
{
    bool placed = r->error_message && strncmp(r->error_message, "line ", 5) == 0; /* the guard's findings name their own lines */
    if (r->status == RECEIPT_REJECTED && r->error_line > 0 && !placed && buf_addf(b, "line %" PRId64 ": ", r->error_line) < 0)
        return -1;
    if (r->error_traceback && *r->error_traceback) {
        if (add_guest_text(b, r->error_traceback, max) < 0)
            return -1;
    } else if (r->error_message && *r->error_message) {
        bool typed = r->error_type && r->status != RECEIPT_REFUSED && r->status != RECEIPT_REJECTED;
        if (typed && (add_guest_text(b, r->error_type, 200) < 0 || buf_adds(b, ": ") < 0))
            return -1;
        if (add_guest_text(b, r->error_message, max) < 0)
            return -1;
    } else if (r->error_type && add_guest_text(b, r->error_type, 200) < 0)
        return -1;
    if (end_line(b) < 0)
        return -1;
    if (r->rule && (buf_adds(b, "rule: ") < 0 || add_guest_text(b, r->rule, 200) < 0 || end_line(b) < 0))
        return -1;
    if (r->remedy && (buf_adds(b, "remedy: ") < 0 || add_guest_text(b, r->remedy, 1000) < 0 || end_line(b) < 0))
        return -1;
    if (r->status == RECEIPT_ERROR && r->has_exit_code)
        return buf_addf(b, "exit code: %" PRId64 "\n", r->exit_code);
    return 0;
}

static int add_stream(struct buf *b, const char *title, const struct receipt_output *o, size_t max)
{
    cleanup_buf struct buf text = {0};
    if (o->total == 0)
        return 0;
    if (receipt_output_text(o, &text) < 0 || buf_adds(b, title) < 0)
        return -1;
    return receipt_text_shortened(b, text.data ? text.data : "", text.len, max) < 0 ? -1 : end_line(b);
}

static int add_result(struct buf *b, const struct receipt *r, size_t max)
{
    if (!r->value_repr)
        return 0;
    if (buf_adds(b, "result: ") < 0 || add_guest_text(b, r->value_repr, max) < 0)
        return -1;
    return buf_adds(b, r->value_truncated ? " [cut]\n" : "\n");
}

static int make_parts(struct parts *p, const struct receipt *r, size_t max)
{
    if (word_status(&p->status, r) < 0 || word_session(&p->words, r) < 0 || word_missing(&p->words, r) < 0 ||
        word_denied(&p->words, r) < 0 || receipt_artifact_words(&p->words, r) < 0 || add_error(&p->errors, r, max / 4) < 0 || add_result(&p->value, r, max * 3 / 16) < 0 ||
        add_stream(&p->printed_errors, "stderr:\n", &r->err, max / 4) < 0)
        return -1;
    size_t used = p->status.len + p->words.len + p->errors.len + p->value.len + p->printed_errors.len + 64;
    return add_stream(&p->printed, "", &r->out, used < max ? max - used : 0);
}

char *receipt_text(const struct receipt *r, size_t text_max)
{
    cleanup_parts struct parts p = {0};
    cleanup_buf struct buf all = {0};
    if (make_parts(&p, r, text_max) < 0)
        return NULL;
    const struct buf *order[] = {&p.printed, &p.printed_errors, &p.value, &p.status, &p.errors, &p.words};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (order[i]->len > 0 && buf_add(&all, order[i]->data, order[i]->len) < 0)
            return NULL;
    if (all.len == 0 && buf_adds(&all, r->status == RECEIPT_OK ? "ok: no output and no value\n" : "error: the code failed without a message\n") < 0)
        return NULL;
    /* The words about walls can be longer than the room when many are missing: the bound holds all the same. */
    if (all.len > text_max) {
        cleanup_buf struct buf less = {0};
        return receipt_text_shortened(&less, all.data, all.len, text_max) < 0 ? NULL : buf_take(&less);
    }
    return buf_take(&all);
}
