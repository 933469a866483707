#include "backend/native.h"

#include "backend/nursery.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/wire.h"
#include "jail/host.h"
#include "jail/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { OPENING_MS = 60000 }; /* the start of a zygote included */

static int make_ends(struct backend_place *p, struct error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_set(err, "place", errno, "no socket pair");
    p->fds[WATCH_CHANNEL] = pair[0];
    p->theirs[0] = pair[1];
    for (int i = 1; i < 3; i++) {
        if (pipe2(pair, O_CLOEXEC) < 0)
            return error_set(err, "place", errno, "no pipe");
        p->fds[i] = pair[0];
        p->theirs[i] = pair[1];
    }
    for (int i = 0; i < 3; i++)
        if (fcntl(p->fds[i], F_SETFL, O_NONBLOCK) < 0)
            return error_set(err, "place", errno, "non-blocking mode is refused");
    return 0;
}

static bool is_opening(const struct backend_place *p)
{
    return p->stage == PLACE_ASKED || p->stage == PLACE_SPAWNING;
}

static void set_stage(struct backend_place *p, enum place_stage stage)
{
    bool before = is_opening(p);
    p->native->waiting -= p->stage == PLACE_WAITING && stage != PLACE_WAITING;
    p->stage = stage;
    if (before != is_opening(p))
        p->nursery->opening += before ? -1u : 1u;
}

void native_stop_opening(struct backend_place *p)
{
    if (p->stage < PLACE_READY)
        set_stage(p, PLACE_FAILED);
}

void native_place_fail(struct backend_place *p, const struct error *why)
{
    struct nursery *n = p->nursery;
    if (p->stage == PLACE_READY || p->stage == PLACE_FAILED)
        return;
    p->failure = *why;
    set_stage(p, PLACE_FAILED);
    native_place_kill(p, END_BROKEN);
    if (p->spare) {
        n->barren = true;
        native_place_close(p, NULL, NULL);
    } else if (p->pending) {
        p->pending = NULL;
        struct backend_observer observer = p->observer;
        observer.refused(observer.context, why, p->transient);
    }
}

/* Fail closed: what the policy demands and what was verified, compared by us, once more. */
static int check_layers(const struct backend_place *p, struct error *err)
{
    const struct plant *plant = p->nursery->plant;
    layer_set lacking = plant->required & ~p->layers;
    for (int l = 0; l < LAYER_COUNT; l++)
        if (lacking & LAYER_BIT(l)) {
            const char *remedy = host_remedy((enum layer)l);
            return error_set(err, layer_name((enum layer)l), 0, "policy %s requires the layer %s, which this host does not give%s%s",
                             plant->policy->name, layer_name((enum layer)l), remedy ? "; remedy: " : "", remedy ? remedy : "");
        }
    return 0;
}

static int accept_place(struct backend_place *p, struct error *err)
{
    uint64_t before = clock_now();
    p->layers = p->jail.layers | p->payload_layers;
    if (check_layers(p, err) < 0 || jail_inspect(p->payload, p->layers, err) < 0 || jail_inspect_init(&p->jail, err) < 0 ||
        cgroup_holds(&p->jail.cgroup, p->payload, err) < 0)
        return -1;
    p->ready_at = clock_now();
    p->times.inspect = (p->ready_at - before) / 1000;
    return 0;
}

/* Init, zygote and payload report in any order. */
static void try_ready(struct backend_place *p)
{
    struct nursery *n = p->nursery;
    struct error err = {0};
    if (p->stage != PLACE_SPAWNING || !p->jail.ready || !p->sealed || p->payload <= 0)
        return;
    if (accept_place(p, &err) < 0) {
        native_place_fail(p, &err);
        return;
    }
    uv_poll_stop(&p->polls[WATCH_CONTROL]); /* init says no more; its pidfd tells its end */
    uv_timer_stop(&p->timer);
    set_stage(p, PLACE_READY);
    n->barren = false;
    if (p->pending) {
        const struct backend_call *call = p->pending;
        p->pending = NULL;
        if (native_call_begin(p, call, &err) < 0)
            p->observer.refused(p->observer.context, &err, false);
    }
    nursery_serve(n);
    nursery_tend(n);
}

void native_on_control(uv_poll_t *handle, int status, int events)
{
    struct backend_place *p = handle->data;
    struct error err = {0};
    (void)status;
    (void)events;
    int r = jail_hear(&p->jail, &err);
    if (r == 0)
        return;
    uv_poll_stop(handle);
    if (r < 0)
        native_place_fail(p, &err);
    else
        try_ready(p);
}

