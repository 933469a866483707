/* The payload's loop: calls come in on the channel, replies go out, until the channel ends. */
#ifndef SNIPARA_PYHOST_PAYLOAD_H
#define SNIPARA_PYHOST_PAYLOAD_H

#include "configuration.h"
#include "base/error.h"
#include "jail/layers.h"

#define PAYLOAD_EXIT_FAILED 70  /* could not be sealed */
#define PAYLOAD_EXIT_CHANNEL 71 /* the channel is gone: the guest closed or replaced it */

/* Tell the channel why this process cannot become a payload, and end it. */
_Noreturn void payload_fail(int channel, const struct error *failure);

/* What happened to a payload between its fork and its first call. */
struct payload_start {
    layer_set layers;       /* set and verified by seal_self */
    bool warm;              /* run the warm-up first */
    uint64_t fork_us;       /* from the request to the first instruction */
    uint64_t forked, joined;/* clock_now there, and when it stood in the jail's namespaces */
};

/* Announce the sealed payload on PAYLOAD_CHANNEL_FD and serve calls. Ends with _exit: no atexit, no __del__, no thread is
 * waited for. */
_Noreturn void payload_run(const struct configuration *c, const struct payload_start *start);

#endif
