/* Streams of `exec`. */
#include "cli/exec_output.h"

#include <string.h>
#include <unistd.h>

#define WAIT_ABOVE ((size_t)8 << 20)  /* queued bytes above which the reader is waited for */
#define WAIT_MS 100                   /* at a time, so that the loop goes on */
#define QUEUE_MAX ((size_t)64 << 20)  /* a reader that stands still costs this much and no more */

int exec_stream_open(struct exec_stream *s, uv_loop_t *loop, int fd, const struct outlet_events *events, struct error *err)
{
    *s = (struct exec_stream){.terminal = isatty(fd)};
    return outlet_new(loop, fd, events, &s->outlet, err);
}

static void put(struct exec_stream *s, const char *data, size_t length)
{
    if (length == 0 || !s->outlet)
        return;
    s->open_line = data[length - 1] != '\n';
    if (outlet_queued(s->outlet) > WAIT_ABOVE)
        outlet_flush(s->outlet, WAIT_MS);
    if (outlet_queued(s->outlet) > QUEUE_MAX || outlet_write(s->outlet, data, length) < 0)
        s->dropped += length;
}

void exec_stream_guest(struct exec_stream *s, const char *data, size_t length)
{
    cleanup_buf struct buf shown = {0};
    if (!s->terminal)
        put(s, data, length);
    else if (screen_show(&s->screen, data, length, &shown) < 0)
        s->dropped += length;
    else
        put(s, shown.data, shown.len);
}

void exec_stream_words(struct exec_stream *s, const char *text)
{
    cleanup_buf struct buf rest = {0};
    if (screen_end(&s->screen, &rest) == 0)
        put(s, rest.data, rest.len);
    put(s, text, strlen(text));
}

void exec_stream_end_line(struct exec_stream *s)
{
    if (s->open_line)
        exec_stream_words(s, "\n");
}

void exec_stream_close(struct exec_stream *s)
{
    outlet_free(s->outlet);
    s->outlet = NULL;
}
