#include "bpf_eval.h"

#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>

/* One program over one call, as the kernel's interpreter does it (linux/filter.h, seccomp_check_filter's subset). */
uint32_t bpf_eval(const struct seccomp_program *p, const struct seccomp_data *data)
{
    uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = {0};
    for (size_t pc = 0; pc < p->count; pc++) {
        const struct sock_filter *f = &p->code[pc];
        bool taken;
        switch (f->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (f->k % 4 || f->k + 4 > sizeof *data)
                return BPF_EVAL_BAD;
            memcpy(&a, (const char *)data + f->k, 4);
            continue;
        case BPF_LD | BPF_IMM: a = f->k; continue;
        case BPF_LD | BPF_MEM: a = memory[f->k % BPF_MEMWORDS]; continue;
        case BPF_ST: memory[f->k % BPF_MEMWORDS] = a; continue;
        case BPF_MISC | BPF_TAX: x = a; continue;
        case BPF_MISC | BPF_TXA: a = x; continue;
        case BPF_ALU | BPF_AND | BPF_K: a &= f->k; continue;
        case BPF_ALU | BPF_OR | BPF_K: a |= f->k; continue;
        case BPF_JMP | BPF_JA: pc += f->k; continue;
        case BPF_JMP | BPF_JEQ | BPF_K: taken = a == f->k; break;
        case BPF_JMP | BPF_JGT | BPF_K: taken = a > f->k; break;
        case BPF_JMP | BPF_JGE | BPF_K: taken = a >= f->k; break;
        case BPF_JMP | BPF_JSET | BPF_K: taken = (a & f->k) != 0; break;
        case BPF_RET | BPF_K: return f->k;
        case BPF_RET | BPF_A: return a;
        default: return BPF_EVAL_BAD;
        }
        pc += taken ? f->jt : f->jf;
    }
    return BPF_EVAL_BAD; /* fell off the end */
}

/* seccomp_run_filters(): newest first, the smallest action as a signed number wins, the newest on a tie. */
uint32_t bpf_eval_both(const struct seccomp_program *older, const struct seccomp_program *newer, const struct seccomp_data *data)
{
    uint32_t first = bpf_eval(newer, data), second = bpf_eval(older, data);
    if (first == BPF_EVAL_BAD || second == BPF_EVAL_BAD)
        return BPF_EVAL_BAD;
    return (int32_t)(second & SECCOMP_RET_ACTION_FULL) < (int32_t)(first & SECCOMP_RET_ACTION_FULL) ? second : first;
}
