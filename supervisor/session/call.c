#include "session/internal.h"

#include "base/clock.h"
#include "base/json.h"
#include "receipt/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct session_call *pop(struct session *s)
{
    struct session_call *call = s->queue;
    s->queue = call->next;
    return call;
}

/* The session's part of a receipt, the chain of digests, and the answer. The call is gone afterwards. */
static void answer(struct session_call *call, struct receipt *r)
{
    struct session *s = call->session;
    if (!r->session_id)
        r->session_id = strdup(s->id);
    if (!r->environment)
        r->environment = strdup("sandbox");
    if (!r->policy)
        r->policy = strdup(s->policy);
    r->created = call->created;
    r->call = call->running ? s->calls : 0;
    memcpy(r->digest_previous, s->previous, sizeof r->digest_previous);
    cleanup_json cJSON *json = receipt_json(r);
    if (json)
        receipt_digest(json, s->previous);
    s->last_used = clock_now();
    s->last_wall = clock_wall();
    call->observer.done(call->observer.context, r, &json);
    session_call_free(call);
}

void session_answer_cancelled(struct session_call *call)
{
    struct error why = {0};
    struct receipt r;
    error_set(&why, "cancelled", 0, "the call was cancelled before it ran");
    receipt_of_refusal(&r, call->session->id, call->session->policy, call->code, call->code_length, &why);
    r.status = RECEIPT_CANCELLED;
    free(r.error_type);
    r.error_type = strdup("Cancelled");
    answer(call, &r);
    receipt_free(&r);
}

static void refuse(struct session_call *call, const struct error *why)
{
    struct receipt r;
    receipt_of_refusal(&r, call->session->id, call->session->policy, call->code, call->code_length, why);
    r.backend = call->session->sessions->backend->class->name;
    answer(call, &r);
    receipt_free(&r);
}

static void on_output(void *context, int stream, const char *data, size_t length)
{
    struct session_call *call = context;
    if (call->observer.output)
        call->observer.output(call->observer.context, stream == 0 ? SESSION_STDOUT : SESSION_STDERR, data, length);
}

static void on_ended(void *context, struct receipt *r, bool alive)
{
    struct session_call *call = context;
    struct session *s = call->session;
    pop(s);
    r->queue_ms = clock_ms(clock_now() - call->accepted) - r->wall_ms - r->setup_ms;
    if (r->queue_ms < 0)
        r->queue_ms = 0;
    /* The first call of an interpreter loses nothing that anybody had. */
    r->session_lost = call->lost || (!alive && s->place_calls > 1);
    if (!alive && !s->closing)
        session_close_place(s);
    answer(call, r);
    if (s->closing)
        session_finish_close(s); /* with the place, so that "destroyed" means that its processes are gone */
    else
        session_kick(s);
}

/* No interpreter could be had. */
static void on_refused(void *context, const struct error *why, bool transient)
{
    struct session_call *call = context;
    struct session *s = call->session;
    struct error told = *why; /* it may lie in the place that is closed now */
    call->running = false;
    s->calls--;
    if (transient && !call->repeated && !s->closing && !call->cancelled) {
        call->repeated = true; /* once: nothing of it ran */
        session_close_place(s);
        session_kick(s);
        return;
    }
    pop(s);
    if (s->closing || call->cancelled) {
        session_answer_cancelled(call);
    } else {
        session_close_place(s);
        refuse(call, &told);
    }
    if (s->closing)
        session_finish_close(s);
    else
        session_kick(s);
}

static int start(struct session *s, struct session_call *call, struct error *err)
{
    const struct backend_class *class = s->sessions->backend->class;
    if (s->place && class->place_dead(s->place)) { /* it ended between two calls: a new interpreter, and the receipt says so */
        call->lost = s->place_calls > 0;
        session_close_place(s);
    }
    if (!s->place) {
        if (class->place_open(s->sessions->backend, s->policy, s->memory_bytes, &s->place, err) < 0) {
            s->place = NULL;
            return -1;
        }
        call->created = true;
        s->place_calls = 0;
    }
    snprintf(call->name, sizeof call->name, "<call %llu>", (unsigned long long)s->calls + 1);
    struct backend_call request = {.code = call->code, .code_length = call->code_length,
                                   .filename = call->filename ? call->filename : call->name, .number = s->calls + 1,
                                   .timeout_seconds = call->timeout_seconds, .files = call->files, .file_count = call->file_count,
                                   .keep_artifacts = call->keep_artifacts};
    struct backend_observer observer = {.output = on_output, .ended = on_ended, .refused = on_refused, .context = call};
    if (class->place_call(s->place, &request, &observer, err) < 0)
        return -1;
    s->calls++;
    s->place_calls++;
    call->running = true;
    return 0;
}

static void on_kick(uv_timer_t *timer)
{
    struct session *s = timer->data;
    struct error err = {0};
    while (s->queue && !s->queue->running && !s->closing) {
        struct session_call *call = s->queue;
        if (call->cancelled) {
            session_answer_cancelled(pop(s));
            continue;
        }
        if (start(s, call, &err) == 0)
            return;
        session_close_place(s);
        refuse(pop(s), &err);
    }
}

void session_kick(struct session *s)
{
    if (s->queue && !s->queue->running && !s->closing)
        uv_timer_start(&s->kick, on_kick, 0, 0);
}

void session_cancel(struct session_call *call)
{
    struct session *s = call->session;
    if (call->cancelled)
        return;
    call->cancelled = true;
    if (call->running) {
        s->sessions->backend->class->place_cancel(s->place);
        return;
    }
    /* It waits: take it out of the queue when the loop comes round, never from inside the caller. A running call keeps its place at
     * the head; the next kick answers every cancelled call that has come to the head. */
    session_kick(s);
}
