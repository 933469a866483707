/* OCI runtime-spec seccomp (JSON) compiled to BPF with libseccomp, once per policy.
 *
 * A profile says "EPERM for what is known and not allowed"; "ENOSYS for what nobody knows" comes in front of it:
 *   unknown        KILL for a foreign architecture, ENOSYS for numbers that libseccomp does not know and for x32
 *   filter         `unknown`, then the profile with its default action ERRNO(defaultErrnoRet)
 *   filter_notify  the same with USER_NOTIF, so that denials are counted (jail/init answers with a constant errno by call number
 *                  and never CONTINUE)
 * Each is one program, so that nothing need be loaded after a profile that denies loading: a filter of the guest's own that answers
 * ERRNO would outrank the listener.
 */
#ifndef SNIPARA_POLICY_SECCOMP_H
#define SNIPARA_POLICY_SECCOMP_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECCOMP_NUMBERS 1024 /* size of tables indexed by system call number */

struct seccomp_program {
    struct sock_filter *code;
    size_t count;
};

struct seccomp_compiled {
    struct seccomp_program filter;        /* denials answered by the kernel */
    struct seccomp_program filter_notify; /* denials go to the listener. ENOSYS and other chosen errnos stay the kernel's answer.
                                           * The same as `filter` when the profile's default is not ERRNO */
    struct seccomp_program unknown;
    int16_t errno_of[SECCOMP_NUMBERS];    /* what the listener answers for a denied number */
    int last_known;                       /* largest call number that libseccomp knows */
};

/* Compile for an architecture, AUDIT_ARCH_X86_64 or AUDIT_ARCH_AARCH64, whatever this machine is. Unknown call names in the profile are skipped (profiles name calls of other
 * architectures and newer kernels), unknown actions and operators are errors that name the entry. */
int seccomp_compile_for(uint32_t arch, const cJSON *oci, struct seccomp_compiled **ret, struct error *err);
/* The same for this machine. */
int seccomp_compile(const cJSON *oci, struct seccomp_compiled **ret, struct error *err);
void seccomp_compiled_free(struct seccomp_compiled *c);

/* Name of a call number on an architecture, on this machine's, or NULL. The caller frees with free(). */
char *seccomp_call_name_for(uint32_t arch, int number);
char *seccomp_call_name(int number);

#endif
