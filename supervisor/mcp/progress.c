/* Progress notifications. */
#include "mcp/progress.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "mcp/jsonrpc.h"
#include "mcp/server.h"

#include <stdlib.h>
#include <string.h>

#define TICK_MS 250u
#define SILENCE_MS 5000.0
#define TAIL 200u

struct mcp_progress {
    uv_timer_t timer;
    struct mcp_call *call;
    char *token;
    uint64_t started;
    double sent_ms;    /* value of the last notification: milliseconds since the start */
    bool fresh;        /* there was output since then */
    size_t tail_length;
    char tail[TAIL];
};

static int put_message(struct buf *b, const struct mcp_progress *p)
{
    size_t skip = 0;
    cleanup_buf struct buf text = {0};
    /* The tail may begin inside a character; what belongs to it is left out. */
    while (skip < p->tail_length && skip < 3 && ((unsigned char)p->tail[skip] & 0xC0) == 0x80)
        skip++;
    if (p->tail_length == skip)
        return 0;
    if (utf8_clean(&text, p->tail + skip, p->tail_length - skip) < 0)
        return -1;
    cleanup_json cJSON *value = json_text(text.data, text.len);
    cleanup_free char *printed = value ? json_print(value) : NULL;
    return printed ? buf_addf(b, ",\"message\":%s", printed) : -1;
}

static void notify(struct mcp_progress *p, double now_ms)
{
    cleanup_buf struct buf params = {0}, line = {0};
    if (buf_addf(&params, "{\"progressToken\":%s,\"progress\":%.0f", p->token, now_ms) < 0 ||
        (mcp_has_progress_message(mcp_call_version(p->call)) && put_message(&params, p) < 0) || buf_adds(&params, "}") < 0 ||
        jsonrpc_put_notification(&line, "notifications/progress", params.data) < 0)
        return;
    /* A client that does not read has no use for progress: the line is left out rather than queued. */
    mcp_server_send_optional(p->call->server, line.data, line.len);
    p->sent_ms = now_ms;
    p->fresh = false;
}

static void on_tick(uv_timer_t *timer)
{
    struct mcp_progress *p = timer->data;
    double now_ms = clock_ms(clock_now() - p->started);
    if (now_ms >= p->sent_ms + 1 && (p->fresh || now_ms - p->sent_ms >= SILENCE_MS))
        notify(p, now_ms);
}

struct mcp_progress *mcp_progress_start(uv_loop_t *loop, struct mcp_call *call, const char *raw_token, size_t length)
{
    struct mcp_progress *p = calloc(1, sizeof *p);
    if (!p || !(p->token = strndup(raw_token, length))) {
        free(p);
        return NULL;
    }
    p->call = call;
    p->started = clock_now();
    p->timer.data = p;
    uv_timer_init(loop, &p->timer);
    uv_timer_start(&p->timer, on_tick, TICK_MS, TICK_MS);
    return p;
}

void mcp_progress_output(struct mcp_progress *p, const char *data, size_t length)
{
    p->fresh = p->fresh || length > 0;
    if (length >= TAIL) {
        memcpy(p->tail, data + (length - TAIL), TAIL);
        p->tail_length = TAIL;
        return;
    }
    size_t keep = p->tail_length + length > TAIL ? TAIL - length : p->tail_length;
    memmove(p->tail, p->tail + (p->tail_length - keep), keep);
    memcpy(p->tail + keep, data, length);
    p->tail_length = keep + length;
}

static void on_closed(uv_handle_t *handle)
{
    struct mcp_progress *p = handle->data;
    free(p->token);
    free(p);
}

void mcp_progress_stop(struct mcp_progress *p)
{
    if (p)
        uv_close((uv_handle_t *)&p->timer, on_closed);
}