static void on_opening_overdue(uv_timer_t *timer)
{
    struct error err;
    error_set(&err, "place", ETIMEDOUT, "the jail is not ready after %d s", OPENING_MS / 1000);
    native_place_fail(timer->data, &err);
}

static int ask(struct backend_place *p, struct error *err)
{
    struct nursery *n = p->nursery;
    const struct plant *plant = n->plant;
    const struct policy_limits *limits = &plant->policy->limits;
    /* tmpfs pages count as memory, so the group's limit is memory and disk together; each tmpfs is bounded by itself too. */
    struct cgroup_limits cgroup = {.memory_bytes = p->memory_bytes + plant->disk_bytes, .pids = limits->pids + 1 /* init */, .cpus = limits->cpus};
    p->begun = clock_now();
    if (make_ends(p, err) < 0 || jail_begin(&p->native->yard, &n->maker, &p->native->cgroups, &cgroup, &p->jail, err) < 0)
        return -1;
    set_stage(p, PLACE_ASKED);
    return 0;
}

/* The oldest place that waits: all of them are among the newest. */
static struct backend_place *first_waiting(const struct native *n)
{
    struct backend_place *first = NULL;
    unsigned left = n->waiting;
    for (struct backend_place *p = TAILQ_LAST(&n->places, place_list); p && left > 0; p = TAILQ_PREV(p, place_list, link))
        if (p->stage == PLACE_WAITING) {
            left--;
            first = p;
        }
    return first;
}

void nursery_serve(struct nursery *n)
{
    struct error err = {0};
    for (struct backend_place *p = first_waiting(n->native), *next; p && n->opening < NURSERY_OPENING_MAX; p = next) {
        next = TAILQ_NEXT(p, link);
        if (p->nursery != n || p->stage != PLACE_WAITING || p->closing)
            continue;
        if (n->maker.process.pid <= 0) /* on its way back */
            return;
        if (ask(p, &err) < 0)
            native_place_fail(p, &err);
    }
}

static int spawn(struct backend_place *p, struct error *err)
{
    struct nursery *n = p->nursery;
    /* Without a memory cgroup the best bound is per process: private writable memory. */
    uint64_t data_limit = p->jail.layers & LAYER_BIT(LAYER_CGROUP_MEMORY) ? 0 : p->memory_bytes;
    struct payload_ends theirs = {.channel = p->theirs[0], .out = p->theirs[1], .err = p->theirs[2]};
    if (nursery_ready(n, err) < 0 || zygote_spawn(n->zygote, &p->jail, &theirs, data_limit, p->spare, &p->spawn_id, err) < 0)
        return -1;
    p->zygote_id = zygote_id(n->zygote);
    for (int i = 0; i < 3; i++)
        close_fd(&p->theirs[i]);
    close_fd(&p->jail.notify);
    return 0;
}

static void start_payload(struct backend_place *p, const struct maker_word *word)
{
    struct error err = {0};
    if (jail_made(&p->jail, word, &err) < 0) {
        native_place_fail(p, &err);
        native_maker_answered_dying(p, word->made);
        return;
    }
    set_stage(p, PLACE_SPAWNING);
    native_watch(p, WATCH_INIT, p->jail.init_pidfd);
    native_watch(p, WATCH_CONTROL, p->jail.control);
    native_watch(p, WATCH_CHANNEL, p->fds[WATCH_CHANNEL]);
    native_watch(p, WATCH_OUT, p->fds[WATCH_OUT]);
    native_watch(p, WATCH_ERR, p->fds[WATCH_ERR]);
    if (spawn(p, &err) == 0)
        return;
    /* A zygote whose end has not come round the loop yet: the next attempt must find another. */
    p->transient = err.code == EPIPE || err.code == ECONNRESET;
    struct zygote *zygote = p->transient ? p->nursery->zygote : NULL;
    native_place_fail(p, &err);
    if (zygote)
        zygote_hear(zygote);
}

void native_maker_word(struct nursery *n, const struct maker_word *word)
{
    struct backend_place *p;
    TAILQ_FOREACH_REVERSE(p, &n->native->places, place_list, link) {
        if (p->nursery != n || p->jail.request != word->request || p->jail.init > 0 || p->gone)
            continue;
        if (p->stage == PLACE_ASKED && p->end == END_NONE) {
            start_payload(p, word);
        } else { /* it was given up meanwhile; the process is our child all the same */
            struct error ignored;
            jail_made(&p->jail, word, &ignored);
            native_maker_answered_dying(p, word->made);
        }
        return;
    }
}

