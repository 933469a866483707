#include "base/json.h"

#include "base/buf.h"
#include "base/path.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

#define FILE_LIMIT ((size_t)16 << 20)
#define INT_LIMIT 9007199254740992.0 /* 2^53: beyond it a double skips integers */

cJSON *json_parse(const char *text, size_t length, struct json_limits limits, struct error *err) {
    cJSON *tree;

    if (json_check(text, length, limits, err) != JSON_OK)
        return NULL;
    tree = cJSON_ParseWithLength(text, length);
    if (!tree)
        error_set(err, "json", ENOMEM, "cannot hold a text of %zu bytes", length);
    return tree;
}

cJSON *json_parse_file(const char *path, struct json_limits limits, struct error *err) {
    cleanup_buf struct buf text = {0};
    cJSON *tree;

    if (path_read_file(path, limits.max_bytes ? limits.max_bytes : FILE_LIMIT, &text, err) < 0)
        return NULL;
    tree = json_parse(text.data, text.len, limits, err);
    if (!tree)
        error_wrap(err, "%s", path);
    return tree;
}

const cJSON *json_get(const cJSON *object, const char *name) {
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

const char *json_get_string(const cJSON *object, const char *name) { return cJSON_GetStringValue(json_get(object, name)); }

bool json_get_bool(const cJSON *object, const char *name, bool *ret) {
    const cJSON *item = json_get(object, name);

    if (!cJSON_IsBool(item))
        return false;
    *ret = cJSON_IsTrue(item);
    return true;
}

bool json_get_int(const cJSON *object, const char *name, int64_t *ret) {
    const cJSON *item = json_get(object, name);
    double v;

    if (!item || !cJSON_IsNumber(item))
        return false;
    v = item->valuedouble;
    /* The range comes first: converting what int64_t cannot hold is undefined. */
    if (!(v >= -INT_LIMIT && v <= INT_LIMIT) || v != (double)(int64_t)v)
        return false;
    *ret = (int64_t)v;
    return true;
}

const char *json_unknown_member(const cJSON *object, const char *const *known) {
    const cJSON *item;

    if (!cJSON_IsObject(object))
        return NULL;
    cJSON_ArrayForEach(item, object) {
        size_t i = 0;

        while (known[i] && strcmp(known[i], item->string) != 0)
            i++;
        if (!known[i])
            return item->string;
    }
    return NULL;
}

cJSON *json_text(const char *text, size_t length) {
    cleanup_buf struct buf clean = {0};

    if (utf8_clean(&clean, text, length) < 0)
        return NULL;
    return cJSON_CreateString(clean.data);
}
