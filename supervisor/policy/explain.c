/* `policy show --explain`: the policy as a person would say it, one paragraph a section. */
#include "policy/policy.h"

#include "base/buf.h"
#include "base/json.h"
#include "policy/document.h"
#include "policy/seccomp_oci.h"

#include <inttypes.h>
#include <string.h>

static int words(struct buf *b, const struct strings *list, size_t most) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->count && i < most; i++)
        r = buf_addf(b, "%s%s", i ? ", " : "", list->items[i]);
    if (r == 0 && list->count > most)
        r = buf_addf(b, " and %zu more", list->count - most);
    return r;
}

static int explain_head(struct buf *b, const struct policy *p) {
    int r = buf_addf(b, "Policy %s (%s, %s)\n", p->name, policy_origin_name(p->origin), p->path);
    if (r == 0 && p->description)
        r = buf_addf(b, "  %s\n", p->description);
    if (r == 0 && p->extends)
        r = buf_addf(b, "  It extends %s and %s%s%s.\n", p->extends, p->widen_reason ? "allows more" : "only narrows it",
                     p->widen_reason ? ": " : "", p->widen_reason ? p->widen_reason : "");
    return r < 0 ? r : buf_addf(b, "  Digest %s\n", p->digest);
}

static int explain_language(struct buf *b, const struct policy *p) {
    if (!p->restricted)
        return buf_adds(b, "\nLanguage: all of Python; no source is refused. The jail is the wall.\n");
    int r = buf_adds(b, "\nLanguage: restricted. Source is checked before it runs, and refused with line and rule. Names that begin with an underscore "
                        "are refused");
    if (r == 0 && p->allowed_names.count)
        r = buf_adds(b, ", except ") < 0 ? -1 : words(b, &p->allowed_names, 12);
    if (r == 0 && p->denied_nodes.count)
        r = buf_adds(b, ". No syntax of the kinds ") < 0 ? -1 : words(b, &p->denied_nodes, 24);
    if (r == 0 && p->denied_attributes.count)
        r = buf_adds(b, ". No attribute named ") < 0 ? -1 : words(b, &p->denied_attributes, 12);
    if (r == 0 && p->denied_builtins.count)
        r = buf_adds(b, ". No builtin ") < 0 ? -1 : words(b, &p->denied_builtins, 40);
    return r < 0 ? r : buf_adds(b, ".\n");
}

static int explain_imports(struct buf *b, const struct policy *p) {
    int r = buf_adds(b, "\nImports: ");
    if (r == 0 && p->imports_allow_list)
        r = buf_adds(b, "only ") < 0 ? -1 : words(b, &p->import_names, 60);
    else if (r == 0 && p->import_names.count)
        r = buf_adds(b, "everything that is installed, except ") < 0 ? -1 : words(b, &p->import_names, 60);
    else if (r == 0)
        r = buf_adds(b, "everything that is installed");
    if (r == 0 && p->preload.count)
        r = buf_addf(b, ". %zu modules are loaded ahead, behind the walls, so that a call need not wait for them", p->preload.count);
    return r < 0 ? r : buf_adds(b, ".\n");
}

static int explain_files(struct buf *b, const struct policy *p) {
    char a[SIZE_TEXT], c[SIZE_TEXT], d[SIZE_TEXT];
    bool writable = false;
    for (size_t i = 0; i < p->mount_count; i++)
        writable = writable || p->mounts[i].kind != MOUNT_RO;
    int r = buf_addf(b, "\nFiles: the jail's root is %s%s. Writable are only /session (%s, %" PRIu64 " files), /tmp (%s, %" PRIu64
                     " files) and /dev/shm (%s), all in memory, from which no program starts%s.\n",
                     p->rootfs ? "the directory " : "a read-only view of the host", p->rootfs ? p->rootfs : "", size_text(p->session_bytes, a),
                     p->session_inodes, size_text(p->tmp_bytes, c), p->tmp_inodes, size_text(p->shm_bytes, d),
                     writable ? "; and what is listed as writable" : "");
    for (size_t i = 0; r == 0 && i < p->mount_count; i++) {
        const struct policy_mount *m = &p->mounts[i];
        if (m->kind == MOUNT_TMPFS)
            r = buf_addf(b, "  %s: memory, writable, %s, %" PRIu64 " files", m->target, size_text(m->bytes, a), m->inodes);
        else
            r = buf_addf(b, "  %s: the host's %s, %s%s", m->target, m->source, m->kind == MOUNT_RO ? "read-only" : "writable",
                         m->optional ? ", if it is there" : "");
        if (r == 0)
            r = buf_addf(b, "%s\n", m->exec ? ", programs may start" : "");
    }
    return r;
}

static int explain_network(struct buf *b, const struct policy *p) {
    if (p->network == NETWORK_NONE)
        return buf_adds(b, "\nNetwork: none. Sockets other than AF_UNIX are refused.\n");
    if (p->network == NETWORK_LOOPBACK)
        return buf_adds(b, "\nNetwork: the jail's own loopback, TCP and UDP; nothing outside the jail.\n");
    if (buf_adds(b, "\nNetwork: TCP and UDP to ") < 0 || words(b, &p->hosts, 40) < 0)
        return -1;
    return buf_adds(b, ".\n");
}

