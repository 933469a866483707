#include "files.h"

#include "base/cleanup.h"
#include "jail/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Open the directory that `path` lies in, one component after the other; *ret_name is the last one. The supervisor has checked the
 * form of the path; what stands in the tree is the guest's work. */
static int open_parent(const char *root, char *path, const char **ret_name)
{
    int at = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        *slash = '\0';
        int next = mkdirat(at, path, 0755) < 0 && errno != EEXIST ? -1 : openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int code = errno;
        close(at);
        errno = code;
        at = next;
    }
    *ret_name = path;
    return at;
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

static int write_file(const char *root, const char *path, const struct wire_field *data, struct error *err)
{
    char parts[4096];
    const char *name;
    snprintf(parts, sizeof parts, "%s", path);
    cleanup_fd int parent = open_parent(root, parts, &name);
    if (parent < 0)
        return error_set(err, "files", errno, "%s/%s: its directory cannot be opened", root, path);
    /* O_NONBLOCK: a FIFO that the guest left under this name must not be waited for. */
    cleanup_fd int fd = openat(parent, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
    if (fd < 0 || write_all(fd, data->data, data->length) < 0)
        return error_set(err, "files", errno, "%s/%s cannot be written", root, path);
    return 0;
}

int files_write(const char *root, const struct wire_frame *call, struct error *err)
{
    struct wire_cursor cursor = wire_fields(call);
    struct wire_field field;
    cleanup_free char *path = NULL;
    while (wire_field_next(&cursor, &field) > 0) {
        if (field.tag == PT_FILE_PATH) {
            free(path);
            path = wire_strdup(&field);
        } else if (field.tag == PT_FILE_DATA && path && write_file(root, path, &field, err) < 0) {
            return -1;
        }
    }
    return 0;
}
