#include "backend/native.h"

#include "backend/nursery.h"
#include "base/cleanup.h"
#include "base/mutant.h"
#include "base/slice.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { DYING_MS = 5000, ORPHAN_MS = 20, EMPTY_RETRY_MS = 5, EXIT_WAIT_MS = 1000, TRIM_MS = 500 };
enum { GENERATION_FORKS = 10000, FILES_MIN = 128 };

/* ------------------------------------------------------------------ the end of a place */

static void free_place(struct backend_place *p)
{
    struct nursery *nursery = p->nursery;
    TAILQ_REMOVE(&p->native->places, p, link);
    p->native->waiting -= p->stage == PLACE_WAITING;
    p->native->idle -= p->spare;
    for (int i = 0; i <= WATCH_ERR; i++)
        close_fd(&p->fds[i]);
    for (int i = 0; i < 3; i++)
        close_fd(&p->theirs[i]);
    close_fd(&p->fds[WATCH_PAYLOAD]); /* control and init's pidfd: jail_end has closed them */
    buf_free(&p->in);
    buf_free(&p->out);
    collect_memory_free(&p->artifacts_seen);
    void (*closed)(void *) = p->closed;
    void *context = p->closed_context;
    free(p);
    nursery_forget_retired(nursery);
    nursery_tend(nursery);
    if (closed)
        closed(context);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct backend_place *p = handle->data;
    if (--p->open_handles == 0)
        free_place(p);
}

static void end_jail(uv_timer_t *timer)
{
    struct backend_place *p = timer->data;
    if (!jail_end(&p->jail, &p->native->cgroups)) {
        uv_timer_start(&p->timer, end_jail, EMPTY_RETRY_MS, 0);
        return;
    }
    uv_close((uv_handle_t *)&p->timer, on_handle_closed);
    uv_close((uv_handle_t *)&p->listen, on_handle_closed);
}

/* Every process is gone and a close was asked for: give everything back. The descriptors stay open until libuv let go of them. */
static void dismantle(struct backend_place *p)
{
    uv_timer_stop(&p->listen);
    for (int i = 0; i < WATCH_COUNT; i++)
        if (p->watched[i])
            uv_close((uv_handle_t *)&p->polls[i], on_handle_closed);
    uv_timer_start(&p->timer, end_jail, 0, 0);
}

/* Nobody asked yet, but nothing of a jail that ended need stay. */
static void end_idle_jail(uv_timer_t *timer)
{
    struct backend_place *p = timer->data;
    /* jail_end closes what they watch. Closed for good, not only stopped: libuv takes the number out of its epoll set once more when
     * a stopped handle is closed, and by then it may be another jail's, whose end would never be heard. */
    for (int i = WATCH_CONTROL; i <= WATCH_INIT; i++)
        if (p->watched[i]) {
            p->watched[i] = false;
            uv_close((uv_handle_t *)&p->polls[i], on_handle_closed);
        }
    if (!jail_end(&p->jail, &p->native->cgroups))
        uv_timer_start(&p->timer, end_idle_jail, EMPTY_RETRY_MS, 0);
}

static void on_gone(struct backend_place *p)
{
    if (p->gone)
        return;
    p->gone = true;
    if (p->spare && !p->closing)
        native_place_close(p, NULL, NULL);
    else if (p->closing)
        dismantle(p);
    else if (!p->calling)
        uv_timer_start(&p->timer, end_idle_jail, 0, 0); /* between two calls; the session learns it with its next one */
    else
        native_call_lost(p); /* the observer closes us, and as we are gone that dismantles at once */
}

/* A payload whose zygote died becomes ours (we are a subreaper), and until somebody takes its exit status its jail does not end:
 * init waits for every process of its namespace (pid_namespaces(7)). ECHILD: the zygote lives and will tell. */
static void adopt(struct backend_place *p)
{
    int status;
    if (p->exited || p->payload <= 0 || waitpid(p->payload, &status, WNOHANG) != p->payload)
        return;
    p->exited = true;
    p->exit_status = status;
    if (p->end == END_NONE)
        native_place_kill(p, END_BROKEN);
}

