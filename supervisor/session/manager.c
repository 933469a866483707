#include "session/internal.h"

#include "backend/native.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEP_MS = 30000, GOODBYE_MS = 5000, TICK_MS = 20 };

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const struct session *)a)->id, ((const struct session *)b)->id);
}

static struct session *find(const struct sessions *s, const char *id)
{
    const struct session key = {.id = (char *)id};
    struct session *const *found = tfind(&key, &s->by_id, compare_ids);
    return found ? *found : NULL;
}

static void on_place_closed(void *context)
{
    struct sessions *s = context;
    s->places_closing--;
}

/* The place goes away in the background; the session stays and gets a new one with its next call. */
void session_close_place(struct session *s)
{
    if (!s->place)
        return;
    s->sessions->places_closing++;
    s->sessions->backend->class->place_close(s->place, on_place_closed, s->sessions);
    s->place = NULL;
}

static void free_session(uv_handle_t *handle)
{
    struct session *s = handle->data;
    void (*destroyed)(void *) = s->destroyed;
    void *context = s->destroyed_context;
    free(s->id);
    free(s->policy);
    free(s);
    if (destroyed)
        destroyed(context);
}

static void on_last_place_closed(void *context)
{
    struct session *s = context;
    s->sessions->places_closing--;
    LIST_REMOVE(s, link);
    s->sessions->count--;
    uv_close((uv_handle_t *)&s->kick, free_session);
}

/* All its calls are answered. */
void session_finish_close(struct session *s)
{
    while (s->queue) {
        struct session_call *call = s->queue;
        s->queue = call->next;
        session_answer_cancelled(call);
    }
    s->sessions->places_closing++;
    if (s->place) {
        struct backend_place *place = s->place;
        s->place = NULL;
        s->sessions->backend->class->place_close(place, on_last_place_closed, s);
    } else {
        on_last_place_closed(s);
    }
}

static void close_session(struct session *s)
{
    s->closing = true;
    tdelete(s, &s->sessions->by_id, compare_ids);
    if (s->queue && s->queue->running)
        session_cancel(s->queue); /* its end goes on with session_finish_close */
    else
        session_finish_close(s);
}

static void on_sweep(uv_timer_t *timer)
{
    struct sessions *s = timer->data;
    uint64_t now = clock_now();
    for (struct session *at = LIST_FIRST(&s->list), *next; at; at = next) {
        next = LIST_NEXT(at, link);
        bool idle = !at->queue && !at->closing && now - at->last_used > IDLE_SECONDS * 1000000000ull;
        if (idle && strcmp(at->id, "default") != 0)
            close_session(at);
    }
}

