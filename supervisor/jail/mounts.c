#include "jail/mounts.h"

#include "base/cleanup.h"
#include "jail/ids.h"
#include "jail/mount_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STRINGIFY(x) #x
#define TEXT(x) STRINGIFY(x)

/* Merged-/usr systems have symlinks here, others directories; the jail gets the same. */
static const char *const ROOT_LINKS[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};
static const char *const DEVICES[] = {"null", "zero", "full", "random", "urandom"};

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
        .attr_set = MOUNT_ATTR_NOSUID_ | (device ? 0 : MOUNT_ATTR_NODEV_) | (writable ? 0 : MOUNT_ATTR_RDONLY_) | (exec ? 0 : MOUNT_ATTR_NOEXEC_),
        .propagation = MS_PRIVATE,
    };
    if (mount_setattr_(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
        return error_set(err, "mounts.attributes", errno, "%s cannot be made %s", path, writable ? "nosuid,nodev" : "read-only");
    ret->directory = S_ISDIR(st.st_mode);
    ret->tree = steal_fd(&tree);
    return 0;
}

static int make_parents(char *path, struct error *err)
{
    for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int r = mkdir(path, 0755);
        *slash = '/';
        if (r < 0 && errno != EEXIST)
            return error_set(err, "mounts.target", errno, "/%s: a directory above it cannot be made", path);
    }
    return 0;
}

/* Relative to the new root, which is the working directory. */
static int make_target(const char *target, bool directory, struct error *err)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s", target) >= sizeof path)
        return error_set(err, "mounts.target", ENAMETOOLONG, "%s", target);
    if (make_parents(path, err) < 0)
        return -1;
    if (directory) {
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return error_set(err, "mounts.target", errno, "/%s cannot be made", path);
        return 0;
    }
    struct stat st;
    if (lstat(path, &st) == 0) /* in a read-only root directory the target stands already */
        return 0;
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 ? error_set(err, "mounts.target", errno, "/%s cannot be made", path) : 0;
}

static int attach(struct source *s, const char *target, struct error *err)
{
    if (s->tree < 0)
        return 0;
    if (make_target(target, s->directory, err) < 0)
        return -1;
    if (move_mount_(s->tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH_) < 0)
        return error_set(err, "mounts.attach", errno, "/%s cannot be mounted", target);
    close_fd(&s->tree);
    return 0;
}

static int mount_tmpfs(const char *target, uint64_t bytes, uint64_t inodes, unsigned mode, struct error *err)
{
    char options[160];
    snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu,mode=%o,uid=" TEXT(JAIL_UID_NUMBER) ",gid=" TEXT(JAIL_UID_NUMBER),
             (unsigned long long)bytes, (unsigned long long)inodes, mode);
    if (make_target(target, true, err) < 0)
        return -1;
    if (mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
        return error_set(err, "mounts.tmpfs", errno, "/%s (%s)", target, options);
    return 0;
}

