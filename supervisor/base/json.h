/* JSON access over cJSON, for text that may be hostile.
 *
 * json_check is a strict RFC 8259 reader of our own that allocates nothing: it refuses what cJSON would let through (bad UTF-8,
 * control characters in strings, leading zeros, trailing text, depth) before cJSON sees the text, and finds what cJSON cannot
 * represent: NUL (\u0000) and lone surrogates in strings. json_parse = check, then cJSON. Errors have step "json" and name
 * line and column.
 */
#ifndef SNIPARA_BASE_JSON_H
#define SNIPARA_BASE_JSON_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH 64

struct json_limits {
    size_t max_bytes; /* 0: no bound */
    int max_depth;    /* 0: JSON_DEPTH */
};

enum json_verdict {
    JSON_OK,
    JSON_BAD,       /* not JSON, or over a limit */
    JSON_UNFIT,     /* JSON, but a string holds NUL or a lone surrogate, so no C string and no UTF-8 can hold it */
};

/* Pure and allocation-free. *err is filled for every verdict but JSON_OK. */
enum json_verdict json_check(const char *text, size_t length, struct json_limits limits, struct error *err);

/* NULL on failure (err filled). The caller owns the tree: cJSON_Delete or cleanup_json. */
cJSON *json_parse(const char *text, size_t length, struct json_limits limits, struct error *err);

/* Read a whole file of at most limits.max_bytes (0: 16 MiB) and parse it; errors name the file. */
cJSON *json_parse_file(const char *path, struct json_limits limits, struct error *err);

/* The raw text of the value of top-level member `name` (first occurrence) in a text whose verdict was OK or UNFIT: for ids
 * that must be echoed byte for byte (2^53+1, 1.50). false when text is not an object or has no such member. */
bool json_raw_member(const char *text, size_t length, const char *name, const char **ret_at, size_t *ret_length);

/* Typed access; NULL/false when the member is absent or of another type. */
const cJSON *json_get(const cJSON *object, const char *name);
const char *json_get_string(const cJSON *object, const char *name);
bool json_get_bool(const cJSON *object, const char *name, bool *ret);
/* A number without fraction within [-2^53, 2^53]. */
bool json_get_int(const cJSON *object, const char *name, int64_t *ret);
/* First member of `object` whose name is not in the NULL-terminated list, or NULL. For "unknown key" errors. */
const char *json_unknown_member(const cJSON *object, const char *const *known);

/* Building. `text` need not be NUL-terminated nor valid: it is cleaned as utf8_clean does. */
cJSON *json_text(const char *text, size_t length);
/* Compact text in which U+2028 and U+2029 are escaped, without line breaks; the caller frees it with free(). */
char *json_print(const cJSON *value);
char *json_print_pretty(const cJSON *value);
/* As json_print, with the members of every object in byte order of their names: one text for one value. */
char *json_print_sorted(const cJSON *value);

static inline void cleanup_json_(cJSON **p) { cJSON_Delete(*p); }
#define cleanup_json __attribute__((cleanup(cleanup_json_)))

#endif
