/* Log lines on stderr. */
#include "mcp/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

static const char *const names[] = {"error", "warning", "info", "debug"};

static enum log_level threshold(void)
{
    const char *wanted = getenv("SNIPARA_SANDBOX_LOG_LEVEL");
    for (size_t i = 0; wanted && i < sizeof names / sizeof *names; i++)
        if (strcasecmp(wanted, names[i]) == 0)
            return (enum log_level)i;
    return LOG_LEVEL_WARNING;
}

void mcp_log(enum log_level level, const char *format, ...)
{
    char line[1024];
    if (level > threshold())
        return;
    int used = snprintf(line, sizeof line, "snipara-sandbox: %s: ", names[level]);
    va_list args;
    va_start(args, format);
    int more = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
    va_end(args);
    if (more < 0)
        return;
    size_t length = (size_t)used + (size_t)more;
    if (length > sizeof line - 2)
        length = sizeof line - 2;
    /* Parts of a message may be a client's words: they stay on this line and send nothing to a terminal. */
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    line[length++] = '\n';
    /* A pipe that polls writable takes PIPE_BUF bytes at once (pipe(7)), and a line is shorter than that. */
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) && write(STDERR_FILENO, line, length) < 0)
        return; /* there is nobody left to tell */
}
