#include "jail/mounts.h"

#include "base/cleanup.h"
#include "base/mutant.h"
#include "jail/exchange.h"
#include "jail/ids.h"
#include "jail/mount_calls.h"
#include "jail/mount_tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define STRINGIFY(x) #x
#define TEXT(x) STRINGIFY(x)
#define OWNER ",uid=" TEXT(JAIL_UID_NUMBER) ",gid=" TEXT(JAIL_UID_NUMBER)

static bool is_below(const char *path, const char *above)
{
    size_t n = strlen(above);
    return strncmp(path, above, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Mounts that the template holds at a place which a tmpfs of ours will cover: taken first, put on top of it again afterwards. */
static int take_covered(const struct jail_plan *plan, int trees[], struct error *err)
{
    for (size_t i = 0; i < plan->mount_count; i++) {
        trees[i] = -1;
        for (size_t k = 0; k < i && plan->mounts[i].kind != PLAN_TMPFS && trees[i] < 0; k++) {
            if (plan->mounts[k].kind != PLAN_TMPFS || !is_below(plan->mounts[i].target, plan->mounts[k].target))
                continue;
            trees[i] = open_tree_(AT_FDCWD, plan->mounts[i].target, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
            if (trees[i] < 0)
                return error_set(err, "mounts.source", errno, "%s cannot be cloned", plan->mounts[i].target);
        }
    }
    return 0;
}

static int put_back(int tree, const char *target, struct error *err)
{
    struct stat st;
    cleanup_fd int owned = tree;
    if (fstat(owned, &st) < 0)
        return error_set(err, "mounts.attach", errno, "/%s", target);
    return tree_attach(owned, S_ISDIR(st.st_mode), target, err);
}

static int mount_own(const struct jail_plan *plan, struct error *err)
{
    int covered[PLAN_MOUNTS];
    if (take_covered(plan, covered, err) < 0)
        return -1;
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *m = &plan->mounts[i];
        const char *target = m->target + strspn(m->target, "/");
        unsigned mode = strcmp(target, "session") == 0 ? 0700 : 01777;
        if (mutant(25) && strcmp(target, "dev/shm") == 0)
            continue;
        if (m->kind == PLAN_TMPFS && tree_mount_tmpfs(target, m->bytes, m->inodes, mode, OWNER, err) < 0)
            return -1;
        if (m->kind == PLAN_TMPFS && strcmp(target, "session") == 0 && exchange_mount(err) < 0)
            return -1;
        if (covered[i] >= 0 && put_back(covered[i], target, err) < 0)
            return -1;
    }
    return 0;
}

enum place { FOREIGN, READ_ONLY, DEVICE, WRITABLE };

/* What a line of mountinfo may name, and whether the policy lets it be written. The longest target that covers it decides. */
static enum place place_of(const struct jail_plan *plan, const char *point)
{
    char path[32];
    size_t best = 0;
    enum place place = FOREIGN;
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *m = &plan->mounts[i];
        if (is_below(point, m->target) && strlen(m->target) >= best) {
            best = strlen(m->target);
            place = m->kind == PLAN_BIND_RO ? READ_ONLY : WRITABLE;
        }
    }
    if (place != FOREIGN)
        return place;
    if (strcmp(point, "/") == 0 || strcmp(point, "/dev") == 0)
        return READ_ONLY;
    if (strcmp(point, "/proc") == 0)
        return DEVICE; /* not writable either, but by its own rules */
    for (size_t i = 0; i < TREE_DEVICES; i++) {
        snprintf(path, sizeof path, "/dev/%s", TREE_DEVICE[i]);
        if (strcmp(point, path) == 0)
            return DEVICE;
    }
    for (size_t i = 0; i < TREE_ROOT_LINKS; i++) {
        snprintf(path, sizeof path, "/%s", TREE_ROOT_LINK[i]);
        if (is_below(point, path))
            return READ_ONLY;
    }
    return plan->rootfs ? READ_ONLY : FOREIGN; /* a root directory of the operator's may have mounts below it */
}

static bool has_option(const char *options, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = options; (at = strstr(at, word)); at += n)
        if ((at == options || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

/* The kernel writes space, tab, newline and backslash as three octal digits (proc_pid_mountinfo(5)). */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        unsigned code;
        if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1 && strlen(from) >= 4) {
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* One line of proc_pid_mountinfo(5): "id parent major:minor root point options optional... - type source super". */
static int verify_line(const struct jail_plan *plan, const char *line, bool seen[], struct error *err)
{
    char point[4096], options[512];
    const char *separator = strstr(line, " - ");
    if (!separator || sscanf(line, "%*s %*s %*s %*s %4095s %511s", point, options) != 2)
        return error_set(err, "mounts.verify", 0, "a line of mountinfo is not understood: %.200s", line);
    unescape(point);
    const char *shared = strstr(line, " shared:"), *master = strstr(line, " master:");
    if ((shared && shared < separator) || (master && master < separator))
        return error_set(err, "mounts.verify", 0, "a mount still propagates: %.200s", line);
    enum place place = place_of(plan, point);
    if (place == FOREIGN)
        return error_set(err, "mounts.verify", 0, "%s is mounted in the jail and no policy says so", point);
    if (!has_option(options, "nosuid") || (place != DEVICE && !has_option(options, "nodev")))
        return error_set(err, "mounts.verify", 0, "%s is mounted %s: nosuid or nodev is missing", point, options);
    /* A device can be written to all the same; its node, which is the host's, keeps its times and attributes. */
    bool device_node = place == DEVICE && strcmp(point, "/proc") != 0;
    if ((place == READ_ONLY || device_node) && !has_option(options, "ro"))
        return error_set(err, "mounts.verify", 0, "%s is writable and must not be", point);
    for (size_t i = 0; i < plan->mount_count; i++)
        seen[i] |= strcmp(point, plan->mounts[i].target) == 0 &&
                   (plan->mounts[i].kind != PLAN_TMPFS || strncmp(separator, " - tmpfs ", 9) == 0);
    return 0;
}

/* Post-condition, read back from the kernel: every mount is one of the policy's, as tight as the policy says, and all of ours stand. */
static int verify(const struct jail_plan *plan, int host_proc, struct error *err)
{
    if (mutant_any())
        return 0;
    int fd = openat(host_proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
    cleanup_file FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    char line[8192];
    bool seen[PLAN_MOUNTS] = {false};
    if (!f) {
        close_fd(&fd);
        return error_set(err, "mounts.verify", errno, "mountinfo cannot be read");
    }
    while (fgets(line, sizeof line, f))
        if (verify_line(plan, line, seen, err) < 0)
            return -1;
    for (size_t i = 0; i < plan->mount_count; i++)
        if (!seen[i] && !plan->mounts[i].optional)
            return error_set(err, "mounts.verify", 0, "%s is not mounted in the jail", plan->mounts[i].target);
    return 0;
}

/* The template's /proc belongs to a pid namespace that is gone and knows no "self"; ours says that we are process 1. */
static bool mount_proc(void)
{
    char self[16] = "";
    return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, mutant(26) ? "" : TREE_PROC_OPTIONS) == 0 &&
           readlink("/proc/self", self, sizeof self - 1) == 1 && self[0] == '1';
}

int mounts_own(const struct jail_plan *plan, int host_proc, layer_set *ret_layers, struct error *err)
{
    struct statvfs fs;
    if (mount_proc())
        *ret_layers |= LAYER_BIT(LAYER_PROC);
    if (mount_own(plan, err) < 0 || verify(plan, host_proc, err) < 0)
        return -1;
    if (!mutant(22) && (statvfs("/", &fs) < 0 || !(fs.f_flag & ST_RDONLY)))
        return error_set(err, "mounts.read_only", errno, "the root is not read-only");
    *ret_layers |= LAYER_BIT(LAYER_PIVOT_ROOT) | LAYER_BIT(LAYER_READ_ONLY_ROOT);
    return 0;
}
