/* The emitted seccomp filters of every shipped policy, for x86_64 and aarch64, run by the evaluator of classic BPF over numbers 0
 * to 600 and over the edges of every argument rule, and compared with
 *   tests/golden/syscalls-POLICY-ARCH.txt    "number name outcome", every argument all ones
 *   tests/golden/arguments-POLICY-ARCH.txt   "number name a0 a1 a2 a3 a4 a5 outcome"
 * tests/escape/test_syscall_matrix.py makes the same calls in a real jail and reads the same files, so file, evaluator and kernel
 * say the same. `test_syscalls --update-golden` writes the files anew, for a reviewer to diff. */
#include "bpf_eval.h"
#include "unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "policy/policy.h"
#include "policy/seccomp_oci.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <stdio.h>
#include <string.h>

#define NUMBERS 601
#define X32 0x40000000u
#define HIGH (1ull << 32)
#define ONES UINT64_MAX
#define VALUES 48 /* of one argument rule */

static const struct { const char *name; uint32_t arch; } architectures[] = {{"x86_64", AUDIT_ARCH_X86_64}, {"aarch64", AUDIT_ARCH_AARCH64}};
static const char *const policies[] = {"default", "strict", "open", "validation"};
#define ARCHITECTURES (sizeof architectures / sizeof *architectures)
#define POLICIES (sizeof policies / sizeof *policies)
#define CASES ((int)(ARCHITECTURES * POLICIES))

/* One policy compiled for one architecture. */
struct subject {
    const char *policy, *arch_name;
    uint32_t arch;
    struct policy *loaded;
    struct oci_profile profile;
    struct seccomp_compiled *compiled;
};

static void subject_free(struct subject *s) {
    seccomp_compiled_free(s->compiled);
    oci_free(&s->profile);
    policy_free(s->loaded);
}
#define cleanup_subject __attribute__((cleanup(subject_free)))

static struct subject subject_of(int index) {
    struct error err = {0};
    struct subject s = {.policy = policies[(size_t)index / ARCHITECTURES], .arch_name = architectures[(size_t)index % ARCHITECTURES].name,
                        .arch = architectures[(size_t)index % ARCHITECTURES].arch};
    ck_assert_msg(policy_load(s.policy, &s.loaded, &err) == 0, "%s", err.message);
    ck_assert_msg(seccomp_compile_for(s.arch, s.loaded->seccomp, &s.compiled, &err) == 0, "%s on %s: %s", s.policy, s.arch_name, err.message);
    ck_assert_msg(oci_parse(s.loaded->seccomp, s.arch, &s.profile, &err) == 0, "%s", err.message);
    return s;
}

static struct seccomp_data call_of(uint32_t arch, uint32_t number, const uint64_t args[6]) {
    struct seccomp_data data = {.nr = (int)number, .arch = arch};
    memcpy(data.args, args, sizeof data.args);
    return data;
}

/* What a caller sees. A notification is answered by init, with the errno of the number. */
static uint32_t answer(const struct subject *s, bool notify, const struct seccomp_data *data) {
    uint32_t verdict = bpf_eval(notify ? &s->compiled->filter_notify : &s->compiled->filter, data);
    if (notify && verdict == SECCOMP_RET_USER_NOTIF && (uint32_t)data->nr < SECCOMP_NUMBERS)
        return SECCOMP_RET_ERRNO | (uint32_t)s->compiled->errno_of[data->nr];
    return verdict;
}

/* Of both programs, which must agree. */
static uint32_t outcome(const struct subject *s, uint32_t number, const uint64_t args[6]) {
    struct seccomp_data data = call_of(s->arch, number, args);
    uint32_t plain = answer(s, false, &data), notified = answer(s, true, &data);
    ck_assert_msg(plain == notified, "%s %s, call %u: %x, with notification %x", s->policy, s->arch_name, number, plain, notified);
    return plain;
}

