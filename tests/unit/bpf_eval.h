/* An evaluator of classic BPF, the part that seccomp takes: what a filter answers, without a kernel and for any architecture. */
#ifndef SNIPARA_TESTS_BPF_EVAL_H
#define SNIPARA_TESTS_BPF_EVAL_H

#include "policy/seccomp.h"

#include <linux/seccomp.h>
#include <stdint.h>

#define BPF_EVAL_BAD 0xdeadbeefu /* the program is not well formed; no SECCOMP_RET_* value */

uint32_t bpf_eval(const struct seccomp_program *p, const struct seccomp_data *data);

/* Two filters of one task. */
uint32_t bpf_eval_both(const struct seccomp_program *older, const struct seccomp_program *newer, const struct seccomp_data *data);

#endif
