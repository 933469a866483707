/* Mutant builds only (base/mutant.h): the rules of the profile that stand for the row which is switched off are replaced by rules
 * that allow its calls. */
#ifndef SNIPARA_POLICY_SECCOMP_MUTANTS_H
#define SNIPARA_POLICY_SECCOMP_MUTANTS_H

#include "base/mutant.h"
#include "policy/seccomp_oci.h"

#ifdef SNIPARA_MUTANTS
void seccomp_mutate(struct oci_profile *profile);
#endif

#endif
