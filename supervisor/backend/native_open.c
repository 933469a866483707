#include "backend/native.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/wire.h"
#include "jail/host.h"
#include "jail/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { READY_MS = 10000 };

struct ends {
    int ours[3], theirs[3]; /* channel, stdout, stderr */
};

static int make_ends(struct ends *e, struct error *err)
{
    int pair[2];
    memset(e, -1, sizeof *e);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_set(err, "place", errno, "no socket pair");
    e->ours[0] = pair[0];
    e->theirs[0] = pair[1];
    for (int i = 1; i < 3; i++) {
        if (pipe2(pair, O_CLOEXEC) < 0)
            return error_set(err, "place", errno, "no pipe");
        e->ours[i] = pair[0];
        e->theirs[i] = pair[1];
    }
    for (int i = 0; i < 3; i++)
        if (fcntl(e->ours[i], F_SETFL, O_NONBLOCK) < 0)
            return error_set(err, "place", errno, "non-blocking mode is refused");
    return 0;
}

static void close_ends(int fds[3])
{
    for (int i = 0; i < 3; i++)
        close_fd(&fds[i]);
}

/* The payload's first word, before any guest code: which layers it verified. */
static int await_ready(struct backend_place *p, int channel, struct error *err)
{
    uint64_t deadline = clock_now() + READY_MS * 1000000ull;
    struct wire_frame frame;
    size_t used;
    for (;;) {
        int r = wire_next(p->in.data, p->in.len, 4096, &frame, &used, err);
        if (r < 0)
            return error_wrap(err, "the payload's first word");
        if (r > 0)
            break;
        char bytes[4096];
        ssize_t n = read(channel, bytes, sizeof bytes);
        if (n == 0)
            return error_set(err, "payload", 0, "the payload ended while it was sealed");
        if (n > 0 && buf_add(&p->in, bytes, (size_t)n) < 0)
            return error_set(err, "payload", errno, "the payload's first word");
        if (n > 0 || errno == EINTR)
            continue;
        int64_t left = (int64_t)(deadline - clock_now()) / 1000000;
        struct pollfd pfd = {.fd = channel, .events = POLLIN};
        if (errno != EAGAIN || left <= 0)
            return error_set(err, "payload", left <= 0 ? ETIMEDOUT : errno, "the payload does not answer");
        poll(&pfd, 1, (int)left);
    }
    if (frame.type != PAYLOAD_READY)
        return wire_take_error(&frame, ZT_STEP, "payload", err);
    struct wire_cursor c = wire_fields(&frame);
    struct wire_field f;
    uint64_t layers = 0;
    while (wire_field_next(&c, &f) > 0)
        if (f.tag == PT_LAYERS)
            wire_u64(&f, &layers);
    p->layers = p->jail.layers | layers;
    buf_drop(&p->in, used);
    return 0;
}

/* Fail closed: what the policy demands and what was verified, compared by us, once more. */
static int check_layers(const struct backend_place *p, struct error *err)
{
    layer_set lacking = p->plant->required & ~p->layers;
    for (int l = 0; l < LAYER_COUNT; l++)
        if (lacking & LAYER_BIT(l)) {
            const char *remedy = host_remedy((enum layer)l);
            return error_set(err, layer_name((enum layer)l), 0, "policy %s requires the layer %s, which this host does not give%s%s",
                             p->plant->policy->name, layer_name((enum layer)l), remedy ? "; remedy: " : "", remedy ? remedy : "");
        }
    return 0;
}

static int populate(struct backend_place *p, struct ends *e, struct error *err)
{
    struct native *n = p->native;
    struct plant *plant = p->plant;
    const struct policy_limits *limits = &plant->policy->limits;
    /* tmpfs pages count as memory, so the group's limit is memory and disk together; each tmpfs is bounded by itself too. */
    struct cgroup_limits cgroup = {.memory_bytes = p->memory_bytes + plant->disk_bytes, .pids = limits->pids + 1 /* init */, .cpus = limits->cpus};
    if (jail_make(&n->yard, &plant->jail, &cgroup, &p->jail, err) < 0)
        return -1;
    /* Without a memory cgroup the best bound is per process: private writable memory. */
    uint64_t data_limit = p->jail.layers & LAYER_BIT(LAYER_CGROUP_MEMORY) ? 0 : p->memory_bytes;
    struct payload_ends theirs = {.channel = e->theirs[0], .out = e->theirs[1], .err = e->theirs[2]};
    if (zygote_spawn(plant->zygote, &p->jail, &theirs, data_limit, &p->payload, &p->payload_pidfd, err) < 0)
        return -1;
    p->zygote_id = zygote_id(plant->zygote);
    close_ends(e->theirs);
    close_fd(&p->jail.notify);
    if (await_ready(p, e->ours[0], err) < 0 || check_layers(p, err) < 0)
        return -1;
    return jail_inspect(p->payload, p->layers, err);
}

static void abandon(struct backend_place *p)
{
    if (p->jail.init > 0) {
        jail_kill(&p->jail);
        for (int i = 0; i < 1000 && !jail_end(&p->jail); i++)
            poll(NULL, 0, 2);
    }
    close_fd(&p->payload_pidfd);
    buf_free(&p->in);
    free(p);
}

int native_place_open(struct backend *b, const char *policy, uint64_t memory_bytes, struct backend_place **ret, struct error *err)
{
    struct native *n = (struct native *)b;
    uint64_t began = clock_now();
    struct plant *plant = native_plant(n, policy, err);
    if (!plant || native_zygote(n, plant, err) < 0)
        return -1;
    struct backend_place *p = calloc(1, sizeof *p);
    if (!p)
        return error_set(err, "place", 0, "out of memory");
    p->native = n;
    p->plant = plant;
    p->memory_bytes = memory_bytes ? memory_bytes : plant->policy->limits.memory_bytes;
    p->jail.init = -1;
    p->payload_pidfd = -1;
    struct ends e;
    if (make_ends(&e, err) < 0 || populate(p, &e, err) < 0) {
        close_ends(e.ours);
        close_ends(e.theirs);
        abandon(p);
        return -1;
    }
    for (int i = 0; i < 3; i++)
        p->fds[i] = e.ours[i];
    p->fds[WATCH_INIT] = p->jail.init_pidfd;
    p->fds[WATCH_PAYLOAD] = p->payload_pidfd;
    p->setup_ms = clock_ms(clock_now() - began);
    native_place_watch(p);
    p->next = n->places;
    n->places = p;
    *ret = p;
    return 0;
}