static int explain_limits(struct buf *b, const struct policy *p) {
    const struct policy_limits *l = &p->limits;
    char t[9][SIZE_TEXT];
    return buf_addf(b,
                    "\nLimits: a call has %g s (a caller may ask for up to %g s) and %s of memory (up to %s). A jail has %" PRIu64 " processes and threads, "
                    "%g processor%s, %" PRIu64 " open files, files of %s, stacks of %s. Kept of stdout and stderr: %s each; of a value: %s. "
                    "Longest source: %s. Taken from /session/output after a call: %" PRIu64 " files of %s, %s together, %" PRIu64 " directories deep.\n",
                    l->timeout_seconds, l->timeout_max_seconds, size_text(l->memory_bytes, t[0]), size_text(l->memory_max_bytes, t[1]), l->pids, l->cpus,
                    l->cpus == 1 ? "" : "s", l->open_files, size_text(l->file_bytes, t[2]), size_text(l->stack_bytes, t[3]),
                    size_text(l->output_bytes, t[4]), size_text(l->value_bytes, t[5]), size_text(l->source_bytes, t[6]), l->artifact_files, size_text(l->artifact_bytes, t[7]), size_text(l->artifact_total_bytes, t[8]),
                    l->artifact_depth);
}

static int explain_layers(struct buf *b, const struct policy *p) {
    int r = buf_adds(b, "\nWalls: nothing runs without ");
    if (r == 0)
        r = p->layers_required.count ? words(b, &p->layers_required, 64) : buf_adds(b, "(none is required)");
    if (r == 0 && p->layers_optional.count)
        r = buf_adds(b, ". Where the host has them, also ") < 0 ? -1 : words(b, &p->layers_optional, 64);
    return r < 0 ? r : buf_adds(b, ".\n");
}

static int explain_environment(struct buf *b, const struct policy *p) {
    int r = buf_adds(b, "\nEnvironment:");
    for (size_t i = 0; r == 0 && i < p->environment.count; i++) {
        const char *entry = p->environment.items[i];
        r = buf_addf(b, " %s%s", entry, strchr(entry, '=') ? "" : " (the host's value)");
    }
    return r < 0 ? r : buf_adds(b, p->environment.count ? "\n" : " empty.\n");
}

static int explain_argument(struct buf *b, const cJSON *arg) {
    static const struct { const char *op, *sign; } signs[] = {{"SCMP_CMP_EQ", "="}, {"SCMP_CMP_NE", "is not"}, {"SCMP_CMP_LT", "<"},
                                                              {"SCMP_CMP_LE", "<="}, {"SCMP_CMP_GT", ">"}, {"SCMP_CMP_GE", ">="}};
    const char *op = json_get_string(arg, "op");
    int64_t index = 0, value = 0, two = 0;
    json_get_int(arg, "index", &index);
    json_get_int(arg, "value", &value);
    json_get_int(arg, "valueTwo", &two);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (!strcmp(op, signs[i].op))
            return buf_addf(b, "argument %" PRId64 " %s %#" PRIx64, index, signs[i].sign, (uint64_t)value);
    return buf_addf(b, "argument %" PRId64 " & %#" PRIx64 " = %#" PRIx64, index, (uint64_t)value, (uint64_t)two);
}

/* Entries with a comment, in the words of who wrote them. */
static int explain_seccomp(struct buf *b, const struct policy *p) {
    const cJSON *entries = json_get(p->seccomp, "syscalls");
    const char *fallback = json_get_string(p->seccomp, "defaultAction");
    size_t allowed = 0;
    for (const cJSON *e = entries ? entries->child : NULL; e; e = e->next)
        if (oci_permits(json_get_string(e, "action")))
            allowed += (size_t)cJSON_GetArraySize(json_get(e, "names"));
    int r = buf_addf(b, "\nSystem calls: profile %s, %zu allowed rules, everything else %s. With conditions or reasons:\n", p->seccomp_profile, allowed,
                     fallback ? fallback : "");
    for (const cJSON *e = entries ? entries->child : NULL; r == 0 && e; e = e->next) {
        const char *comment = json_get_string(e, "comment");
        const cJSON *args = json_get(e, "args");
        if (!comment && !(args && args->child))
            continue;
        r = buf_addf(b, "  %s", json_get_string(e, "action") + strlen("SCMP_ACT_"));
        for (const cJSON *name = json_get(e, "names")->child; r == 0 && name; name = name->next)
            r = buf_addf(b, " %s", name->valuestring);
        for (const cJSON *arg = args ? args->child : NULL; r == 0 && arg; arg = arg->next)
            r = buf_adds(b, arg == args->child ? " if " : " and ") < 0 ? -1 : explain_argument(b, arg);
        if (r == 0)
            r = buf_addf(b, "%s%s\n", comment ? ": " : "", comment ? comment : "");
    }
    return r;
}

char *policy_explain(const struct policy *p) {
    static int (*const sections[])(struct buf *, const struct policy *) = {explain_head, explain_language, explain_imports, explain_files, explain_network,
                                                                           explain_limits, explain_layers, explain_environment, explain_seccomp};
    cleanup_buf struct buf b = {0};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (sections[i](&b, p) < 0)
            return NULL;
    return buf_take(&b);
}
