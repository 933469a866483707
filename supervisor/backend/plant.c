#include "config.h"

#include "backend/plant.h"

#include "base/cleanup.h"
#include "base/mutant.h"
#include "jail/ids.h"
#include "jail/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int add_mount(struct plant *p, enum plan_mount_kind kind, const char *source, const char *target, uint64_t bytes, uint64_t inodes,
                     bool optional, bool exec, struct error *err)
{
    if (kind == PLAN_TMPFS)
        p->disk_bytes += bytes;
    return jail_plan_add(&p->jail, (struct plan_mount){.kind = (uint8_t)kind, .source = (char *)source, .target = (char *)target,
                                                       .bytes = bytes, .inodes = inodes, .optional = optional, .exec = exec}, err);
}

static int add_path(struct plant *p, const char *path, bool write, bool exec, struct error *err)
{
    if (p->seal.path_count == SEAL_PATHS)
        return error_set(err, "plan", 0, "policy %s has more than %d paths", p->policy->name, SEAL_PATHS);
    char *copy = strdup(path);
    if (!copy)
        return error_set(err, "plan", 0, "out of memory");
    p->seal.paths[p->seal.path_count++] = (struct seal_path){.path = copy, .write = write, .exec = exec};
    return 0;
}

static int plan_mounts(struct plant *p, struct error *err)
{
    static const enum plan_mount_kind KINDS[] = {[MOUNT_RO] = PLAN_BIND_RO, [MOUNT_RW] = PLAN_BIND_RW, [MOUNT_TMPFS] = PLAN_TMPFS};
    const struct policy *policy = p->policy;
    for (size_t i = 0; i < policy->mount_count; i++) {
        const struct policy_mount *m = &policy->mounts[i];
        if (add_mount(p, KINDS[m->kind], m->source, m->target, m->bytes, m->inodes, m->optional, m->exec, err) < 0 ||
            add_path(p, m->target, m->kind != MOUNT_RO, m->exec, err) < 0)
            return -1;
    }
    if (policy->rootfs && !(p->jail.rootfs = strdup(policy->rootfs)))
        return error_set(err, "plan", 0, "out of memory");
    if (add_mount(p, PLAN_TMPFS, NULL, "/dev/shm", policy->shm_bytes, policy->tmp_inodes, false, false, err) < 0 ||
        add_mount(p, PLAN_TMPFS, NULL, "/tmp", policy->tmp_bytes, policy->tmp_inodes, false, false, err) < 0 ||
        add_mount(p, PLAN_TMPFS, NULL, "/session", policy->session_bytes, policy->session_inodes, false, false, err) < 0)
        return -1;
    return 0;
}

/* Where a path of ours leads on this host: /bin is a link into /usr on most systems. */
static void resolve_link(const char *path, char *ret, size_t size)
{
    char target[64] = "";
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n > 0 && strncmp(target, "usr/", 4) == 0)
        snprintf(ret, size, "/%s", target);
    else
        snprintf(ret, size, "%s", path);
}

static bool covers(const struct seal_path *above, const struct seal_path *path, const char *where)
{
    size_t n = strlen(above->path);
    return strncmp(where, above->path, n) == 0 && where[n] == '/' && (above->write || !path->write) && (above->exec || !path->exec);
}

/* Rights add up on the way to the root (landlock(7)), so a path with no more of them than one above it needs no rule; each rule is four
 * system calls in every jail. */
static void drop_covered_paths(struct plant *p)
{
    struct seal_plan *s = &p->seal;
    size_t kept = 0;
    for (size_t i = 0; i < s->path_count; i++) {
        char where[4096];
        bool covered = false;
        if (p->policy->rootfs)
            snprintf(where, sizeof where, "%s", s->paths[i].path);
        else
            resolve_link(s->paths[i].path, where, sizeof where);
        for (size_t k = 0; k < s->path_count && !covered; k++)
            covered = k != i && s->paths[k].path && covers(&s->paths[k], &s->paths[i], where);
        if (covered) {
            free(s->paths[i].path);
            s->paths[i].path = NULL;
        }
    }
    for (size_t i = 0; i < s->path_count; i++)
        if (s->paths[i].path)
            s->paths[kept++] = s->paths[i];
    s->path_count = kept;
}

/* What the jail has by itself, beside the policy's mounts. Landlock follows the mounts: a path that no line names is out of reach
 * even when a mount brought it. */
