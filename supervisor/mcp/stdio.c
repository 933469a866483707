/* The stdio transport. */
#include "mcp/stdio.h"

#include "base/buf.h"
#include "mcp/log.h"
#include "mcp/outlet.h"
#include "mcp/stream_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK (64u << 10)
#define KEEP (1u << 20) /* memory of the line buffer that is kept between lines */

struct mcp_stdio {
    uv_poll_t poll; /* pipes, terminals, sockets */
    uv_idle_t idle; /* regular files: read a piece in each turn of the loop */
    struct stream_fd in;
    struct outlet *out;
    struct buf buffer;
    size_t scanned;   /* bytes of buffer that hold no line end */
    bool dropping;    /* inside a line that is too long */
    bool ended, reading, stopped;
    struct mcp_stdio_events events;
    char chunk[CHUNK];
};

static bool congested(const struct mcp_stdio *t)
{
    return outlet_queued(t->out) > MCP_QUEUE_MAX;
}

static void give_line(struct mcp_stdio *t, const char *text, size_t length)
{
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        length--;
    if (length > 0)
        t->events.line(t->events.context, text, length);
}

/* Hand out whole lines until there is none, or the client is too slow for their answers. */
static void give_lines(struct mcp_stdio *t)
{
    size_t used = 0;
    while (!t->stopped && !congested(t)) {
        char *from = t->buffer.data ? t->buffer.data + used + t->scanned : NULL;
        size_t left = t->buffer.len - used - t->scanned;
        char *newline = left ? memchr(from, '\n', left) : NULL;
        if (!newline) {
            t->scanned += left;
            break;
        }
        char *start = t->buffer.data + used;
        give_line(t, start, (size_t)(newline - start));
        used = (size_t)(newline - t->buffer.data) + 1;
        t->scanned = 0;
    }
    buf_drop(&t->buffer, used);
    if (t->buffer.len == 0 && t->buffer.cap > KEEP)
        buf_free(&t->buffer);
}

static void set_reading(struct mcp_stdio *t, bool on);

static void finish(struct mcp_stdio *t)
{
    set_reading(t, false);
    if (t->stopped || congested(t))
        return; /* lines wait: on_drained comes back here */
    /* `printf ... | server`: the last line may lack its end */
    if (t->buffer.len > 0 && !t->dropping)
        give_line(t, t->buffer.data, t->buffer.len);
    buf_free(&t->buffer);
    t->scanned = 0;
    t->stopped = true;
    t->events.end(t->events.context);
}

static void too_long(struct mcp_stdio *t)
{
    buf_free(&t->buffer);
    t->scanned = 0;
    t->dropping = true;
    t->events.too_long(t->events.context);
}

static void take(struct mcp_stdio *t, const char *data, size_t length)
{
    if (t->dropping) {
        const char *newline = memchr(data, '\n', length);
        if (!newline)
            return;
        length -= (size_t)(newline + 1 - data);
        data = newline + 1;
        t->dropping = false;
    }
    if (length > 0 && buf_add(&t->buffer, data, length) < 0) {
        mcp_log(LOG_LEVEL_ERROR, "no memory for a line of more than %zu bytes: it is dropped", t->buffer.len);
        too_long(t);
        return;
    }
    give_lines(t);
    /* What is left is one unfinished line, unless answers wait; then nothing more is read, so it cannot grow. */
    if (t->buffer.len > MCP_LINE_MAX && t->scanned == t->buffer.len)
        too_long(t);
}

static void read_some(struct mcp_stdio *t)
{
    ssize_t n = read(t->in.fd, t->chunk, sizeof t->chunk);
    if (n > 0) {
        take(t, t->chunk, (size_t)n);
        if (congested(t))
            set_reading(t, false);
        return;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    /* EIO is how a terminal says that its other side is gone: an end like any other. */
    t->ended = true;
    finish(t);
}

static void on_readable(uv_poll_t *handle, int status, int events)
{
    struct mcp_stdio *t = handle->data;
    (void)events;
    read_some(t);
    /* After an error on the descriptor libuv has stopped the handle; read(2) tells whether it is the end. */
    if (status < 0 && t->reading)
        uv_poll_start(&t->poll, UV_READABLE, on_readable);
}

static void on_idle(uv_idle_t *handle)
{
    read_some(handle->data);
}

static void set_reading(struct mcp_stdio *t, bool on)
{
    if (t->reading == on)
        return;
    t->reading = on;
    if (t->in.always_ready)
        (void)(on ? uv_idle_start(&t->idle, on_idle) : uv_idle_stop(&t->idle));
    else
        (void)(on ? uv_poll_start(&t->poll, UV_READABLE, on_readable) : uv_poll_stop(&t->poll));
}

static void on_drained(void *context)
{
    struct mcp_stdio *t = context;
    if (t->stopped)
        return;
    give_lines(t);
    if (t->stopped || congested(t))
        return;
    if (t->ended)
        finish(t);
    else
        set_reading(t, true);
}

static void on_gone(void *context, int code)
{
    struct mcp_stdio *t = context;
    t->events.gone(t->events.context, code);
}

int mcp_stdio_new(uv_loop_t *loop, int in, int out, const struct mcp_stdio_events *events, struct mcp_stdio **ret, struct error *err)
{
    struct mcp_stdio *t = calloc(1, sizeof *t);
    if (!t)
        return error_set(err, "stdio.open", ENOMEM, "no memory");
    t->events = *events;
    t->poll.data = t->idle.data = t;
    struct outlet_events outlet_events = {.drained = on_drained, .gone = on_gone, .context = t};
    if (stream_fd_open(in, O_RDONLY, &t->in, err) < 0) {
        free(t);
        return error_wrap(err, "stdin");
    }
    if (outlet_new(loop, out, &outlet_events, &t->out, err) < 0) {
        stream_fd_close(&t->in);
        free(t);
        return error_wrap(err, "stdout");
    }
    int rc = t->in.always_ready ? uv_idle_init(loop, &t->idle) : uv_poll_init(loop, &t->poll, t->in.fd);
    if (rc < 0) {
        outlet_free(t->out);
        stream_fd_close(&t->in);
        free(t);
        return error_set(err, "stdio.open", -rc, "stdin cannot be polled");
    }
    set_reading(t, true);
    *ret = t;
    return 0;
}

void mcp_stdio_send(struct mcp_stdio *t, const char *line, size_t length, bool optional)
{
    if (optional && outlet_queued(t->out) > 0)
        return;
    if (outlet_write_line(t->out, line, length) < 0)
        mcp_log(LOG_LEVEL_ERROR, "no memory for an answer of %zu bytes", length);
}

void mcp_stdio_stop_reading(struct mcp_stdio *t)
{
    t->stopped = true;
    set_reading(t, false);
}

bool mcp_stdio_flush(struct mcp_stdio *t, int milliseconds)
{
    return outlet_flush(t->out, milliseconds);
}

static void on_closed(uv_handle_t *handle)
{
    struct mcp_stdio *t = handle->data;
    stream_fd_close(&t->in);
    buf_free(&t->buffer);
    free(t);
}

void mcp_stdio_free(struct mcp_stdio *t)
{
    if (!t)
        return;
    outlet_free(t->out);
    t->out = NULL;
    uv_close(t->in.always_ready ? (uv_handle_t *)&t->idle : (uv_handle_t *)&t->poll, on_closed);
}
