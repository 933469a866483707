#include "policy/trust.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STEP "policy.trust"
#define RECORD_MAX (4 * 1024 * 1024)
#define DIRECTORY_MAX (PATH_MAX - 64) /* room for the names of the files in it */

static int record_directory(char ret[DIRECTORY_MAX], struct error *err) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;
    if (state && state[0] == '/')
        n = snprintf(ret, DIRECTORY_MAX, "%s/snipara-sandbox", state);
    else if (home && home[0] == '/')
        n = snprintf(ret, DIRECTORY_MAX, "%s/.local/state/snipara-sandbox", home);
    else
        return error_set(err, STEP, 0, "neither XDG_STATE_HOME nor HOME is an absolute path, so there is no place for the record of trust");
    return n < DIRECTORY_MAX ? 0 : error_set(err, STEP, ENAMETOOLONG, "the path of the record of trust");
}

/* The record as text; nothing when there is none yet. */
static int read_record(const char directory[DIRECTORY_MAX], struct buf *ret, struct error *err) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/trusted-policies", directory);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : error_set(err, STEP, errno, "%s", path);
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set(err, STEP, errno, "%s", path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return error_set(err, STEP, 0, "%s must be a regular file of your own that nobody else can write (mode 0600); others could trust a policy in your name", path);
    return path_read_fd(fd, path, RECORD_MAX, ret, err);
}

/* One line of the record. `at` is moved behind it; false at the end. */
static bool next_line(const char **at, const char **ret_line, size_t *ret_length) {
    if (!**at)
        return false;
    *ret_line = *at;
    *ret_length = strcspn(*at, "\n");
    *at += *ret_length + ((*at)[*ret_length] == '\n');
    return true;
}

/* Does the line speak of this path? "digest path" */
static bool line_is_for(const char *line, size_t length, const char *path) {
    const char *space = memchr(line, ' ', length);
    size_t rest = space ? length - (size_t)(space + 1 - line) : 0;
    return space && rest == strlen(path) && !memcmp(space + 1, path, rest);
}

int trust_check(const char *digest, const char *real_path, bool *ret, struct error *err) {
    char directory[DIRECTORY_MAX];
    cleanup_buf struct buf record = {0};
    if (record_directory(directory, NULL) < 0) {
        *ret = false; /* no place for a record is no record */
        return 0;
    }
    if (read_record(directory, &record, err) < 0)
        return -1;
    bool found = false;
    size_t wanted = strlen(digest), length;
    const char *at = record.data ? record.data : "", *line;
    while (next_line(&at, &line, &length))
        found = found || (line_is_for(line, length, real_path) && length > wanted && !memcmp(line, digest, wanted) && line[wanted] == ' ');
    *ret = found;
    return 0;
}

static int replace_record(const char directory[DIRECTORY_MAX], const struct buf *text, struct error *err) {
    char path[PATH_MAX], fresh[PATH_MAX];
    snprintf(path, sizeof path, "%s/trusted-policies", directory);
    snprintf(fresh, sizeof fresh, "%s/.trusted-policies.XXXXXX", directory);
    cleanup_fd int fd = mkostemp(fresh, O_CLOEXEC); /* mode 0600 */
    if (fd < 0)
        return error_set(err, STEP, errno, "cannot make a file in %s", directory);
    for (size_t done = 0; done < text->len;) {
        ssize_t n = write(fd, text->data + done, text->len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int code = errno;
            unlink(fresh);
            return error_set(err, STEP, code, "cannot write %s", fresh);
        }
        done += (size_t)n;
    }
    if (fsync(fd) == 0 && rename(fresh, path) == 0)
        return 0;
    int code = errno;
    unlink(fresh);
    return error_set(err, STEP, code, "cannot write %s", path);
}

int trust_record(const char *digest, const char *real_path, struct error *err) {
    char directory[DIRECTORY_MAX];
    cleanup_buf struct buf old = {0}, text = {0};
    if (strpbrk(real_path, "\n\r"))
        return error_set(err, STEP, 0, "a path with a line break cannot be recorded");
    if (record_directory(directory, err) < 0 || path_make_directories(directory, err) < 0 || read_record(directory, &old, err) < 0)
        return -1;
    size_t length;
    const char *at = old.data ? old.data : "", *line;
    while (next_line(&at, &line, &length))
        if (length && !line_is_for(line, length, real_path) && (buf_add(&text, line, length) < 0 || buf_adds(&text, "\n") < 0))
            return error_set(err, STEP, ENOMEM, "record of trust");
    if (buf_addf(&text, "%s %s\n", digest, real_path) < 0)
        return error_set(err, STEP, ENOMEM, "record of trust");
    return replace_record(directory, &text, err);
}