static int plan_paths(struct plant *p, struct error *err)
{
    static const struct { const char *path; bool write, exec; } OWN[] = {
        {"/session", true, false}, {"/tmp", true, false},   {"/dev/shm", true, false}, {"/dev/null", true, false},
        {"/dev/zero", true, false}, {"/dev/full", true, false}, {"/dev/random", false, false}, {"/dev/urandom", false, false},
        {"/proc", false, false},   {"/etc", false, false},  {"/bin", false, true},     {"/sbin", false, true},
        {"/lib", false, true},     {"/lib32", false, true}, {"/lib64", false, true},
    };
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++)
        if (add_path(p, OWN[i].path, OWN[i].write, OWN[i].exec, err) < 0)
            return -1;
    if (p->policy->rootfs && add_path(p, "/usr", false, true, err) < 0)
        return -1;
    drop_covered_paths(p);
    return 0;
}

static void add_rlimit(struct seal_plan *s, int resource, uint64_t value)
{
    s->rlimits[s->rlimit_count].resource = resource;
    s->rlimits[s->rlimit_count++].value = value;
}

static void plan_rlimits(struct plant *p)
{
    const struct policy_limits *l = &p->policy->limits;
    add_rlimit(&p->seal, RLIMIT_CORE, 0);
    add_rlimit(&p->seal, RLIMIT_CPU, 86400); /* of a whole session: a last bound, calls have their own clock */
    add_rlimit(&p->seal, RLIMIT_FSIZE, l->file_bytes);
    add_rlimit(&p->seal, RLIMIT_NOFILE, l->open_files);
    add_rlimit(&p->seal, RLIMIT_NPROC, l->pids);
    add_rlimit(&p->seal, RLIMIT_STACK, l->stack_bytes);
    add_rlimit(&p->seal, RLIMIT_MEMLOCK, 0);
    add_rlimit(&p->seal, RLIMIT_MSGQUEUE, 0);
    add_rlimit(&p->seal, RLIMIT_RTPRIO, 0);
    add_rlimit(&p->seal, RLIMIT_NICE, 0);
    /* Queued signals and timers count per user, and on a host without a range of ids all jails are one user. */
    add_rlimit(&p->seal, RLIMIT_SIGPENDING, 256);
}

static struct sock_filter *copy_program(const struct seccomp_program *program, size_t *ret_count)
{
    struct sock_filter *copy = malloc(program->count * sizeof *copy);
    if (copy) {
        memcpy(copy, program->code, program->count * sizeof *copy);
        *ret_count = program->count;
    }
    return copy;
}

int plant_compile(struct plant *p, struct error *err)
{
    if (p->seccomp)
        return 0;
    if (seccomp_compile(p->policy->seccomp, &p->seccomp, err) < 0)
        return error_wrap(err, "policy %s", p->policy->name);
    p->seal.filter = copy_program(&p->seccomp->filter, &p->seal.filter_count);
    p->seal.filter_notify = copy_program(&p->seccomp->filter_notify, &p->seal.filter_notify_count);
    if (!p->seal.filter || !p->seal.filter_notify)
        return error_set(err, "plan", 0, "out of memory");
    _Static_assert(sizeof p->jail.errno_of == sizeof p->seccomp->errno_of, "the tables have one size");
    memcpy(p->jail.errno_of, p->seccomp->errno_of, sizeof p->jail.errno_of);
    return 0;
}

static int plan_layers(struct plant *p, struct error *err)
{
    const struct strings *lists[] = {&p->policy->layers_required, &p->policy->layers_optional};
    layer_set *sets[] = {&p->required, &p->optional};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < lists[k]->count; i++) {
            int layer = layer_by_name(lists[k]->items[i]);
            if (layer < 0)
                return error_set(err, "plan", 0, "policy %s names an unknown layer: %s", p->policy->name, lists[k]->items[i]);
            *sets[k] |= LAYER_BIT(layer);
        }
    p->jail.need_time_namespace = p->required & LAYER_BIT(LAYER_TIME_NAMESPACE);
    p->jail.need_cgroup_namespace = p->required & LAYER_BIT(LAYER_CGROUP_NAMESPACE);
    return 0;
}

#ifdef SNIPARA_MUTANTS
/* The number, for the zygote; mutants 3 and 44: the supervisor's whole environment instead of the list. */
static void mutant_environment(struct plant *p)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **items = realloc(p->environment.items, (p->environment.count + count + 2) * sizeof *items);
    if (!items)
        return;
    p->environment.items = items;
    memset(items + p->environment.count, 0, (count + 2) * sizeof *items);
    for (size_t i = 0; i < count && (mutant(3) || mutant(44)); i++)
        items[p->environment.count++] = strdup(environ[i]);
    if (mutant_any() && !mutant(3) && !mutant(44))
        items[p->environment.count++] = strdup(mutant_setting());
}
#endif

