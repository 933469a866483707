/* A payload is forked into a jail that stands ready: the one place where a trusted process becomes a guest's. */
#ifndef SNIPARA_PYHOST_SPAWN_H
#define SNIPARA_PYHOST_SPAWN_H

#include "configuration.h"
#include "base/error.h"
#include "base/wire.h"

#include <sys/types.h>

/* Serve one ZYGOTE_SPAWN. The descriptors stay the caller's (it closes them). In the zygote: 0 after ZYGOTE_SPAWNED was sent,
 * -1 with *err filled when nothing was forked. In the child it does not return. */
int spawn_payload(const struct configuration *c, const struct wire_frame *frame, const int *fds, size_t count, struct error *err);

/* Answers on the control socket (zygote.c). */
int zygote_send_spawned(uint64_t nonce, pid_t pid, int pidfd);
int zygote_send_failed(uint64_t nonce, const struct error *failure);

#endif
