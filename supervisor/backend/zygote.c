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
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { START_MS = 60000, SPAWN_MS = 10000, MESSAGE_MAX = 8192 };

struct zygote {
    struct outer_process process;
    uv_poll_t poll;
    bool dead;
    uint64_t id;
    char version[32];
    uint64_t next_id;
    pid_t last_exit;      /* for zygote_await_exit */
    zygote_exit_fn *on_exit;
    void *context;
    char message[MESSAGE_MAX];
};

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
    z->last_exit = e.pid;
    if (e.pid > 0)
        z->on_exit(z->context, &e);
}

/* One message: 1, 0 nothing there yet, -1 the zygote is gone or talks nonsense. */
static int receive(struct zygote *z, struct wire_frame *ret, int *ret_fd, struct error *err)
{
    size_t count = 0, used;
    int fd = -1;
    struct error why = {0};
    ssize_t n = fdpass_recv(z->process.control, z->message, sizeof z->message, &fd, 1, &count, &why);
    if (n < 0 && why.code == EAGAIN)
        return 0;
    cleanup_fd int owned = count ? fd : -1;
    if (n <= 0 || wire_next(z->message, (size_t)n, sizeof z->message, ret, &used, &why) != 1) {
        z->dead = true;
        return error_set(err, "zygote", 0, "the zygote ended%s%s", n < 0 ? ": " : "", n < 0 ? why.message : "");
    }
    if (ret_fd)
        *ret_fd = steal_fd(&owned);
    return 1;
}

/* Wait for the answer to request `id`; exits on the way are handled, late answers to requests that were given up dropped. */
static int await(struct zygote *z, uint64_t id, int ms, struct wire_frame *ret, int *ret_fd, struct error *err)
{
    uint64_t deadline = clock_now() + (uint64_t)ms * 1000000;
    for (;;) {
        int r = receive(z, ret, ret_fd, err);
        if (r < 0)
            return -1;
        if (r > 0 && ret->type != ZYGOTE_EXITED && ret->nonce == id)
            return 0;
        if (r > 0) {
            if (ret->type == ZYGOTE_EXITED)
                take_exit(z, ret);
            else if (ret_fd)
                close_fd(ret_fd);
            continue;
        }
        int64_t left = (int64_t)(deadline - clock_now()) / 1000000;
        struct pollfd p = {.fd = z->process.control, .events = POLLIN};
        if (left <= 0)
            return error_set(err, "zygote", ETIMEDOUT, "the zygote does not answer within %d ms", ms);
        if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
            return error_set(err, "zygote", errno, "poll");
    }
}

static void on_readable(uv_poll_t *handle, int status, int events)
{
    struct zygote *z = handle->data;
    struct wire_frame frame;
    struct error err;
    int r;
    (void)status;
    (void)events;
    while ((r = receive(z, &frame, NULL, &err)) > 0)
        if (frame.type == ZYGOTE_EXITED)
            take_exit(z, &frame);
    if (r < 0)
        uv_poll_stop(handle);
}

bool zygote_await_exit(struct zygote *z, pid_t pid, int ms)
{
    uint64_t deadline = clock_now() + (uint64_t)ms * 1000000;
    struct wire_frame frame;
    struct error err;
    while (!z->dead) {
        int r = receive(z, &frame, NULL, &err);
        if (r > 0 && frame.type == ZYGOTE_EXITED) {
            take_exit(z, &frame);
            if (z->last_exit == pid)
                return true;
            continue;
        }
        int64_t left = (int64_t)(deadline - clock_now()) / 1000000;
        struct pollfd p = {.fd = z->process.control, .events = POLLIN};
        if (r < 0 || left <= 0 || (poll(&p, 1, (int)left) < 0 && errno != EINTR))
            break;
    }
    return false;
}

