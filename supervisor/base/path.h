/* Paths that a guest may have made are walked with openat2(2) only: RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
 * RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV (symlink-following collectors were the escape class of 2025-26). */
#ifndef SNIPARA_BASE_PATH_H
#define SNIPARA_BASE_PATH_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* Open `path` below directory `dirfd`. `flags` as open(2) without O_CREAT; O_CLOEXEC is added. Returns the descriptor or -1
 * (code ENOSYS where the kernel has no openat2: there is no fallback, the caller refuses). */
int path_open_beneath(int dirfd, const char *path, int flags, struct error *err);

/* A relative path that stays inside: not empty, no leading '/', no "." or ".." or empty part, no NUL or control character,
 * at most 4095 bytes, valid UTF-8. */
bool path_is_inside(const char *path, size_t length);

/* Read a whole file of at most `max` bytes into *ret (appended). Errors name the path. */
int path_read_file(const char *path, size_t max, struct buf *ret, struct error *err);
int path_read_fd(int fd, const char *name, size_t max, struct buf *ret, struct error *err);
/* Write text to an existing file in one write(2) (the form that kernel files want). */
int path_write_kernel(int dirfd, const char *path, const char *text, struct error *err);

/* A small file that the kernel makes up (procfs, cgroupfs), as one read(2) gives it: it has a single record, which is cut where `size` ends.
 * NUL-terminated. The length, or -1 with errno set. */
ssize_t path_read_kernel(const char *path, char *ret, size_t size);

/* mkdir -p with mode 0700 for new directories. */
int path_make_directories(const char *path, struct error *err);

#endif
