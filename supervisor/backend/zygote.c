#include "backend/zygote.h"

#include "backend/plant.h"
#include "backend/pyhost_path.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/wire.h"
#include "jail/outer.h"
#include "jail/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>

enum { START_MS = 60000, MESSAGE_MAX = 8192 };

struct zygote {
    struct outer_process process;
    uv_poll_t poll;
    uv_timer_t patience;  /* with the start */
    int open_handles;
    bool ready, dead;
    uint64_t id, forks, since;
    struct zygote_events events;
    char policy[64];
    char message[MESSAGE_MAX];
};

static void declare_dead(struct zygote *z, const struct error *why)
{
    struct error told = *why;
    if (z->dead)
        return;
    z->dead = true;
    uv_poll_stop(&z->poll);
    uv_timer_stop(&z->patience);
    if (!z->ready)
        error_wrap(&told, "the interpreter of policy %s cannot be started", z->policy);
    z->events.gone(z->events.context, z, &told);
}

/* A zygote is trusted but runs library code: what it says is read as strictly as anything else. */
static void take_exit(struct zygote *z, const struct wire_frame *frame)
{
    struct wire_cursor c = wire_fields(frame);
    struct wire_field f;
    struct zygote_exit e = {.pid = -1};
    int64_t v;
    while (wire_field_next(&c, &f) > 0) {
        if (!wire_i64(&f, &v))
            continue;
        switch (f.tag) {
        case ZT_PID: e.pid = (pid_t)v; break;
        case ZT_STATUS: e.status = (int)v; break;
        case ZT_UTIME_US: e.user_us = v; break;
        case ZT_STIME_US: e.system_us = v; break;
        case ZT_MAXRSS_KB: e.maxrss_kb = v; break;
        default: break;
        }
    }
    if (e.pid > 0)
        z->events.exited(z->events.context, z, &e);
}

static void take_spawned(struct zygote *z, const struct wire_frame *frame, int pidfd)
{
    struct wire_cursor c = wire_fields(frame);
    struct wire_field f;
    struct error failure;
    int64_t pid = 0;
    while (wire_field_next(&c, &f) > 0)
        if (f.tag == ZT_PID)
            wire_i64(&f, &pid);
    if (pid > 0 && pidfd >= 0) {
        z->events.spawned(z->events.context, z, frame->nonce, (pid_t)pid, pidfd, NULL);
        return;
    }
    close_fd(&pidfd);
    error_set(&failure, "zygote.spawn", 0, "the zygote's answer is malformed");
    z->events.spawned(z->events.context, z, frame->nonce, -1, -1, &failure);
}

static void take_failed(struct zygote *z, const struct wire_frame *frame)
{
    struct error failure;
    wire_take_error(frame, ZT_STEP, "zygote", &failure);
    if (frame->nonce == 0)
        declare_dead(z, &failure);
    else
        z->events.spawned(z->events.context, z, frame->nonce, -1, -1, &failure);
}

static void take_message(struct zygote *z, const struct wire_frame *frame, int *fd)
{
    switch (frame->type) {
    case ZYGOTE_READY:
        z->ready = true;
        uv_timer_stop(&z->patience);
        z->events.ready(z->events.context, z);
        break;
    case ZYGOTE_SPAWNED:
        take_spawned(z, frame, steal_fd(fd));
        break;
    case ZYGOTE_EXITED:
        take_exit(z, frame);
        break;
    case ZYGOTE_FAILED:
        take_failed(z, frame);
        break;
    default:
        break;
    }
}

/* One message: 1, 0 nothing there yet, -1 the zygote is gone or talks nonsense. */
static int receive(struct zygote *z, struct error *err)
{
    size_t count = 0, used;
    int fd = -1;
    struct wire_frame frame;
    ssize_t n = fdpass_recv(z->process.control, z->message, sizeof z->message, &fd, 1, &count, err);
    if (n < 0 && err->code == EAGAIN)
        return 0;
    cleanup_fd int owned = count ? fd : -1;
    if (n == 0)
        return error_set(err, "zygote", 0, "the zygote ended");
    if (n < 0 || wire_next(z->message, (size_t)n, sizeof z->message, &frame, &used, err) != 1)
        return error_wrap(err, "the zygote");
    take_message(z, &frame, &owned);
    return 1;
}

void zygote_hear(struct zygote *z)
{
    struct error err = {0};
    int r = 1;
    while (!z->dead && (r = receive(z, &err)) > 0)
        ;
    if (r < 0)
        declare_dead(z, &err);
}

static void on_readable(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    zygote_hear(handle->data);
}

static void on_patience(uv_timer_t *timer)
{
    struct error err;
    error_set(&err, "zygote", ETIMEDOUT, "it is not ready after %d s", START_MS / 1000);
    declare_dead(timer->data, &err);
}

