/* Starting the trusted helper programs (maker, zygote) in the outer user namespace, with an empty or given environment, one
 * control socket, and nothing else of the supervisor. */
#ifndef SNIPARA_JAIL_OUTER_H
#define SNIPARA_JAIL_OUTER_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct outer_program {
    int program;              /* descriptor of the executable, any flags */
    const char *const *argv;
    const char *const *env;
    int user_namespace;       /* join this one; -1: make a new one */
    bool read_only;           /* a mount namespace of its own in which everything is read-only (CVE-2019-5736: /proc/self/exe of
                                 a payload leads to a read-only mount) */
};

struct outer_process {
    pid_t pid;
    int pidfd;
    int control;              /* our end, SOCK_SEQPACKET, non-blocking */
};

/* 0, or -1 with the step that failed in the child. As root a new namespace maps HOST_ID_COUNT ids from HOST_ID_BASE, or only our
 * own id where the host's range cannot be had; as an ordinary user only its own. The program runs as id 0 of it. */
int outer_start(const struct outer_program *p, struct outer_process *ret, struct error *err);

/* Kill (if alive) and reap. */
void outer_stop(struct outer_process *p);

#endif