static void on_payload(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    uv_poll_stop(handle);
    adopt(handle->data);
}

static struct zygote *zygote_of(const struct backend_place *p)
{
    const struct nursery *n = p->nursery;
    if (n->zygote && zygote_id(n->zygote) == p->zygote_id)
        return n->zygote;
    for (int i = 0; i < NURSERY_GENERATIONS; i++)
        if (n->retired[i] && zygote_id(n->retired[i]) == p->zygote_id)
            return n->retired[i];
    return NULL;
}

static void on_exit_overdue(uv_timer_t *timer)
{
    on_gone(timer->data);
}

/* init ends only after everything in its pid namespace was reaped, the payload by the zygote; its word is on the way. */
static void await_exit_status(struct backend_place *p)
{
    struct zygote *zygote = zygote_of(p);
    if (zygote && p->payload > 0 && !p->exited)
        zygote_hear(zygote); /* may end in on_gone, by way of native_payload_exited */
    zygote = zygote_of(p);
    if (p->gone)
        return;
    if (p->payload > 0 && !p->exited && zygote)
        uv_timer_start(&p->timer, on_exit_overdue, EXIT_WAIT_MS, 0);
    else
        on_gone(p);
}

static void opening_lost(struct backend_place *p)
{
    struct error err = {0};
    if (p->jail.ready || jail_hear(&p->jail, &err) >= 0)
        error_set(&err, "jail.init", 0, "the jail ended before it was ready");
    native_place_fail(p, &err);
}

static void on_init(uv_poll_t *handle, int status, int events)
{
    struct backend_place *p = handle->data;
    (void)status;
    (void)events;
    uv_poll_stop(handle);
    p->init_gone = true;
    if (p->stage == PLACE_SPAWNING) {
        opening_lost(p);
    } else if (p->end == END_NONE) { /* init died by itself: an attack on it, or the OOM killer */
        p->end = END_BROKEN;
        snprintf(p->broken, sizeof p->broken, "the jail ended");
    }
    await_exit_status(p);
}

void native_payload_exited(void *context, struct zygote *z, const struct zygote_exit *e)
{
    struct nursery *n = context;
    struct backend_place *p;
    TAILQ_FOREACH(p, &n->native->places, link) {
        if (p->payload != e->pid || p->exited || p->zygote_id != zygote_id(z))
            continue;
        p->exited = true;
        p->exit_status = e->status;
        if (p->stage == PLACE_SPAWNING && p->watched[WATCH_CHANNEL])
            native_on_channel(&p->polls[WATCH_CHANNEL], 0, UV_READABLE); /* why, in its own words */
        /* The payload ended by itself: what it left running ends with it (ISOLATION.md row 17). */
        if (p->end == END_NONE)
            native_place_kill(p, END_BROKEN);
        if (p->init_gone)
            on_gone(p);
        return;
    }
}

static bool is_payload(const void *context, pid_t pid)
{
    const struct backend_place *p;
    TAILQ_FOREACH(p, &((const struct native *)context)->places, link)
        if (p->payload == pid)
            return true;
    return false;
}

/* The zygote may have died between a fork and its word about it: a payload without a name that its init waits for. */
static bool may_be_orphaned(const struct backend_place *p)
{
    return p->zygote_id != 0 && p->payload <= 0 && p->end != END_NONE && !p->init_gone && !p->gone && !zygote_of(p);
}

static void on_dying(uv_timer_t *timer)
{
    struct backend_place *p = timer->data;
    /* Uninterruptible sleep in the kernel, most likely; or the payload ended just before its zygote did. Again. */
    adopt(p);
    if (may_be_orphaned(p))
        jail_reap_orphans(is_payload, p->native);
    jail_kill(&p->jail);
    uv_timer_start(&p->timer, on_dying, may_be_orphaned(p) ? ORPHAN_MS : DYING_MS, 0);
}