static int configure(struct zygote *z, const struct plant *plant, bool lean, struct error *err)
{
    cleanup_buf struct buf body = {0}, head = {0};
    cleanup_fd int memfd = memfd_create("zygote-config", MFD_CLOEXEC);
    size_t start;
    if (plant_zygote_config(plant, lean, &body, err) < 0)
        return -1;
    if (memfd < 0 || write(memfd, body.data, body.len) != (ssize_t)body.len || lseek(memfd, 0, SEEK_SET) != 0)
        return error_set(err, "zygote.config", errno, "the configuration cannot be written");
    if (wire_begin(&head, ZYGOTE_CONFIG, 0, &start) < 0)
        return error_set(err, "zygote.config", 0, "out of memory");
    wire_end(&head, start);
    return fdpass_send(z->process.control, head.data, head.len, &memfd, 1, err);
}

static void watch(struct zygote *z, uv_loop_t *loop)
{
    uv_poll_init(loop, &z->poll, z->process.control);
    z->poll.data = z;
    uv_poll_start(&z->poll, UV_READABLE, on_readable);
    uv_unref((uv_handle_t *)&z->poll);
    uv_timer_init(loop, &z->patience);
    z->patience.data = z;
    uv_timer_start(&z->patience, on_patience, START_MS, 0);
    uv_unref((uv_handle_t *)&z->patience);
    z->open_handles = 2;
}

int zygote_start(uv_loop_t *loop, int user_namespace, const struct plant *plant, bool lean, const struct zygote_events *events,
                 struct zygote **ret, struct error *err)
{
    static const char *const ARGV[] = {"snipara-pyhost", "--zygote", NULL};
    static uint64_t count;
    char path[4200];
    if (pyhost_path(path, sizeof path, err) < 0)
        return -1;
    cleanup_fd int program = open(path, O_RDONLY | O_CLOEXEC);
    if (program < 0)
        return error_set(err, "zygote", errno, "%s cannot be opened", path);
    struct zygote *z = calloc(1, sizeof *z);
    if (!z)
        return error_set(err, "zygote", 0, "out of memory");
    z->id = ++count;
    z->since = clock_now();
    z->events = *events;
    snprintf(z->policy, sizeof z->policy, "%.60s", plant->policy->name);
    struct outer_program p = {.program = program, .argv = ARGV, .env = (const char *const *)plant->environment.items,
                              .user_namespace = user_namespace, .read_only = true};
    int r = outer_start(&p, &z->process, err);
    if (r == 0 && fcntl(z->process.control, F_SETFL, O_NONBLOCK) < 0)
        r = error_set(err, "zygote", errno, "the control socket cannot be made non-blocking");
    if (r == 0)
        r = events->meanwhile(events->context, err);
    if (r == 0)
        r = configure(z, plant, lean, err);
    if (r < 0) {
        error_wrap(err, "the interpreter of policy %s cannot be started", plant->policy->name);
        if (z->process.pid > 0)
            outer_stop(&z->process);
        free(z);
        return -1;
    }
    watch(z, loop);
    *ret = z;
    return 0;
}

int zygote_spawn(struct zygote *z, struct jail *jail, const struct payload_ends *ends, uint64_t data_limit, bool warm, uint64_t *ret_id,
                 struct error *err)
{
    cleanup_buf struct buf b = {0};
    size_t start, count = 0;
    int fds[FDPASS_MAX];
    uint64_t id = z->forks + 1;
    if (wire_begin(&b, ZYGOTE_SPAWN, id, &start) < 0 || wire_put_u64(&b, ZT_RLIMIT_DATA, data_limit) < 0 || wire_put_u64(&b, ZT_WARM, warm) < 0)
        return error_set(err, "zygote.spawn", 0, "out of memory");
    wire_end(&b, start);
    fds[count++] = jail->init_pidfd;
    fds[count++] = ends->channel;
    fds[count++] = ends->out;
    fds[count++] = ends->err;
    fds[count++] = jail->notify;
    for (size_t i = 0; i < jail->cgroup.enter_count; i++)
        fds[count++] = jail->cgroup.enter[i];
    if (fdpass_send(z->process.control, b.data, b.len, fds, count, err) < 0)
        return error_wrap(err, "the zygote cannot be asked");
    *ret_id = z->forks = id;
    return 0;
}

bool zygote_dead(const struct zygote *z)
{
    return z->dead;
}

bool zygote_ready(const struct zygote *z)
{
    return z->ready;
}

uint64_t zygote_id(const struct zygote *z)
{
    return z->id;
}

uint64_t zygote_forks(const struct zygote *z)
{
    return z->forks;
}

uint64_t zygote_since(const struct zygote *z)
{
    return z->since;
}

void zygote_kill(struct zygote *z)
{
    kill(z->process.pid, SIGKILL);
}

static void on_closed(uv_handle_t *handle)
{
    struct zygote *z = handle->data;
    if (--z->open_handles == 0)
        free(z);
}

void zygote_stop(struct zygote *z)
{
    if (!z)
        return;
    z->dead = true;
    uv_poll_stop(&z->poll);
    uv_timer_stop(&z->patience);
    outer_stop(&z->process);
    uv_close((uv_handle_t *)&z->poll, on_closed);
    uv_close((uv_handle_t *)&z->patience, on_closed);
}
