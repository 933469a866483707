#include "policy/seccomp_oci.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "policy/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEP "seccomp.profile"
#define ERRNO_MAX 4095 /* what the kernel keeps of SECCOMP_RET_DATA as an errno */
#define RULES_MAX 65536
#define WHERE_MAX 128

struct word {
    const char *name;
    uint32_t value;
};

static const struct word actions[] = {
    {"SCMP_ACT_ALLOW", SCMP_ACT_ALLOW},
    {"SCMP_ACT_LOG", SCMP_ACT_LOG},
    {"SCMP_ACT_ERRNO", SCMP_ACT_ERRNO(EPERM)},
    {"SCMP_ACT_NOTIFY", SCMP_ACT_NOTIFY},
    {"SCMP_ACT_TRAP", SCMP_ACT_TRAP},
    {"SCMP_ACT_KILL", SCMP_ACT_KILL_THREAD}, /* libseccomp and runc read it so */
    {"SCMP_ACT_KILL_THREAD", SCMP_ACT_KILL_THREAD},
    {"SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS},
    {NULL, 0}};

static const struct word operators[] = {
    {"SCMP_CMP_NE", SCMP_CMP_NE}, {"SCMP_CMP_LT", SCMP_CMP_LT}, {"SCMP_CMP_LE", SCMP_CMP_LE}, {"SCMP_CMP_EQ", SCMP_CMP_EQ},
    {"SCMP_CMP_GE", SCMP_CMP_GE}, {"SCMP_CMP_GT", SCMP_CMP_GT}, {"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ}, {NULL, 0}};

static int word_value(const cJSON *value, const struct word *words, const char *where, uint32_t *ret, struct error *err) {
    if (!cJSON_IsString(value))
        return error_set(err, STEP, 0, "%s: must be a string such as \"%s\"", where, words[0].name);
    const char *known[16];
    size_t n = 0;
    for (; words[n].name; n++) {
        if (!strcmp(words[n].name, value->valuestring)) {
            *ret = words[n].value;
            return 0;
        }
        known[n] = words[n].name;
    }
    known[n] = NULL;
    const char *near = nearest_word(value->valuestring, known);
    return error_set(err, STEP, 0, "%s: unknown value \"%.48s\"%s%s%s", where, value->valuestring, near ? "; did you mean \"" : "",
                     near ? near : "", near ? "\"?" : "");
}

static int check_keys(const cJSON *object, const char *const *known, const char *where, struct error *err) {
    if (!cJSON_IsObject(object))
        return error_set(err, STEP, 0, "%s: must be an object", where);
    for (const cJSON *a = object->child; a; a = a->next)
        for (const cJSON *b = a->next; b; b = b->next)
            if (!strcmp(a->string, b->string))
                return error_set(err, STEP, 0, "%s: the key \"%.48s\" stands twice", where, a->string);
    const char *bad = json_unknown_member(object, known);
    if (!bad)
        return 0;
    /* docker's default.json decides by capabilities and kernel versions; a reader that skipped that would allow mount(2) */
    if (!strcmp(bad, "includes") || !strcmp(bad, "excludes") || !strcmp(bad, "archMap"))
        return error_set(err, STEP, 0, "%s: \"%s\" belongs to docker's template, not to an OCI profile; bring the resolved profile "
                         "(linux.seccomp of a container's config.json)", where, bad);
    const char *near = nearest_word(bad, known);
    return error_set(err, STEP, 0, "%s: unknown key \"%.48s\"%s%s%s", where, bad, near ? "; did you mean \"" : "", near ? near : "",
                     near ? "\"?" : "");
}

#define EXACT_MAX ((1ll << 53) - 1) /* 2^53 is also what 2^53 + 1 is read as */

/* Numbers above EXACT_MAX cannot be read exactly from JSON; a mask that lost bits would be another mask. */
static int number(const cJSON *object, const char *key, const char *where, int64_t max, int64_t missing, int64_t *ret, struct error *err) {
    *ret = missing;
    if (!json_get(object, key))
        return missing >= 0 ? 0 : error_set(err, STEP, 0, "%s.%s: is missing", where, key);
    if (!json_get_int(object, key, ret) || *ret < 0 || *ret > max)
        return error_set(err, STEP, 0, "%s.%s: must be a whole number from 0 to %lld", where, key, (long long)max);
    return 0;
}

static int parse_argument(const cJSON *arg, const char *where, struct scmp_arg_cmp *ret, struct error *err) {
    static const char *const known[] = {"index", "value", "valueTwo", "op", "comment", NULL};
    int64_t index, value, two;
    uint32_t op;
    char at[WHERE_MAX + 8];
    if (check_keys(arg, known, where, err) < 0 || number(arg, "index", where, OCI_ARGUMENTS - 1, -1, &index, err) < 0 ||
        number(arg, "value", where, EXACT_MAX, -1, &value, err) < 0 || number(arg, "valueTwo", where, EXACT_MAX, 0, &two, err) < 0)
        return -1;
    snprintf(at, sizeof at, "%s.op", where);
    if (word_value(json_get(arg, "op"), operators, at, &op, err) < 0)
        return -1;
    /* OCI: MASKED_EQ is (argument & value) == valueTwo, as in libseccomp */
    if (op == SCMP_CMP_MASKED_EQ && (two & ~value))
        return error_set(err, STEP, 0, "%s: valueTwo has bits that the mask in value lacks, so it is never equal", where);
    *ret = (struct scmp_arg_cmp){(unsigned)index, (enum scmp_compare)op, (scmp_datum_t)value, (scmp_datum_t)two};
    return 0;
}

static int parse_arguments(const cJSON *args, const char *where, struct oci_rule *rule, struct error *err) {
    if (args && !cJSON_IsNull(args) && !cJSON_IsArray(args))
        return error_set(err, STEP, 0, "%s.args: must be an array", where);
    unsigned seen = 0;
    for (const cJSON *arg = args ? args->child : NULL; arg; arg = arg->next) {
        char at[WHERE_MAX];
        snprintf(at, sizeof at, "%.80s.args[%u]", where, rule->arg_count);
        if (rule->arg_count == OCI_ARGUMENTS)
            return error_set(err, STEP, 0, "%s.args: a call has %d arguments", where, OCI_ARGUMENTS);
        struct scmp_arg_cmp *cmp = &rule->args[rule->arg_count];
        if (parse_argument(arg, at, cmp, err) < 0)
            return -1;
        if (seen & (1u << cmp->arg))
            return error_set(err, STEP, 0, "%s: argument %u is compared twice in one entry; libseccomp takes one comparison per argument, "
                             "so write two entries", at, cmp->arg);
        seen |= 1u << cmp->arg;
        rule->arg_count++;
    }
    return 0;
}

static int parse_action(const cJSON *object, const char *action_key, const char *errno_key, const char *where, uint32_t *ret, struct error *err) {
    char at[WHERE_MAX + 24];
    int64_t code;
    snprintf(at, sizeof at, "%s%s%s", where, *where ? "." : "", action_key);
    if (word_value(json_get(object, action_key), actions, at, ret, err) < 0 ||
        number(object, errno_key, *where ? where : "profile", ERRNO_MAX, EPERM, &code, err) < 0)
        return -1;
    if (action_is_errno(*ret))
        *ret = SCMP_ACT_ERRNO((uint32_t)code);
    else if (json_get(object, errno_key))
        return error_set(err, STEP, 0, "%s: %s goes only with SCMP_ACT_ERRNO", *where ? where : "profile", errno_key);
    return 0;
}

static bool call_name_fits(const char *name) {
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return length && length <= 64 && !name[length];
}

/* Everything of an entry but its names. */
static int parse_entry(const cJSON *entry, const char *where, struct oci_rule *ret, struct error *err) {
    static const char *const known[] = {"names", "action", "errnoRet", "args", "comment", NULL};
    *ret = (struct oci_rule){0};
    if (check_keys(entry, known, where, err) < 0 || parse_action(entry, "action", "errnoRet", where, &ret->action, err) < 0 ||
        parse_arguments(json_get(entry, "args"), where, ret, err) < 0)
        return -1;
    const cJSON *names = json_get(entry, "names"), *comment = json_get(entry, "comment");
    if (!cJSON_IsArray(names) || !names->child)
        return error_set(err, STEP, 0, "%s.names: must be an array of at least one system call name", where);
    for (const cJSON *name = names->child; name; name = name->next)
        if (!cJSON_IsString(name) || !call_name_fits(name->valuestring))
            return error_set(err, STEP, 0, "%s.names: must hold names of system calls", where);
    if (comment && !(cJSON_IsString(comment) && plain_text(comment->valuestring)))
        return error_set(err, STEP, 0, "%s.comment: must be one line of text", where);
    return 0;
}

int oci_check_entries(const cJSON *entries, const char *where, struct error *err) {
    if (entries && !cJSON_IsArray(entries))
        return error_set(err, STEP, 0, "%s: must be an array of {names, action, errnoRet, args, comment}", where);
    int index = 0;
    for (const cJSON *entry = entries ? entries->child : NULL; entry; entry = entry->next, index++) {
        char at[WHERE_MAX];
        struct oci_rule rule;
        snprintf(at, sizeof at, "%.64s[%d]", where, index);
        if (parse_entry(entry, at, &rule, err) < 0)
            return -1;
    }
    return 0;
}

static int add_rules(struct oci_profile *profile, const struct oci_rule *entry, const cJSON *names, uint32_t arch, struct error *err) {
    for (const cJSON *name = names->child; name; name = name->next) {
        /* __NR_SCMP_ERROR is a name that libseccomp does not know, other negative numbers belong to other architectures */
        int nr = seccomp_syscall_resolve_name_arch(arch, name->valuestring);
        if (nr < 0)
            continue;
        if (profile->count == RULES_MAX)
            return error_set(err, STEP, 0, "syscalls: more than %d rules", RULES_MAX);
        if (!(profile->count & (profile->count - 1))) { /* grow at powers of two */
            size_t room = profile->count ? profile->count * 2 : 1;
            struct oci_rule *more = realloc(profile->rules, room * sizeof *more);
            if (!more)
                return error_set(err, STEP, ENOMEM, "syscalls");
            profile->rules = more;
        }
        struct oci_rule *rule = &profile->rules[profile->count++];
        *rule = *entry;
        rule->number = nr;
        rule->native = seccomp_syscall_resolve_name(name->valuestring);
        rule->name = name->valuestring;
    }
    return 0;
}

static int check_top(const cJSON *oci, uint32_t arch, struct error *err) {
    static const char *const known[] = {"defaultAction", "defaultErrnoRet", "architectures", "flags", "listenerPath",
                                        "listenerMetadata", "syscalls", "comment", NULL};
    if (check_keys(oci, known, "profile", err) < 0)
        return -1;
    const cJSON *flags = json_get(oci, "flags"), *architectures = json_get(oci, "architectures"), *syscalls = json_get(oci, "syscalls");
    if (flags && !(cJSON_IsArray(flags) && !flags->child))
        return error_set(err, STEP, 0, "flags: none can be honoured here; leave the key out");
    if (json_get(oci, "listenerPath") || json_get(oci, "listenerMetadata"))
        return error_set(err, STEP, 0, "listenerPath: the listener is the jail's own init; leave listenerPath and listenerMetadata out");
    if (architectures && !cJSON_IsArray(architectures))
        return error_set(err, STEP, 0, "architectures: must be an array of strings");
    if (syscalls && !cJSON_IsArray(syscalls))
        return error_set(err, STEP, 0, "syscalls: must be an array");
    /* Only one architecture is ever entered; a profile that lists others is fine, one that lacks it was not meant for here. */
    bool listed = !architectures || !architectures->child;
    for (const cJSON *a = architectures ? architectures->child : NULL; a; a = a->next) {
        if (!cJSON_IsString(a) || strncmp(a->valuestring, "SCMP_ARCH_", 10) != 0)
            return error_set(err, STEP, 0, "architectures: must hold names such as \"SCMP_ARCH_X86_64\"");
        char lower[32] = "";
        for (size_t i = 0; i + 1 < sizeof lower && a->valuestring[10 + i]; i++) {
            char c = a->valuestring[10 + i];
            lower[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
        listed = listed || seccomp_arch_resolve_name(lower) == arch;
    }
    if (!listed)
        return error_set(err, STEP, 0, "architectures: this machine's is not listed, so the profile was not written for it");
    return 0;
}

int oci_parse(const cJSON *oci, uint32_t arch, struct oci_profile *ret, struct error *err) {
    struct oci_profile profile = {0};
    if (check_top(oci, arch, err) < 0 || parse_action(oci, "defaultAction", "defaultErrnoRet", "", &profile.default_action, err) < 0)
        return -1;
    if (profile.default_action == SCMP_ACT_NOTIFY)
        profile.default_action = SCMP_ACT_ERRNO(EPERM); /* the notifying program is made from every ERRNO default */
    const cJSON *entries = json_get(oci, "syscalls");
    int index = 0;
    for (const cJSON *entry = entries ? entries->child : NULL; entry; entry = entry->next, index++) {
        char at[WHERE_MAX];
        struct oci_rule rule;
        snprintf(at, sizeof at, "syscalls[%d]", index);
        if (parse_entry(entry, at, &rule, err) < 0 || add_rules(&profile, &rule, json_get(entry, "names"), arch, err) < 0) {
            oci_free(&profile);
            return -1;
        }
    }
    *ret = profile;
    return 0;
}

void oci_free(struct oci_profile *profile) {
    free(profile->rules);
    *profile = (struct oci_profile){0};
}

bool oci_permits(const char *action) {
    return !strcmp(action, "SCMP_ACT_ALLOW") || !strcmp(action, "SCMP_ACT_LOG");
}
