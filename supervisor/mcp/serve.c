/* Life of the server process: serving, a grace after end of input, ending. */
#include "mcp/serve.h"

#include "mcp/log.h"
#include "mcp/server.h"
#include "mcp/stdio.h"

#include <signal.h>
#include <string.h>

/* `printf ... | snipara-sandbox mcp-serve` expects answers although input has ended: short calls get this long, the first one
 * with a cold interpreter included. */
#define GRACE_MS 2000u
#define ENDING_MS 5000u  /* for cancelled calls to be gone; sessions_free bounds what is left */
#define FLUSH_MS 1000

enum phase { SERVING, GRACE, ENDING, DONE };

struct serve {
    uv_loop_t *loop;
    struct mcp_server *server;
    struct mcp_stdio *stdio;
    uv_signal_t signals[4];
    uv_timer_t timer;
    enum phase phase;
    bool client_gone;
};

static void done(struct serve *s)
{
    if (s->phase == DONE)
        return;
    s->phase = DONE;
    uv_stop(s->loop);
}

static void on_late(uv_timer_t *timer);

static void end(struct serve *s)
{
    if (s->phase >= ENDING)
        return;
    s->phase = ENDING;
    mcp_stdio_stop_reading(s->stdio);
    uv_timer_start(&s->timer, on_late, ENDING_MS, 0);
    mcp_server_cancel_all(s->server);
    if (mcp_server_open_calls(s->server) == 0)
        done(s);
}

static void on_late(uv_timer_t *timer)
{
    struct serve *s = timer->data;
    if (s->phase == ENDING)
        done(s);
    else
        end(s);
}

static void on_end_of_input(void *context)
{
    struct serve *s = context;
    if (s->phase != SERVING)
        return;
    s->phase = GRACE;
    if (mcp_server_open_calls(s->server) == 0)
        done(s);
    else
        uv_timer_start(&s->timer, on_late, GRACE_MS, 0);
}

static void on_idle(void *context)
{
    struct serve *s = context;
    if (s->phase == GRACE || s->phase == ENDING)
        done(s);
}

/* May be called in the middle of an answer, so that the rest waits for the next turn of the loop. */
static void on_gone(void *context, int code)
{
    struct serve *s = context;
    s->client_gone = true;
    mcp_log(LOG_LEVEL_INFO, "the client does not read any more: %s", strerror(code));
    if (s->phase < ENDING)
        uv_timer_start(&s->timer, on_late, 0, 0);
}

static void on_signal(uv_signal_t *handle, int number)
{
    if (number == SIGPIPE)
        return; /* write(2) says EPIPE */
    mcp_log(LOG_LEVEL_INFO, "ending on signal %d", number);
    end(handle->data);
}

static void on_line(void *context, const char *text, size_t length)
{
    mcp_server_take(((struct serve *)context)->server, text, length);
}

static void on_too_long(void *context)
{
    mcp_server_too_long(((struct serve *)context)->server, MCP_LINE_MAX);
}

static void on_send(void *context, const char *line, size_t length, bool optional)
{
    struct serve *s = context;
    if (!s->client_gone && s->stdio)
        mcp_stdio_send(s->stdio, line, length, optional);
}

/* SIGPIPE gets a handler rather than SIG_IGN: an ignored signal would be inherited across exec by the interpreters. */
static void watch_signals(struct serve *s)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uv_signal_init(s->loop, &s->signals[i]);
        s->signals[i].data = s;
        uv_signal_start(&s->signals[i], on_signal, numbers[i]);
    }
}

static void close_all(struct serve *s)
{
    mcp_stdio_free(s->stdio);
    for (size_t i = 0; i < sizeof s->signals / sizeof *s->signals; i++)
        uv_close((uv_handle_t *)&s->signals[i], NULL);
    uv_close((uv_handle_t *)&s->timer, NULL);
    /* Handles are gone after the loop has seen them closed. A few turns without waiting: the process must end whatever is left. */
    for (int i = 0; i < 8 && uv_run(s->loop, UV_RUN_NOWAIT) != 0; i++)
        continue;
}

int mcp_serve(uv_loop_t *loop, struct sessions *sessions, const struct error *why, int in, int out)
{
    struct serve s = {.loop = loop};
    struct error err = {0};
    const struct mcp_server_events server_events = {.send = on_send, .idle = on_idle, .context = &s};
    const struct mcp_stdio_events stdio_events = {
        .line = on_line, .too_long = on_too_long, .end = on_end_of_input, .gone = on_gone, .context = &s};
    uv_timer_init(loop, &s.timer);
    s.timer.data = &s;
    watch_signals(&s);
    s.server = mcp_server_new(loop, sessions, why, &server_events);
    int rc = s.server ? mcp_stdio_new(loop, in, out, &stdio_events, &s.stdio, &err) : error_set(&err, "mcp", 0, "out of memory");
    if (rc == 0)
        uv_run(loop, UV_RUN_DEFAULT);
    else
        mcp_log(LOG_LEVEL_ERROR, "cannot serve: %s", err.message);
    s.phase = DONE;
    if (sessions)
        sessions_free(sessions); /* observers of calls that are still open get their last receipts here */
    if (s.stdio && !s.client_gone)
        mcp_stdio_flush(s.stdio, FLUSH_MS);
    mcp_server_free(s.server);
    close_all(&s);
    return rc == 0 ? 0 : 1;
}