static const char *outcome_word(uint32_t verdict) {
    uint32_t action = verdict & SECCOMP_RET_ACTION_FULL;
    const char *name = action == SECCOMP_RET_ERRNO ? strerrorname_np((int)(verdict & SECCOMP_RET_DATA)) : NULL;
    if (verdict == SECCOMP_RET_ALLOW)
        return "allowed";
    return verdict == SECCOMP_RET_KILL_PROCESS ? "killed" : name ? name : "undefined";
}

/* --- an independent reading of the profile --- */

static bool holds(const struct scmp_arg_cmp *c, uint64_t argument) {
    switch (c->op) {
    case SCMP_CMP_NE: return argument != c->datum_a;
    case SCMP_CMP_LT: return argument < c->datum_a;
    case SCMP_CMP_LE: return argument <= c->datum_a;
    case SCMP_CMP_EQ: return argument == c->datum_a;
    case SCMP_CMP_GE: return argument >= c->datum_a;
    case SCMP_CMP_GT: return argument > c->datum_a;
    case SCMP_CMP_MASKED_EQ: return (argument & c->datum_a) == c->datum_b;
    default: ck_abort_msg("unknown comparison %d", (int)c->op);
    }
}

/* What the profile says of a call, by 64-bit comparisons as config-linux.md defines them, without libseccomp's compiler. */
static uint32_t model(const struct subject *s, uint32_t number, const uint64_t args[6]) {
    uint32_t action = s->profile.default_action;
    for (size_t i = 0; i < s->profile.count; i++) {
        const struct oci_rule *rule = &s->profile.rules[i];
        bool all = rule->number == (int)number;
        for (unsigned k = 0; all && k < rule->arg_count; k++)
            all = holds(&rule->args[k], args[rule->args[k].arg]);
        if (all)
            action = rule->action;
    }
    cleanup_free char *name = number < SECCOMP_NUMBERS ? seccomp_call_name_for(s->arch, (int)number) : NULL;
    return name ? action : SECCOMP_RET_ERRNO | ENOSYS; /* SCMP_ACT_* have the values of SECCOMP_RET_* */
}

/* --- calls at the edges of the argument rules --- */

struct edge {
    int number;
    const char *name; /* lives in the policy */
    uint64_t args[6];
};

struct edges {
    struct edge *list;
    size_t count;
};

static void edges_free(struct edges *e) {
    free(e->list);
}

static uint64_t matching(const struct scmp_arg_cmp *c) {
    switch (c->op) {
    case SCMP_CMP_LT: return c->datum_a - 1;
    case SCMP_CMP_NE:
    case SCMP_CMP_GT: return c->datum_a + 1;
    case SCMP_CMP_MASKED_EQ: return c->datum_b;
    default: return c->datum_a;
    }
}

static size_t edge_values(const struct scmp_arg_cmp *c, uint64_t ret[VALUES]) {
    uint64_t base = matching(c), v = c->datum_a;
    const uint64_t around[] = {base, v, v - 1, v + 1, base | HIGH, base | 0xffffffff00000000, base + HIGH + 1, v | HIGH, (v + 1) | HIGH, 0, UINT32_MAX, ONES};
    size_t count = sizeof around / sizeof *around;
    memcpy(ret, around, sizeof around);
    for (unsigned bit = 0; c->op == SCMP_CMP_MASKED_EQ && bit < 64 && count < VALUES; bit++)
        if (v & (1ull << bit))
            ret[count++] = base ^ (1ull << bit);
    return count;
}

static void edge_add(struct edges *e, const struct oci_rule *rule, const uint64_t args[6]) {
    struct edge *more = realloc(e->list, (e->count + 1) * sizeof *more);
    ck_assert_ptr_nonnull(more);
    e->list = more;
    more += e->count++;
    more->number = rule->number;
    more->name = rule->name;
    memcpy(more->args, args, sizeof more->args);
}

static int edge_order(const void *left, const void *right) {
    const struct edge *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    for (int i = 0; i < 6; i++)
        if (a->args[i] != b->args[i])
            return a->args[i] < b->args[i] ? -1 : 1;
    return 0;
}

