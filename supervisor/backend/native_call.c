#include "backend/native.h"

#include "backend/claims.h"
#include "backend/nursery.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/wire.h"
#include "jail/protocol.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* The digest of a flood of output is our time, about half a millisecond for each chunk: two of them, then it is the others' turn. */
enum { CHUNK = 65536, CHUNKS_PER_TURN = 16, OUTPUT_PER_TURN = 2, LARGE = 65536, ENDING_MS = 20, LISTEN_MS = 2 };

static void finish(struct backend_place *p, bool alive)
{
    struct receipt *r = &p->receipt;
    for (int i = 0; i < 2; i++)
        receipt_capture_end(&p->captures[i]);
    if (!alive)
        native_facts_of_death(p);
    native_facts_end(p);
    native_collect(p, p->nursery->plant->policy);
    if (!r->limit_hit && (r->out.total > r->output_bytes || r->err.total > r->output_bytes))
        r->limit_hit = "output";
    if (!r->limit_hit && alive && r->status == RECEIPT_ERROR && jail_disk_full(p->payload))
        r->limit_hit = "disk";
    r->finished_wall = clock_wall();
    p->calling = false;
    uv_timer_stop(&p->timer);
    if (p->nursery->short_of_spares)
        nursery_tend(p->nursery);
    struct native *native = p->native;
    struct receipt done = *r; /* the observer may start the next call in this place */
    memset(r, 0, sizeof *r);
    struct backend_observer observer = p->observer;
    observer.ended(observer.context, &done, alive);
    bool large = done.out.total + done.err.total > LARGE;
    receipt_free(&done);
    if (large) /* its text was there several times over, as receipt, digest and answer */
        native_trim_soon(native);
}

static int encode_call(struct backend_place *p, const struct backend_call *call)
{
    size_t start;
    struct buf *b = &p->out;
    if (wire_begin(b, PAYLOAD_CALL, p->nonce, &start) < 0)
        return -1;
    for (size_t i = 0; i < call->file_count; i++)
        if (wire_puts(b, PT_FILE_PATH, call->files[i].path) < 0 ||
            wire_put(b, PT_FILE_DATA, call->files[i].data, call->files[i].length) < 0)
            return -1;
    if (wire_put_u64(b, PT_CALL, call->number) < 0 || wire_puts(b, PT_FILENAME, call->filename) < 0 ||
        wire_put(b, PT_CODE, call->code, call->code_length) < 0)
        return -1;
    wire_end(b, start);
    return 0;
}

static void on_timeout(uv_timer_t *timer)
{
    native_place_kill(timer->data, END_TIMEOUT);
}

static void broken(struct backend_place *p, const char *what)
{
    snprintf(p->broken, sizeof p->broken, "%.*s", (int)sizeof p->broken - 1, what);
    native_place_kill(p, END_BROKEN);
}

static void flush(struct backend_place *p)
{
    while (p->out.len > 0) {
        ssize_t n = write(p->fds[WATCH_CHANNEL], p->out.data, p->out.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) /* the loop tells when */
            break;
        if (n < 0) { /* a guest may shut down its reading side alone, so that nothing else would ever tell */
            buf_free(&p->out);
            broken(p, "the guest closed the interpreter's channel");
            break;
        }
        buf_drop(&p->out, (size_t)n);
    }
    bool waits = p->out.len > 0;
    if (!waits)
        buf_free(&p->out); /* a long source need not stay */
    if (waits != p->waits_to_write) /* libuv arms anew what is armed already */
        uv_poll_start(&p->polls[WATCH_CHANNEL], UV_READABLE | (waits ? UV_WRITABLE : 0), native_on_channel);
    p->waits_to_write = waits;
}

static void on_listen(uv_timer_t *timer)
{
    struct backend_place *p = timer->data;
    for (int i = WATCH_OUT; i <= WATCH_ERR; i++)
        if (p->watched[i] && !uv_is_closing((uv_handle_t *)&p->polls[i]))
            uv_poll_start(&p->polls[i], UV_READABLE, native_on_output);
    p->deaf = false;
}

/* What a short call prints is read at its end. To be woken for each line takes the processor from the guest, twice as long as it takes
 * to print it; a call that is not over after LISTEN_MS is worth it, and so is what is printed between calls. */
static void stop_listening(struct backend_place *p)
{
    if (!p->deaf)
        for (int i = WATCH_OUT; i <= WATCH_ERR; i++)
            uv_poll_stop(&p->polls[i]);
    p->deaf = true;
    uv_timer_start(&p->listen, on_listen, LISTEN_MS, 0);
}

int native_call_begin(struct backend_place *p, const struct backend_call *call, struct error *err)
{
    struct receipt *r = &p->receipt;
    receipt_init(r);
    /* Output that background threads wrote since the last call belongs to no call. */
    native_drain(p);
    uint64_t keep = p->nursery->plant->policy->limits.output_bytes;
    receipt_capture_begin(&p->captures[0], &r->out, keep);
    receipt_capture_begin(&p->captures[1], &r->err, keep);
    r->tool = "execute_python";
    r->timeout_seconds = call->timeout_seconds;
    r->started_wall = clock_wall();
    digest_of(call->code, call->code_length, r->digest_code);
    if (getrandom(&p->nonce, sizeof p->nonce, 0) != sizeof p->nonce || encode_call(p, call) < 0) {
        receipt_free(r);
        return error_set(err, "place", errno, "the call cannot be sent");
    }
    p->keep_artifacts = call->keep_artifacts;
    p->calling = true;
    p->started = clock_now();
    native_facts_begin(p);
    uint64_t ms = (uint64_t)(call->timeout_seconds * 1000.0 + 0.999);
    uv_update_time(p->native->loop);
    uv_timer_start(&p->timer, on_timeout, ms ? ms : 1, 0);
    stop_listening(p);
    flush(p);
    return 0;
}