void native_zygote_lost(struct nursery *n, uint64_t id, const struct error *why, bool transient)
{
    for (struct backend_place *p = TAILQ_FIRST(&n->native->places), *next; p; p = next) {
        next = TAILQ_NEXT(p, link);
        bool waits = p->nursery == n && p->zygote_id == 0 && !n->zygote && p->stage != PLACE_FAILED;
        if (p->zygote_id != id && !waits)
            continue;
        if (p->stage != PLACE_READY) {
            p->transient = transient;
            native_place_fail(p, why);
        }
        adopt(p);
        if (p->init_gone)
            await_exit_status(p);
        else if (may_be_orphaned(p))
            uv_timer_start(&p->timer, on_dying, 0, 0);
    }
}

bool native_has_payload_of(const struct native *n, uint64_t id)
{
    const struct backend_place *p;
    TAILQ_FOREACH(p, &n->places, link)
        if (p->zygote_id == id && !p->gone)
            return true;
    return false;
}

void native_place_kill(struct backend_place *p, enum native_end why)
{
    if (mutant(17) && why == END_BROKEN && !p->gone && WIFEXITED(p->exit_status)) /* the payload ended: let what it started run on */
        return;
    if (p->gone || p->end != END_NONE) {
        if (p->end == END_BROKEN && why == END_CLOSE)
            p->end = why;
        return;
    }
    p->end = why;
    native_stop_opening(p);
    if (p->jail.request == 0) { /* nothing was started */
        on_gone(p);
        return;
    }
    if (!p->calling) /* so that the jail's end frees the files, not our loop; of a call that runs they are collected first */
        close_fd(&p->jail.output);
    if (mutant(34) && why == END_TIMEOUT)
        kill(p->payload, SIGKILL);
    else
        jail_kill(&p->jail);
    uv_timer_start(&p->timer, on_dying, DYING_MS, 0);
}

/* The maker's word came for a place that is to end: its init is known now, or there never was one. */
void native_maker_answered_dying(struct backend_place *p, bool init_runs)
{
    if (!init_runs || p->jail.init_pidfd < 0) {
        on_gone(p);
        return;
    }
    jail_kill(&p->jail);
    native_watch(p, WATCH_INIT, p->jail.init_pidfd);
}

void native_watch(struct backend_place *p, int which, int fd)
{
    static const uv_poll_cb CALLBACKS[WATCH_COUNT] = {
        [WATCH_CHANNEL] = native_on_channel, [WATCH_OUT] = native_on_output, [WATCH_ERR] = native_on_output,
        [WATCH_CONTROL] = native_on_control, [WATCH_INIT] = on_init, [WATCH_PAYLOAD] = on_payload};
    uv_poll_init(p->native->loop, &p->polls[which], fd);
    p->polls[which].data = p;
    uv_poll_start(&p->polls[which], UV_READABLE, CALLBACKS[which]);
    p->watched[which] = true;
    p->open_handles++;
    if (p->spare) /* spares keep no program running */
        uv_unref((uv_handle_t *)&p->polls[which]);
}

void native_place_close(struct backend_place *p, void (*done)(void *), void *context)
{
    if (p->closing)
        return;
    p->closing = true;
    p->closed = done;
    p->closed_context = context;
    p->pending = NULL;
    if (p->calling) { /* nobody is told any more: sessions cancel first where they want a receipt */
        for (int i = 0; i < 2; i++)
            receipt_capture_end(&p->captures[i]);
        receipt_free(&p->receipt);
        p->calling = false;
    }
    if (p->gone)
        dismantle(p);
    else
        native_place_kill(p, END_CLOSE);
    if (p->native->lean)
        nursery_hurry(p->nursery);
}

/* ------------------------------------------------------------------ the backend */

struct nursery *native_nursery(struct native *n, const char *name, struct error *err)
{
    struct policy *policy;
    struct plant *plant;
    struct nursery *made;
    for (struct nursery *at = n->nurseries; at; at = at->next)
        if (strcmp(at->plant->policy->name, name) == 0)
            return at;
    if (policy_load(name, &policy, err) < 0 || plant_new(policy, &plant, err) < 0 || nursery_new(n, plant, &made, err) < 0)
        return NULL;
    if (nursery_compile(made, err) < 0) {
        nursery_close(made);
        return NULL;
    }
    made->next = n->nurseries;
    return n->nurseries = made;
}

