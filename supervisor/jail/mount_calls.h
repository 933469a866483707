/* The mount API of Linux 5.2 to 5.12 by number: glibc has wrappers only since 2.36, and its headers cannot stand beside
 * <linux/mount.h>. open_tree(2), move_mount(2), mount_setattr(2). */
#ifndef SNIPARA_JAIL_MOUNT_CALLS_H
#define SNIPARA_JAIL_MOUNT_CALLS_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif
#ifndef OPEN_TREE_CLOEXEC
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#define MOVE_MOUNT_F_EMPTY_PATH_ 0x4
#define MOUNT_ATTR_RDONLY_ 0x1u
#define MOUNT_ATTR_NOSUID_ 0x2u
#define MOUNT_ATTR_NODEV_ 0x4u
#define MOUNT_ATTR_NOEXEC_ 0x8u

struct mount_attr_ {
    uint64_t attr_set, attr_clr, propagation, userns_fd;
};

static inline int open_tree_(int dirfd, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, dirfd, path, flags);
}

static inline int move_mount_(int from, const char *from_path, int to, const char *to_path, unsigned flags)
{
    return (int)syscall(SYS_move_mount, from, from_path, to, to_path, flags);
}

static inline int mount_setattr_(int dirfd, const char *path, unsigned flags, struct mount_attr_ *attr)
{
    return (int)syscall(SYS_mount_setattr, dirfd, path, flags, attr, sizeof *attr);
}

/* A file system that is mounted nowhere: a descriptor of its root, or -1. fsopen(2), fsconfig(2), fsmount(2). */
static inline int detached_mount_(const char *type)
{
    enum { FSCONFIG_CMD_CREATE_ = 6, CLOEXEC_ = 1 };
    int context = (int)syscall(SYS_fsopen, type, CLOEXEC_);
    if (context < 0)
        return -1;
    int root = syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE_, NULL, NULL, 0) < 0 ? -1 : (int)syscall(SYS_fsmount, context, CLOEXEC_, 0);
    close(context);
    return root;
}

#endif
