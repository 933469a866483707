#include "jail/mount_tree.h"

#include "base/cleanup.h"
#include "base/mutant.h"
#include "jail/mount_calls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

const char *const TREE_ROOT_LINK[TREE_ROOT_LINKS] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};
const char *const TREE_DEVICE[TREE_DEVICES] = {"null", "zero", "full", "random", "urandom"};

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

int tree_make_target(const char *target, bool directory, struct error *err)
{
    char path[4096];
    struct stat st;
    if ((size_t)snprintf(path, sizeof path, "%s", target) >= sizeof path)
        return error_set(err, "mounts.target", ENAMETOOLONG, "%s", target);
    if (lstat(path, &st) == 0) /* a read-only root has its targets already, and says EROFS to mkdir before EEXIST */
        return 0;
    if (make_parents(path, err) < 0)
        return -1;
    if (directory) {
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return error_set(err, "mounts.target", errno, "/%s cannot be made", path);
        return 0;
    }
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 ? error_set(err, "mounts.target", errno, "/%s cannot be made", path) : 0;
}

int tree_mount_tmpfs(const char *target, uint64_t bytes, uint64_t inodes, unsigned mode, const char *owner, struct error *err)
{
    char options[160];
    if (mutant(24))
        bytes = inodes = 0; /* no bound (tmpfs(5)) */
    snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu,mode=%o%s", (unsigned long long)bytes, (unsigned long long)inodes, mode, owner);
    if (tree_make_target(target, true, err) < 0)
        return -1;
    if (mount("tmpfs", target, "tmpfs", mutant(23) ? 0 : MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
        return error_set(err, "mounts.tmpfs", errno, "/%s (%s)", target, options);
    return 0;
}

int tree_attach(int tree, bool directory, const char *target, struct error *err)
{
    if (tree_make_target(target, directory, err) < 0)
        return -1;
    if (move_mount_(tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH_) < 0)
        return error_set(err, "mounts.attach", errno, "/%s cannot be mounted", target);
    return 0;
}
