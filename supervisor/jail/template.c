#include "jail/template.h"

#include "base/cleanup.h"
#include "base/mutant.h"
#include "jail/mount_calls.h"
#include "jail/mount_tree.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

static const struct { const char *path, *text; } ETC_FILES[] = {
    {"etc/passwd", "sandbox:x:1000:1000:sandbox:/session:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"etc/group", "sandbox:x:1000:\nnogroup:x:65534:\n"},
    {"etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"},
    {"etc/hostname", "sandbox\n"},
    {"etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
    {"etc/resolv.conf", ""},
};

/* A bind source, taken before the new root covers anything of the old tree. */
struct source {
    int tree;
    bool directory;
};

static int take_tree(const char *path, bool optional, bool writable, bool exec, bool device, struct source *ret, struct error *err)
{
    struct stat st;
    ret->tree = -1;
    if (stat(path, &st) < 0) {
        if (optional)
            return 0;
        return error_set(err, "mounts.source", errno, "%s, which the policy mounts, cannot be read", path);
    }
    /* AT_RECURSIVE: mounts below the source that came from a more privileged namespace are locked to it (mount_namespaces(7)). */
    cleanup_fd int tree = open_tree_(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (tree < 0)
        return optional ? 0 : error_set(err, "mounts.source", errno, "%s cannot be cloned", path);
    struct mount_attr_ attr = {
        .attr_set = (mutant(23) ? 0 : MOUNT_ATTR_NOSUID_) | (device || mutant(23) ? 0 : MOUNT_ATTR_NODEV_) |
                    (writable || mutant(22) ? 0 : MOUNT_ATTR_RDONLY_) | (exec ? 0 : MOUNT_ATTR_NOEXEC_),
        .propagation = mutant(19) ? MS_SHARED : MS_PRIVATE,
    };
    if (mount_setattr_(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
        return error_set(err, "mounts.attributes", errno, "%s cannot be made %s", path, writable ? "nosuid,nodev" : "read-only");
    ret->directory = S_ISDIR(st.st_mode);
    ret->tree = steal_fd(&tree);
    return 0;
}

static int attach(struct source *s, const char *target, struct error *err)
{
    if (s->tree < 0)
        return 0;
    int r = tree_attach(s->tree, s->directory, target, err);
    close_fd(&s->tree);
    return r;
}

static int write_etc(struct error *err)
{
    for (size_t i = 0; i < sizeof ETC_FILES / sizeof *ETC_FILES; i++) {
        if (tree_make_target(ETC_FILES[i].path, false, err) < 0)
            return -1;
        cleanup_fd int fd = open(ETC_FILES[i].path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        size_t length = strlen(ETC_FILES[i].text);
        if (fd < 0 || write(fd, ETC_FILES[i].text, length) != (ssize_t)length)
            return error_set(err, "mounts.etc", errno, "/%s cannot be written", ETC_FILES[i].path);
    }
    return 0;
}

static int make_dev(struct source devices[], struct error *err)
{
    static const char *const LINKS[][2] = {{"/proc/self/fd", "dev/fd"}, {"fd/0", "dev/stdin"}, {"fd/1", "dev/stdout"}, {"fd/2", "dev/stderr"}};
    /* A tmpfs of its own, so that a root directory of the operator's needs an empty /dev and no nodes. */
    if (tree_mount_tmpfs("dev", 65536, 64, 0755, "", err) < 0)
        return -1;
    for (size_t i = 0; i < TREE_DEVICES; i++) {
        char target[64];
        snprintf(target, sizeof target, "dev/%s", TREE_DEVICE[i]);
        if (attach(&devices[i], target, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < sizeof LINKS / sizeof *LINKS; i++)
        if (symlink(LINKS[i][0], LINKS[i][1]) < 0)
            return error_set(err, "mounts.dev", errno, "/%s cannot be made", LINKS[i][1]);
    return 0;
}

/* The kernel would follow a link in a root directory that came from elsewhere, or in a writable mount of an earlier jail, and before
 * the pivot it leads to the host's tree: the mount lands there, and what the jail sees at its place is somebody else's
 * (CVE-2025-31133, -52565, -52881). Without a root directory the first part of a path is our own, links to /usr included. */
static int refuse_link(const struct jail_plan *plan, const char *target, struct error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", target);
    for (char *slash = strchr(path, '/'), *first = slash;; slash = strchr(slash + 1, '/')) {
        struct stat st;
        if (slash)
            *slash = '\0';
        if ((plan->rootfs || slash != first) && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
            return error_set(err, "mounts.target", ELOOP, "%s/%s is a symbolic link, and something is to be mounted at /%s: make it a directory",
                             plan->rootfs ? plan->rootfs : "", path, target);
        if (!slash)
            return 0;
        *slash = '/';
    }
}

/* A jail can mount a fresh /proc only where one is fully visible already (fs/namespace.c, mount_too_revealing), so the template has
 * one; that of a pid namespace whose only process is gone, so that below the jail's own /proc nothing of the host is hidden. Where the
 * host masks parts of /proc this is refused: then jails have none, and the policy decides whether they run. */
static int mount_dead_proc(struct error *err)
{
    struct clone_args args = {.flags = CLONE_NEWPID, .exit_signal = SIGCHLD};
    int status;
    if (tree_make_target("proc", true, err) < 0)
        return -1;
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid < 0 && errno == ENOSYS) /* hidden by a container's profile */
        pid = (pid_t)syscall(SYS_clone, args.flags | SIGCHLD, NULL, NULL, NULL, 0);
    if (pid < 0)
        return error_set(err, "mounts.proc", errno, "no process in a pid namespace of its own");
    if (pid == 0)
        _exit(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, mutant(26) ? "" : TREE_PROC_OPTIONS) < 0 ? errno & 0xff : 0);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_set(err, "mounts.proc", errno, "the process that mounts /proc is lost");
    return 0;
}

static int make_root_links(struct source trees[], char links[][64], struct error *err)
{
    for (size_t i = 0; i < TREE_ROOT_LINKS; i++) {
        if (links[i][0] && symlink(links[i], TREE_ROOT_LINK[i]) < 0)
            return error_set(err, "mounts.root", errno, "/%s cannot be made", TREE_ROOT_LINK[i]);
        if (!links[i][0] && attach(&trees[i], TREE_ROOT_LINK[i], err) < 0)
            return -1;
    }
    return 0;
}

/* Go to the new root and make sure that it is one: in a directory of the host we would make our own files in the host's tree. */
static int enter_root(const char *base, const struct stat *covered, const struct stat *rootfs, struct stat *ret, struct error *err)
{
    if (chdir(base) < 0 || stat(".", ret) < 0)
        return error_set(err, "mounts.root", errno, "%s", base);
    if (rootfs ? ret->st_dev != rootfs->st_dev || ret->st_ino != rootfs->st_ino : ret->st_dev == covered->st_dev)
        return error_set(err, "mounts.root", 0, "the new root is not at %s after it was mounted there", base);
    return 0;
}

/* The new root covers a directory that every host has; what lay below it was taken by descriptor before. */
static int mount_root(const struct jail_plan *plan, struct source *rootfs, struct stat *ret, struct error *err)
{
    struct stat covered, tree;
    if (plan->rootfs && fstat(rootfs->tree, &tree) < 0)
        return error_set(err, "mounts.root", errno, "%s", plan->rootfs);
    static const char *const BASES[] = {"/tmp", "/mnt", "/run", "/"};
    for (size_t i = 0; i < sizeof BASES / sizeof *BASES; i++) {
        if (stat(BASES[i], &covered) < 0)
            continue;
        int r = plan->rootfs ? move_mount_(rootfs->tree, "", AT_FDCWD, BASES[i], MOVE_MOUNT_F_EMPTY_PATH_)
                             : mount("tmpfs", BASES[i], "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=512,mode=755");
        if (r == 0)
            return enter_root(BASES[i], &covered, plan->rootfs ? &tree : NULL, ret, err);
        if (errno != ENOENT)
            return error_set(err, "mounts.root", errno, "the new root cannot be mounted at %s", BASES[i]);
    }
    return error_set(err, "mounts.root", ENOENT, "no directory to mount the new root at");
}

static int pivot(const struct stat *root, struct error *err)
{
    struct stat now;
    if (mutant(20)) { /* the old root stays in reach */
        bool kept = mkdir("old", 0755) == 0 && syscall(SYS_pivot_root, ".", "old") == 0 && chdir("/") == 0;
        return kept ? 0 : error_set(err, "mounts.pivot", errno, "mutant 20");
    }
    /* "." on "." leaves the old root on top of the new one, to be detached, and needs no directory (pivot_root(2), NOTES). */
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return error_set(err, "mounts.pivot", errno, "pivot_root failed");
    int detached = 0;
    while (umount2(".", MNT_DETACH) == 0)
        if (++detached > 64)
            return error_set(err, "mounts.pivot", 0, "the old root does not go away");
    /* EINVAL is the end: "." is the root of the namespace now. Anything else would leave the host's tree in reach. */
    if (errno != EINVAL || detached == 0)
        return error_set(err, "mounts.pivot", errno, "the old root cannot be detached");
    if (chdir("/") < 0)
        return error_set(err, "mounts.pivot", errno, "chdir to the new root");
    if (stat("/", &now) < 0 || now.st_dev != root->st_dev || now.st_ino != root->st_ino)
        return error_set(err, "mounts.pivot", 0, "the root is not the new one after pivot_root");
    return 0;
}

static int seal_root(struct error *err)
{
    struct mount_attr_ attr = {.attr_set = (mutant(22) ? 0 : MOUNT_ATTR_RDONLY_) | (mutant(23) ? 0 : MOUNT_ATTR_NOSUID_ | MOUNT_ATTR_NODEV_)};
    if (mount_setattr_(AT_FDCWD, "/", 0, &attr) < 0 || mount_setattr_(AT_FDCWD, "/dev", 0, &attr) < 0)
        return error_set(err, "mounts.read_only", errno, "the root and /dev cannot be made read-only");
    struct statvfs fs;
    if (mutant(22))
        return 0;
    if (statvfs("/", &fs) < 0 || !(fs.f_flag & ST_RDONLY))
        return error_set(err, "mounts.read_only", errno, "the root is not read-only after it was made so");
    if (mkdir("/.write-probe", 0700) == 0 || errno != EROFS)
        return error_set(err, "mounts.read_only", 0, "a directory could be made in a root that is read-only");
    return 0;
}

struct taken {
    struct source root_trees[TREE_ROOT_LINKS], devices[TREE_DEVICES], binds[PLAN_MOUNTS], rootfs;
    char links[TREE_ROOT_LINKS][64];
};

static int take_root_links(struct taken *t, struct error *err)
{
    for (size_t i = 0; i < TREE_ROOT_LINKS; i++) {
        char path[16];
        snprintf(path, sizeof path, "/%s", TREE_ROOT_LINK[i]);
        ssize_t n = readlink(path, t->links[i], sizeof t->links[i] - 1);
        t->links[i][n > 0 ? n : 0] = '\0';
        if (n < 0 && take_tree(path, true, false, true, false, &t->root_trees[i], err) < 0)
            return -1;
    }
    return 0;
}

static int take_sources(const struct jail_plan *plan, struct taken *t, struct error *err)
{
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < TREE_DEVICES; i++) {
        char path[64];
        snprintf(path, sizeof path, "/dev/%s", TREE_DEVICE[i]);
        if (take_tree(path, false, false, false, true, &t->devices[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < TREE_ROOT_LINKS; i++)
        t->root_trees[i].tree = -1;
    if ((plan->rootfs ? take_tree(plan->rootfs, false, false, true, false, &t->rootfs, err) : take_root_links(t, err)) < 0)
        return -1;
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *m = &plan->mounts[i];
        t->binds[i].tree = -1;
        if (m->kind != PLAN_TMPFS &&
            take_tree(m->source, m->optional, m->kind == PLAN_BIND_RW, m->exec, false, &t->binds[i], err) < 0)
            return -1;
    }
    return 0;
}

/* For mutants: a directory of the host where there must be none, or a fresh one. */
static int attach_host(const char *path, const char *target, struct error *err)
{
    struct source s;
    return take_tree(path, false, true, false, false, &s, err) < 0 ? -1 : attach(&s, target, err);
}

int template_enter(const struct jail_plan *plan, struct error *err)
{
    static struct taken t; /* too large for a stack; a process builds one */
    struct stat root;
    if (unshare(CLONE_NEWNS) < 0)
        return error_set(err, "namespace.mount", errno, "the maker's own mount namespace cannot be made");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return error_set(err, "mounts.private", errno, "mount propagation cannot be stopped");
    if (take_sources(plan, &t, err) < 0 || mount_root(plan, &t.rootfs, &root, err) < 0)
        return -1;
    if (!plan->rootfs && (make_root_links(t.root_trees, t.links, err) < 0 || write_etc(err) < 0))
        return -1;
    if (refuse_link(plan, "dev", err) < 0 || refuse_link(plan, "proc", err) < 0 || make_dev(t.devices, err) < 0 || mount_dead_proc(err) < 0)
        return -1;
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *m = &plan->mounts[i];
        const char *target = m->target + strspn(m->target, "/");
        bool there = m->kind == PLAN_TMPFS || t.binds[i].tree >= 0;
        if (there && refuse_link(plan, target, err) < 0)
            return -1;
        /* A jail mounts its own tmpfs there. */
        if ((m->kind == PLAN_TMPFS && mutant(25) && strcmp(target, "dev/shm") == 0 ? attach_host("/dev/shm", target, err)
             : m->kind == PLAN_TMPFS ? tree_make_target(target, true, err) : attach(&t.binds[i], target, err)) < 0)
            return -1;
    }
    if (mutant(27) && attach_host("/sys", "sys", err) < 0)
        return -1;
    return pivot(&root, err) < 0 ? -1 : seal_root(err);
}