static const struct policy *native_policy(struct backend *b, const char *name, struct error *err)
{
    struct nursery *n = native_nursery((struct native *)b, name, err);
    return n ? n->plant->policy : NULL;
}

static void native_warm(struct backend *b, const char *policy, unsigned spares)
{
    struct native *n = (struct native *)b;
    struct error ignored; /* the first call tries again and tells */
    n->lean = false;
    n->spares = spares;
    struct nursery *nursery = native_nursery(n, policy, &ignored);
    if (nursery && nursery_ready(nursery, &ignored) == 0)
        nursery_tend(nursery);
}

static void native_cancel(struct backend_place *p)
{
    if (p->stage == PLACE_READY) {
        native_place_kill(p, END_CANCEL);
        return;
    }
    struct error why;
    error_set(&why, "cancelled", 0, "the call was cancelled before it ran");
    native_place_fail(p, &why);
}

static bool native_place_dead(const struct backend_place *p)
{
    return p->gone || p->end != END_NONE || p->stage == PLACE_FAILED;
}

static void native_retire(struct backend *b)
{
    struct native *n = (struct native *)b;
    n->spares = 0;
    struct backend_place *p;
    TAILQ_FOREACH(p, &n->places, link)
        if (p->spare)
            native_place_close(p, NULL, NULL);
}

static bool native_quiet(const struct backend *b)
{
    return TAILQ_EMPTY(&((const struct native *)b)->places);
}

static void on_trim(uv_timer_t *timer)
{
    (void)timer;
    malloc_trim(0);
}

void native_trim_soon(struct native *n)
{
    if (!uv_is_active((uv_handle_t *)&n->trim))
        uv_timer_start(&n->trim, on_trim, TRIM_MS, 0);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void native_close(struct backend *b)
{
    struct native *n = (struct native *)b;
    while (n->nurseries) {
        struct nursery *next = n->nurseries->next;
        nursery_close(n->nurseries);
        n->nurseries = next;
    }
    cgroup_pool_empty(&n->cgroups);
    yard_close(&n->yard);
    uv_close((uv_handle_t *)&n->trim, on_closed);
}

static const struct backend_class NATIVE = {
    .name = "native",
    .place_open = native_place_open,
    .place_call = native_place_call,
    .place_cancel = native_cancel,
    .place_dead = native_place_dead,
    .place_close = native_place_close,
    .policy = native_policy,
    .warm = native_warm,
    .retire = native_retire,
    .quiet = native_quiet,
    .close = native_close,
};

static uint64_t generation_forks(void)
{
    const char *text = getenv("SNIPARA_SANDBOX_ZYGOTE_FORKS");
    char *end;
    unsigned long n = text ? strtoul(text, &end, 10) : 0;
    return text && *text && *end == '\0' && n > 0 ? n : GENERATION_FORKS;
}

int native_open(uv_loop_t *loop, struct backend **ret, struct error *err)
{
    struct native *n = calloc(1, sizeof *n);
    if (!n)
        return error_set(err, "native", 0, "out of memory");
    if (yard_open(&n->yard, err) < 0) {
        free(n);
        return -1;
    }
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
        yard_close(&n->yard);
        free(n);
        return error_set(err, "native", errno, "this process cannot become a subreaper");
    }
    /* A session takes about a dozen descriptors. The helpers inherit the limit; a payload gets its policy's. */
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_MIN) { /* helpers park descriptors at 64 and above */
        yard_close(&n->yard);
        free(n);
        return error_set(err, "native", 0, "only %llu open files are allowed here, and %d are needed at least: raise the limit (ulimit -n)",
                         (unsigned long long)files.rlim_cur, FILES_MIN);
    }
    slice_ask(SLICE_TRUSTED_NS);
    signal(SIGPIPE, SIG_IGN); /* a payload that dies while a call is sent is an error of that call */
    uv_timer_init(loop, &n->trim);
    n->trim.data = n;
    uv_unref((uv_handle_t *)&n->trim);
    TAILQ_INIT(&n->places);
    n->base.class = &NATIVE;
    n->loop = loop;
    n->lean = true;
    n->generation_forks = generation_forks();
    *ret = &n->base;
    return 0;
}