/* "NAME=value" as it stands, "NAME" only when the supervisor has it. Nothing else of our environment goes in. */
static int plan_environment(struct plant *p, struct error *err)
{
    const struct strings *names = &p->policy->environment;
    p->environment.items = calloc(names->count + 2, sizeof *p->environment.items);
    if (!p->environment.items)
        return error_set(err, "plan", 0, "out of memory");
    for (size_t i = 0; i < names->count; i++) {
        const char *item = names->items[i], *value;
        char *entry = NULL;
        if (strchr(item, '='))
            entry = strdup(item);
        else if ((value = getenv(item)) && asprintf(&entry, "%s=%s", item, value) < 0)
            entry = NULL;
        if (entry)
            p->environment.items[p->environment.count++] = entry;
    }
#ifdef SNIPARA_MUTANTS
    mutant_environment(p);
#endif
#ifdef SANITIZED
    const char *options = getenv("ASAN_OPTIONS");
    char *entry = NULL;
    if (options && asprintf(&entry, "ASAN_OPTIONS=%s", options) > 0)
        p->environment.items[p->environment.count++] = entry;
#endif
    return 0;
}

int plant_new(struct policy *policy, struct plant **ret, struct error *err)
{
    struct plant *p = calloc(1, sizeof *p);
    if (!p) {
        policy_free(policy);
        return error_set(err, "plan", 0, "out of memory");
    }
    p->policy = policy;
    p->seal.uid = p->seal.gid = JAIL_UID;
    p->jail.loopback = policy->network == NETWORK_LOOPBACK;
    p->seal.landlock_network = policy->network != NETWORK_NONE;
    p->seal.landlock_optional = !(p->required & LAYER_BIT(LAYER_LANDLOCK));
    plan_rlimits(p);
    if (policy->network == NETWORK_ALLOW)
        error_set(err, "network", 0, "policy %s asks for network mode allow, which this version cannot build yet: use none or loopback", policy->name);
    else if (plan_layers(p, err) == 0 && plan_mounts(p, err) == 0 && plan_paths(p, err) == 0 && plan_environment(p, err) == 0) {
        *ret = p;
        return 0;
    }
    plant_free(p);
    return -1;
}

void plant_free(struct plant *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->environment.count; i++)
        free(p->environment.items[i]);
    free(p->environment.items);
    seccomp_compiled_free(p->seccomp);
    jail_plan_free(&p->jail);
    seal_plan_free(&p->seal);
    policy_free(p->policy);
    free(p);
}

static int put_list(struct buf *b, uint16_t tag, const struct strings *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (wire_puts(b, tag, list->items[i]) < 0)
            return -1;
    return 0;
}

int plant_zygote_config(const struct plant *p, bool lean, struct buf *b, struct error *err)
{
    const struct policy *policy = p->policy;
    /* Never a trusted binary: the system's own interpreter, as the jail sees it, or nothing. */
    const char *executable = access(PYTHON_EXECUTABLE, X_OK) == 0 && !policy->rootfs ? PYTHON_EXECUTABLE : "";
    if (seal_plan_put(&p->seal, b) < 0 || wire_puts(b, ZT_POLICY_NAME, policy->name) < 0 ||
        wire_put_u64(b, ZT_RESTRICTED, policy->restricted) < 0 || put_list(b, ZT_DENIED_NODE, &policy->denied_nodes) < 0 ||
        put_list(b, ZT_DENIED_ATTRIBUTE, &policy->denied_attributes) < 0 ||
        put_list(b, ZT_DENIED_BUILTIN, &policy->denied_builtins) < 0 || put_list(b, ZT_ALLOWED_NAME, &policy->allowed_names) < 0 ||
        wire_put_u64(b, ZT_IMPORTS_ALLOW_LIST, policy->imports_allow_list) < 0 ||
        put_list(b, ZT_IMPORT_NAME, &policy->import_names) < 0 || (!lean && put_list(b, ZT_PRELOAD, &policy->preload) < 0) ||
        wire_put_u64(b, ZT_LEAN, lean) < 0 ||
        wire_put_u64(b, ZT_VALUE_BYTES, policy->limits.value_bytes) < 0 || wire_puts(b, ZT_GUEST_PATH, "/session") < 0 ||
        wire_puts(b, ZT_EXECUTABLE, executable) < 0 || wire_puts(b, ZT_CWD, "/session") < 0)
        return error_set(err, "zygote.config", 0, "out of memory");
    return 0;
}
