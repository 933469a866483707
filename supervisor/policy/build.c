#include "policy/build.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "policy/document.h"
#include "policy/search.h"
#include "policy/seccomp_resolve.h"
#include "policy/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEP "policy"

/* The document was checked: a member is absent or has its type and range. */
static double real(const cJSON *object, const char *key) {
    const cJSON *value = json_get(object, key);
    return value ? value->valuedouble : 0;
}

static uint64_t whole(const cJSON *object, const char *key) {
    return (uint64_t)real(object, key);
}

static uint64_t whole_or(const cJSON *object, const char *key, uint64_t otherwise) {
    return json_get(object, key) ? whole(object, key) : otherwise;
}

static bool word_is(const cJSON *object, const char *key, const char *word) {
    const char *text = json_get_string(object, key);
    return text && !strcmp(text, word);
}

static int copy_text(const cJSON *object, const char *key, char **ret) {
    const char *text = json_get_string(object, key);
    return text && !(*ret = strdup(text)) ? -1 : 0;
}

static bool flag(const cJSON *object, const char *key) {
    bool value = false;
    return json_get_bool(object, key, &value) && value;
}

/* Places that the jail makes itself: a mount there would undo a wall or be hidden by it. */
static const char *reserved_target(const char *target) {
    static const char *const exact[] = {"/session", "/session/output", "/tmp", NULL};
    static const char *const trees[] = {"/proc", "/dev", "/sys", NULL};
    for (const char *const *t = exact; *t; t++)
        if (!strcmp(target, *t))
            return *t;
    for (const char *const *t = trees; *t; t++) {
        size_t length = strlen(*t);
        if (!strncmp(target, *t, length) && (!target[length] || target[length] == '/'))
            return *t;
    }
    return NULL;
}

static int build_mount(const cJSON *json, size_t index, struct policy_mount *ret, struct error *err) {
    const char *kind = json_get_string(json, "kind"), *target = json_get_string(json, "target"), *source = json_get_string(json, "source");
    if (!kind || !target)
        return error_set(err, STEP, 0, "filesystem.mounts[%zu]: needs \"kind\" and \"target\"", index);
    bool tmpfs = !strcmp(kind, "tmpfs");
    if (tmpfs ? source || !json_get(json, "bytes") || !json_get(json, "inodes") : !source || json_get(json, "bytes") || json_get(json, "inodes"))
        return error_set(err, STEP, 0, "filesystem.mounts[%zu]: %s", index,
                         tmpfs ? "a tmpfs has \"bytes\" and \"inodes\" and no \"source\"" : "needs \"source\"; \"bytes\" and \"inodes\" belong to a tmpfs");
    const char *reserved = reserved_target(target);
    if (reserved)
        return error_set(err, STEP, 0, "filesystem.mounts[%zu].target: \"%s\": the jail makes %s itself; choose another place", index, target, reserved);
    ret->kind = tmpfs ? MOUNT_TMPFS : !strcmp(kind, "rw") ? MOUNT_RW : MOUNT_RO;
    ret->bytes = whole(json, "bytes");
    ret->inodes = whole(json, "inodes");
    ret->optional = flag(json, "optional");
    ret->exec = flag(json, "exec");
    if (copy_text(json, "source", &ret->source) < 0 || copy_text(json, "target", &ret->target) < 0)
        return error_set(err, STEP, ENOMEM, "filesystem.mounts");
    return 0;
}

static int build_filesystem(const cJSON *json, struct policy *p, struct error *err) {
    const cJSON *mounts = json_get(json, "mounts");
    size_t count = (size_t)cJSON_GetArraySize(mounts);
    if (count && !(p->mounts = calloc(count, sizeof *p->mounts)))
        return error_set(err, STEP, ENOMEM, "filesystem.mounts");
    for (const cJSON *mount = mounts->child; mount; mount = mount->next) {
        struct policy_mount *made = &p->mounts[p->mount_count++];
        if (build_mount(mount, p->mount_count - 1, made, err) < 0)
            return -1;
        for (size_t i = 0; i + 1 < p->mount_count; i++)
            if (!strcmp(p->mounts[i].target, made->target))
                return error_set(err, STEP, 0, "filesystem.mounts[%zu].target: \"%s\" is a target twice", p->mount_count - 1, made->target);
    }
    const cJSON *session = json_get(json, "session"), *tmp = json_get(json, "tmp");
    p->session_bytes = whole(session, "bytes");
    p->session_inodes = whole(session, "inodes");
    p->tmp_bytes = whole(tmp, "bytes");
    p->tmp_inodes = whole(tmp, "inodes");
    p->shm_bytes = whole(json_get(json, "shm"), "bytes");
    return copy_text(json, "rootfs", &p->rootfs) < 0 ? error_set(err, STEP, ENOMEM, "filesystem.rootfs") : 0;
}

