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

/* Announce the sealed payload on PAYLOAD_CHANNEL_FD and serve calls. Ends with _exit: no atexit, no __del__, no thread is
 * waited for. */
_Noreturn void payload_run(const struct configuration *c, layer_set layers);

#endif