int native_place_call(struct backend_place *p, const struct backend_call *call, const struct backend_observer *observer, struct error *err)
{
    if (p->stage == PLACE_FAILED) {
        *err = p->failure;
        return -1;
    }
    if (p->gone || p->end != END_NONE)
        return error_set(err, "place", 0, "the interpreter is gone");
    p->observer = *observer;
    if (p->stage == PLACE_READY)
        return native_call_begin(p, call, err);
    p->pending_call = *call;
    p->pending = &p->pending_call;
    return 0;
}

static void take_frame(struct backend_place *p, const struct wire_frame *frame)
{
    struct error err = {0};
    if (p->end != END_NONE)
        return;
    if (p->stage == PLACE_SPAWNING) {
        native_take_first_word(p, frame);
        return;
    }
    /* An honest payload says nothing but the answer to the running call. Anything else is a guest that writes to its channel; to
     * leave it aside would let a flood of it cost us instead of the guest. */
    if (!p->calling || frame->type != PAYLOAD_DONE || frame->nonce != p->nonce) {
        broken(p, "the guest wrote to the interpreter's channel");
        return;
    }
    if (claims_take(frame, p->nursery->plant->policy->limits.value_bytes, &p->receipt, &err) < 0) {
        broken(p, err.message);
        return;
    }
    native_drain(p); /* all that the call wrote is in the pipes by now */
    finish(p, true);
}

static void take_frames(struct backend_place *p)
{
    struct native *native = p->native;
    struct wire_frame frame;
    struct error err = {0};
    size_t used;
    int r;
    while ((r = wire_next(p->in.data, p->in.len, PAYLOAD_REPLY_MAX, &frame, &used, &err)) > 0) {
        struct buf mine = p->in; /* the frame points into it, and the observer may close this place */
        p->in = (struct buf){.max = mine.max};
        if (mine.len > used)
            buf_add(&p->in, mine.data + used, mine.len - used);
        bool large = mine.len > LARGE;
        take_frame(p, &frame);
        buf_free(&mine);
        /* JSON of a quarter of a megabyte becomes tens of megabytes of small nodes, and what is allocated next pins them all. */
        if (large)
            native_trim_soon(native);
        if (p->closing || p->end != END_NONE)
            return;
    }
    if (r < 0)
        broken(p, "the interpreter's channel carries something that is not an answer: the guest wrote to it");
}

/* The channel of a process that dies is closed a moment before its pidfd says so. */
static bool payload_is_ending(const struct backend_place *p)
{
    struct pollfd pfd = {.fd = p->fds[WATCH_PAYLOAD], .events = POLLIN};
    return poll(&pfd, 1, ENDING_MS) > 0;
}

static void opening_broken(struct backend_place *p)
{
    struct error err = {0};
    if (p->jail.ready || jail_hear(&p->jail, &err) >= 0) /* init's reason comes first: the payload waits for it */
        error_set(&err, "payload", 0, "the payload ended while it was sealed");
    native_place_fail(p, &err);
}

void native_on_channel(uv_poll_t *handle, int status, int events)
{
    struct backend_place *p = handle->data;
    (void)status;
    if (events & UV_WRITABLE)
        flush(p);
    for (int i = 0; i < CHUNKS_PER_TURN; i++) {
        char bytes[CHUNK];
        ssize_t n = read(p->fds[WATCH_CHANNEL], bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0) {
            uv_poll_stop(handle);
            if (p->stage == PLACE_SPAWNING)
                opening_broken(p);
            else if (p->end == END_NONE && payload_is_ending(p))
                native_place_kill(p, END_BROKEN); /* its wait status says why */
            else if (p->end == END_NONE)
                broken(p, "the guest closed the interpreter's channel or replaced the interpreter");
            return;
        }
        if (buf_add(&p->in, bytes, (size_t)n) < 0) {
            broken(p, "the interpreter's answer is too long");
            return;
        }
        take_frames(p);
        if (p->closing || p->end != END_NONE)
            return;
    }
}

/* Read what is there; false at end of file. Bounded, so that one flood does not keep the loop from the others. */
static bool drain_one(struct backend_place *p, int stream, int chunks)
{
    int fd = p->fds[WATCH_OUT + stream];
    while (chunks-- > 0) {
        char bytes[CHUNK];
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return true;
        if (n == 0)
            return false;
        if (!p->calling)
            continue; /* between calls: nobody asked */
        receipt_capture_add(&p->captures[stream], bytes, (size_t)n);
        if (p->observer.output)
            p->observer.output(p->observer.context, stream, bytes, (size_t)n);
    }
    return true;
}

/* A pipe holds 64 KiB at most, unless the guest made it larger (F_SETPIPE_SZ, 1 MiB for an ordinary user): 17 chunks are all of it,
 * and a thread that goes on writing meanwhile gets no more of our time. */
void native_drain(struct backend_place *p)
{
    for (int stream = 0; stream < 2; stream++)
        drain_one(p, stream, 17);
}

void native_on_output(uv_poll_t *handle, int status, int events)
{
    struct backend_place *p = handle->data;
    (void)status;
    (void)events;
    if (!drain_one(p, handle == &p->polls[WATCH_OUT] ? 0 : 1, OUTPUT_PER_TURN))
        uv_poll_stop(handle);
}

void native_call_lost(struct backend_place *p)
{
    native_drain(p);
    finish(p, false);
}
