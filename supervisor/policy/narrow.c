/* `extends` narrows: everything that the child allows, the parent allows. Lists of denials may only grow, lists of permissions only
 * shrink. Pure. */
#include "policy/build.h"
#include "policy/document.h"
#include "policy/seccomp_resolve.h"
#include "policy/strings.h"

#include <string.h>

#define STEP "policy"

static int lost(const char *key, const struct strings *parent, const struct strings *child, struct error *err) {
    const char *name = strings_beyond(parent, child);
    return name ? error_set(err, STEP, 0, "%s: \"%s\" is no longer denied", key, name) : 0;
}

static int narrower_language(const struct policy *parent, const struct policy *child, struct error *err) {
    if (parent->restricted && !child->restricted)
        return error_set(err, STEP, 0, "language.mode: \"full\" instead of \"restricted\"");
    if (lost("language.denied_nodes", &parent->denied_nodes, &child->denied_nodes, err) < 0 ||
        lost("language.denied_attributes", &parent->denied_attributes, &child->denied_attributes, err) < 0 ||
        lost("language.denied_builtins", &parent->denied_builtins, &child->denied_builtins, err) < 0)
        return -1;
    const char *name = parent->restricted ? strings_beyond(&child->allowed_names, &parent->allowed_names) : NULL;
    return name ? error_set(err, STEP, 0, "language.allowed_names: \"%s\" is more", name) : 0;
}

static int narrower_imports(const struct policy *parent, const struct policy *child, struct error *err) {
    const struct strings *p = &parent->import_names, *c = &child->import_names;
    if (parent->imports_allow_list && !child->imports_allow_list)
        return error_set(err, STEP, 0, "imports.mode: \"deny\" instead of \"allow\"");
    if (!child->imports_allow_list) {
        for (size_t i = 0; i < p->count; i++)
            if (!modules_cover(c, p->items[i]))
                return error_set(err, STEP, 0, "imports.names: \"%s\" is no longer denied", p->items[i]);
        return 0;
    }
    for (size_t i = 0; i < c->count; i++) {
        if (parent->imports_allow_list) {
            if (!modules_cover(p, c->items[i]))
                return error_set(err, STEP, 0, "imports.names: \"%s\" is more", c->items[i]);
            continue;
        }
        /* from a deny list to an allow list: neither the name nor anything below it may be what was denied */
        for (size_t k = 0; k < p->count; k++)
            if (module_covers(p->items[k], c->items[i]) || module_covers(c->items[i], p->items[k]))
                return error_set(err, STEP, 0, "imports.names: \"%s\" would allow the denied \"%s\"", c->items[i], p->items[k]);
    }
    return 0;
}

static bool same(const char *a, const char *b) {
    return a && b ? !strcmp(a, b) : a == b;
}

#define NOWHERE SIZE_MAX

static size_t mount_at(const struct policy *p, const char *target) {
    for (size_t i = 0; i < p->mount_count; i++)
        if (!strcmp(p->mounts[i].target, target))
            return i;
    return NOWHERE;
}

/* `upper`, a mount of the child, lies above number `lower` of the parent. Mounts are made in their order: what covered a part of it
 * must go on to do so, and what was covered must not come to the top. */
static int hides(const struct policy *parent, size_t lower, const struct policy *child, size_t upper, struct error *err) {
    const char *target = parent->mounts[lower].target, *above = child->mounts[upper].target;
    size_t at = mount_at(child, target);
    bool covers = lower > mount_at(parent, above);
    if (covers && at == NOWHERE)
        return error_set(err, STEP, 0, "filesystem.mounts: without \"%s\" what it covers in \"%s\" is seen", target, above);
    if (covers && child->mounts[at].optional && !parent->mounts[lower].optional)
        return error_set(err, STEP, 0, "filesystem.mounts: \"%s\" is optional, and without it what it covers in \"%s\" is seen", target, above);
    if (at != NOWHERE && (at > upper) != covers)
        return error_set(err, STEP, 0, "filesystem.mounts: \"%s\" and \"%s\" stand in another order, so another one is seen", above, target);
    return 0;
}

static int narrower_nesting(const struct policy *parent, const struct policy *child, struct error *err) {
    for (size_t i = 0; i < parent->mount_count; i++) {
        const char *target = parent->mounts[i].target;
        for (size_t k = 0; k < child->mount_count; k++) {
            size_t length = strlen(child->mounts[k].target);
            if (!strncmp(target, child->mounts[k].target, length) && target[length] == '/' && hides(parent, i, child, k, err) < 0)
                return -1;
        }
    }
    return 0;
}

static int narrower_mounts(const struct policy *parent, const struct policy *child, struct error *err) {
    if (!same(parent->rootfs, child->rootfs))
        return error_set(err, STEP, 0, "filesystem.rootfs: another root");
    for (size_t i = 0; i < child->mount_count; i++) {
        const struct policy_mount *c = &child->mounts[i], *p = NULL;
        size_t at = mount_at(parent, c->target);
        if (at != NOWHERE)
            p = &parent->mounts[at];
        if (!p || !same(p->source, c->source))
            return error_set(err, STEP, 0, "filesystem.mounts: \"%s\" is mounted", c->target);
        if (c->kind != p->kind && !(p->kind == MOUNT_RW && c->kind == MOUNT_RO))
            return error_set(err, STEP, 0, "filesystem.mounts: \"%s\" has another kind", c->target);
        if (c->exec && !p->exec)
            return error_set(err, STEP, 0, "filesystem.mounts: \"%s\" may hold programs", c->target);
        if (c->bytes > p->bytes || c->inodes > p->inodes)
            return error_set(err, STEP, 0, "filesystem.mounts: \"%s\" is larger", c->target);
    }
    return narrower_nesting(parent, child, err);
}

