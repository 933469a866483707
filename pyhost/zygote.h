/* The zygote: a warm interpreter that never runs guest code and holds no secret. It takes its configuration, warms up, and then
 * forks payloads into jails on request (messages: jail/protocol.h). One thread, always. */
#ifndef SNIPARA_PYHOST_ZYGOTE_H
#define SNIPARA_PYHOST_ZYGOTE_H

#define ZYGOTE_CONTROL_FD 3

/* Runs until the supervisor closes the control socket; the exit status of the process. In a forked payload it never returns. */
int zygote_main(void);

#endif
