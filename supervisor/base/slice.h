/* How long a process runs at a stretch when others want the processor, and how soon it gets it when it wakes: who asks for a short slice
 * may interrupt who has a longer one (EEVDF, Linux 6.12; sched(7), sched_setattr(2): sched_runtime of SCHED_OTHER). Children inherit it. */
#ifndef SNIPARA_BASE_SLICE_H
#define SNIPARA_BASE_SLICE_H

#include <stdint.h>

#define SLICE_TRUSTED_NS 100000u /* the supervisor and its helpers: everybody waits for them, and they need little */
#define SLICE_GUEST_NS 1000000u  /* guests: a hog gives way to a neighbour after a millisecond, not after three to eight */

/* A wish: where the kernel does not know it, nothing changes. */
void slice_ask(uint64_t ns);

#endif
