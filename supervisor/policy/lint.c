#include "policy/lint.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "policy/strings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WARNING "warning"
#define NOTE "note"

void finding(struct findings *f, const char *severity, const char *where, const char *format, ...) {
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    cJSON *entry = cJSON_CreateObject();
    if (!entry || !cJSON_AddItemToArray(f->list, entry)) {
        cJSON_Delete(entry);
        f->failed = true;
        return;
    }
    if (!cJSON_AddStringToObject(entry, "severity", severity) || !cJSON_AddStringToObject(entry, "where", where) ||
        !cJSON_AddStringToObject(entry, "message", message))
        f->failed = true;
}

/* Host directories that hold secrets, sockets of daemons or the kernel's knobs: themselves, what is below, and what is above. */
static void lint_mount(const struct policy_mount *m, struct findings *f) {
    static const struct { const char *path, *why; } touchy[] = {
        {"/etc/shadow", "it holds password hashes"}, {"/etc/ssh", "it holds host keys"}, {"/etc/ssl/private", "it holds private keys"},
        {"/root", "it is root's home"}, {"/home", "it holds people's files and keys"}, {"/run", "it holds sockets of daemons"},
        {"/var/run", "it holds sockets of daemons"}, {"/proc", "it shows the host's processes"}, {"/sys", "it holds the kernel's knobs"},
        {"/dev", "it holds devices"}, {"/boot", "it holds the kernel"}, {"/var/lib/docker", "it holds other containers"}};
    char where[160];
    snprintf(where, sizeof where, "filesystem.mounts %.120s", m->target);
    for (size_t i = 0; m->source && i < sizeof touchy / sizeof *touchy; i++) {
        size_t length = strlen(touchy[i].path), own = strlen(m->source);
        bool below = !strncmp(m->source, touchy[i].path, length) && (!m->source[length] || m->source[length] == '/');
        bool above = !strncmp(touchy[i].path, m->source, own) && touchy[i].path[own] == '/';
        if (below || above) {
            finding(f, WARNING, where, "%s of the host is in the jail: %s %s", m->source, above ? touchy[i].path : "there", touchy[i].why);
            break;
        }
    }
    if (m->kind != MOUNT_RO && m->exec)
        finding(f, WARNING, where, "writable and not noexec: a guest can run what it writes");
    if (m->kind == MOUNT_RW)
        finding(f, NOTE, where, "the guest can change %s of the host", m->source);
}

static void lint_imports(const struct policy *p, struct findings *f) {
    for (size_t i = 0; i < p->preload.count; i++) {
        const char *module = p->preload.items[i];
        bool named = modules_cover(&p->import_names, module);
        if (!p->imports_allow_list && named)
            finding(f, WARNING, "imports.preload", "%s is preloaded although imports.names denies it: it is in sys.modules of every jail", module);
        if (p->imports_allow_list && !named)
            finding(f, NOTE, "imports.preload", "%s is preloaded and not on the allow-list: it is in sys.modules, reachable for code that finds a way to it", module);
    }
    if (p->restricted && !p->imports_allow_list)
        finding(f, WARNING, "imports.mode", "a restricted language with a deny list: every module that is not named undoes the restriction; use \"allow\"");
    if (p->restricted && !p->denied_builtins.count)
        finding(f, WARNING, "language.denied_builtins", "a restricted language without denied builtins: eval and getattr undo the restriction");
}

static void lint_environment(const struct policy *p, struct findings *f) {
    static const char *const secret[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"};
    static const char *const loader[] = {"LD_", "GCONV_PATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "GLIBC_TUNABLES"};
    for (size_t i = 0; i < p->environment.count; i++) {
        const char *entry = p->environment.items[i];
        int length = (int)strcspn(entry, "=");
        for (size_t k = 0; !entry[length] && k < sizeof secret / sizeof *secret; k++)
            if (strcasestr(entry, secret[k])) {
                finding(f, WARNING, "environment.pass", "%s looks like a secret of the host", entry);
                break;
            }
        for (size_t k = 0; k < sizeof loader / sizeof *loader; k++)
            if (!strncmp(entry, loader[k], strlen(loader[k])))
                finding(f, WARNING, "environment", "%.*s changes what the interpreter loads", length, entry);
    }
}

static void lint_layers(const struct policy *p, struct findings *f) {
    static const char *const walls[] = {"mount_namespace", "pid_namespace", "network_namespace", "ipc_namespace", "pivot_root",
                                        "read_only_root", "capabilities", "no_new_privs", "landlock", "seccomp"};
    for (size_t i = 0; i < sizeof walls / sizeof *walls; i++)
        if (!strings_have(&p->layers_required, walls[i]))
            finding(f, WARNING, "layers.required", "%s is not required: on a host that lacks it code runs without this wall", walls[i]);
}

int policy_lint(const struct policy *p, cJSON **ret, struct error *err) {
    struct findings f = {cJSON_CreateArray(), false};
    if (!f.list)
        return error_set(err, "policy.lint", ENOMEM, "findings");
    if (p->widen_reason)
        finding(&f, NOTE, "widen", "allows more than \"%s\": %.300s", p->extends, p->widen_reason);
    for (size_t i = 0; i < p->mount_count; i++)
        lint_mount(&p->mounts[i], &f);
    lint_imports(p, &f);
    lint_environment(p, &f);
    lint_layers(p, &f);
    if (p->network == NETWORK_ALLOW)
        finding(&f, NOTE, "network.mode", "the network is open to %zu host%s", p->hosts.count, p->hosts.count == 1 ? "" : "s");
    lint_seccomp(p->seccomp, &f);
    if (f.failed) {
        cJSON_Delete(f.list);
        return error_set(err, "policy.lint", ENOMEM, "findings");
    }
    *ret = f.list;
    return 0;
}
