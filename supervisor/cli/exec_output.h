/* The guest's output on the caller's stdout and stderr, as it comes. */
#ifndef SNIPARA_CLI_EXEC_OUTPUT_H
#define SNIPARA_CLI_EXEC_OUTPUT_H

#include "base/error.h"
#include "cli/screen.h"
#include "mcp/outlet.h"

#include <stdbool.h>
#include <stdint.h>

struct exec_stream {
    struct outlet *outlet;
    bool terminal;      /* control characters are shown, not sent */
    bool open_line;     /* the last byte was not a line end */
    struct screen screen;
    uint64_t dropped;   /* bytes that found no room */
};

int exec_stream_open(struct exec_stream *s, uv_loop_t *loop, int fd, const struct outlet_events *events, struct error *err);
/* Text that a guest chose. A reader that is slow slows the guest; the loop still turns, so that time limits and signals work. */
void exec_stream_guest(struct exec_stream *s, const char *data, size_t length);
/* Our own words. */
void exec_stream_words(struct exec_stream *s, const char *text);
void exec_stream_end_line(struct exec_stream *s);
void exec_stream_close(struct exec_stream *s);

#endif
