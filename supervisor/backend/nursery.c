#include "backend/nursery.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mutant.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEND_MS = 3,             /* after the last answer: on two cores the making of a spare would delay it */
    PACE = 2,                /* places in the making while somebody waits for one of them */
    GENERATION_SECONDS = 3600
};

static void on_handle_closed(uv_handle_t *handle)
{
    struct nursery *n = handle->data;
    if (--n->open_handles > 0)
        return;
    plant_free(n->plant);
    free(n);
}

/* ------------------------------------------------------------------ maker */

/* libuv asserts that a handle on its way out (revive_maker closed it) is not stopped once more. */
static void stop_watching(struct nursery *n)
{
    if (n->maker_watched && !uv_is_closing((uv_handle_t *)&n->maker_poll))
        uv_poll_stop(&n->maker_poll);
}

static void lose_maker(struct nursery *n, const struct error *why)
{
    bool worked = n->maker.ready;
    stop_watching(n);
    jail_maker_stop(&n->maker);
    native_maker_lost(n, why, worked);
}

static void on_maker(uv_poll_t *handle, int status, int events)
{
    struct nursery *n = handle->data;
    struct maker_word word;
    struct error err = {0};
    int r;
    (void)status;
    (void)events;
    while ((r = jail_maker_hear(&n->maker, &word, &err)) > 0)
        native_maker_word(n, &word);
    if (r < 0)
        lose_maker(n, &err);
}

static void on_maker_closed(uv_handle_t *handle)
{
    struct nursery *n = handle->data;
    struct error err;
    n->maker_watched = false;
    if (n->closing) {
        on_handle_closed(handle);
        return;
    }
    n->open_handles--;
    if (nursery_ready(n, &err) == 0)
        nursery_serve(n);
    else
        native_maker_lost(n, &err, false);
}

/* Somebody may have ended the maker (the host's OOM killer, say). A new one stands in the same outer namespace, and all that lives
 * goes on. */
static int revive_maker(struct nursery *n, struct error *err)
{
    if (n->maker.process.pid > 0 && !jail_maker_ended(&n->maker))
        return 0;
    jail_maker_stop(&n->maker);
    if (n->maker_watched) { /* its handle must be closed before another descriptor takes its place; on_maker_closed goes on */
        if (!uv_is_closing((uv_handle_t *)&n->maker_poll))
            uv_close((uv_handle_t *)&n->maker_poll, on_maker_closed);
        return 0;
    }
    if (jail_maker_start(&n->native->yard, &n->maker, err) < 0)
        return error_wrap(err, "the jail maker cannot be started");
    n->maker_planned = false;
    uv_poll_init(n->native->loop, &n->maker_poll, n->maker.process.control);
    n->maker_poll.data = n;
    uv_poll_start(&n->maker_poll, UV_READABLE, on_maker);
    uv_unref((uv_handle_t *)&n->maker_poll);
    n->maker_watched = true;
    n->open_handles++;
    return 0;
}

static int plan_maker(struct nursery *n, struct error *err)
{
    if (n->maker_planned || n->maker.process.pid <= 0)
        return 0;
    struct jail_plan plan = n->plant->jail;
    plan.single = n->native->lean;
    if (jail_maker_plan(&n->maker, &plan, err) < 0)
        return -1;
    n->maker_planned = true;
    return 0;
}

/* ------------------------------------------------------------------ zygotes */

/* While the interpreter's program starts: the maker's starts, too, and the policy is compiled for both. */
static int meanwhile(void *context, struct error *err)
{
    struct nursery *n = context;
    struct error ignored; /* nursery_ready tries again and tells */
    yard_find_cgroups(&n->native->yard, &ignored);
    if (revive_maker(n, &ignored) < 0)
        return plant_compile(n->plant, err);
    if (plant_compile(n->plant, err) < 0)
        return -1;
    plan_maker(n, &ignored);
    return 0;
}

static void retire(struct nursery *n, struct zygote *z)
{
    for (int i = 0; i < NURSERY_GENERATIONS; i++)
        if (!n->retired[i]) {
            n->retired[i] = z;
            nursery_forget_retired(n);
            return;
        }
    /* So many generations at once: its payloads are adopted by us and live on; who waits for its word asks the new one. */
    struct error why;
    uint64_t id = zygote_id(z);
    error_set(&why, "zygote", 0, "its generation ended while the interpreter was made");
    zygote_stop(z);
    native_zygote_lost(n, id, &why, true);
}

void nursery_forget_retired(struct nursery *n)
{
    for (int i = 0; i < NURSERY_GENERATIONS; i++)
        if (n->retired[i] && !native_has_payload_of(n->native, zygote_id(n->retired[i]))) {
            zygote_stop(n->retired[i]);
            n->retired[i] = NULL;
        }
}

