/* Shared by the two halves of a jail's mount tree: the template that the maker builds once per policy (template.h), and what
 * each jail gets of its own (mounts.h). All paths are relative to the working directory, the root of the tree. */
#ifndef SNIPARA_JAIL_MOUNT_TREE_H
#define SNIPARA_JAIL_MOUNT_TREE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Merged-/usr systems have symlinks here, others directories; a jail gets the same. */
#define TREE_ROOT_LINKS 6
extern const char *const TREE_ROOT_LINK[TREE_ROOT_LINKS];
#define TREE_DEVICES 5
extern const char *const TREE_DEVICE[TREE_DEVICES];

/* Options of the jail's /proc: only processes, and of those only what the reader may ptrace. */
#define TREE_PROC_OPTIONS "subset=pid,hidepid=invisible"

/* Make `target`, a directory or a file, and the directories above it; what stands already is fine. */
int tree_make_target(const char *target, bool directory, struct error *err);

/* A bounded tmpfs, nosuid, nodev, noexec, made with its target. `owner`: "" or ",uid=N,gid=N". */
int tree_mount_tmpfs(const char *target, uint64_t bytes, uint64_t inodes, unsigned mode, const char *owner, struct error *err);

/* Attach a detached tree (open_tree(2)) at `target`, which is made. The descriptor stays the caller's. */
int tree_attach(int tree, bool directory, const char *target, struct error *err);

#endif
