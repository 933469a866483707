/* OCI runtime-spec seccomp (JSON) compiled to BPF with libseccomp, once per policy.
 *
 * Two programs are made, because one filter cannot say both "EPERM for what is known and not allowed" and "ENOSYS for what is
 * not known": the kernel takes the most restrictive answer of all filters (seccomp(2)).
 *   filter   the profile; its default action is ERRNO(defaultErrnoRet), or, with notify, USER_NOTIF so that denials are
 *            counted (jail/init answers with a constant errno by call number and never CONTINUE)
 *   unknown  KILL for a foreign architecture, ENOSYS for numbers that libseccomp does not know and for x32
 * Order of loading: `filter` or `filter_notify` first, `unknown` last. Where two filters answer ERRNO the newest one's errno
 * counts, and EPERM of the first must not hide ENOSYS of the second. The profile denies seccomp(2) itself, so the second is
 * loaded with prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ...), which needs no flags.
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

/* Compile for the native architecture (AUDIT_ARCH_X86_64 or AUDIT_ARCH_AARCH64 ...). Unknown call names in the profile are skipped (profiles name calls of other
 * architectures and newer kernels), unknown actions and operators are errors that name the entry. */
int seccomp_compile(const cJSON *oci, struct seccomp_compiled **ret, struct error *err);
void seccomp_compiled_free(struct seccomp_compiled *c);

/* Name of a call number on the native architecture, or NULL. The caller frees with free(). */
char *seccomp_call_name(int number);

#endif
