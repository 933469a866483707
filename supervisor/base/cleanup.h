/* Cleanup attributes and typed steals: what a function took is given back on every path out of it. */
#ifndef SNIPARA_BASE_CLEANUP_H
#define SNIPARA_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_(void *p) { free(*(void **)p); }
static inline void cleanup_fd_(int *fd) { if (*fd >= 0) close(*fd); }
static inline void cleanup_file_(FILE **f) { if (*f) fclose(*f); }
static inline void cleanup_dir_(DIR **d) { if (*d) closedir(*d); }

#define cleanup_free __attribute__((cleanup(cleanup_free_)))
#define cleanup_fd __attribute__((cleanup(cleanup_fd_)))
#define cleanup_file __attribute__((cleanup(cleanup_file_)))
#define cleanup_dir __attribute__((cleanup(cleanup_dir_)))

/* Take the value out of a variable that has a cleanup attribute: the caller now owns it. */
static inline int steal_fd(int *fd) { int v = *fd; *fd = -1; return v; }
#define steal_ptr(p) __extension__({ __typeof__(*(p)) steal_v_ = *(p); *(p) = NULL; steal_v_; })

/* Close *fd if it is open, and mark it closed. */
static inline void close_fd(int *fd) { if (*fd >= 0) close(*fd); *fd = -1; }

#endif
