#include "python.h"

#include "payload.h"

#include "execute.h"
#include "files.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/wire.h"
#include "jail/protocol.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALL_MAX (1u << 30)          /* the supervisor holds the policy's bound of the source; this one only guards the length field */
#define WARM_AFTER_MS 4               /* a spare that is wanted at once, as when fresh sessions follow each other closely, does without */
#define SCRATCH_KEPT (256u * 1024)   /* larger buffers are given back after the call */

static struct stat channel_identity;

_Noreturn void payload_fail(int channel, const struct error *failure)
{
    struct buf b = {0};
    size_t start;
    if (wire_begin(&b, PAYLOAD_FAILED, 0, &start) == 0 && wire_put_error(&b, ZT_STEP, failure) == 0) {
        wire_end(&b, start);
        wire_send(channel, &b, NULL);
    }
    _exit(PAYLOAD_EXIT_FAILED);
}

/* Guest code can close every descriptor and open others on the same numbers: a reply must not end up in one of its files. */
static void require_channel(void)
{
    struct stat now;
    if (fstat(PAYLOAD_CHANNEL_FD, &now) < 0 || now.st_ino != channel_identity.st_ino || now.st_dev != channel_identity.st_dev ||
        !S_ISSOCK(now.st_mode))
        _exit(PAYLOAD_EXIT_CHANNEL);
}

static void send_frame(struct buf *b, size_t start)
{
    wire_end(b, start);
    require_channel();
    int sent;
    Py_BEGIN_ALLOW_THREADS
    sent = wire_send(PAYLOAD_CHANNEL_FD, b, NULL);
    Py_END_ALLOW_THREADS
    if (sent < 0)
        _exit(PAYLOAD_EXIT_CHANNEL);
}

static void send_ready(const struct payload_start *s)
{
    struct buf b = {0};
    size_t start;
    if (wire_begin(&b, PAYLOAD_READY, 0, &start) < 0 || wire_put_u64(&b, PT_LAYERS, s->layers) < 0 ||
        wire_put_u64(&b, PT_FORK_US, s->fork_us) < 0 || wire_put_u64(&b, PT_JOIN_US, (s->joined - s->forked) / 1000) < 0 ||
        wire_put_u64(&b, PT_SEAL_US, (clock_now() - s->joined) / 1000) < 0)
        _exit(PAYLOAD_EXIT_FAILED);
    send_frame(&b, start);
    buf_free(&b);
}

/* Wait without the GIL, so that threads of the guest run on between calls, and its signal handlers too. */
static void wait_for_call(void)
{
    struct pollfd channel = {.fd = PAYLOAD_CHANNEL_FD, .events = POLLIN};
    for (;;) {
        require_channel();
        int ready;
        Py_BEGIN_ALLOW_THREADS
        ready = poll(&channel, 1, -1);
        Py_END_ALLOW_THREADS
        if (ready > 0)
            return;
        if (PyErr_CheckSignals() < 0) {
            if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
                PyErr_Clear(); /* meant for a call that had just ended */
            else
                PyErr_WriteUnraisable(NULL);
        }
    }
}

static bool take_call(const struct wire_frame *frame, struct call *call)
{
    struct wire_cursor cursor = wire_fields(frame);
    struct wire_field field;
    int more;
    while ((more = wire_field_next(&cursor, &field)) > 0) {
        if (field.tag == PT_CODE) {
            call->source = field.data;
            call->length = field.length;
        } else if (field.tag == PT_FILENAME) {
            call->filename = field.data;
            call->filename_length = field.length;
        }
    }
    return more == 0 && frame->type == PAYLOAD_CALL && call->source && call->filename;
}

static int put_failure(struct buf *reply, const struct error *failure)
{
    if (wire_put_u64(reply, PT_STATUS, PAYLOAD_ERROR) < 0 || wire_puts(reply, PT_ERROR_TYPE, "OSError") < 0)
        return -1;
    return wire_puts(reply, PT_ERROR_MESSAGE, failure->message);
}

static void serve_call(const char *files_root, const struct wire_frame *frame, struct buf *reply)
{
    struct call call = {0};
    struct error failure;
    size_t start;
    if (!take_call(frame, &call))
        _exit(PAYLOAD_EXIT_CHANNEL);
    buf_clear(reply);
    reply->max = PAYLOAD_REPLY_MAX + WIRE_HEADER;
    if (wire_begin(reply, PAYLOAD_DONE, frame->nonce, &start) < 0 ||
        (files_write(files_root, frame, &failure) < 0 ? put_failure(reply, &failure) : execute_call(&call, reply)) < 0)
        _exit(PAYLOAD_EXIT_CHANNEL);
    send_frame(reply, start);
}

static bool call_comes(int patience_ms)
{
    struct pollfd channel = {.fd = PAYLOAD_CHANNEL_FD, .events = POLLIN};
    return poll(&channel, 1, patience_ms) != 0;
}

/* A spare has the time: what a first call writes to is its own then, and no copy is made while somebody waits. Behind all walls, like
 * a call; that it fails is the same for the call that comes. */
static void warm_up(void)
{
    struct error ignored;
    execute_warm(&ignored);
}

_Noreturn void payload_run(const struct configuration *c, const struct payload_start *start)
{
    struct buf scratch = {0}, reply = {0};
    if (fstat(PAYLOAD_CHANNEL_FD, &channel_identity) < 0)
        _exit(PAYLOAD_EXIT_CHANNEL);
    send_ready(start);
    if (start->warm && !call_comes(WARM_AFTER_MS))
        warm_up();
    for (;;) {
        struct wire_frame frame;
        int got;
        wait_for_call();
        Py_BEGIN_ALLOW_THREADS
        got = wire_recv(PAYLOAD_CHANNEL_FD, &scratch, CALL_MAX, &frame, NULL);
        Py_END_ALLOW_THREADS
        if (got <= 0)
            _exit(got == 0 ? 0 : PAYLOAD_EXIT_CHANNEL);
        serve_call(c->cwd, &frame, &reply);
        if (scratch.cap > SCRATCH_KEPT)
            buf_free(&scratch);
        if (reply.cap > SCRATCH_KEPT)
            buf_free(&reply);
    }
}
