#include "filter_oracle.h"

#include "../unit/bpf_eval.h"
#include "base/json.h"
#include "fuzz.h"

#include <errno.h>
#include <linux/audit.h>
#include <seccomp.h>

/* --- the profile's words --- */

static uint64_t value_of(const cJSON *arg, const char *key)
{
    const cJSON *value = json_get(arg, key);
    return value ? (uint64_t)value->valuedouble : 0;
}

static bool argument_fits(const cJSON *arg, const struct seccomp_data *data)
{
    const char *op = json_get_string(arg, "op") + strlen("SCMP_CMP_");
    uint64_t have = data->args[value_of(arg, "index")], value = value_of(arg, "value");
    if (!strcmp(op, "NE"))
        return have != value;
    if (!strcmp(op, "LT"))
        return have < value;
    if (!strcmp(op, "LE"))
        return have <= value;
    if (!strcmp(op, "EQ"))
        return have == value;
    if (!strcmp(op, "GE"))
        return have >= value;
    if (!strcmp(op, "GT"))
        return have > value;
    return (have & value) == value_of(arg, "valueTwo");
}

static bool entry_fits(const cJSON *entry, const struct seccomp_data *data)
{
    const cJSON *args = json_get(entry, "args"), *item;
    bool named = false;
    cJSON_ArrayForEach(item, json_get(entry, "names"))
        named = named || seccomp_syscall_resolve_name(item->valuestring) == data->nr;
    if (!named)
        return false;
    cJSON_ArrayForEach(item, args)
        if (!argument_fits(item, data))
            return false;
    return true;
}

static uint32_t answer_of(const cJSON *object, const char *action_key, const char *errno_key)
{
    static const struct { const char *name; uint32_t answer; } all[] = {
        {"ALLOW", SECCOMP_RET_ALLOW}, {"LOG", SECCOMP_RET_LOG}, {"NOTIFY", SECCOMP_RET_ERRNO | EPERM}, {"TRAP", SECCOMP_RET_TRAP},
        {"KILL", SECCOMP_RET_KILL_THREAD}, {"KILL_THREAD", SECCOMP_RET_KILL_THREAD}, {"KILL_PROCESS", SECCOMP_RET_KILL_PROCESS}};
    const char *action = json_get_string(object, action_key) + strlen("SCMP_ACT_");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, action))
            return all[i].answer;
    return SECCOMP_RET_ERRNO | (json_get(object, errno_key) ? (uint32_t)value_of(object, errno_key) : EPERM);
}

static uint32_t says(const cJSON *oci, const struct seccomp_data *data)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(oci, "syscalls"))
        if (entry_fits(entry, data))
            return answer_of(entry, "action", "errnoRet");
    return answer_of(oci, "defaultAction", "defaultErrnoRet");
}

static bool permits(uint32_t answer)
{
    return answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_LOG;
}

/* --- probes --- */

struct probing {
    void (*probe)(const struct probing *p, const struct seccomp_data *data);
    const cJSON *oci;
    const struct seccomp_compiled *one, *other;
};

/* An argument that the comparison just takes. */
static uint64_t satisfying(const cJSON *arg)
{
    const char *op = json_get_string(arg, "op") + strlen("SCMP_CMP_");
    uint64_t value = value_of(arg, "value");
    if (!strcmp(op, "NE") || !strcmp(op, "GT"))
        return value + 1;
    if (!strcmp(op, "LT"))
        return value ? value - 1 : 0;
    return !strcmp(op, "MASKED_EQ") ? value_of(arg, "valueTwo") : value;
}

/* The call with the arguments that an entry asks for, and near them on each side and above 32 bits. */
static void probe_entry(const struct probing *p, const cJSON *entry, int number)
{
    struct seccomp_data data = {.nr = number, .arch = seccomp_arch_native()};
    const cJSON *arg;
    cJSON_ArrayForEach(arg, json_get(entry, "args"))
        data.args[value_of(arg, "index")] = satisfying(arg);
    p->probe(p, &data);
    for (int i = 0; i < 6; i++) {
        uint64_t kept = data.args[i];
        const uint64_t others[] = {kept + 1, kept - 1, kept | 1ull << 32, ~kept};
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            data.args[i] = others[k];
            p->probe(p, &data);
        }
        data.args[i] = kept;
    }
}

static void probe_profile(const struct probing *p, const cJSON *oci)
{
    static const int some[] = {0, 1, 16, 56, 59, 101, 165, 317, 435};
    const cJSON *entry, *name;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        probe_entry(p, NULL, some[i]);
    int entries = 0;
    cJSON_ArrayForEach(entry, json_get(oci, "syscalls")) {
        int names = 0;
        if (++entries > 64)
            break;
        cJSON_ArrayForEach(name, json_get(entry, "names")) {
            int number = seccomp_syscall_resolve_name(name->valuestring);
            if (number >= 0 && ++names <= 16)
                probe_entry(p, entry, number);
        }
    }
}

static void is_as_said(const struct probing *p, const struct seccomp_data *data)
{
    uint32_t said = says(p->oci, data), answer = bpf_eval(&p->one->filter, data), notified = bpf_eval(&p->one->filter_notify, data);
    require(answer == said);
    if (notified == SECCOMP_RET_USER_NOTIF)
        require(said == (SECCOMP_RET_ERRNO | (uint32_t)p->one->errno_of[data->nr]));
    else
        require(notified == said);
}

void filter_check(const cJSON *oci, const struct seccomp_compiled *compiled)
{
    const struct probing p = {is_as_said, oci, compiled, NULL};
    struct seccomp_data data = {.nr = SECCOMP_NUMBERS - 1, .arch = seccomp_arch_native()};
    require(compiled->filter.count > 0 && compiled->filter.count <= BPF_MAXINSNS);
    require(compiled->filter_notify.count > 0 && compiled->filter_notify.count <= BPF_MAXINSNS);
    require(bpf_eval(&compiled->filter, &data) == (SECCOMP_RET_ERRNO | ENOSYS)); /* nobody knows it */
    data.nr = 0x40000000;                                                   /* x32 */
    require(bpf_eval(&compiled->filter, &data) == (SECCOMP_RET_ERRNO | ENOSYS));
    data = (struct seccomp_data){.arch = AUDIT_ARCH_PPC};
    require(bpf_eval(&compiled->filter, &data) == SECCOMP_RET_KILL_PROCESS && bpf_eval(&compiled->filter_notify, &data) == SECCOMP_RET_KILL_PROCESS);
    probe_profile(&p, oci);
}

static void is_narrower(const struct probing *p, const struct seccomp_data *data)
{
    if (permits(bpf_eval(&p->one->filter, data)))
        require(permits(bpf_eval(&p->other->filter, data)));
    if (permits(bpf_eval(&p->one->filter_notify, data)))
        require(permits(bpf_eval(&p->other->filter_notify, data)));
}

void filter_check_narrower(const cJSON *child_oci, const struct seccomp_compiled *child, const cJSON *parent_oci,
                           const struct seccomp_compiled *parent)
{
    const struct probing p = {is_narrower, NULL, child, parent};
    probe_profile(&p, child_oci);
    probe_profile(&p, parent_oci);
}
