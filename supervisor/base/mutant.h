/* Mutants of the walls, for `make check-escape` and nothing else. In a build with --enable-mutants the environment variable
 * SNIPARA_MUTANT=N of the supervisor takes step N of the checklist (tests/escape/table.py) out of the set-up, with the
 * verification of that step, so that a test can show that exactly the probe of row N notices. Supervisor, maker (hence init) and
 * zygote (hence payloads) get the number through their environment; the zygote removes it before Python starts.
 * In every other build mutant(N) is the constant false: no code, no variable, no string is left of it. */
#ifndef SNIPARA_BASE_MUTANT_H
#define SNIPARA_BASE_MUTANT_H

#include "config.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef SNIPARA_MUTANTS
bool mutant(int row);
bool mutant_any(void);
/* "SNIPARA_MUTANT=N" for the environment of a helper; NULL when no row is switched off. */
const char *mutant_setting(void);
/* Read the number and take it out of the environment. */
void mutant_take(void);
/* What this build is, on stderr. Text of `version`: */
void mutant_announce(void);
const char *mutant_build(void);
#else
static inline bool mutant(int row)
{
    (void)row;
    return false;
}
static inline bool mutant_any(void) { return false; }
static inline const char *mutant_setting(void) { return NULL; }
static inline void mutant_take(void) {}
static inline void mutant_announce(void) {}
static inline const char *mutant_build(void) { return NULL; }
#endif

#endif