static struct edges edges_of(const struct subject *s) {
    struct edges e = {0};
    for (size_t i = 0; i < s->profile.count; i++) {
        const struct oci_rule *rule = &s->profile.rules[i];
        uint64_t base[6] = {0}, values[VALUES];
        for (unsigned k = 0; k < rule->arg_count; k++)
            base[rule->args[k].arg] = matching(&rule->args[k]);
        for (unsigned k = 0; k < rule->arg_count; k++) {
            uint64_t args[6];
            memcpy(args, base, sizeof args);
            for (size_t n = edge_values(&rule->args[k], values); n--;) {
                args[rule->args[k].arg] = values[n];
                edge_add(&e, rule, args);
            }
        }
    }
    if (e.count)
        qsort(e.list, e.count, sizeof *e.list, edge_order);
    size_t kept = 0;
    for (size_t i = 0; i < e.count; i++)
        if (!kept || edge_order(&e.list[kept - 1], &e.list[i]) != 0)
            e.list[kept++] = e.list[i];
    e.count = kept;
    return e;
}

/* --- golden files --- */

static const char *golden_directory(void) {
    const char *directory = getenv("SNIPARA_GOLDEN_DIR");
    return directory && *directory ? directory : "tests/golden";
}

static void golden_path(const char *kind, const struct subject *s, char ret[4096]) {
    snprintf(ret, 4096, "%s/%s-%s-%s.txt", golden_directory(), kind, s->policy, s->arch_name);
}

static void write_numbers(const struct subject *s, struct buf *b) {
    static const uint64_t ones[6] = {ONES, ONES, ONES, ONES, ONES, ONES};
    for (uint32_t nr = 0; nr < NUMBERS; nr++) {
        cleanup_free char *name = seccomp_call_name_for(s->arch, (int)nr);
        buf_addf(b, "%u %s %s\n", nr, name ? name : "-", outcome_word(outcome(s, nr, ones)));
    }
}

static void write_arguments(const struct subject *s, struct buf *b) {
    struct edges e __attribute__((cleanup(edges_free))) = edges_of(s);
    for (size_t i = 0; i < e.count; i++) {
        buf_addf(b, "%d %s", e.list[i].number, e.list[i].name);
        for (int k = 0; k < 6; k++)
            buf_addf(b, " 0x%" PRIx64, e.list[i].args[k]);
        buf_addf(b, " %s\n", outcome_word(outcome(s, (uint32_t)e.list[i].number, e.list[i].args)));
    }
}

static const struct { const char *name; void (*write)(const struct subject *, struct buf *); } kinds[] = {
    {"syscalls", write_numbers}, {"arguments", write_arguments}};

START_TEST(update_golden)
{
    cleanup_subject struct subject s = subject_of(_i);
    for (size_t k = 0; k < 2; k++) {
        char path[4096];
        cleanup_buf struct buf b = {0};
        golden_path(kinds[k].name, &s, path);
        kinds[k].write(&s, &b);
        cleanup_file FILE *f = fopen(path, "we");
        ck_assert_msg(f && fwrite(b.data, 1, b.len, f) == b.len && fflush(f) == 0, "%s: %s", path, strerror(errno));
        printf("%s\n", path);
    }
}
END_TEST

/* A newer libseccomp knows names for numbers that the file has as unknown: then the call is no longer ENOSYS, and what it is instead
 * is what the profile says, which test_model checks. */
static bool newer_library(const char *golden, const char *now) {
    unsigned number, other;
    char name[64], word[32];
    return sscanf(golden, "%u - ENOSYS", &number) == 1 && strstr(golden, " - ENOSYS") && sscanf(now, "%u %63s %31s", &other, name, word) == 3 &&
           number == other && strcmp(name, "-") != 0 && strcmp(word, "killed") != 0 && strcmp(word, "undefined") != 0;
}

