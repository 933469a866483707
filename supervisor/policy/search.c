#include "policy/search.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/document.h"
#include "policy/strings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP "policy"

const char *policy_directory(void) {
    const char *set = getenv("SNIPARA_SANDBOX_POLICY_DIR");
    return set && *set ? set : PKGDATADIR "/policies";
}

static void place_set(struct place *place, enum policy_origin origin, const char *base, const char *below) {
    place->origin = origin;
    int n = snprintf(place->directory, sizeof place->directory, "%s%s", base ? base : "", base ? below : "");
    if (n < 0 || (size_t)n >= sizeof place->directory)
        place->directory[0] = '\0';
}

void search_places(struct place ret[SEARCH_PLACES]) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    place_set(&ret[0], POLICY_INSTALLED, policy_directory(), "");
    /* XDG Base Directory Specification: a relative value is invalid and ignored. Here it would be the project's, too. */
    if (config && config[0] == '/')
        place_set(&ret[1], POLICY_OPERATOR, config, "/snipara-sandbox/policies");
    else
        place_set(&ret[1], POLICY_OPERATOR, home && home[0] == '/' ? home : NULL, "/.config/snipara-sandbox/policies");
    place_set(&ret[2], POLICY_OPERATOR, "/etc", "/snipara-sandbox/policies");
    place_set(&ret[3], POLICY_PROJECT, PROJECT_POLICIES, "");
}

/* "default, open, strict": what an unknown name may have meant. */
static void known_names(const struct place places[SEARCH_PLACES], bool trusted_only, struct strings *ret) {
    for (int i = 0; i < SEARCH_PLACES; i++) {
        if (!places[i].directory[0] || (trusted_only && places[i].origin == POLICY_PROJECT))
            continue;
        cleanup_dir DIR *dir = opendir(places[i].directory);
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
            size_t length = strlen(entry->d_name);
            if (length < 6 || length > 69 || strcmp(entry->d_name + length - 5, ".json") != 0 ||
                strstr(entry->d_name, ".schema.json"))
                continue;
            char name[70];
            memcpy(name, entry->d_name, length - 5);
            name[length - 5] = '\0';
            if (policy_name_fits(name) && !strings_have(ret, name))
                strings_add(ret, name); /* a list for a message: without memory it is shorter */
        }
    }
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int unknown(const char *name, const struct place places[SEARCH_PLACES], bool trusted_only, struct error *err) {
    struct strings known = {0};
    known_names(places, trusted_only, &known);
    char list[400] = "";
    const char *words[64];
    size_t n = 0;
    if (known.count)
        qsort(known.items, known.count, sizeof *known.items, by_text);
    for (; n < known.count && n < 63; n++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "", known.items[n]);
        words[n] = known.items[n];
    }
    words[n] = NULL;
    const char *near = nearest_word(name, words);
    if (!n)
        error_set(err, STEP, 0, "unknown policy \"%s\": there is no policy at all in %s; is SNIPARA_SANDBOX_POLICY_DIR right?", name,
                  policy_directory());
    else
        error_set(err, STEP, 0, "unknown policy \"%s\"%s%s%s; known are %s", name, near ? ", did you mean \"" : "", near ? near : "",
                  near ? "\"?" : "", list);
    strings_free(&known);
    return -1;
}

int search_policy(const char *name, bool trusted_only, char **ret_path, enum policy_origin *ret_origin, struct error *err) {
    if (!policy_name_fits(name))
        return error_set(err, STEP, 0, "\"%.64s\" is not a policy name: letters, digits, '-', '_' and '.', at most 64, never a path", name);
    struct place places[SEARCH_PLACES];
    search_places(places);
    for (int i = 0; i < SEARCH_PLACES; i++) {
        if (!places[i].directory[0] || (trusted_only && places[i].origin == POLICY_PROJECT))
            continue;
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/%s.json", places[i].directory, name);
        if (n < 0 || (size_t)n >= sizeof path)
            continue;
        if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
            if (errno == ENOENT || errno == ENOTDIR)
                continue;
            /* a directory that cannot be searched must not let a later, less trusted place answer */
            return error_set(err, STEP, errno, "%s", path);
        }
        if (!(*ret_path = strdup(path)))
            return error_set(err, STEP, ENOMEM, "policy \"%s\"", name);
        *ret_origin = places[i].origin;
        return 0;
    }
    return unknown(name, places, trusted_only, err);
}

int search_profile(const char *name, char **ret_path, struct error *err) {
    struct place places[SEARCH_PLACES];
    search_places(places);
    for (int i = 0; i < SEARCH_PLACES; i++) {
        if (!places[i].directory[0] || places[i].origin == POLICY_PROJECT)
            continue;
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/seccomp/%s.json", places[i].directory, name);
        if (n < 0 || (size_t)n >= sizeof path || access(path, F_OK) < 0)
            continue;
        if (!(*ret_path = strdup(path)))
            return error_set(err, STEP, ENOMEM, "seccomp profile \"%s\"", name);
        return 0;
    }
    return error_set(err, STEP, 0, "seccomp.profile: no profile \"%s\" (%s/seccomp/%s.json or below the operator's policies)", name,
                     policy_directory(), name);
}

/* Is `file` directly in `directory` (both canonical)? */
static bool lies_in(const char *file, const char *directory) {
    char real[PATH_MAX];
    if (!*directory || !realpath(directory, real))
        return false;
    const char *slash = strrchr(file, '/');
    size_t length = strlen(real);
    return slash && (size_t)(slash - file) == length && !memcmp(file, real, length);
}

int search_origin(const char *path, char **ret_real, enum policy_origin *ret_origin, struct error *err) {
    cleanup_free char *real = realpath(path, NULL);
    if (!real)
        return error_set(err, STEP, errno, "%s", path);
    /* Outside every place it is the operator's own word: they named this very file. */
    enum policy_origin origin = POLICY_OPERATOR;
    struct place places[SEARCH_PLACES];
    search_places(places);
    if (lies_in(real, places[0].directory))
        origin = POLICY_INSTALLED;
    else if (!lies_in(real, places[1].directory) && !lies_in(real, places[2].directory) && strstr(real, "/" PROJECT_POLICIES "/"))
        origin = POLICY_PROJECT; /* of whatever project, not only of the working directory's */
    *ret_real = steal_ptr(&real);
    *ret_origin = origin;
    return 0;
}

int search_read(const char *path, enum policy_origin origin, struct buf *ret, struct error *err) {
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK; /* a named pipe must not make us wait */
    bool inside = origin == POLICY_PROJECT && path[0] != '/';
    cleanup_fd int fd = inside ? path_open_beneath(AT_FDCWD, path, flags, err) : open(path, flags);
    if (fd < 0)
        return inside ? -1 : error_set(err, STEP, errno, "cannot open \"%s\"", path);
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return error_set(err, STEP, 0, "\"%s\" is not a regular file", path);
    return path_read_fd(fd, path, POLICY_FILE_MAX, ret, err);
}
