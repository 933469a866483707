/* The maker: a small program (this binary, started as `snipara-sandbox --jail-maker` with an empty environment) that lives in the
 * outer user namespace and clones one init per jail. It exists so that neither init nor anything else in a jail is a copy of the
 * supervisor's memory, and so that a jail costs one clone of a small process.
 *
 * Control socket (SOCK_SEQPACKET) on descriptor 3, one request at a time; an answer has the nonce of its request:
 *   <- MAKER_MAKE  the jail plan's fields; descriptors: init's control, notify socket, memfd of struct denials, then cgroup files
 *   -> MAKER_MADE  MAKER_PID, MAKER_LAYERS; or MAKER_FAILED with MAKER_STEP, MAKER_ERRNO, MAKER_MESSAGE
 * init is made with CLONE_PARENT: it is the supervisor's child, which waits for it.
 */
#ifndef SNIPARA_JAIL_MAKER_H
#define SNIPARA_JAIL_MAKER_H

#define MAKER_ARGUMENT "--jail-maker"

enum { MAKER_MAKE = 80, MAKER_MADE, MAKER_FAILED };
enum { MAKER_PID = 0x41, MAKER_LAYERS, MAKER_STEP, MAKER_ERRNO, MAKER_MESSAGE }; /* STEP to MESSAGE as in wire_put_error */

/* The program. Returns an exit status. */
int maker_main(void);

#endif
