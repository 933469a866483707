/* libFuzzer target: cleaning any bytes gives valid UTF-8 that cleans to itself; a cut of valid text is valid; error messages
 * made of any bytes are one clean line; a path that counts as inside has no part that leads out. */
#include "fuzz.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/path.h"
#include "base/utf8.h"

/* RFC 3629 by code points, not by byte ranges: the length of the character at the start, 0 when there is none. */
static size_t character(const unsigned char *p, size_t left) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    uint32_t point = length > 1 ? p[0] & (0x7fu >> length) : p[0];

    if (length == 0 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        point = point << 6 | (p[i] & 0x3fu);
    }
    return point >= smallest[length] && point <= 0x10ffff && point >> 11 != 0x1b ? length : 0;
}

static size_t reference_prefix(const char *text, size_t size) {
    size_t at = 0, n;

    while (at < size && (n = character((const unsigned char *)text + at, size - at)) > 0)
        at += n;
    return at;
}

static void check_path(const char *text, size_t size) {
    char *path;

    if (!path_is_inside(text, size))
        return;
    path = strndup(text, size);
    require(path && strlen(path) == size && path[0] != '/');
    for (char *save = NULL, *part = strtok_r(path, "/", &save); part; part = strtok_r(NULL, "/", &save))
        require(strcmp(part, "..") != 0 && strcmp(part, ".") != 0);
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    size_t valid = utf8_valid_prefix(text, size);
    cleanup_buf struct buf once = {0}, twice = {0};
    struct error err;

    require(valid == reference_prefix(text, size) && utf8_valid(text, valid));
    require(utf8_clean(&once, text, size) == 0 && utf8_clean(&twice, once.data, once.len) == 0);
    require(utf8_valid(once.data, once.len) && strlen(once.data) == once.len);
    require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    for (size_t n = 0; n <= valid && n < 64; n++) {
        size_t cut = utf8_cut(text, n);

        require(cut <= n && n - cut < 4 && utf8_valid(text, cut));
    }
    error_set(&err, once.data, 2, "%s", once.data);
    error_wrap(&err, "%.*s", (int)(size < 1000 ? size : 1000), text);
    require(utf8_valid(err.message, strlen(err.message)) && !strpbrk(err.message, "\r\n\x1b"));
    check_path(text, size);
    return 0;
}
