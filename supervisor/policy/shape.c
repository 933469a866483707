/* The shape of a policy file as a table. policies/policy.schema.json says the same for editors; a test holds them together. */
#include "policy/document.h"

#include <string.h>

#define KIB 1024.0
#define MIB (1024.0 * KIB)
#define GIB (1024.0 * MIB)
#define TIB (1024.0 * GIB)

static bool identifier(const char *text, size_t length) {
    if (!length || (text[0] >= '0' && text[0] <= '9'))
        return false;
    return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") >= length;
}

static bool name_fits(const char *text) {
    return identifier(text, strlen(text));
}

static bool module_fits(const char *text) {
    for (;;) {
        size_t length = strcspn(text, ".");
        if (!identifier(text, length))
            return false;
        if (!text[length])
            return true;
        text += length + 1;
    }
}

/* Absolute and regular: what is compared as text must be what the kernel walks. */
static bool path_fits(const char *text) {
    size_t length = strlen(text);
    if (text[0] != '/' || length < 2 || length > 4000 || text[length - 1] == '/' || !plain_text(text))
        return false;
    for (const char *part = text; part; part = strchr(part + 1, '/')) {
        size_t n = strcspn(part + 1, "/");
        if (!n || (n == 1 && part[1] == '.') || (n == 2 && part[1] == '.' && part[2] == '.'))
            return false;
    }
    return true;
}

static bool host_fits(const char *text) {
    size_t length = strlen(text);
    return length && length <= 255 &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.:[]") == length;
}

static bool text_fits(const char *text) {
    return strlen(text) <= 1000 && plain_text(text);
}

#define ONE_LINE .fits = text_fits, .form = "one line of at most 1000 bytes"
#define NAME .fits = name_fits, .form = "a name: letters, digits and '_'"
#define MODULE .fits = module_fits, .form = "a module name such as \"json\" or \"collections.abc\""
#define PATH .fits = path_fits, .form = "an absolute path without '.', '..', '//' or a '/' at its end"
#define POLICY_NAME .fits = policy_name_fits, .form = "letters, digits, '-', '_' and '.', at most 64, never a path"

static const char *const language_modes[] = {"full", "restricted", NULL};
static const char *const import_modes[] = {"allow", "deny", NULL};
static const char *const network_modes[] = {"none", "loopback", "allow", NULL};
static const char *const mount_kinds[] = {"ro", "rw", "tmpfs", NULL};
/* jail/layers.h has the same names; it stands on the same floor, so they are data here, and a test compares the two. */
static const char *const layer_names[] = {
    "user_namespace", "mount_namespace", "pid_namespace", "network_namespace", "ipc_namespace", "uts_namespace",
    "cgroup_namespace", "time_namespace", "pivot_root", "read_only_root", "proc", "distinct_uid", "rlimits", "capabilities",
    "securebits", "no_new_privs", "landlock", "seccomp", "seccomp_notify", "no_user_namespaces", "keyring", "cgroup_memory",
    "cgroup_pids", "cgroup_cpu", "cgroup_kill", NULL};

static const struct shape_rule language[] = {
    {.key = "mode", .shape = SHAPE_TEXT, .words = language_modes},
    {.key = "denied_nodes", .shape = SHAPE_LIST, NAME},
    {.key = "denied_attributes", .shape = SHAPE_LIST, NAME},
    {.key = "denied_builtins", .shape = SHAPE_LIST, NAME},
    {.key = "allowed_names", .shape = SHAPE_LIST, NAME},
    {0}};

static const struct shape_rule imports[] = {
    {.key = "mode", .shape = SHAPE_TEXT, .words = import_modes},
    {.key = "names", .shape = SHAPE_LIST, MODULE},
    {.key = "preload", .shape = SHAPE_LIST, MODULE},
    {0}};

static const struct shape_rule seccomp[] = {
    {.key = "profile", .shape = SHAPE_TEXT, POLICY_NAME},
    {.key = "add", .shape = SHAPE_RAW},
    {0}};

static const struct shape_rule mount[] = {
    {.key = "kind", .shape = SHAPE_TEXT, .words = mount_kinds},
    {.key = "source", .shape = SHAPE_TEXT, PATH},
    {.key = "target", .shape = SHAPE_TEXT, PATH},
    {.key = "bytes", .shape = SHAPE_SIZE, .min = 4 * KIB, .max = TIB},
    {.key = "inodes", .shape = SHAPE_COUNT, .min = 4, .max = 1e9},
    {.key = "optional", .shape = SHAPE_FLAG},
    {.key = "exec", .shape = SHAPE_FLAG},
    {0}};