struct bound {
    const char *key;
    double parent, child;
    bool bytes;
};

static int narrower_bounds(const struct policy *parent, const struct policy *child, struct error *err) {
    const struct policy_limits *p = &parent->limits, *c = &child->limits;
    const struct bound bounds[] = {
        {"limits.timeout_seconds", p->timeout_seconds, c->timeout_seconds, false},
        {"limits.timeout_max_seconds", p->timeout_max_seconds, c->timeout_max_seconds, false},
        {"limits.memory_bytes", (double)p->memory_bytes, (double)c->memory_bytes, true},
        {"limits.memory_max_bytes", (double)p->memory_max_bytes, (double)c->memory_max_bytes, true},
        {"limits.pids", (double)p->pids, (double)c->pids, false},
        {"limits.cpus", p->cpus, c->cpus, false},
        {"limits.output_bytes", (double)p->output_bytes, (double)c->output_bytes, true},
        {"limits.value_bytes", (double)p->value_bytes, (double)c->value_bytes, true},
        {"limits.source_bytes", (double)p->source_bytes, (double)c->source_bytes, true},
        {"limits.open_files", (double)p->open_files, (double)c->open_files, false},
        {"limits.file_bytes", (double)p->file_bytes, (double)c->file_bytes, true},
        {"limits.stack_bytes", (double)p->stack_bytes, (double)c->stack_bytes, true},
        {"limits.artifact_files", (double)p->artifact_files, (double)c->artifact_files, false},
        {"limits.artifact_bytes", (double)p->artifact_bytes, (double)c->artifact_bytes, true},
        {"limits.artifact_total_bytes", (double)p->artifact_total_bytes, (double)c->artifact_total_bytes, true},
        {"limits.artifact_depth", (double)p->artifact_depth, (double)c->artifact_depth, false},
        {"filesystem.session.bytes", (double)parent->session_bytes, (double)child->session_bytes, true},
        {"filesystem.session.inodes", (double)parent->session_inodes, (double)child->session_inodes, false},
        {"filesystem.tmp.bytes", (double)parent->tmp_bytes, (double)child->tmp_bytes, true},
        {"filesystem.tmp.inodes", (double)parent->tmp_inodes, (double)child->tmp_inodes, false},
        {"filesystem.shm.bytes", (double)parent->shm_bytes, (double)child->shm_bytes, true}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const struct bound *b = &bounds[i];
        char a[SIZE_TEXT], z[SIZE_TEXT];
        if (b->child <= b->parent)
            continue;
        if (b->bytes)
            return error_set(err, STEP, 0, "%s: %s is more than %s", b->key, size_text((uint64_t)b->child, a), size_text((uint64_t)b->parent, z));
        return error_set(err, STEP, 0, "%s: %g is more than %g", b->key, b->child, b->parent);
    }
    return 0;
}

static int narrower_layers(const struct policy *parent, const struct policy *child, struct error *err) {
    const char *name = strings_beyond(&parent->layers_required, &child->layers_required);
    if (name)
        return error_set(err, STEP, 0, "layers.required: \"%s\" is no longer required", name);
    for (size_t i = 0; i < parent->layers_optional.count; i++) {
        name = parent->layers_optional.items[i];
        if (!strings_have(&child->layers_required, name) && !strings_have(&child->layers_optional, name))
            return error_set(err, STEP, 0, "layers.optional: \"%s\" is given up", name);
    }
    return 0;
}

static int narrower_network(const struct policy *parent, const struct policy *child, struct error *err) {
    static const char *const modes[] = {"none", "loopback", "allow"};
    if (child->network > parent->network)
        return error_set(err, STEP, 0, "network.mode: \"%s\" is more than \"%s\"", modes[child->network], modes[parent->network]);
    const char *host = strings_beyond(&child->hosts, &parent->hosts);
    return host ? error_set(err, STEP, 0, "network.hosts: \"%s\" is more", host) : 0;
}

/* A variable that is passed on may hold a secret. One that is set is harmless in the jail, where a guest can set any; from a
 * project it is refused all the same, since LD_PRELOAD and its like reach the interpreter before the guest does. */
static int narrower_environment(const struct policy *parent, const struct policy *child, bool project, struct error *err) {
    for (size_t i = 0; i < child->environment.count; i++) {
        const char *entry = child->environment.items[i];
        bool set = strchr(entry, '=') != NULL;
        if ((!set || project) && !strings_have(&parent->environment, entry))
            return error_set(err, STEP, 0, "environment.%s: \"%.*s\" is more", set ? "set" : "pass", (int)strcspn(entry, "="), entry);
    }
    return 0;
}

int policy_narrower(const struct policy *parent, const struct policy *child, bool project, struct error *err) {
    if (narrower_language(parent, child, err) < 0 || narrower_imports(parent, child, err) < 0 || narrower_mounts(parent, child, err) < 0 ||
        narrower_bounds(parent, child, err) < 0 || narrower_layers(parent, child, err) < 0 || narrower_network(parent, child, err) < 0 ||
        narrower_environment(parent, child, project, err) < 0)
        return -1;
    if (strcmp(parent->seccomp_profile, child->seccomp_profile) != 0)
        return error_set(err, STEP, 0, "seccomp.profile: \"%s\" instead of \"%s\"", child->seccomp_profile, parent->seccomp_profile);
    if (seccomp_narrower(parent->seccomp_add, child->seccomp_add, err) < 0)
        return -1;
    /* preload runs a module's top level in the zygote, for every jail of the policy */
    const char *module = project ? strings_beyond(&child->preload, &parent->preload) : NULL;
    return module ? error_set(err, STEP, 0, "imports.preload: \"%s\" is more", module) : 0;
}