static int write_etc(struct error *err)
{
    for (size_t i = 0; i < sizeof ETC_FILES / sizeof *ETC_FILES; i++) {
        if (make_target(ETC_FILES[i].path, false, err) < 0)
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
    /* A tmpfs of its own, so that a root directory of the operator's needs an empty /dev and no nodes. */
    if (mount_tmpfs("dev", 65536, 64, 0755, err) < 0)
        return -1;
    static const char *const LINKS[][2] = {{"/proc/self/fd", "dev/fd"}, {"fd/0", "dev/stdin"}, {"fd/1", "dev/stdout"}, {"fd/2", "dev/stderr"}};
    for (size_t i = 0; i < sizeof DEVICES / sizeof *DEVICES; i++) {
        char target[64];
        snprintf(target, sizeof target, "dev/%s", DEVICES[i]);
        if (attach(&devices[i], target, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < sizeof LINKS / sizeof *LINKS; i++)
        if (symlink(LINKS[i][0], LINKS[i][1]) < 0)
            return error_set(err, "mounts.dev", errno, "/%s cannot be made", LINKS[i][1]);
    return 0;
}

/* A fresh /proc that shows only this jail's processes, and of those only what the reader may ptrace. It has to be mounted while
 * the old /proc is still visible (fs/namespace.c, mount_too_revealing). Where the host masks parts of /proc it is refused: then
 * the jail has none, and the policy decides whether it runs. */
static void mount_proc(layer_set *layers)
{
    if (mkdir("proc", 0555) < 0 && errno != EEXIST)
        return;
    if (mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid,hidepid=invisible") == 0)
        *layers |= LAYER_BIT(LAYER_PROC);
}

static int make_root_links(struct source trees[], char links[][64], struct error *err)
{
    for (size_t i = 0; i < sizeof ROOT_LINKS / sizeof *ROOT_LINKS; i++) {
        if (links[i][0] && symlink(links[i], ROOT_LINKS[i]) < 0)
            return error_set(err, "mounts.root", errno, "/%s cannot be made", ROOT_LINKS[i]);
        if (!links[i][0] && attach(&trees[i], ROOT_LINKS[i], err) < 0)
            return -1;
    }
    return 0;
}

/* The new root covers a directory that every host has; what lay below it was taken by descriptor before. */
static int mount_root(const struct jail_plan *plan, struct source *rootfs, struct error *err)
{
    static const char *const BASES[] = {"/tmp", "/mnt", "/run", "/"};
    for (size_t i = 0; i < sizeof BASES / sizeof *BASES; i++) {
        int r = plan->rootfs ? move_mount_(rootfs->tree, "", AT_FDCWD, BASES[i], MOVE_MOUNT_F_EMPTY_PATH_)
                             : mount("tmpfs", BASES[i], "tmpfs", MS_NOSUID | MS_NODEV,
                                     "size=1m,nr_inodes=512,mode=755,uid=" TEXT(JAIL_UID_NUMBER) ",gid=" TEXT(JAIL_UID_NUMBER));
        if (r == 0)
            return chdir(BASES[i]) < 0 ? error_set(err, "mounts.root", errno, "%s", BASES[i]) : 0;
        if (errno != ENOENT)
            return error_set(err, "mounts.root", errno, "the new root cannot be mounted at %s", BASES[i]);
    }
    return error_set(err, "mounts.root", ENOENT, "no directory to mount the new root at");
}

static int pivot(struct error *err)
{
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
    return 0;
}

static int seal_root(struct error *err)
{
    struct mount_attr_ attr = {.attr_set = MOUNT_ATTR_RDONLY_ | MOUNT_ATTR_NOSUID_ | MOUNT_ATTR_NODEV_};
    if (mount_setattr_(AT_FDCWD, "/", 0, &attr) < 0 || mount_setattr_(AT_FDCWD, "/dev", 0, &attr) < 0)
        return error_set(err, "mounts.read_only", errno, "the root and /dev cannot be made read-only");
    struct statvfs fs;
    if (statvfs("/", &fs) < 0 || !(fs.f_flag & ST_RDONLY))
        return error_set(err, "mounts.read_only", errno, "the root is not read-only after it was made so");
    if (mkdir("/.write-probe", 0700) == 0 || errno != EROFS)
        return error_set(err, "mounts.read_only", 0, "a directory could be made in a root that is read-only");
    return 0;
}

/* Post-condition, read back from the kernel: every mount is one of ours and none propagates. Without /proc there is nothing to
 * read, and the supervisor looks from outside. */
static int verify(const struct jail_plan *plan, size_t expected, struct error *err)
{
    cleanup_file FILE *f = fopen("/proc/self/mountinfo", "re");
    if (!f)
        return 0;
    char line[8192];
    size_t seen = 0;
    while (fgets(line, sizeof line, f)) {
        char *separator = strstr(line, " - ");
        if (separator && (strstr(line, " shared:") || strstr(line, " master:")))
            return error_set(err, "mounts.verify", 0, "a mount still propagates: %.200s", line);
        seen++;
    }
    /* Recursive binds may bring submounts of the host's own below a named source: at least ours, and nothing when none is below. */
    if (seen < expected)
        return error_set(err, "mounts.verify", 0, "%zu mounts are seen, %zu were made", seen, expected);
    return 0;
}

#define ROOT_LINK_COUNT (sizeof ROOT_LINKS / sizeof *ROOT_LINKS)
#define DEVICE_COUNT (sizeof DEVICES / sizeof *DEVICES)

struct taken {
    struct source root_trees[ROOT_LINK_COUNT], devices[DEVICE_COUNT], binds[PLAN_MOUNTS], rootfs;
    char links[ROOT_LINK_COUNT][64];
};

static int take_sources(const struct jail_plan *plan, struct taken *t, struct error *err)
{
    for (size_t i = 0; i < DEVICE_COUNT; i++) {
        char path[64];
        snprintf(path, sizeof path, "/dev/%s", DEVICES[i]);
        if (take_tree(path, false, true, false, true, &t->devices[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < ROOT_LINK_COUNT; i++)
        t->root_trees[i].tree = -1;
    if (plan->rootfs) {
        if (take_tree(plan->rootfs, false, false, true, false, &t->rootfs, err) < 0)
            return -1;
    } else {
        for (size_t i = 0; i < ROOT_LINK_COUNT; i++) {
            char path[16];
            snprintf(path, sizeof path, "/%s", ROOT_LINKS[i]);
            ssize_t n = readlink(path, t->links[i], sizeof t->links[i] - 1);
            t->links[i][n > 0 ? n : 0] = '\0';
            if (n < 0 && take_tree(path, true, false, true, false, &t->root_trees[i], err) < 0)
                return -1;
        }
    }
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *m = &plan->mounts[i];
        t->binds[i].tree = -1;
        if (m->kind != PLAN_TMPFS &&
            take_tree(m->source, m->optional, m->kind == PLAN_BIND_RW, m->exec, false, &t->binds[i], err) < 0)
            return -1;
    }
    return 0;
}

int mounts_build(const struct jail_plan *plan, layer_set *ret_layers, struct error *err)
{
    static struct taken t; /* init is a process of its own and builds once; too large for its stack */
    layer_set layers = 0;
    size_t count = 1;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return error_set(err, "mounts.private", errno, "mount propagation cannot be stopped");
    if (take_sources(plan, &t, err) < 0 || mount_root(plan, &t.rootfs, err) < 0)
        return -1;
    if (!plan->rootfs && (make_root_links(t.root_trees, t.links, err) < 0 || write_etc(err) < 0))
        return -1;
    if (make_dev(t.devices, err) < 0)
        return -1;
    count += DEVICE_COUNT + 1;
    mount_proc(&layers);
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct plan_mount *m = &plan->mounts[i];
        const char *target = m->target + strspn(m->target, "/");
        bool there = m->kind == PLAN_TMPFS || t.binds[i].tree >= 0;
        if ((m->kind == PLAN_TMPFS ? mount_tmpfs(target, m->bytes, m->inodes, strcmp(target, "session") == 0 ? 0700 : 01777, err)
                                   : attach(&t.binds[i], target, err)) < 0)
            return -1;
        count += there;
    }
    if (pivot(err) < 0 || seal_root(err) < 0 || verify(plan, count, err) < 0)
        return -1;
    *ret_layers |= layers | LAYER_BIT(LAYER_PIVOT_ROOT) | LAYER_BIT(LAYER_READ_ONLY_ROOT);
    return 0;
}