static const struct shape_rule tmpfs[] = {
    {.key = "bytes", .shape = SHAPE_SIZE, .min = 4 * KIB, .max = TIB},
    {.key = "inodes", .shape = SHAPE_COUNT, .min = 4, .max = 1e9},
    {0}};

static const struct shape_rule shm[] = {{.key = "bytes", .shape = SHAPE_SIZE, .min = 4 * KIB, .max = TIB}, {0}};

static const struct shape_rule filesystem[] = {
    {.key = "rootfs", .shape = SHAPE_TEXT, PATH},
    {.key = "mounts", .shape = SHAPE_OBJECTS, .members = mount},
    {.key = "session", .shape = SHAPE_OBJECT, .members = tmpfs},
    {.key = "tmp", .shape = SHAPE_OBJECT, .members = tmpfs},
    {.key = "shm", .shape = SHAPE_OBJECT, .members = shm},
    {0}};

static const struct shape_rule network[] = {
    {.key = "mode", .shape = SHAPE_TEXT, .words = network_modes},
    {.key = "hosts", .shape = SHAPE_LIST, .fits = host_fits, .form = "a host name or address with an optional :port"},
    {0}};

static const struct shape_rule limits[] = {
    {.key = "timeout_seconds", .shape = SHAPE_REAL, .min = 0.001, .max = 86400},
    {.key = "timeout_max_seconds", .shape = SHAPE_REAL, .min = 0.001, .max = 86400},
    {.key = "memory_bytes", .shape = SHAPE_SIZE, .min = 32 * MIB, .max = 16 * TIB},
    {.key = "memory_max_bytes", .shape = SHAPE_SIZE, .min = 32 * MIB, .max = 16 * TIB},
    {.key = "pids", .shape = SHAPE_COUNT, .min = 4, .max = 4194304}, /* init, payload, its twin, one more */
    {.key = "cpus", .shape = SHAPE_REAL, .min = 0.01, .max = 4096},
    {.key = "output_bytes", .shape = SHAPE_SIZE, .min = 1 * KIB, .max = 256 * MIB},
    {.key = "value_bytes", .shape = SHAPE_SIZE, .min = 256, .max = 1 * MIB}, /* repr and JSON share a 4 MiB reply */
    {.key = "source_bytes", .shape = SHAPE_SIZE, .min = 1 * KIB, .max = 64 * MIB},
    {.key = "open_files", .shape = SHAPE_COUNT, .min = 16, .max = 1048576},
    {.key = "file_bytes", .shape = SHAPE_SIZE, .min = 4 * KIB, .max = 16 * TIB},
    {.key = "stack_bytes", .shape = SHAPE_SIZE, .min = 256 * KIB, .max = 1 * GIB},
    {.key = "artifact_files", .shape = SHAPE_COUNT, .min = 0, .max = 1000},
    {.key = "artifact_bytes", .shape = SHAPE_SIZE, .min = 0, .max = 1 * GIB},
    {.key = "artifact_total_bytes", .shape = SHAPE_SIZE, .min = 0, .max = 1 * GIB},
    {.key = "artifact_depth", .shape = SHAPE_COUNT, .min = 1, .max = 32}, /* COLLECT_DEPTH_MAX of jail/collect.h */
    {0}};

static const struct shape_rule layers[] = {
    {.key = "required", .shape = SHAPE_LIST, .words = layer_names},
    {.key = "optional", .shape = SHAPE_LIST, .words = layer_names},
    {0}};

static const struct shape_rule environment[] = {
    {.key = "set", .shape = SHAPE_MAP, NAME},
    {.key = "pass", .shape = SHAPE_LIST, NAME},
    {0}};

const struct shape_rule policy_shape[] = {
    {.key = "$schema", .shape = SHAPE_TEXT, ONE_LINE},
    {.key = "name", .shape = SHAPE_TEXT, POLICY_NAME},
    {.key = "description", .shape = SHAPE_TEXT, ONE_LINE},
    {.key = "extends", .shape = SHAPE_TEXT, POLICY_NAME},
    {.key = "widen", .shape = SHAPE_FLAG},
    {.key = "widen_reason", .shape = SHAPE_TEXT, ONE_LINE},
    {.key = "language", .shape = SHAPE_OBJECT, .members = language},
    {.key = "imports", .shape = SHAPE_OBJECT, .members = imports},
    {.key = "seccomp", .shape = SHAPE_OBJECT, .members = seccomp},
    {.key = "filesystem", .shape = SHAPE_OBJECT, .members = filesystem},
    {.key = "network", .shape = SHAPE_OBJECT, .members = network},
    {.key = "limits", .shape = SHAPE_OBJECT, .members = limits},
    {.key = "layers", .shape = SHAPE_OBJECT, .members = layers},
    {.key = "environment", .shape = SHAPE_OBJECT, .members = environment},
    {0}};
