#include "cli/exec_artifacts.h"

#include "base/cleanup.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define STEP "artifacts"

int exec_artifacts_open(const char *path, struct error *err)
{
    struct stat st;
    if (*path == '\0')
        return error_set(err, STEP, 0, "the name of the directory is empty");
    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        return error_set(err, STEP, 0, "\"%.400s\" is not a directory: name one, or a place where one can be made", path);
    if (path_make_directories(path, err) < 0)
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? error_set(err, STEP, errno, "the directory \"%.400s\" cannot be opened", path) : fd;
}

/* The directory that `path` lies in, below `root`. Somebody else may write there too, so each part is made or found, never followed. */
static int open_parent(int root, char *path, const char **ret_name, struct error *err)
{
    cleanup_fd int at = path_open_beneath(root, ".", O_RDONLY | O_DIRECTORY, err);
    for (char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        *slash = '\0';
        if (mkdirat(at, path, 0700) < 0 && errno != EEXIST)
            return error_set(err, STEP, errno, "the directory \"%s\" cannot be made", path);
        int next = path_open_beneath(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, err);
        close(at);
        at = next;
    }
    *ret_name = path;
    return steal_fd(&at);
}

static int write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        length -= (size_t)n;
    }
    return 0;
}

/* Give the finished file its name, if nothing has it. Not every file system knows RENAME_NOREPLACE (rename(2)); a link is as good. */
static int publish(int directory, const char *temporary, const char *name)
{
    if (renameat2(directory, temporary, directory, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    return linkat(directory, temporary, directory, name, 0) < 0 ? -1 : unlinkat(directory, temporary, 0);
}

static int write_one(int root, const struct receipt_artifact *a, struct error *err)
{
    cleanup_free char *path = strdup(a->path);
    const char *name = NULL;
    char temporary[40];
    uint64_t number;
    if (!path || getrandom(&number, sizeof number, 0) != sizeof number)
        return error_set(err, STEP, errno, "no memory");
    cleanup_fd int parent = open_parent(root, path, &name, err);
    if (parent < 0)
        return -1;
    snprintf(temporary, sizeof temporary, ".snipara-%016" PRIx64, number);
    cleanup_fd int fd = openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(err, STEP, errno, "no file can be made there");
    int r = write_all(fd, a->data.data, a->data.len) < 0 || publish(parent, temporary, name) < 0 ? -1 : 0;
    if (r < 0) {
        if (errno == EEXIST)
            error_set(err, STEP, 0, "it is there already and is not overwritten: move it away, or give another --output-dir");
        else
            error_set(err, STEP, errno, "it cannot be written");
        unlinkat(parent, temporary, 0);
    }
    return r;
}

static void say_not_written(struct exec_stream *err, const char *directory, const char *path, const char *why)
{
    exec_stream_end_line(err);
    exec_stream_words(err, "snipara-sandbox exec: ");
    exec_stream_words(err, directory);
    exec_stream_words(err, "/");
    exec_stream_guest(err, path, strlen(path));
    exec_stream_words(err, ": ");
    exec_stream_guest(err, why, strlen(why)); /* it may name parts of the path */
    exec_stream_words(err, "\n");
}

int exec_artifacts_write(const struct receipt *r, int directory, const char *name, struct exec_stream *err)
{
    int result = 0;
    for (size_t i = 0; directory >= 0 && i < r->artifact_count; i++) {
        struct error why = {0};
        if (write_one(directory, &r->artifacts[i], &why) < 0) {
            say_not_written(err, name, r->artifacts[i].path, why.message);
            result = -1;
        }
    }
    return result;
}
