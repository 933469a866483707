/* A queue in front of a non-blocking descriptor. */
#include "mcp/outlet.h"

#include "base/buf.h"
#include "base/clock.h"
#include "mcp/stream_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define KEEP (1u << 20) /* memory of the queue that is kept when it is empty */

struct outlet {
    uv_poll_t poll;
    struct stream_fd stream;
    struct buf queue;
    size_t done; /* bytes of the queue that are written */
    bool gone, polling, has_handle;
    struct outlet_events events;
};

static void on_closed(uv_handle_t *handle)
{
    struct outlet *o = handle->data;
    stream_fd_close(&o->stream);
    buf_free(&o->queue);
    free(o);
}

int outlet_new(uv_loop_t *loop, int fd, const struct outlet_events *events, struct outlet **ret, struct error *err)
{
    struct outlet *o = calloc(1, sizeof *o);
    if (!o)
        return error_set(err, "stdio.open", ENOMEM, "no memory");
    o->events = *events;
    o->poll.data = o;
    if (stream_fd_open(fd, O_WRONLY, &o->stream, err) < 0) {
        free(o);
        return -1;
    }
    int rc = o->stream.always_ready ? 0 : uv_poll_init(loop, &o->poll, o->stream.fd);
    if (rc < 0) {
        stream_fd_close(&o->stream);
        free(o);
        return error_set(err, "stdio.open", -rc, "descriptor %d cannot be polled", fd);
    }
    o->has_handle = !o->stream.always_ready;
    *ret = o;
    return 0;
}

static void lost(struct outlet *o, int code)
{
    o->gone = true;
    buf_free(&o->queue);
    o->done = 0;
    if (o->polling)
        uv_poll_stop(&o->poll);
    o->polling = false;
    if (o->events.gone)
        o->events.gone(o->events.context, code);
}

/* 1: all of it is written, 0: the reader is slow, -1: nobody reads. */
static int push(struct outlet *o)
{
    while (o->done < o->queue.len) {
        ssize_t n = write(o->stream.fd, o->queue.data + o->done, o->queue.len - o->done);
        if (n > 0) {
            o->done += (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            /* Moving the rest to the front only when at least half is done keeps the cost linear. */
            if (o->done > o->queue.len / 2) {
                buf_drop(&o->queue, o->done);
                o->done = 0;
            }
            return 0;
        } else if (n == 0 || errno != EINTR) {
            lost(o, n == 0 ? EIO : errno);
            return -1;
        }
    }
    o->done = 0;
    if (o->queue.cap > KEEP)
        buf_free(&o->queue);
    else
        buf_clear(&o->queue);
    return 1;
}

static void on_writable(uv_poll_t *poll_handle, int status, int events)
{
    struct outlet *o = poll_handle->data;
    (void)events;
    int rc = push(o);
    /* After an error on the descriptor libuv has stopped the handle; write(2) tells whether the reader is gone. */
    if (rc == 0 && status < 0)
        uv_poll_start(&o->poll, UV_WRITABLE, on_writable);
    if (rc == 1) {
        uv_poll_stop(&o->poll);
        o->polling = false;
        if (o->events.drained)
            o->events.drained(o->events.context);
    }
}

static void push_or_wait(struct outlet *o)
{
    if (!o->polling && push(o) == 0) {
        o->polling = true;
        uv_poll_start(&o->poll, UV_WRITABLE, on_writable);
    }
}

int outlet_write(struct outlet *o, const char *data, size_t length)
{
    if (o->gone)
        return 0;
    if (buf_add(&o->queue, data, length) < 0)
        return -1;
    push_or_wait(o);
    return 0;
}

int outlet_write_line(struct outlet *o, const char *line, size_t length)
{
    if (o->gone)
        return 0;
    if (buf_reserve(&o->queue, length + 1) < 0 || buf_add(&o->queue, line, length) < 0 || buf_add(&o->queue, "\n", 1) < 0)
        return -1;
    push_or_wait(o);
    return 0;
}

size_t outlet_queued(const struct outlet *o)
{
    return o->queue.len - o->done;
}

bool outlet_flush(struct outlet *o, int milliseconds)
{
    uint64_t end = clock_now() + (uint64_t)milliseconds * 1000000u;
    while (!o->gone && outlet_queued(o) > 0) {
        uint64_t now = clock_now();
        struct pollfd p = {.fd = o->stream.fd, .events = POLLOUT};
        if (now >= end || poll(&p, 1, (int)((end - now) / 1000000u) + 1) < 0)
            break;
        if (p.revents != 0)
            push(o);
    }
    return o->gone || outlet_queued(o) == 0;
}

void outlet_free(struct outlet *o)
{
    if (!o)
        return;
    if (o->has_handle)
        uv_close((uv_handle_t *)&o->poll, on_closed);
    else
        on_closed(&(uv_handle_t){.data = o});
}
