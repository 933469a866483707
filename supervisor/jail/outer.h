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
    int user_namespace;       /* of outer_namespace, to join */
    bool read_only;           /* a mount namespace of its own in which everything is read-only (CVE-2019-5736: /proc/self/exe of
                                 a payload leads to a read-only mount) */
};

struct outer_process {
    pid_t pid;
    int pidfd;
    int control;              /* our end, SOCK_SEQPACKET, non-blocking */
};

/* Make the outer user namespace; *ret is a descriptor of it. As root it maps HOST_ID_COUNT ids from HOST_ID_BASE, or only our own
 * id where the host's range cannot be had; as an ordinary user only its own. It lives as long as the descriptor or a process in it. */
int outer_namespace(int *ret, struct error *err);

/* Start a program as id 0 of the outer namespace. 0, or -1 with the step that failed in the child. */
int outer_start(const struct outer_program *p, struct outer_process *ret, struct error *err);

/* Kill (if alive) and reap. */
void outer_stop(struct outer_process *p);

#endif