static int configure(struct zygote *z, const struct plant *plant, struct error *err)
{
    cleanup_buf struct buf body = {0}, head = {0};
    cleanup_fd int memfd = memfd_create("zygote-config", MFD_CLOEXEC);
    struct wire_frame frame;
    size_t start;
    if (plant_zygote_config(plant, &body, err) < 0)
        return -1;
    if (memfd < 0 || write(memfd, body.data, body.len) != (ssize_t)body.len || lseek(memfd, 0, SEEK_SET) != 0)
        return error_set(err, "zygote.config", errno, "the configuration cannot be written");
    if (wire_begin(&head, ZYGOTE_CONFIG, 0, &start) < 0)
        return error_set(err, "zygote.config", 0, "out of memory");
    wire_end(&head, start);
    if (fdpass_send(z->process.control, head.data, head.len, &memfd, 1, err) < 0 || await(z, 0, START_MS, &frame, NULL, err) < 0)
        return -1;
    if (frame.type != ZYGOTE_READY)
        return wire_take_error(&frame, ZT_STEP, "zygote", err);
    struct wire_cursor c = wire_fields(&frame);
    struct wire_field f;
    while (wire_field_next(&c, &f) > 0)
        if (f.tag == ZT_VERSION)
            snprintf(z->version, sizeof z->version, "%.*s", (int)f.length, f.data);
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

int zygote_start(uv_loop_t *loop, int user_namespace, const struct plant *plant, zygote_exit_fn *on_exit, void *context,
                 struct zygote **ret, struct error *err)
{
    static const char *const ARGV[] = {"snipara-pyhost", "--zygote", NULL};
    char path[4200];
    if (pyhost_path(path, sizeof path, err) < 0)
        return -1;
    cleanup_fd int program = open(path, O_RDONLY | O_CLOEXEC);
    if (program < 0)
        return error_set(err, "zygote", errno, "%s cannot be opened", path);
    struct zygote *z = calloc(1, sizeof *z);
    if (!z)
        return error_set(err, "zygote", 0, "out of memory");
    static uint64_t count;
    z->id = ++count;
    z->on_exit = on_exit;
    z->context = context;
    struct outer_program p = {.program = program, .argv = ARGV, .env = (const char *const *)plant->environment.items,
                              .user_namespace = user_namespace, .read_only = true};
    int r = outer_start(&p, &z->process, err);
    if (r == 0 && fcntl(z->process.control, F_SETFL, O_NONBLOCK) < 0)
        r = error_set(err, "zygote", errno, "the control socket cannot be made non-blocking");
    if (r == 0)
        r = configure(z, plant, err);
    if (r < 0) {
        error_wrap(err, "the interpreter of policy %s cannot be started", plant->policy->name);
        if (z->process.pid > 0)
            outer_stop(&z->process);
        free(z);
        return -1;
    }
    uv_poll_init(loop, &z->poll, z->process.control);
    z->poll.data = z;
    uv_poll_start(&z->poll, UV_READABLE, on_readable);
    uv_unref((uv_handle_t *)&z->poll);
    *ret = z;
    return 0;
}

int zygote_spawn(struct zygote *z, struct jail *jail, const struct payload_ends *ends, uint64_t data_limit, pid_t *ret_pid, int *ret_pidfd,
                 struct error *err)
{
    cleanup_buf struct buf b = {0};
    struct wire_frame frame;
    size_t start, count = 0;
    int fds[FDPASS_MAX];
    uint64_t id = ++z->next_id;
    uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    namespaces |= jail->layers & LAYER_BIT(LAYER_CGROUP_NAMESPACE) ? CLONE_NEWCGROUP : 0;
    namespaces |= jail->layers & LAYER_BIT(LAYER_TIME_NAMESPACE) ? CLONE_NEWTIME : 0;
    if (wire_begin(&b, ZYGOTE_SPAWN, id, &start) < 0 || wire_put_u64(&b, ZT_NAMESPACES, namespaces) < 0 ||
        wire_put_u64(&b, ZT_RLIMIT_DATA, data_limit) < 0)
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
    cleanup_fd int pidfd = -1;
    if (await(z, id, SPAWN_MS, &frame, &pidfd, err) < 0)
        return -1;
    if (frame.type != ZYGOTE_SPAWNED)
        return wire_take_error(&frame, ZT_STEP, "zygote", err);
    struct wire_cursor c = wire_fields(&frame);
    struct wire_field f;
    int64_t pid = 0;
    while (wire_field_next(&c, &f) > 0)
        if (f.tag == ZT_PID)
            wire_i64(&f, &pid);
    if (pid <= 0 || pidfd < 0)
        return error_set(err, "zygote.spawn", 0, "the zygote's answer is malformed");
    *ret_pid = (pid_t)pid;
    *ret_pidfd = steal_fd(&pidfd);
    return 0;
}

bool zygote_dead(const struct zygote *z)
{
    return z->dead;
}

uint64_t zygote_id(const struct zygote *z)
{
    return z->id;
}

const char *zygote_python(const struct zygote *z)
{
    return z->version;
}

void zygote_stop(struct zygote *z)
{
    if (!z)
        return;
    uv_poll_stop(&z->poll);
    outer_stop(&z->process);
    uv_close((uv_handle_t *)&z->poll, on_closed);
}
