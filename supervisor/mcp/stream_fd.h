/* Standard streams without blocking, and without changing them for others.
 *
 * O_NONBLOCK belongs to the open file description, which the shell that started us shares: setting it there breaks the programs that
 * come after. Pipes and terminals are therefore opened anew through /proc/self/fd; where that is not possible (sockets) the flag is set
 * and put back at the end. */
#ifndef SNIPARA_MCP_STREAM_FD_H
#define SNIPARA_MCP_STREAM_FD_H

#include "base/error.h"

#include <stdbool.h>

struct stream_fd {
    int fd;             /* ours, close-on-exec; -1: none */
    int original_flags; /* to be put back when the description is shared, else -1 */
    bool always_ready;  /* regular files and the like: they cannot be polled (epoll_ctl(2), EPERM) and never block for long */
};

/* `access` is O_RDONLY or O_WRONLY. `fd` stays the caller's. */
int stream_fd_open(int fd, int access, struct stream_fd *ret, struct error *err);
void stream_fd_close(struct stream_fd *s);

#endif
