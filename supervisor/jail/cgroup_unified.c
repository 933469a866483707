#include "jail/cgroup_unified.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "jail/cgroup_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char LEAF[] = "/snipara-supervisor";

enum { PATH_SIZE = 4200 };

static bool read_file(const char *directory, const char *name, char *ret, size_t size)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);
    ret[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

static bool write_file(const char *directory, const char *name, const char *text)
{
    char path[PATH_SIZE];
    struct error err = {0};
    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (path_write_kernel(AT_FDCWD, path, text, &err) == 0)
        return true;
    errno = err.code;
    return false;
}

static bool lists(const char *directory, const char *file, const char *word)
{
    char text[1024];
    return read_file(directory, file, text, sizeof text) && cgroup_list_has(text, word);
}

static bool up(char *directory, const char *top)
{
    char *slash = strlen(directory) > strlen(top) ? strrchr(directory, '/') : NULL;
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

/* One controller for the groups below, read back. One at a time: a list with one that is not there is refused as a whole. */
static bool hand_down(const char *directory, const char *controller)
{
    char text[32];
    if (lists(directory, "cgroup.subtree_control", controller))
        return true;
    snprintf(text, sizeof text, "+%s", controller);
    if (!write_file(directory, "cgroup.subtree_control", text))
        return false;
    return lists(directory, "cgroup.subtree_control", controller);
}

/* CPU time is not handed down by systemd to units that did not ask; where we may, we ask for it, from the top. */
static bool hand_down_cpu(const char *directory, const char *top)
{
    char above[PATH_SIZE];
    snprintf(above, sizeof above, "%s", directory);
    if (!lists(directory, "cgroup.controllers", "cpu") && !(up(above, top) && hand_down_cpu(above, top)))
        return false;
    return hand_down(directory, "cpu");
}

/* A group can be made here, and processes moved from anywhere below to anywhere below: the kernel asks for the right to write
 * cgroup.procs of the common ancestor (cgroup-v2.rst, "Delegation Containment"). */
static bool has_room(const char *directory, char *reason, size_t size)
{
    char path[PATH_SIZE], type[64] = "";
    if (read_file(directory, "cgroup.type", type, sizeof type) && strcmp(type, "domain\n") != 0) {
        type[strcspn(type, "\n")] = '\0';
        snprintf(reason, size, "%.150s is of type \"%s\": such groups have no memory controller", directory, type);
        return false;
    }
    snprintf(path, sizeof path, "%s/snipara-%d-0", directory, getpid());
    if (mkdir(path, 0755) < 0 && errno != EEXIST) {
        snprintf(reason, size, "no group can be made in %.150s: %s", directory, strerror(errno));
        return false;
    }
    rmdir(path);
    snprintf(path, sizeof path, "%s/cgroup.procs", directory);
    if (access(path, W_OK) < 0) {
        snprintf(reason, size, "processes cannot be moved within %.150s: %s", directory, strerror(errno));
        return false;
    }
    if (!lists(directory, "cgroup.controllers", "memory") || !lists(directory, "cgroup.controllers", "pids")) {
        snprintf(reason, size, "%.150s has no memory and pids controllers", directory);
        return false;
    }
    return true;
}

static bool has_mark(const char *directory, const char *name)
{
    char value[4];
    return getxattr(directory, name, value, sizeof value) == 1 && value[0] == '1';
}

/* systemd marks what it delegated (250 or newer); "/" that is not the real root is the root of a cgroup namespace, which its
 * container may arrange. In any other group other processes are not ours to move. */
static bool is_delegated(const char *directory, const char *top)
{
    return has_mark(directory, "user.delegate") || has_mark(directory, "trusted.delegate") || strcmp(directory, top) == 0;
}

static bool move(const char *text, const char *leaf)
{
    return write_file(leaf, "cgroup.procs", text) || errno == ESRCH; /* it ended meanwhile */
}

/* Everybody in `from`, again while new ones appear; all: not only ourselves. */
static bool move_into(const char *leaf, const char *from, bool all)
{
    char text[8192], *rest;
    for (int i = 0; i < 10; i++) {
        if (!read_file(from, "cgroup.procs", text, sizeof text))
            return false;
        if (text[0] == '\0')
            return true;
        text[strrchr(text, '\n') ? strrchr(text, '\n') - text : 0] = '\0'; /* a last line that is cut off comes with the next round */
        for (char *pid = strtok_r(text, "\n", &rest); pid; pid = strtok_r(NULL, "\n", &rest)) {
            if (!all && atoi(pid) != getpid()) {
                errno = EBUSY;
                return false;
            }
            if (!move(pid, leaf))
                return false;
        }
    }
    errno = EBUSY;
    return false;
}

/* A group with processes in it cannot hand controllers down ("no internal processes", cgroup-v2.rst), so a leaf takes them. */
static bool settle(const char *directory, const char *top)
{
    char leaf[PATH_SIZE + sizeof LEAF];
    snprintf(leaf, sizeof leaf, "%s%s", directory, LEAF);
    if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
        return false;
    if (move_into(leaf, directory, is_delegated(directory, top)) && hand_down(directory, "memory") && hand_down(directory, "pids"))
        return true;
    int code = errno;
    move_into(directory, leaf, true); /* as it was */
    rmdir(leaf);
    errno = code;
    return false;
}

static bool is_usable(const char *directory, const char *own, const char *top, char *reason, size_t size)
{
    if (!has_room(directory, reason, size))
        return false;
    if (hand_down(directory, "memory") && hand_down(directory, "pids"))
        return true;
    if (errno == EBUSY && strcmp(directory, own) == 0 && settle(directory, top))
        return true;
    snprintf(reason, size, "%.150s cannot hand controllers down: %s", directory, strerror(errno));
    return false;
}

bool cgroup_unified_find(const char *own, const char *top, char *ret_base, size_t size, char *reason, size_t reason_size)
{
    char start[PATH_SIZE], at[PATH_SIZE], ignored[256];
    snprintf(start, sizeof start, "%s", own);
    size_t length = strlen(start), leaf = sizeof LEAF - 1;
    if (length > leaf && strcmp(start + length - leaf, LEAF) == 0) /* started by somebody whom an earlier supervisor moved */
        start[length - leaf] = '\0';
    snprintf(at, sizeof at, "%s", start);
    bool found = is_usable(at, start, top, reason, reason_size); /* the reason that counts is that of our own group */
    while (!found && up(at, top))
        found = is_usable(at, start, top, ignored, sizeof ignored);
    if (!found)
        return false;
    reason[0] = '\0';
    if (!hand_down_cpu(at, top))
        snprintf(reason, reason_size, "the cpu controller is not handed down to %.150s", at);
    return (size_t)snprintf(ret_base, size, "%s", at) < size;
}