static void on_ready(void *context, struct zygote *z)
{
    struct nursery *n = context;
    if (z != n->successor)
        return;
    struct zygote *old = n->zygote;
    n->zygote = z;
    n->successor = NULL;
    native_close_spares(n); /* they are of the old generation */
    if (old)
        retire(n, old);
    nursery_tend(n);
}

static void on_zygote_gone(void *context, struct zygote *z, const struct error *why)
{
    struct nursery *n = context;
    uint64_t id = zygote_id(z);
    bool worked = zygote_ready(z);
    if (z == n->zygote)
        n->zygote = NULL;
    else if (z == n->successor)
        n->successor = NULL;
    for (int i = 0; i < NURSERY_GENERATIONS; i++)
        if (n->retired[i] == z)
            n->retired[i] = NULL;
    zygote_stop(z);
    native_zygote_lost(n, id, why, worked);
}

static int start_zygote(struct nursery *n, struct zygote **ret, struct error *err)
{
    struct zygote_events events = {.ready = on_ready, .spawned = native_payload_spawned, .exited = native_payload_exited,
                                   .meanwhile = meanwhile, .gone = on_zygote_gone, .context = n};
    return zygote_start(n->native->loop, n->native->yard.user_namespace, n->plant, n->native->lean, &events, ret, err);
}

/* All payloads of a zygote share its hash secret and address layout (ISOLATION.md row 46): a generation ends after so many forks or
 * so long, when somebody needs a fork; the old one goes on until its successor is warm. */
static bool is_spent(const struct nursery *n)
{
    return !mutant(46) && (zygote_forks(n->zygote) >= n->native->generation_forks ||
                           clock_now() - zygote_since(n->zygote) >= GENERATION_SECONDS * 1000000000ull);
}

int nursery_ready(struct nursery *n, struct error *err)
{
    struct error ignored;
    if (!n->zygote && start_zygote(n, &n->zygote, err) < 0)
        return -1;
    if (revive_maker(n, err) < 0 || plan_maker(n, err) < 0)
        return -1;
    if (!n->successor && zygote_ready(n->zygote) && is_spent(n))
        start_zygote(n, &n->successor, &ignored); /* the old one still works; the next fork tries again */
    return 0;
}

/* ------------------------------------------------------------------ spares */

static void on_tend(uv_timer_t *timer)
{
    struct nursery *n = timer->data;
    struct error ignored;
    n->short_of_spares = false;
    if (n->closing || n->opening > 0 || n->barren || native_spare_count(n) >= n->native->spares)
        return;
    if (nursery_ready(n, &ignored) < 0 || native_make_spare(n, &ignored) < 0)
        n->barren = true; /* the next session's own attempt says why */
}

void nursery_tend(struct nursery *n)
{
    if (!n->closing && !uv_is_active((uv_handle_t *)&n->tend))
        uv_timer_start(&n->tend, on_tend, TEND_MS, 0);
}

/* Somebody waits for a place that is only now made: the next one will as well, if it is not begun before that. What is idle of the
 * machine while this one is made, called and taken down goes into it. */
void nursery_keep_pace(struct nursery *n)
{
    struct error ignored;
    if (!n->closing && n->native->spares > 0 && n->opening < PACE && native_spare_count(n) == 0 && zygote_ready(n->zygote))
        native_make_spare(n, &ignored);
}

int nursery_compile(struct nursery *n, struct error *err)
{
    struct error ignored; /* of the start: nursery_ready tries again and tells */
    if (n->native->lean)
        start_zygote(n, &n->zygote, &ignored);
    return plant_compile(n->plant, err);
}

int nursery_new(struct native *native, struct plant *plant, struct nursery **ret, struct error *err)
{
    struct nursery *n = calloc(1, sizeof *n);
    if (!n) {
        plant_free(plant);
        return error_set(err, "nursery", 0, "out of memory");
    }
    n->native = native;
    n->plant = plant;
    n->maker.process = (struct outer_process){.pid = -1, .pidfd = -1, .control = -1};
    uv_timer_init(native->loop, &n->tend);
    n->tend.data = n;
    uv_unref((uv_handle_t *)&n->tend);
    n->open_handles = 1;
    *ret = n;
    return 0;
}

void nursery_hurry(struct nursery *n)
{
    if (n->zygote)
        zygote_kill(n->zygote);
    if (n->maker.process.pid > 0)
        kill(n->maker.process.pid, SIGKILL);
}

void nursery_close(struct nursery *n)
{
    n->closing = true;
    zygote_stop(n->zygote);
    zygote_stop(n->successor);
    for (int i = 0; i < NURSERY_GENERATIONS; i++)
        zygote_stop(n->retired[i]);
    stop_watching(n);
    jail_maker_stop(&n->maker);
    if (n->maker_watched && !uv_is_closing((uv_handle_t *)&n->maker_poll))
        uv_close((uv_handle_t *)&n->maker_poll, on_handle_closed);
    uv_close((uv_handle_t *)&n->tend, on_handle_closed);
}