static void compare(const char *path, char *now, bool numbers) {
    cleanup_file FILE *f = fopen(path, "re");
    ck_assert_msg(f != NULL, "%s: %s; test_syscalls --update-golden writes it", path, strerror(errno));
    char golden[256], *rest = NULL, *line = strtok_r(now, "\n", &rest);
    int row = 0;
    for (; fgets(golden, sizeof golden, f); line = strtok_r(NULL, "\n", &rest)) {
        golden[strcspn(golden, "\n")] = '\0';
        row++;
        ck_assert_msg(line != NULL, "%s:%d: \"%s\" is no row any more; test_syscalls --update-golden", path, row, golden);
        ck_assert_msg(!strcmp(golden, line) || (numbers && newer_library(golden, line)), "%s:%d: \"%s\", but the filter says \"%s\"; "
                      "if that is meant: test_syscalls --update-golden, and have the difference reviewed", path, row, golden, line);
    }
    ck_assert_msg(row > 0 && line == NULL, "%s:%d: the row \"%s\" is missing; test_syscalls --update-golden", path, row, line ? line : "");
}

START_TEST(test_golden)
{
    cleanup_subject struct subject s = subject_of(_i);
    for (size_t k = 0; k < 2; k++) {
        char path[4096];
        cleanup_buf struct buf b = {0};
        golden_path(kinds[k].name, &s, path);
        kinds[k].write(&s, &b);
        compare(path, b.data, k == 0);
    }
}
END_TEST

/* --- what holds for every filter --- */

START_TEST(test_model)
{
    cleanup_subject struct subject s = subject_of(_i);
    static const uint64_t patterns[][6] = {{0}, {ONES, ONES, ONES, ONES, ONES, ONES}, {HIGH, HIGH, HIGH, HIGH, HIGH, HIGH}};
    for (uint32_t nr = 0; nr < SECCOMP_NUMBERS; nr++)
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
            uint32_t got = outcome(&s, nr, patterns[i]), wanted = model(&s, nr, patterns[i]);
            ck_assert_msg(got == wanted, "%s %s, call %u: %x, the profile says %x", s.policy, s.arch_name, nr, got, wanted);
        }
    struct edges e __attribute__((cleanup(edges_free))) = edges_of(&s);
    ck_assert_uint_gt(e.count, 200);
    for (size_t i = 0; i < e.count; i++) {
        uint32_t got = outcome(&s, (uint32_t)e.list[i].number, e.list[i].args), wanted = model(&s, (uint32_t)e.list[i].number, e.list[i].args);
        ck_assert_msg(got == wanted, "%s %s, edge %zu of %s: %x, the profile says %x", s.policy, s.arch_name, i, e.list[i].name, got, wanted);
    }
}
END_TEST

/* CVE-2019-10063: the kernel reads 32 bits of every argument that these policies compare. Whatever stands above them must never
 * open what is closed without it. */
START_TEST(test_high_bits_open_nothing)
{
    cleanup_subject struct subject s = subject_of(_i);
    struct edges e __attribute__((cleanup(edges_free))) = edges_of(&s);
    static const uint64_t high[] = {HIGH, 0x8000000000000000, 0xffffffff00000000, 0x5412ull << 32};
    size_t closed = 0;
    for (size_t i = 0; i < e.count; i++) {
        uint64_t args[6];
        for (int k = 0; k < 6; k++)
            args[k] = e.list[i].args[k] & UINT32_MAX;
        if (outcome(&s, (uint32_t)e.list[i].number, args) == SECCOMP_RET_ALLOW)
            continue;
        closed++;
        for (size_t h = 0; h < sizeof high / sizeof *high; h++)
            for (int k = 0; k < 6; k++) {
                uint64_t with[6];
                memcpy(with, args, sizeof with);
                with[k] |= high[h];
                ck_assert_msg(outcome(&s, (uint32_t)e.list[i].number, with) != SECCOMP_RET_ALLOW, "%s %s: high bits 0x%" PRIx64 " of argument %d open %s",
                              s.policy, s.arch_name, high[h], k, e.list[i].name);
            }
    }
    ck_assert_uint_gt(closed, 50);
}
END_TEST

