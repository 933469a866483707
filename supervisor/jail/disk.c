#include "jail/jail.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_full(int root, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    cleanup_fd int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    struct statfs fs;
    if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
        return false;
    return (fs.f_blocks > 0 && fs.f_bfree == 0) || (fs.f_files > 0 && fs.f_ffree == 0);
}

bool jail_disk_full(pid_t pid)
{
    static const char *const PLACES[] = {"session", "tmp", "dev/shm"};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/root", pid);
    cleanup_fd int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; root >= 0 && i < sizeof PLACES / sizeof *PLACES; i++)
        if (is_full(root, PLACES[i]))
            return true;
    return false;
}
