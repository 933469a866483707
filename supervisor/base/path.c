#include "base/path.h"

#include "base/mutant.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define PATH_LONGEST 4095u

/* What openat2(2) means by its error numbers under the RESOLVE_ flags below. */
static const char *beneath_hint(int code) {
    switch (code) {
    case ELOOP:
        return " (it is a symbolic link or leads through one)";
    case EXDEV:
        return " (it leads out of the directory or onto another file system)";
    case ENOSYS:
        return " (the kernel has no openat2: Linux 5.6 or newer is needed)";
    default:
        return "";
    }
}

int path_open_beneath(int dirfd, const char *path, int flags, struct error *err) {
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC),
        .resolve = mutant(28) ? 0 : RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    int fd, tries = 0;

    if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)))
        return error_set(err, "path.open", EINVAL, "cannot open \"%s\": nothing is created below a guest's directory", path);
    /* EAGAIN: a rename or mount elsewhere made "beneath" undecidable for a moment; the manual says to try again. A guest can
     * cause that on purpose, hence the bound. */
    do
        fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof how);
    while (fd < 0 && (errno == EINTR || errno == EAGAIN) && ++tries < 64);
    if (fd < 0) {
        int code = errno;

        return error_set(err, "path.open", code, "cannot open \"%s\"%s", path, beneath_hint(code));
    }
    return fd;
}

bool path_is_inside(const char *path, size_t length) {
    size_t part = 0;

    if (length == 0 || length > PATH_LONGEST || !utf8_valid(path, length))
        return false;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && path[i] != '/') {
            if (utf8_control(path + i, length - i) > 0)
                return false;
            continue;
        }
        size_t n = i - part;

        if (n == 0 || (n == 1 && path[part] == '.') || (n == 2 && path[part] == '.' && path[part + 1] == '.'))
            return false; /* n == 0 is also a leading or a trailing slash */
        part = i + 1;
    }
    return true;
}

int path_read_fd(int fd, const char *name, size_t max, struct buf *ret, struct error *err) {
    size_t before = ret->len;
    char chunk[16384];

    /* Until read(2) says end: the size in stat(2) is 0 for /proc files and wrong for files that grow. */
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            return buf_reserve(ret, 0) < 0 ? error_set(err, "path.read", errno, "cannot hold \"%s\"", name) : 0;
        if (n < 0)
            error_set(err, "path.read", errno, "cannot read \"%s\"", name);
        else if ((size_t)n > max - (ret->len - before))
            error_set(err, "path.read", EFBIG, "\"%s\" is larger than the %zu bytes that are accepted", name, max);
        else if (buf_add(ret, chunk, (size_t)n) < 0)
            error_set(err, "path.read", errno, "cannot hold \"%s\"", name);
        else
            continue;
        break;
    }
    ret->len = before;
    if (ret->data)
        ret->data[before] = '\0';
    return -1;
}

int path_read_file(const char *path, size_t max, struct buf *ret, struct error *err) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return error_set(err, "path.read", errno, "cannot open \"%s\"", path);
    return path_read_fd(fd, path, max, ret, err);
}

int path_write_kernel(int dirfd, const char *path, const char *text, struct error *err) {
    cleanup_fd int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    size_t length = strlen(text);
    ssize_t n;

    if (fd < 0)
        return error_set(err, "path.write", errno, "cannot open \"%s\" for writing", path);
    do
        n = write(fd, text, length);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_set(err, "path.write", errno, "cannot write \"%s\" to \"%s\"", text, path);
    /* No second write for a rest: to the kernel that would be another value. */
    if ((size_t)n != length)
        return error_set(err, "path.write", 0, "only %zd of %zu bytes were taken by \"%s\"", n, length, path);
    return 0;
}

ssize_t path_read_kernel(const char *path, char *ret, size_t size) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n;

    if (fd < 0)
        return -1;
    do
        n = read(fd, ret, size - 1);
    while (n < 0 && errno == EINTR);
    ret[n < 0 ? 0 : n] = '\0';
    return n;
}

int path_make_directories(const char *path, struct error *err) {
    cleanup_free char *work = strdup(path);
    struct stat st;

    if (!work)
        return error_set(err, "path.mkdir", ENOMEM, "cannot create \"%s\"", path);
    for (char *p = work + strspn(work, "/"); *p; p += strspn(p, "/")) {
        p += strcspn(p, "/");
        char kept = *p;

        *p = '\0';
        /* EEXIST and, below read-only or foreign parents, EROFS and EACCES are no news when the directory is there. */
        if (mkdir(work, 0700) < 0) {
            int code = errno;

            if (stat(work, &st) < 0)
                return error_set(err, "path.mkdir", code, "cannot create the directory \"%s\"", work);
            if (!S_ISDIR(st.st_mode))
                return error_set(err, "path.mkdir", ENOTDIR, "cannot create \"%s\": \"%s\" is in the way", path, work);
        }
        *p = kept;
    }
    if (stat(path, &st) < 0)
        return error_set(err, "path.mkdir", errno, "cannot create the directory \"%s\"", path);
    return 0;
}