/* The x32 numbers of x86_64, and what no architecture has, are ENOSYS; another architecture than the filter's is killed. */
START_TEST(test_foreign)
{
    cleanup_subject struct subject s = subject_of(_i);
    static const uint32_t others[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, AUDIT_ARCH_X86_64 & ~__AUDIT_ARCH_LE,
                                      AUDIT_ARCH_X86_64 & ~__AUDIT_ARCH_64BIT, 0, UINT32_MAX};
    static const uint64_t none[6];
    for (uint32_t nr = 0; nr < NUMBERS; nr++) {
        static const uint32_t bits[] = {X32, 0x80000000, 0xc0000000, 0x20000000, 0x10000};
        for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
            ck_assert_msg(outcome(&s, nr | bits[i], none) == (SECCOMP_RET_ERRNO | ENOSYS), "%s %s: number 0x%x", s.policy, s.arch_name, nr | bits[i]);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            struct seccomp_data data = call_of(others[i], nr, none);
            if (others[i] == s.arch)
                continue;
            ck_assert_msg(bpf_eval(&s.compiled->filter, &data) == SECCOMP_RET_KILL_PROCESS && bpf_eval(&s.compiled->filter_notify, &data) == SECCOMP_RET_KILL_PROCESS,
                          "%s for %s: number %u of architecture 0x%x", s.policy, s.arch_name, nr, others[i]);
        }
    }
}
END_TEST

/* libseccomp GHSA-4q85-33p6-j5g6: comparisons of 64 bits that were compiled wrongly. Every operator with values on both sides of
 * 32 bits, alone and as the second of two. */
START_TEST(test_operators)
{
    static const char *const words[] = {"NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ"};
    static const uint64_t values[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x100000001, 0x1ffffffff, 0x500000003, (1ull << 53) - 1};
    size_t count = sizeof values / sizeof *values;
    for (size_t v = 0; v < count; v++) {
        char text[512];
        struct error err = {0};
        bool masked = !strcmp(words[_i], "MASKED_EQ");
        snprintf(text, sizeof text, "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":["
                 "{\"index\":1,\"value\":%" PRIu64 ",\"valueTwo\":%" PRIu64 ",\"op\":\"SCMP_CMP_%s\"},{\"index\":4,\"value\":%" PRIu64 ",\"op\":\"SCMP_CMP_LE\"}]}]}",
                 values[v], masked ? values[v] & 0x100000001 : 0, words[_i], values[(v + 3) % count]);
        cleanup_json cJSON *oci = json_parse(text, strlen(text), (struct json_limits){0}, &err);
        cleanup_subject struct subject s = {.policy = words[_i], .arch_name = "x86_64", .arch = AUDIT_ARCH_X86_64};
        ck_assert_msg(oci && seccomp_compile_for(s.arch, oci, &s.compiled, &err) == 0 && oci_parse(oci, s.arch, &s.profile, &err) == 0, "%s", err.message);
        for (size_t a = 0; a < count; a++)
            for (size_t b = 0; b < count; b++)
                for (uint64_t near = 0; near < 4; near++) {
                    const uint64_t args[6] = {7, values[a] + (near & 1), 7, 7, values[b] + (near >> 1), 7};
                    ck_assert_msg(outcome(&s, 0, args) == model(&s, 0, args), "%s 0x%" PRIx64 ": 0x%" PRIx64 ", 0x%" PRIx64, words[_i], values[v], args[1], args[4]);
                }
    }
}
END_TEST

static Suite *suite(bool update)
{
    Suite *s = suite_create("syscalls");
    TCase *golden = unit_group(s, "golden"), *filters = unit_group(s, "filters");
    tcase_add_loop_test(golden, update ? update_golden : test_golden, 0, CASES);
    tcase_add_loop_test(filters, test_model, 0, CASES);
    tcase_add_loop_test(filters, test_high_bits_open_nothing, 0, CASES);
    tcase_add_loop_test(filters, test_foreign, 0, CASES);
    tcase_add_loop_test(filters, test_operators, 0, 7);
    return s;
}

int main(int argc, char **argv)
{
    bool update = argc == 2 && !strcmp(argv[1], "--update-golden");
    if (argc > 1 && !update) {
        fprintf(stderr, "usage: test_syscalls [--update-golden]\n");
        return 2;
    }
    return unit_run(suite(update));
}
