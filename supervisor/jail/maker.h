/* The maker: a small program (this binary, started as `snipara-sandbox --jail-maker` with an empty environment) that lives in the
 * outer user namespace, stands in the mount template of one policy (template.h) and clones one init per jail. It exists so that
 * neither init nor anything else in a jail is a copy of the supervisor's memory, and so that a jail costs one clone of a small
 * process. Between requests it keeps a few network namespaces ready, each used once.
 *
 * Control socket (SOCK_SEQPACKET) on descriptor 3; an answer has the nonce of its request:
 *   <- MAKER_PLAN  once, first: the jail plan's fields
 *   -> MAKER_READY
 *   <- MAKER_MAKE  descriptors: init's control, notify socket, memfd of struct denials, then cgroup files
 *   -> MAKER_MADE  MAKER_PID, MAKER_LAYERS, MAKER_CLONE_US
 *   -> MAKER_FAILED instead of either, with MAKER_STEP, MAKER_ERRNO, MAKER_MESSAGE
 * init is made with CLONE_PARENT: it is the supervisor's child, which waits for it.
 */
#ifndef SNIPARA_JAIL_MAKER_H
#define SNIPARA_JAIL_MAKER_H

#define MAKER_ARGUMENT "--jail-maker"

enum { MAKER_PLAN = 80, MAKER_READY, MAKER_MAKE, MAKER_MADE, MAKER_FAILED };
enum { MAKER_PID = 0x41, MAKER_LAYERS, MAKER_CLONE_US, MAKER_STEP, MAKER_ERRNO, MAKER_MESSAGE }; /* STEP to MESSAGE as in wire_put_error */

/* The program. Returns an exit status. */
int maker_main(void);

#endif