int sessions_new(uv_loop_t *loop, struct sessions **ret, struct error *err)
{
    struct sessions *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, "sessions", 0, "out of memory");
    s->loop = loop;
    if (native_open(loop, &s->backend, err) < 0) {
        free(s);
        return -1;
    }
    uv_timer_init(loop, &s->sweep);
    s->sweep.data = s;
    uv_timer_start(&s->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    uv_unref((uv_handle_t *)&s->sweep);
    *ret = s;
    return 0;
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

static void on_sweep_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void done_for_nobody(void *context, const struct receipt *receipt, cJSON **document)
{
    (void)context;
    (void)receipt;
    (void)document;
}

/* The faces go away now; a call that ends all the same has nobody to tell. */
static void forget_observers(struct session *s)
{
    s->destroyed = NULL;
    for (struct session_call *call = s->queue; call; call = call->next)
        call->observer = (struct session_observer){.done = done_for_nobody};
}

static bool is_busy(const struct sessions *s)
{
    return !LIST_EMPTY(&s->list) || s->places_closing || !s->backend->class->quiet(s->backend);
}

void sessions_free(struct sessions *s)
{
    uint64_t deadline = clock_now() + GOODBYE_MS * 1000000ull;
    for (struct session *at = LIST_FIRST(&s->list), *next; at; at = next) {
        next = LIST_NEXT(at, link);
        if (!at->closing)
            close_session(at);
    }
    s->backend->class->retire(s->backend);
    /* The loop waits for events, but never past the next tick: our handles do not hold it, and somebody else's may for ever. */
    uv_ref((uv_handle_t *)&s->sweep);
    uv_timer_start(&s->sweep, on_tick, TICK_MS, TICK_MS);
    while (is_busy(s) && clock_now() < deadline)
        uv_run(s->loop, UV_RUN_ONCE);
    uv_timer_stop(&s->sweep);
    /* A process in uninterruptible sleep outlived our patience: what its callbacks use must stay. The end of this process ends the
     * jail all the same (PR_SET_PDEATHSIG, and end of file on init's control socket). */
    if (is_busy(s)) {
        struct session *at;
        LIST_FOREACH(at, &s->list, link)
            forget_observers(at);
        return;
    }
    uv_loop_t *loop = s->loop;
    s->backend->class->close(s->backend);
    uv_close((uv_handle_t *)&s->sweep, on_sweep_closed); /* frees s when the loop comes round */
    for (int i = 0; i < 3; i++)
        uv_run(loop, UV_RUN_NOWAIT);
}

static struct session *new_session(struct sessions *s, const char *id, const char *policy, struct error *err)
{
    if (s->count >= SESSIONS_MAX) {
        error_set(err, "session_id", 0, "there are %d sessions already: end one with destroy_session", SESSIONS_MAX);
        return NULL;
    }
    struct session *n = calloc(1, sizeof *n);
    if (!n || !(n->id = strdup(id)) || !(n->policy = strdup(policy)) || !tsearch(n, &s->by_id, compare_ids)) {
        if (n) {
            free(n->id);
            free(n->policy);
        }
        free(n);
        error_set(err, "session", 0, "out of memory");
        return NULL;
    }
    n->sessions = s;
    n->created_wall = n->last_wall = clock_wall();
    n->last_used = clock_now();
    uv_timer_init(s->loop, &n->kick);
    n->kick.data = n;
    LIST_INSERT_HEAD(&s->list, n, link);
    s->count++;
    return n;
}

static size_t waiting(const struct session *s)
{
    size_t n = 0;
    for (struct session_call *c = s->queue; c; c = c->next)
        n++;
    return n;
}

int session_call(struct sessions *s, const struct session_request *request, const struct session_observer *observer,
                 struct session_call **ret, struct error *err)
{
    const struct policy *policy;
    const char *id = request->session_id ? request->session_id : "default";
    if (session_request_check(s, request, &policy, err) < 0)
        return -1;
    struct session *session = find(s, id);
    if (session && request->policy && strcmp(session->policy, policy->name) != 0)
        return error_set(err, "policy", 0, "session '%.100s' is bound to policy %s; use another session_id for policy %s, or destroy it first", id,
                         session->policy, policy->name);
    if (session && waiting(session) >= CALLS_WAITING_MAX)
        return error_set(err, "session_id", 0, "session '%.100s' has %d calls waiting already", id, CALLS_WAITING_MAX);
    struct session_call *call = session_request_copy(request, policy, err);
    if (!call)
        return -1;
    if (!session && !(session = new_session(s, id, policy->name, err))) {
        session_call_free(call);
        return -1;
    }
    if (!session->place && !session->queue)
        session->memory_bytes = call->memory_bytes;
    call->session = session;
    call->observer = *observer;
    call->accepted = clock_now();
    struct session_call **at = &session->queue;
    while (*at)
        at = &(*at)->next;
    *at = call;
    if (ret)
        *ret = call;
    session_kick(session);
    return 0;
}

static cJSON *describe(const struct session *s)
{
    char created[CLOCK_STAMP], last[CLOCK_STAMP];
    cJSON *row = cJSON_CreateObject();
    uint64_t now = clock_wall();
    clock_stamp(s->created_wall, created);
    clock_stamp(s->last_wall, last);
    cJSON_AddItemToObject(row, "id", json_text(s->id, strlen(s->id)));
    cJSON_AddStringToObject(row, "environment", "sandbox");
    cJSON_AddStringToObject(row, "policy", s->policy);
    cJSON_AddStringToObject(row, "trust_level", "sandboxed");
    cJSON_AddStringToObject(row, "created_at", created);
    cJSON_AddStringToObject(row, "last_access", last);
    cJSON_AddNumberToObject(row, "age_seconds", (double)((now - s->created_wall) / 1000000) / 1000.0);
    cJSON_AddNumberToObject(row, "idle_seconds", s->queue ? 0 : (double)((now - s->last_wall) / 1000000) / 1000.0);
    cJSON_AddNumberToObject(row, "calls", (double)s->calls);
    cJSON_AddStringToObject(row, "state", s->queue ? "running" : s->place ? "idle" : "ended");
    return row;
}

cJSON *sessions_list(const struct sessions *s)
{
    cJSON *list = cJSON_CreateArray();
    const struct session *at;
    LIST_FOREACH(at, &s->list, link)
        if (!at->closing)
            cJSON_InsertItemInArray(list, 0, describe(at)); /* the list is newest first, the answer oldest first */
    return list;
}

int session_destroy(struct sessions *s, const char *id, void (*done)(void *), void *context, struct error *err)
{
    struct session *session = find(s, id);
    if (!session)
        return error_set(err, "session_id", 0, "there is no session '%.100s': list_sessions names those that live", id);
    session->destroyed = done;
    session->destroyed_context = context;
    close_session(session);
    return 0;
}

void sessions_warm(struct sessions *s, const char *policy, unsigned spares)
{
    s->backend->class->warm(s->backend, policy, spares);
}

size_t sessions_pending(const struct sessions *s)
{
    size_t n = 0;
    const struct session *at;
    LIST_FOREACH(at, &s->list, link)
        n += waiting(at);
    return n;
}
