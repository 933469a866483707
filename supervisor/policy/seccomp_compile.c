/* OCI rules to BPF. libseccomp 2.5 has no export into memory: it writes into a memfd, once per policy. */
#include "policy/seccomp.h"

#include "base/cleanup.h"
#include "base/mutant.h"
#include "policy/seccomp_mutants.h"
#include "policy/seccomp_oci.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define STEP "seccomp.compile"

static void release_(scmp_filter_ctx *ctx) {
    if (*ctx)
        seccomp_release(*ctx);
}

/* libseccomp keeps the first unconditional rule of a call and silently drops what contradicts it, and the order of conditional
 * rules with different actions is its own affair: one action per call, beside the default, is what has one meaning. */
static int check_conflicts(const struct oci_profile *profile, struct error *err) {
    const struct oci_rule *first[SECCOMP_NUMBERS] = {0};
    for (size_t i = 0; i < profile->count; i++) {
        const struct oci_rule *rule = &profile->rules[i];
        if (rule->number >= SECCOMP_NUMBERS)
            return error_set(err, STEP, 0, "%s: number %d is beyond the table of %d", rule->name, rule->number, SECCOMP_NUMBERS);
        if (!first[rule->number])
            first[rule->number] = rule;
        else if (first[rule->number]->action != rule->action)
            return error_set(err, STEP, 0, "system call %s: two entries give it different actions, which libseccomp cannot combine; keep one "
                             "action per call (calls that no entry matches get the default action)", rule->name);
    }
    return 0;
}

/* What a rule's action is in the program that is being made. */
static uint32_t effective(uint32_t action, bool notify) {
    if (action == SCMP_ACT_NOTIFY)
        return notify ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPERM);
    if (notify && action == SCMP_ACT_ERRNO(EPERM))
        return SCMP_ACT_NOTIFY;
    return action;
}

static int export_program(scmp_filter_ctx ctx, struct seccomp_program *ret, struct error *err) {
    cleanup_fd int fd = memfd_create("seccomp", MFD_CLOEXEC);
    if (fd < 0)
        return error_set(err, STEP, errno, "memfd_create");
    int r = seccomp_export_bpf(ctx, fd);
    if (r < 0)
        return error_set(err, STEP, -r, "libseccomp cannot write the program");
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set(err, STEP, errno, "fstat");
    size_t size = (size_t)st.st_size, count = size / sizeof(struct sock_filter);
    if (!count || count > BPF_MAXINSNS)
        return error_set(err, STEP, 0, "the program has %zu instructions; the kernel takes 1 to %d. Use fewer rules with arguments", count, BPF_MAXINSNS);
    cleanup_free struct sock_filter *code = malloc(size);
    if (!code)
        return error_set(err, STEP, ENOMEM, "%zu bytes", size);
    if (pread(fd, code, size, 0) != (ssize_t)size)
        return error_set(err, STEP, errno, "cannot read the program back");
    ret->code = steal_ptr(&code);
    ret->count = count;
    return 0;
}

/* libseccomp's rules are written in native numbers and translated to the architecture of the context. */
static int choose_architecture(scmp_filter_ctx ctx, uint32_t arch) {
    if (arch == seccomp_arch_native())
        return 0;
    int r = seccomp_arch_add(ctx, arch);
    return r < 0 ? r : seccomp_arch_remove(ctx, seccomp_arch_native());
}

static int build(uint32_t arch, const struct oci_profile *profile, bool notify, struct seccomp_program *ret, struct error *err) {
    uint32_t fallback = notify ? SCMP_ACT_NOTIFY : profile->default_action;
    scmp_filter_ctx ctx __attribute__((cleanup(release_))) = seccomp_init(fallback);
    if (!ctx)
        return error_set(err, STEP, 0, "libseccomp refuses the default action");
    /* x32 numbers on x86_64 end in libseccomp's "bad architecture": answered as a kernel without x32 does. A true foreign
     * architecture is killed by the second program, whose answer is stricter. */
    int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, mutant(38) ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(ENOSYS));
    if (r == 0)
        r = choose_architecture(ctx, arch);
    if (r == 0)
        r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* binary tree by number: a few comparisons instead of hundreds */
    if (r < 0)
        return error_set(err, STEP, -r, "libseccomp attributes");
    for (size_t i = 0; i < profile->count; i++) {
        const struct oci_rule *rule = &profile->rules[i];
        uint32_t action = effective(rule->action, notify);
        if (action == fallback)
            continue; /* libseccomp refuses a rule that says what the default says */
        r = seccomp_rule_add_exact_array(ctx, action, rule->native, rule->arg_count, rule->args);
        if (r < 0 && r != -EEXIST)
            return error_set(err, STEP, -r, "libseccomp refuses the rule for system call %s", rule->name);
    }
    return export_program(ctx, ret, err);
}

static struct sock_filter *emit(struct sock_filter *at, uint16_t code, uint32_t k, uint8_t yes, uint8_t no) {
    *at = (struct sock_filter){code, yes, no, k};
    return at + 1;
}

#define LOAD(field) BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field), 0, 0
#define RETURN(value) BPF_RET | BPF_K, (value), 0, 0

/* The second program, by hand: number ranges that libseccomp knows pass on, the rest is ENOSYS, so that libc's and Python's
 * fallbacks for calls newer than this profile work as on an older kernel. x32 numbers (bit 30) and -1 lie above every range. */
