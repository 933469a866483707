#include "policy_oracle.h"

#include "fuzz.h"

#include <stdio.h>

static bool in(const struct strings *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i], text))
            return true;
    return false;
}

static void subset(const struct strings *small, const struct strings *large)
{
    for (size_t i = 0; i < small->count; i++)
        require(in(large, small->items[i]));
}

/* Is one of the list's entries the module or a package that it is in? */
static bool named(const struct strings *list, const char *module)
{
    char name[256];
    snprintf(name, sizeof name, "%s", module);
    for (;;) {
        if (in(list, name))
            return true;
        char *dot = strrchr(name, '.');
        if (!dot)
            return false;
        *dot = '\0';
    }
}

static bool importable(const struct policy *p, const char *module)
{
    return named(&p->import_names, module) == p->imports_allow_list;
}

static void check_imports(const struct policy *parent, const struct policy *child)
{
    const struct strings *lists[] = {&parent->import_names, &child->import_names};
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < lists[l]->count; i++) {
            char probe[256];
            if (strlen(lists[l]->items[i]) > 200)
                continue;
            snprintf(probe, sizeof probe, "%s.sub", lists[l]->items[i]);
            require(!importable(child, probe) || importable(parent, probe));
            for (char *dot; (dot = strrchr(probe, '.')); ) {
                *dot = '\0';
                require(!importable(child, probe) || importable(parent, probe));
            }
        }
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* In the unlucky world the sources that the child does not insist on are missing. */
static bool is_made(const struct policy_mount *m, const struct policy *child, bool lucky)
{
    if (lucky || !m->optional)
        return true;
    for (size_t i = 0; i < child->mount_count; i++)
        if (!child->mounts[i].optional && same_text(child->mounts[i].source, m->source))
            return true;
    return false;
}

/* The mount whose files are seen at `path`: mounts are made in their order, so the last one that lies above it. */
static const struct policy_mount *seen_at(const struct policy *p, const char *path, const struct policy *child, bool lucky)
{
    const struct policy_mount *found = NULL;
    for (size_t i = 0; i < p->mount_count; i++) {
        const struct policy_mount *m = &p->mounts[i];
        size_t length = strlen(m->target);
        if (!strncmp(m->target, path, length) && (!path[length] || path[length] == '/') && is_made(m, child, lucky))
            found = m;
    }
    return found;
}

static void check_path(const struct policy *parent, const struct policy *child, const char *path, bool lucky)
{
    const struct policy_mount *c = seen_at(child, path, child, lucky), *p = seen_at(parent, path, child, lucky);
    if (!c)
        return;
    require(p && !strcmp(p->target, c->target) && same_text(p->source, c->source));
    require(c->kind == p->kind || (c->kind == MOUNT_RO && p->kind == MOUNT_RW));
    require((!c->exec || p->exec) && c->bytes <= p->bytes && c->inodes <= p->inodes);
}

static void check_mounts(const struct policy *parent, const struct policy *child)
{
    const struct policy *both[] = {parent, child};
    require(same_text(parent->rootfs, child->rootfs));
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < both[b]->mount_count; i++) {
            check_path(parent, child, both[b]->mounts[i].target, true);
            check_path(parent, child, both[b]->mounts[i].target, false);
        }
}

static void check_bounds(const struct policy *parent, const struct policy *child)
{
    const struct policy_limits *p = &parent->limits, *c = &child->limits;
    require(c->timeout_seconds <= p->timeout_seconds && c->timeout_max_seconds <= p->timeout_max_seconds);
    require(c->memory_bytes <= p->memory_bytes && c->memory_max_bytes <= p->memory_max_bytes && c->memory_bytes <= c->memory_max_bytes);
    require(c->pids <= p->pids && c->cpus <= p->cpus && c->output_bytes <= p->output_bytes && c->value_bytes <= p->value_bytes);
    require(c->source_bytes <= p->source_bytes && c->open_files <= p->open_files && c->file_bytes <= p->file_bytes);
    require(c->stack_bytes <= p->stack_bytes && child->shm_bytes <= parent->shm_bytes);
    require(child->session_bytes <= parent->session_bytes && child->session_inodes <= parent->session_inodes);
    require(child->tmp_bytes <= parent->tmp_bytes && child->tmp_inodes <= parent->tmp_inodes);
}

/* Layers that were tried for are tried for, and required ones stay required. */
static void check_layers(const struct policy *parent, const struct policy *child)
{
    subset(&parent->layers_required, &child->layers_required);
    for (size_t i = 0; i < parent->layers_optional.count; i++)
        require(in(&child->layers_required, parent->layers_optional.items[i]) || in(&child->layers_optional, parent->layers_optional.items[i]));
}

static void check_environment(const struct policy *parent, const struct policy *child)
{
    bool project = child->origin == POLICY_PROJECT;
    for (size_t i = 0; i < child->environment.count; i++)
        if (project || !strchr(child->environment.items[i], '='))
            require(in(&parent->environment, child->environment.items[i]));
    if (project)
        subset(&child->preload, &parent->preload);
}

void policy_check_narrower(const struct policy *parent, const struct policy *child)
{
    require(child->restricted || !parent->restricted);
    subset(&parent->denied_nodes, &child->denied_nodes);
    subset(&parent->denied_attributes, &child->denied_attributes);
    subset(&parent->denied_builtins, &child->denied_builtins);
    if (parent->restricted)
        subset(&child->allowed_names, &parent->allowed_names);
    require(child->network <= parent->network);
    subset(&child->hosts, &parent->hosts);
    check_imports(parent, child);
    check_mounts(parent, child);
    check_bounds(parent, child);
    check_layers(parent, child);
    check_environment(parent, child);
}
