#include "backend/native.h"

#include "base/cleanup.h"
#include "jail/protocol.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { DYING_MS = 5000, EMPTY_RETRY_MS = 5, EXIT_WAIT_MS = 1000 };

static void on_exit_of(void *context, const struct zygote_exit *e)
{
    struct native *n = context;
    for (struct backend_place *p = n->places; p; p = p->next)
        if (p->payload == e->pid && !p->exited) {
            p->exited = true;
            p->exit_status = e->status;
            /* The payload ended by itself: what it left running ends with it (ISOLATION.md row 17). */
            if (p->end == END_NONE)
                native_place_kill(p, END_BROKEN);
            return;
        }
}

static void adopt(struct backend_place *p);

struct plant *native_plant(struct native *n, const char *name, struct error *err)
{
    for (struct plant *p = n->plants; p; p = p->next)
        if (strcmp(p->policy->name, name) == 0)
            return p;
    struct policy *policy;
    struct plant *plant;
    if (policy_load(name, &policy, err) < 0 || plant_new(policy, &plant, err) < 0)
        return NULL;
    plant->next = n->plants;
    return n->plants = plant;
}

int native_zygote(struct native *n, struct plant *plant, struct error *err)
{
    if (plant->zygote && zygote_dead(plant->zygote)) {
        zygote_stop(plant->zygote);
        plant->zygote = NULL;
        for (struct backend_place *p = n->places; p; p = p->next)
            adopt(p);
    }
    if (plant->zygote)
        return 0;
    return zygote_start(n->loop, n->yard.user_namespace, plant, on_exit_of, n, &plant->zygote, err);
}

static const struct policy *native_policy(struct backend *b, const char *name, struct error *err)
{
    struct plant *plant = native_plant((struct native *)b, name, err);
    return plant ? plant->policy : NULL;
}

static void native_warm(struct backend *b, const char *policy)
{
    struct native *n = (struct native *)b;
    struct error ignored;
    struct plant *plant = native_plant(n, policy, &ignored);
    if (plant)
        native_zygote(n, plant, &ignored);
}

static void free_place(struct backend_place *p)
{
    for (struct backend_place **at = &p->native->places; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    for (int i = 0; i < WATCH_INIT; i++)
        close_fd(&p->fds[i]); /* the pidfds: jail_end has closed init's, the payload's is next */
    close_fd(&p->payload_pidfd);
    buf_free(&p->in);
    buf_free(&p->out);
    void (*closed)(void *) = p->closed;
    void *context = p->closed_context;
    free(p);
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
    if (!jail_end(&p->jail)) {
        uv_timer_start(&p->timer, end_jail, EMPTY_RETRY_MS, 0);
        return;
    }
    uv_close((uv_handle_t *)&p->timer, on_handle_closed);
}

/* Every process is gone and a close was asked for: give everything back. The descriptors stay open until libuv let go of them. */
static void dismantle(struct backend_place *p)
{
    for (int i = 0; i < WATCH_COUNT; i++)
        uv_close((uv_handle_t *)&p->polls[i], on_handle_closed);
    uv_timer_start(&p->timer, end_jail, 0, 0);
}

/* Nobody asked yet, but nothing of a jail that ended need stay. */
static void end_idle_jail(uv_timer_t *timer)
{
    struct backend_place *p = timer->data;
    if (!jail_end(&p->jail))
        uv_timer_start(&p->timer, end_idle_jail, EMPTY_RETRY_MS, 0);
}

static void on_gone(struct backend_place *p)
{
    p->gone = true;
    if (p->closing)
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
    if (p->exited || waitpid(p->payload, &status, WNOHANG) != p->payload)
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

static void on_init(uv_poll_t *handle, int status, int events)
{
    struct backend_place *p = handle->data;
    (void)status;
    (void)events;
    uv_poll_stop(handle);
    if (p->end == END_NONE) { /* init died by itself: an attack on it, or the OOM killer */
        p->end = END_BROKEN;
        snprintf(p->broken, sizeof p->broken, "the jail ended");
    }
    /* init ends only after everything in its pid namespace was reaped, the payload by the zygote; its word is on the way. */
    struct zygote *zygote = p->plant->zygote;
    if (!p->exited && zygote && zygote_id(zygote) == p->zygote_id)
        zygote_await_exit(zygote, p->payload, EXIT_WAIT_MS);
    on_gone(p);
}

static void on_dying(uv_timer_t *timer)
{
    struct backend_place *p = timer->data;
    /* Uninterruptible sleep in the kernel, most likely; or the payload ended just before its zygote did. Again. */
    adopt(p);
    jail_kill(&p->jail);
    uv_timer_start(&p->timer, on_dying, DYING_MS, 0);
}

void native_place_kill(struct backend_place *p, enum native_end why)
{
    if (p->gone || p->end != END_NONE) {
        if (p->end == END_BROKEN && why == END_CLOSE)
            p->end = why;
        return;
    }
    p->end = why;
    jail_kill(&p->jail);
    uv_timer_start(&p->timer, on_dying, DYING_MS, 0);
}

void native_place_watch(struct backend_place *p)
{
    static const uv_poll_cb CALLBACKS[WATCH_COUNT] = {
        [WATCH_CHANNEL] = native_on_channel, [WATCH_OUT] = native_on_output, [WATCH_ERR] = native_on_output, [WATCH_INIT] = on_init,
        [WATCH_PAYLOAD] = on_payload};
    for (int i = 0; i < WATCH_COUNT; i++) {
        uv_poll_init(p->native->loop, &p->polls[i], p->fds[i]);
        p->polls[i].data = p;
        uv_poll_start(&p->polls[i], UV_READABLE, CALLBACKS[i]);
    }
    uv_timer_init(p->native->loop, &p->timer);
    p->timer.data = p;
    p->open_handles = WATCH_COUNT + 1;
    p->in.max = 2 * (size_t)PAYLOAD_REPLY_MAX;
}

static void native_cancel(struct backend_place *p)
{
    native_place_kill(p, END_CANCEL);
}

static bool native_place_dead(const struct backend_place *p)
{
    return p->gone || p->end != END_NONE;
}

static void native_place_close(struct backend_place *p, void (*done)(void *), void *context)
{
    p->closing = true;
    p->closed = done;
    p->closed_context = context;
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
}

static void native_close(struct backend *b)
{
    struct native *n = (struct native *)b;
    while (n->plants) {
        struct plant *p = n->plants;
        n->plants = p->next;
        zygote_stop(p->zygote);
        plant_free(p);
    }
    yard_close(&n->yard);
    free(n);
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
    .close = native_close,
};

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
    signal(SIGPIPE, SIG_IGN); /* a payload that dies while a call is sent is an error of that call */
    n->base.class = &NATIVE;
    n->loop = loop;
    *ret = &n->base;
    return 0;
}
