#include "jail/landlock.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rights by ABI version (landlock(7)); our headers may be older than the kernel, so the bits stand here. */
#define FS_EXECUTE (1ull << 0)
#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE (1ull << 2)
#define FS_READ_DIR (1ull << 3)
#define FS_ABI1 ((1ull << 13) - 1)
#define FS_REFER (1ull << 13)     /* ABI 2 */
#define FS_TRUNCATE (1ull << 14)  /* ABI 3 */
#define FS_IOCTL_DEV (1ull << 15) /* ABI 5 */
#define NET_BIND_TCP (1ull << 0)  /* ABI 4 */
#define NET_CONNECT_TCP (1ull << 1)
#define SCOPE_ABSTRACT_UNIX (1ull << 0) /* ABI 6 */
#define SCOPE_SIGNAL (1ull << 1)

/* Device nodes and sockets are never made in a jail; everything else of ABI 1 is. */
#define FS_MAKE_NODES ((1ull << 6) | (1ull << 11)) /* MAKE_CHAR, MAKE_BLOCK */

struct ruleset_attr { /* the layout of ABI 6; the kernel takes shorter ones from older programs and we pass its own size */
    uint64_t fs;
    uint64_t net;
    uint64_t scoped;
};

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi > 0 ? (int)abi : 0;
}

static uint64_t handled_fs(int abi)
{
    uint64_t rights = FS_ABI1;
    if (abi >= 2)
        rights |= FS_REFER;
    if (abi >= 3)
        rights |= FS_TRUNCATE;
    if (abi >= 5)
        rights |= FS_IOCTL_DEV;
    return rights;
}

static int add_path(int ruleset, const struct seal_path *path, uint64_t handled, struct error *err)
{
    cleanup_fd int fd = open(path->path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : error_set(err, "landlock.path", errno, "%s cannot be opened", path->path);
    uint64_t rights = FS_READ_FILE | FS_READ_DIR;
    if (path->exec)
        rights |= FS_EXECUTE;
    if (path->write)
        rights |= handled & ~(FS_EXECUTE | FS_MAKE_NODES | FS_IOCTL_DEV);
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set(err, "landlock.path", errno, "%s cannot be read", path->path);
    if (!S_ISDIR(st.st_mode)) /* EINVAL for directory rights on a file */
        rights &= FS_READ_FILE | FS_WRITE_FILE | FS_EXECUTE | FS_TRUNCATE;
    struct landlock_path_beneath_attr attr = {.allowed_access = rights & handled, .parent_fd = fd};
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0)
        return error_set(err, "landlock.rule", errno, "no rule for %s", path->path);
    return 0;
}

/* Listing directories is harmless in a tree that holds only what the policy mounts, and people do look at "/". Files are not. */
static int allow_listing(int ruleset, struct error *err)
{
    cleanup_fd int root = open("/", O_PATH | O_CLOEXEC);
    struct landlock_path_beneath_attr attr = {.allowed_access = FS_READ_DIR, .parent_fd = root};
    if (root < 0 || syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0)
        return error_set(err, "landlock.rule", errno, "no rule for listing directories");
    return 0;
}

/* Number 0,0 is a whiteout, which the kernel lets anybody make (vfs_mknod): says whether mknod works here at all. */
static int make_node(mode_t type, dev_t number)
{
    static const char PROBE[] = ".landlock-probe";
    if (mknodat(AT_FDCWD, PROBE, type | 0600, number) < 0)
        return errno;
    unlinkat(AT_FDCWD, PROBE, 0);
    return 0;
}

/* No rule gives the right to make device nodes. Landlock is asked before capabilities are (do_mknodat), so its refusal is EACCES where the
 * kernel's own is EPERM. Not a whiteout: newer kernels, 6.12.117 among them, count that as a regular file. Below a sandbox that refuses
 * mknod itself (`before`) nothing is learnt. */
static bool in_force(int before)
{
    return before ? make_node(S_IFCHR, makedev(0, 0)) == before : make_node(S_IFBLK, makedev(7, 0)) == EACCES;
}

int landlock_restrict(const struct seal_plan *plan, struct error *err)
{
    int abi = landlock_abi();
    if (abi < 1 && plan->landlock_optional)
        return 0;
    if (abi < 1)
        return error_set(err, "landlock", ENOSYS, "this kernel has no Landlock (CONFIG_SECURITY_LANDLOCK and lsm=landlock)");
    struct ruleset_attr attr = {.fs = handled_fs(abi)};
    size_t size = sizeof attr.fs;
    if (abi >= 4) {
        attr.net = plan->landlock_network ? 0 : NET_BIND_TCP | NET_CONNECT_TCP;
        size = 2 * sizeof attr.fs;
    }
    if (abi >= 6) {
        attr.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
        size = sizeof attr;
    }
    cleanup_fd int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset < 0)
        return error_set(err, "landlock.ruleset", errno, "a ruleset cannot be made (ABI %d)", abi);
    if (allow_listing(ruleset, err) < 0)
        return -1;
    for (size_t i = 0; i < plan->path_count; i++)
        if (add_path(ruleset, &plan->paths[i], attr.fs, err) < 0)
            return -1;
    int before = make_node(S_IFCHR, makedev(0, 0));
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        return error_set(err, "landlock.restrict", errno, "the ruleset cannot be enforced");
    if (!in_force(before))
        return error_set(err, "landlock.verify", 0, "the ruleset is not in force after it was enforced");
    return 1;
}