static int build_unknown(uint32_t arch, const bool known[SECCOMP_NUMBERS], struct seccomp_program *ret, struct error *err) {
    cleanup_free struct sock_filter *code = calloc(2 * SECCOMP_NUMBERS + 8, sizeof *code);
    if (!code)
        return error_set(err, STEP, ENOMEM, "unknown calls");
    struct sock_filter *at = code;
    at = emit(at, LOAD(arch));
    at = emit(at, BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0); /* libseccomp's tokens are AUDIT_ARCH_* values */
    at = emit(at, RETURN(mutant(38) ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS));
    at = emit(at, LOAD(nr));
    for (uint32_t low = 0; low < SECCOMP_NUMBERS; low++) {
        uint32_t high = low;
        if (!known[low])
            continue;
        while (high + 1 < SECCOMP_NUMBERS && known[high + 1])
            high++;
        at = emit(at, BPF_JMP | BPF_JGT | BPF_K, high, 3, 0);
        at = emit(at, BPF_JMP | BPF_JGE | BPF_K, low, 0, 1);
        at = emit(at, RETURN(SECCOMP_RET_ALLOW));
        at = emit(at, RETURN(SECCOMP_RET_ERRNO | ENOSYS));
        low = high;
    }
    at = emit(at, RETURN(SECCOMP_RET_ERRNO | ENOSYS));
    ret->count = (size_t)(at - code);
    ret->code = steal_ptr(&code);
    return 0;
}

/* One program of two: where `unknown` lets a number pass, go on with the profile behind it. One filter and not two, so that nothing
 * has to be loaded after the profile, which denies loading, and so that no tie of two ERRNO answers has to be decided. */
static int put_behind_unknown(const struct seccomp_program *unknown, struct seccomp_program *profile, struct error *err)
{
    size_t count = unknown->count + profile->count;
    struct sock_filter *code = calloc(count, sizeof *code);
    if (!code)
        return error_set(err, STEP, ENOMEM, "the filter");
    if (count > BPF_MAXINSNS) {
        free(code);
        return error_set(err, STEP, 0, "the program has %zu instructions; the kernel takes 1 to %d. Use fewer rules with arguments", count, BPF_MAXINSNS);
    }
    for (size_t i = 0; i < unknown->count; i++) {
        code[i] = unknown->code[i];
        if (code[i].code == (BPF_RET | BPF_K) && code[i].k == SECCOMP_RET_ALLOW)
            code[i] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(unknown->count - 1 - i));
    }
    memcpy(code + unknown->count, profile->code, profile->count * sizeof *code);
    free(profile->code);
    profile->code = code;
    profile->count = count;
    return 0;
}

/* What the listener answers. A rule that asks for another errno than EPERM is never notified, but a number says it anyway. */
static void fill_errno(const struct oci_profile *profile, const bool known[SECCOMP_NUMBERS], int16_t errno_of[SECCOMP_NUMBERS]) {
    int16_t fallback = action_is_errno(profile->default_action) ? (int16_t)action_errno(profile->default_action) : EPERM;
    for (int nr = 0; nr < SECCOMP_NUMBERS; nr++)
        errno_of[nr] = known[nr] ? fallback : ENOSYS;
    for (size_t i = 0; i < profile->count; i++)
        if (action_is_errno(profile->rules[i].action))
            errno_of[profile->rules[i].number] = (int16_t)action_errno(profile->rules[i].action);
        else if (profile->rules[i].action == SCMP_ACT_NOTIFY)
            errno_of[profile->rules[i].number] = EPERM;
}

int seccomp_compile_for(uint32_t arch, const cJSON *oci, struct seccomp_compiled **ret, struct error *err) {
    struct oci_profile profile = {0};
    if (oci_parse(oci, arch, &profile, err) < 0)
        return -1;
#ifdef SNIPARA_MUTANTS
    seccomp_mutate(&profile);
#endif
    /* Programs are made for kernels with every feature; whether this one has a listener is found out when it is loaded. */
    seccomp_api_set(6);
    struct seccomp_compiled *made = calloc(1, sizeof *made);
    bool known[SECCOMP_NUMBERS];
    for (int nr = 0; made && nr < SECCOMP_NUMBERS; nr++) {
        cleanup_free char *name = seccomp_call_name_for(arch, nr);
        known[nr] = name != NULL;
        if (name)
            made->last_known = nr;
    }
    int r = made ? check_conflicts(&profile, err) : error_set(err, STEP, ENOMEM, "seccomp");
    if (r == 0)
        r = build(arch, &profile, false, &made->filter, err);
    if (r == 0)
        r = build(arch, &profile, action_is_errno(profile.default_action), &made->filter_notify, err);
    if (r == 0)
        r = build_unknown(arch, known, &made->unknown, err);
    if (r == 0)
        r = put_behind_unknown(&made->unknown, &made->filter, err);
    if (r == 0)
        r = put_behind_unknown(&made->unknown, &made->filter_notify, err);
    if (r == 0) {
        fill_errno(&profile, known, made->errno_of);
        *ret = steal_ptr(&made);
    }
    seccomp_compiled_free(made);
    oci_free(&profile);
    return r;
}

int seccomp_compile(const cJSON *oci, struct seccomp_compiled **ret, struct error *err) {
    return seccomp_compile_for(seccomp_arch_native(), oci, ret, err);
}

void seccomp_compiled_free(struct seccomp_compiled *c) {
    if (!c)
        return;
    free(c->filter.code);
    free(c->filter_notify.code);
    free(c->unknown.code);
    free(c);
}

char *seccomp_call_name_for(uint32_t arch, int number) {
    return number < 0 ? NULL : seccomp_syscall_resolve_num_arch(arch, number);
}

char *seccomp_call_name(int number) {
    return seccomp_call_name_for(seccomp_arch_native(), number);
}