void native_maker_lost(struct nursery *n, const struct error *why, bool transient)
{
    for (struct backend_place *p = TAILQ_FIRST(&n->native->places), *next; p; p = next) {
        next = TAILQ_NEXT(p, link);
        if (p->nursery != n || p->gone || p->jail.init > 0)
            continue;
        bool asked = p->jail.request != 0;
        p->transient = transient;
        native_place_fail(p, why);
        if (asked)
            native_maker_answered_dying(p, false);
    }
}

void native_payload_spawned(void *context, struct zygote *z, uint64_t id, pid_t pid, int pidfd, const struct error *failure)
{
    struct nursery *n = context;
    cleanup_fd int owned = pidfd;
    struct backend_place *p;
    TAILQ_FOREACH_REVERSE(p, &n->native->places, place_list, link) {
        if (p->zygote_id != zygote_id(z) || p->spawn_id != id || p->payload > 0)
            continue;
        if (failure) {
            native_place_fail(p, failure);
            return;
        }
        p->payload = pid;
        p->fds[WATCH_PAYLOAD] = steal_fd(&owned);
        native_watch(p, WATCH_PAYLOAD, p->fds[WATCH_PAYLOAD]);
        try_ready(p);
        return;
    }
}

void native_take_first_word(struct backend_place *p, const struct wire_frame *frame)
{
    struct error err = {0};
    struct wire_cursor c = wire_fields(frame);
    struct wire_field f;
    if (frame->type != PAYLOAD_READY || p->sealed) {
        wire_take_error(frame, ZT_STEP, "payload", &err);
        native_place_fail(p, &err);
        return;
    }
    while (wire_field_next(&c, &f) > 0)
        switch (f.tag) {
        case PT_LAYERS: wire_u64(&f, &p->payload_layers); break;
        case PT_FORK_US: wire_u64(&f, &p->times.fork); break;
        case PT_JOIN_US: wire_u64(&f, &p->times.join); break;
        case PT_SEAL_US: wire_u64(&f, &p->times.seal); break;
        default: break;
        }
    p->sealed = true;
    try_ready(p);
}

struct backend_place *native_place_new(struct nursery *n, uint64_t memory_bytes, bool spare, struct error *err)
{
    struct backend_place *p = calloc(1, sizeof *p);
    if (!p) {
        error_set(err, "place", 0, "out of memory");
        return NULL;
    }
    p->native = n->native;
    p->nursery = n;
    p->memory_bytes = memory_bytes;
    p->spare = spare;
    p->jail = (struct jail){.init = -1, .init_pidfd = -1, .control = -1, .output = -1, .notify = -1};
    memset(p->fds, -1, sizeof p->fds);
    memset(p->theirs, -1, sizeof p->theirs);
    p->in.max = 2 * (size_t)PAYLOAD_REPLY_MAX;
    uv_timer_init(n->native->loop, &p->timer);
    p->timer.data = p;
    uv_timer_init(n->native->loop, &p->listen);
    p->listen.data = p;
    uv_unref((uv_handle_t *)&p->listen);
    p->open_handles = 2;
    uv_timer_start(&p->timer, on_opening_overdue, OPENING_MS, 0);
    TAILQ_INSERT_TAIL(&n->native->places, p, link);
    n->native->waiting++;
    n->native->idle += spare;
    return p;
}

int native_place_open(struct backend *b, const char *policy, uint64_t memory_bytes, struct backend_place **ret, struct error *err)
{
    struct native *native = (struct native *)b;
    struct nursery *n = native_nursery(native, policy, err);
    if (!n)
        return -1;
    uint64_t bytes = memory_bytes ? memory_bytes : n->plant->policy->limits.memory_bytes;
    uint64_t asked = clock_now();
    struct backend_place *p = native_take_spare(n, bytes);
    if (!p) {
        if (nursery_ready(n, err) < 0 || !(p = native_place_new(n, bytes, false, err)))
            return -1;
        nursery_serve(n);
    }
    n->barren = false;
    if (p->stage != PLACE_READY)
        nursery_keep_pace(n);
    p->asked = asked;
    *ret = p;
    return 0;
}
