/* multiprocessing's resource tracker is a helper process that removes named semaphores and shared memory when their owner dies.
 * In a jail the end of the jail removes them, and a helper process that outlives its call would only be a stranger. */
#ifndef SNIPARA_PYHOST_TRACKER_H
#define SNIPARA_PYHOST_TRACKER_H

#include "base/error.h"

/* In the zygote: multiprocessing.resource_tracker writes its notes to /dev/null instead of starting that process. */
int tracker_silence(struct error *err);

#endif