static int build_limits(const cJSON *json, struct policy_limits *l, struct error *err) {
    *l = (struct policy_limits){
        .timeout_seconds = real(json, "timeout_seconds"), .timeout_max_seconds = real(json, "timeout_max_seconds"),
        .memory_bytes = whole(json, "memory_bytes"), .memory_max_bytes = whole(json, "memory_max_bytes"),
        .pids = whole(json, "pids"), .cpus = real(json, "cpus"), .output_bytes = whole(json, "output_bytes"),
        .value_bytes = whole(json, "value_bytes"), .source_bytes = whole(json, "source_bytes"),
        .open_files = whole(json, "open_files"), .file_bytes = whole(json, "file_bytes"), .stack_bytes = whole(json, "stack_bytes"),
        .artifact_files = whole_or(json, "artifact_files", 100), .artifact_bytes = whole_or(json, "artifact_bytes", 10u << 20),
        .artifact_total_bytes = whole_or(json, "artifact_total_bytes", 25u << 20), .artifact_depth = whole_or(json, "artifact_depth", 16)};
    char a[SIZE_TEXT], b[SIZE_TEXT];
    if (l->timeout_seconds > l->timeout_max_seconds)
        return error_set(err, STEP, 0, "limits.timeout_seconds: %g is more than timeout_max_seconds (%g)", l->timeout_seconds, l->timeout_max_seconds);
    if (l->memory_bytes > l->memory_max_bytes)
        return error_set(err, STEP, 0, "limits.memory_bytes: %s is more than memory_max_bytes (%s)", size_text(l->memory_bytes, a),
                         size_text(l->memory_max_bytes, b));
    return 0;
}

static int build_network(const cJSON *json, struct policy *p, struct error *err) {
    p->network = word_is(json, "mode", "allow") ? NETWORK_ALLOW : word_is(json, "mode", "loopback") ? NETWORK_LOOPBACK : NETWORK_NONE;
    const cJSON *hosts = json_get(json, "hosts");
    if (p->network != NETWORK_ALLOW)
        return hosts && hosts->child ? error_set(err, STEP, 0, "network.hosts: only mode \"allow\" has hosts; leave them empty") : 0;
    if (!hosts || !hosts->child)
        return error_set(err, STEP, 0, "network.hosts: mode \"allow\" needs the hosts that it allows");
    return strings_from(&p->hosts, hosts) < 0 ? error_set(err, STEP, ENOMEM, "network.hosts") : 0;
}

static int build_environment(const cJSON *json, struct strings *ret, struct error *err) {
    const cJSON *set = json_get(json, "set"), *pass = json_get(json, "pass");
    for (const cJSON *entry = set ? set->child : NULL; entry; entry = entry->next) {
        cleanup_buf struct buf pair = {0};
        if (buf_addf(&pair, "%s=%s", entry->string, entry->valuestring) < 0 || strings_add(ret, pair.data) < 0)
            return error_set(err, STEP, ENOMEM, "environment.set");
    }
    for (const cJSON *entry = pass ? pass->child : NULL; entry; entry = entry->next)
        if (json_get(set, entry->valuestring))
            return error_set(err, STEP, 0, "environment.pass: %s is also set; choose one", entry->valuestring);
    return strings_from(ret, pass) < 0 ? error_set(err, STEP, ENOMEM, "environment.pass") : 0;
}

static int build_layers(const cJSON *json, struct policy *p, struct error *err) {
    if (strings_from(&p->layers_required, json_get(json, "required")) < 0)
        return error_set(err, STEP, ENOMEM, "layers");
    /* a child that requires what its parent has as optional need not repeat the list */
    const cJSON *optional = json_get(json, "optional");
    for (const cJSON *entry = optional ? optional->child : NULL; entry; entry = entry->next)
        if (!strings_have(&p->layers_required, entry->valuestring) && !strings_have(&p->layers_optional, entry->valuestring) &&
            strings_add(&p->layers_optional, entry->valuestring) < 0)
            return error_set(err, STEP, ENOMEM, "layers");
    return 0;
}

