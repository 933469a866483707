/* Reading and checking source text. */
#include "cli/source.h"

#include "base/path.h"
#include "base/utf8.h"

#include <string.h>
#include <unistd.h>

int source_read(const char *path, struct buf *ret, struct error *err)
{
    int rc = strcmp(path, "-") == 0 ? path_read_fd(STDIN_FILENO, "standard input", SOURCE_MAX, ret, err)
                                    : path_read_file(path, SOURCE_MAX, ret, err);
    if (rc == 0 && ret->len >= 3 && memcmp(ret->data, "\xEF\xBB\xBF", 3) == 0)
        buf_drop(ret, 3);
    return rc;
}

static int fault(const char *name, const char *text, size_t at, const char *what, struct error *err)
{
    size_t line = 1, start = 0;
    for (size_t i = 0; i < at; i++)
        if (text[i] == '\n') {
            line++;
            start = i + 1;
        }
    return error_set(err, "source", 0, "%s: line %zu, byte %zu: %s", name, line, at - start + 1, what);
}

int source_check(const char *name, const char *text, size_t length, struct error *err)
{
    if (length == 0)
        return error_set(err, "source", 0, "%s: the source is empty", name);
    const char *nul = memchr(text, '\0', length);
    size_t valid = utf8_valid_prefix(text, length);
    if (nul && (size_t)(nul - text) < valid)
        return fault(name, text, (size_t)(nul - text), "a NUL byte; Python source cannot hold one", err);
    if (valid < length)
        return fault(name, text, valid, "not UTF-8; save the source as UTF-8", err);
    return 0;
}
