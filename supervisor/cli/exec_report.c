/* Words about how a call ended. The guest's parts go through exec_stream_guest, so that no terminal takes orders from them. */
#include "cli/exec_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void guest(struct exec_stream *s, const char *text)
{
    exec_stream_guest(s, text, strlen(text));
}

static void report_value(const struct receipt *r, struct exec_stream *out)
{
    if (!r->value_repr)
        return;
    exec_stream_end_line(out);
    guest(out, r->value_repr);
    exec_stream_words(out, r->value_truncated ? " [cut]\n" : "\n");
}

/* The interpreter prints nothing for exit(3) and the text for exit("text"). */
static void report_exit(const struct receipt *r, struct exec_stream *err)
{
    char number[32];
    snprintf(number, sizeof number, "%" PRId64, r->exit_code);
    if (r->error_message && *r->error_message && strcmp(r->error_message, number) != 0 && strcmp(r->error_message, "None") != 0) {
        guest(err, r->error_message);
        exec_stream_end_line(err);
    }
}

static void report_error(const struct receipt *r, struct exec_stream *err)
{
    if (r->has_exit_code && r->error_type && strcmp(r->error_type, "SystemExit") == 0) {
        report_exit(r, err);
        return;
    }
    if (r->error_traceback && *r->error_traceback) {
        guest(err, r->error_traceback);
    } else {
        guest(err, r->error_type ? r->error_type : "error");
        exec_stream_words(err, r->error_message && *r->error_message ? ": " : "");
        guest(err, r->error_message ? r->error_message : "");
    }
    exec_stream_end_line(err);
}

static void report_rejection(const struct receipt *r, struct exec_stream *err)
{
    char place[64] = "";
    if (r->error_line > 0)
        snprintf(place, sizeof place, "line %" PRId64 ": ", r->error_line);
    exec_stream_words(err, "snipara-sandbox: rejected by policy ");
    guest(err, r->policy ? r->policy : "?");
    exec_stream_words(err, ", nothing ran: ");
    /* The guard's findings begin with their own line numbers when there are several. */
    if (r->error_message && strncmp(r->error_message, "line ", 5) != 0)
        exec_stream_words(err, place);
    guest(err, r->error_message ? r->error_message : "the source is not allowed");
    if (r->remedy) {
        exec_stream_words(err, "; ");
        guest(err, r->remedy);
    }
    exec_stream_words(err, "\n");
}

static void report_refusal(const struct receipt *r, struct exec_stream *err)
{
    exec_stream_words(err, "snipara-sandbox: refused, nothing ran: ");
    guest(err, r->error_message ? r->error_message : "the walls that the policy demands could not be built");
    bool told = false;
    for (size_t i = 0; i < r->missing_count; i++)
        if (r->missing[i].remedy) {
            exec_stream_words(err, "; ");
            guest(err, r->missing[i].remedy);
            told = true;
        }
    exec_stream_words(err, told ? "\n" : " (snipara-sandbox doctor shows what this host has)\n");
}

static void report_crash(const struct receipt *r, struct exec_stream *err)
{
    char line[160];
    const char *name = r->signal > 0 ? sigabbrev_np(r->signal) : NULL;
    if (r->signal > 0)
        snprintf(line, sizeof line, "snipara-sandbox: crashed: the interpreter was ended by signal %d (SIG%s)\n", r->signal, name ? name : "?");
    else if (r->has_exit_code)
        snprintf(line, sizeof line, "snipara-sandbox: crashed: the code ended the interpreter with exit code %" PRId64 "\n", r->exit_code);
    else
        snprintf(line, sizeof line, "snipara-sandbox: crashed: the interpreter ended without an answer\n");
    exec_stream_words(err, line);
}

static void report_status(const struct receipt *r, struct exec_stream *err)
{
    char line[160];
    switch (r->status) {
    case RECEIPT_OK: return;
    case RECEIPT_ERROR: report_error(r, err); return;
    case RECEIPT_REJECTED: report_rejection(r, err); return;
    case RECEIPT_REFUSED: report_refusal(r, err); return;
    case RECEIPT_CRASHED: report_crash(r, err); return;
    case RECEIPT_CANCELLED: exec_stream_words(err, "snipara-sandbox: cancelled\n"); return;
    case RECEIPT_TIMEOUT:
        snprintf(line, sizeof line, "snipara-sandbox: timeout: stopped after %g s; --timeout allows more\n", r->timeout_seconds);
        break;
    case RECEIPT_OUT_OF_MEMORY:
        snprintf(line, sizeof line, "snipara-sandbox: out of memory: more than the limit of %" PRIu64 " MiB; --memory allows more\n",
                 r->memory_bytes >> 20);
        break;
    default: return;
    }
    exec_stream_words(err, line);
}

static void report_dropped(struct exec_stream *s, const char *name, struct exec_stream *err)
{
    char line[160];
    if (s->dropped == 0)
        return;
    snprintf(line, sizeof line, "snipara-sandbox: %" PRIu64 " bytes of %s are left out: the reader was too slow\n", s->dropped, name);
    exec_stream_words(err, line);
}

static void report_artifacts(const struct receipt *r, bool kept, struct exec_stream *err)
{
    cleanup_buf struct buf words = {0};
    if (receipt_artifact_words(&words, r) < 0 || words.len == 0)
        return;
    exec_stream_end_line(err);
    guest(err, words.data);
    if (!kept && r->artifact_count > 0)
        exec_stream_words(err, "snipara-sandbox: the artifacts are not kept: --output-dir DIR writes them\n");
}

void exec_report(const struct receipt *r, bool kept, struct exec_stream *out, struct exec_stream *err)
{
    report_value(r, out);
    if (r->status != RECEIPT_OK)
        exec_stream_end_line(err);
    report_status(r, err);
    report_artifacts(r, kept, err);
    report_dropped(out, "stdout", err);
    report_dropped(err, "stderr", err);
}
