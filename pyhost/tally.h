/* What was denied or observed during a call, counted by name: becomes PT_DENIED and PT_OBSERVED of the reply. Bounded: after
 * TALLY_NAMES different names further new ones are counted together as "...". Called with the GIL held. */
#ifndef SNIPARA_PYHOST_TALLY_H
#define SNIPARA_PYHOST_TALLY_H

#include "base/buf.h"

#define TALLY_NAMES 64

enum tally { TALLY_DENIED, TALLY_OBSERVED };

/* One more. `layer` is the receipt's name of the wall ("import", "language"), NULL for TALLY_OBSERVED. */
void tally_add(enum tally kind, const char *layer, const char *what);
void tally_reset(void);
/* All counts as wire fields. */
int tally_put(struct buf *reply);

#endif