static int build_seccomp(const cJSON *json, struct policy *p, struct error *err) {
    cleanup_free char *path = NULL;
    const cJSON *add = json_get(json, "add");
    if (search_profile(json_get_string(json, "profile"), &path, err) < 0)
        return -1;
    cleanup_json cJSON *profile = json_parse_file(path, (struct json_limits){.max_bytes = POLICY_FILE_MAX, .max_depth = 16}, err);
    if (!profile)
        return -1;
    if (seccomp_resolve(profile, add, p->network, &p->seccomp, err) < 0)
        return error_wrap(err, "%s", path);
    if (copy_text(json, "profile", &p->seccomp_profile) < 0 || !(p->seccomp_add = add ? cJSON_Duplicate(add, true) : cJSON_CreateArray()))
        return error_set(err, STEP, ENOMEM, "seccomp");
    return 0;
}

static int build_language(const cJSON *language, const cJSON *imports, struct policy *p, struct error *err) {
    p->restricted = word_is(language, "mode", "restricted");
    p->imports_allow_list = word_is(imports, "mode", "allow");
    if (strings_from(&p->denied_nodes, json_get(language, "denied_nodes")) < 0 ||
        strings_from(&p->denied_attributes, json_get(language, "denied_attributes")) < 0 ||
        strings_from(&p->denied_builtins, json_get(language, "denied_builtins")) < 0 ||
        strings_from(&p->allowed_names, json_get(language, "allowed_names")) < 0 ||
        strings_from(&p->import_names, json_get(imports, "names")) < 0 || strings_from(&p->preload, json_get(imports, "preload")) < 0)
        return error_set(err, STEP, ENOMEM, "language");
    return 0;
}

/* The resolved policy as JSON, in canonical order, and its digest. What only says how it was written is left out. */
static int build_resolved(const cJSON *json, struct policy *p, struct error *err) {
    p->resolved = document_canonical(json);
    cleanup_json cJSON *seccomp = document_canonical(p->seccomp);
    static const char *const drop[] = {"$schema", "extends", "widen", "widen_reason", NULL};
    for (const char *const *key = drop; p->resolved && *key; key++)
        cJSON_DeleteItemFromObjectCaseSensitive(p->resolved, *key);
    if (!p->resolved || !seccomp || !cJSON_ReplaceItemInObjectCaseSensitive(p->resolved, "seccomp", seccomp))
        return error_set(err, STEP, ENOMEM, "resolved policy");
    seccomp = NULL;
    cleanup_free char *text = json_print(p->resolved);
    if (!text)
        return error_set(err, STEP, ENOMEM, "resolved policy");
    digest_of(text, strlen(text), p->digest);
    return 0;
}

int policy_build(const cJSON *json, struct policy **ret, struct error *err) {
    cleanup_policy struct policy *p = calloc(1, sizeof *p);
    if (!p || copy_text(json, "name", &p->name) < 0 || copy_text(json, "description", &p->description) < 0 ||
        copy_text(json, "extends", &p->extends) < 0 || copy_text(json, "widen_reason", &p->widen_reason) < 0)
        return error_set(err, STEP, ENOMEM, "policy");
    if (build_language(json_get(json, "language"), json_get(json, "imports"), p, err) < 0 ||
        build_filesystem(json_get(json, "filesystem"), p, err) < 0 || build_network(json_get(json, "network"), p, err) < 0 ||
        build_limits(json_get(json, "limits"), &p->limits, err) < 0 || build_layers(json_get(json, "layers"), p, err) < 0 ||
        build_environment(json_get(json, "environment"), &p->environment, err) < 0 ||
        build_seccomp(json_get(json, "seccomp"), p, err) < 0 || build_resolved(json, p, err) < 0)
        return -1;
    *ret = steal_ptr(&p);
    return 0;
}

void policy_free(struct policy *p) {
    if (!p)
        return;
    struct strings *lists[] = {&p->denied_nodes, &p->denied_attributes, &p->denied_builtins, &p->allowed_names, &p->import_names,
                               &p->preload, &p->hosts, &p->layers_required, &p->layers_optional, &p->environment};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        strings_free(lists[i]);
    for (size_t i = 0; i < p->mount_count; i++) {
        free(p->mounts[i].source);
        free(p->mounts[i].target);
    }
    free(p->mounts);
    char *texts[] = {p->name, p->path, p->description, p->extends, p->widen_reason, p->rootfs, p->seccomp_profile};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    cJSON_Delete(p->seccomp_add);
    cJSON_Delete(p->seccomp);
    cJSON_Delete(p->resolved);
    free(p);
}
