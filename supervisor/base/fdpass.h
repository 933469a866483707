/* Descriptors over unix sockets (SCM_RIGHTS, unix(7)). One call is one message; use SOCK_SEQPACKET sockets. */
#ifndef SNIPARA_BASE_FDPASS_H
#define SNIPARA_BASE_FDPASS_H

#include "base/error.h"

#include <stddef.h>
#include <sys/types.h>

#define FDPASS_MAX 32

/* Send `length` bytes (at least 1) and `count` descriptors (0..FDPASS_MAX). The descriptors stay the caller's. */
int fdpass_send(int sock, const void *data, size_t length, const int *fds, size_t count, struct error *err);

/* Receive one message. Returns its length, 0 at end of file, -1 on error. A message that was cut (MSG_TRUNC, MSG_CTRUNC) is
 * an error and its descriptors are closed. On success the caller owns *ret_count descriptors, all close-on-exec.
 * With a non-blocking socket and nothing to read: -1 and err->code EAGAIN. */
ssize_t fdpass_recv(int sock, void *data, size_t size, int *ret_fds, size_t max_fds, size_t *ret_count, struct error *err);

#endif
