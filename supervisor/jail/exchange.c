#include "jail/exchange.h"

#include "base/cleanup.h"
#include "base/mutant.h"
#include "jail/mount_calls.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#define MOUNT_ATTR_NOSYMFOLLOW_ 0x200000u

int exchange_mount(struct error *err)
{
    if (mkdir(EXCHANGE_DIRECTORY, 0700) < 0)
        return error_set(err, "mounts.output", errno, "/" EXCHANGE_DIRECTORY " cannot be made");
    cleanup_fd int tree = open_tree_(AT_FDCWD, EXCHANGE_DIRECTORY, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0)
        return error_set(err, "mounts.output", errno, "/" EXCHANGE_DIRECTORY " cannot be cloned");
    struct mount_attr_ attr = {.attr_set = MOUNT_ATTR_NOSUID_ | MOUNT_ATTR_NODEV_ | MOUNT_ATTR_NOEXEC_ | (mutant(28) ? 0 : MOUNT_ATTR_NOSYMFOLLOW_)};
    int r = mount_setattr_(tree, "", AT_EMPTY_PATH, &attr);
    if (r < 0 && errno == EINVAL) { /* before Linux 5.14; the collector follows no link in any case */
        attr.attr_set &= ~(uint64_t)MOUNT_ATTR_NOSYMFOLLOW_;
        r = mount_setattr_(tree, "", AT_EMPTY_PATH, &attr);
    }
    if (r < 0 || move_mount_(tree, "", AT_FDCWD, EXCHANGE_DIRECTORY, MOVE_MOUNT_F_EMPTY_PATH_) < 0)
        return error_set(err, "mounts.output", errno, "/" EXCHANGE_DIRECTORY " cannot be mounted");
    return 0;
}

int exchange_open(int *ret, struct error *err)
{
    int directory = open("/" EXCHANGE_DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0 && errno != ENOENT)
        return error_set(err, "init.output", errno, "/" EXCHANGE_DIRECTORY " cannot be opened");
    *ret = directory;
    return 0;
}

int exchange_check(int directory, struct error *err)
{
    struct statfs fs;
    struct stat st;
    if (fstat(directory, &st) < 0 || !S_ISDIR(st.st_mode) || fstatfs(directory, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
        return error_set(err, "jail.output", 0, "what init sent is not the jail's output directory");
    return 0;
}
