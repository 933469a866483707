/* Where groups are, read from text that the kernel wrote: /proc/self/cgroup, /proc/self/mountinfo, lists of controllers. Pure. */
#ifndef SNIPARA_JAIL_CGROUP_PATHS_H
#define SNIPARA_JAIL_CGROUP_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Is `word` in a list with commas, blanks or newlines between? ("cpuset" is not "cpu".) */
bool cgroup_list_has(const char *list, const char *word);
/* Path of our own group in the hierarchy of a v1 controller, or of v2 (""): "4:memory:/a/b", "0::/a/b". */
bool cgroup_own_path(FILE *proc_cgroup, const char *controller, char *ret, size_t size);

struct cgroup_mount {
    bool seen;           /* the hierarchy is mounted at all */
    char point[2048];    /* its mount point */
    char own[4096];      /* the directory of our own group, "" when no mount shows it (a mount of another cgroup namespace) */
};
/* The first mount of that hierarchy that shows the group `path`. */
void cgroup_find_mount(FILE *mountinfo, const char *controller, const char *path, struct cgroup_mount *ret);

#endif
