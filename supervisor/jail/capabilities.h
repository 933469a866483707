/* Capabilities of the calling thread, by the raw system calls: pyhost and init must not need a library for them.
 * capabilities(7), prctl(2) PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_SET_SECUREBITS. */
#ifndef SNIPARA_JAIL_CAPABILITIES_H
#define SNIPARA_JAIL_CAPABILITIES_H

#include "base/error.h"

/* Every securebit and its lock: root has no special meaning, capabilities are never kept, nothing can be raised or undone. */
#define CAPABILITIES_SECUREBITS 0xefu /* all but the lock-less KEEP_CAPS: NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, all locks */

/* Empty the bounding set (needs CAP_SETPCAP in the user namespace) and the ambient set, lock the securebits. */
int capabilities_close_bounding(struct error *err);
int capabilities_lock_securebits(struct error *err);
/* Clear effective, permitted and inheritable. */
int capabilities_clear(struct error *err);
/* Read all five sets back; an error names the first that is not empty. */
int capabilities_verify_none(struct error *err);

#endif
