/* pid 1 of a jail: completes the mount tree, seals itself, then reaps, answers denied system calls and waits for its supervisor to go
 * away. Plain C, no memory of the supervisor or of Python (it is a clone of the small maker program).
 *
 * Control socket (SOCK_SEQPACKET, one frame a message): -> INIT_READY with INIT_LAYERS and times, or INIT_FAILED with INIT_STEP,
 * INIT_ERRNO, INIT_MESSAGE. With READY comes a descriptor of /session/output (exchange.h), if the jail has it. Notify socket: -> struct init_word (protocol.h) when the payload may join, <- "L" with the seccomp listener. End of file: exit, and with pid 1 the kernel ends every process of the jail (pid_namespaces(7)).
 */
#ifndef SNIPARA_JAIL_INIT_H
#define SNIPARA_JAIL_INIT_H

#include "jail/denials.h"
#include "jail/plan.h"

enum { INIT_READY = 64, INIT_FAILED };
enum { INIT_LAYERS = 1, INIT_STEP, INIT_ERRNO, INIT_MESSAGE, /* STEP to MESSAGE as in wire_put_error */
       INIT_MAPS_US, INIT_MOUNTS_US, INIT_SEAL_US };         /* how long it waited for the id maps, built, sealed */

struct init_setup {
    const struct jail_plan *plan;
    layer_set layers;       /* set by the maker: namespaces */
    int control;            /* to the supervisor */
    int notify;             /* the payload sends the seccomp listener here */
    int mapped;             /* pipe: one byte when the id maps are written; end of file: the maker failed */
    int denials;            /* memfd of struct denials */
    const int *cgroups;     /* files that take "0" */
    size_t cgroup_count;
    int host_proc;          /* the host's /proc, until the seal */
};

/* Never returns. */
_Noreturn void init_run(const struct init_setup *setup);

#endif
