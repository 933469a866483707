#include "jail/cgroup_paths.h"

#include <string.h>

bool cgroup_list_has(const char *list, const char *word)
{
    static const char BETWEEN[] = ", \n";
    size_t n = strlen(word);
    for (const char *p = list + strspn(list, BETWEEN); *p; p += strspn(p, BETWEEN)) {
        size_t len = strcspn(p, BETWEEN);
        if (len == n && strncmp(p, word, n) == 0)
            return true;
        p += len;
    }
    return false;
}

bool cgroup_own_path(FILE *f, const char *controller, char *ret, size_t size)
{
    char line[4096];
    while (fgets(line, sizeof line, f)) {
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (*controller ? cgroup_list_has(list + 1, controller) : list[1] == '\0')
            return (size_t)snprintf(ret, size, "%s", path) < size;
    }
    return false;
}

/* What of `path` is below `root`, the directory of the hierarchy that a mount shows; NULL: nothing. Both are told from our cgroup
 * namespace: what begins with ".." is above or beside it (cgroup_namespaces(7)). */
static const char *below(const char *root, const char *path)
{
    if (strncmp(root, "/..", 3) == 0 || strncmp(path, "/..", 3) == 0)
        return NULL;
    size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, n) != 0 || (path[n] != '/' && path[n] != '\0'))
        return NULL;
    return strcmp(path + n, "/") == 0 ? "" : path + n;
}

void cgroup_find_mount(FILE *f, const char *controller, const char *path, struct cgroup_mount *ret)
{
    char line[8192];
    *ret = (struct cgroup_mount){.seen = false};
    while (fgets(line, sizeof line, f)) {
        /* Fields 4 and 5 are root and mount point; type, source and options stand behind " - " (proc(5)). */
        char *tail = strstr(line, " - ");
        char type[64] = "", source[256] = "", options[1024] = "", root[2048], point[2048];
        if (!tail || sscanf(tail, " - %63s %255s %1023s", type, source, options) < 2 ||
            sscanf(line, "%*s %*s %*s %2047s %2047s", root, point) != 2)
            continue;
        if (*controller ? strcmp(type, "cgroup") != 0 || !cgroup_list_has(options, controller) : strcmp(type, "cgroup2") != 0)
            continue;
        ret->seen = true;
        const char *rest = below(root, path);
        if (rest && (size_t)snprintf(ret->own, sizeof ret->own, "%s%s", point, rest) < sizeof ret->own) {
            snprintf(ret->point, sizeof ret->point, "%s", point);
            return;
        }
        ret->own[0] = '\0';
    }
}
