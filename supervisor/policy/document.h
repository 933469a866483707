/* A policy file as a checked document: JSON whose keys, types and ranges are right, with sizes as numbers of bytes and without
 * "comment" members. What the values mean together is not looked at here. Pure but for reading the file.
 */
#ifndef SNIPARA_POLICY_DOCUMENT_H
#define SNIPARA_POLICY_DOCUMENT_H

#include "base/buf.h"
#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_FILE_MAX (1024 * 1024)

/* Shapes of values. OBJECTS is an array of objects, MAP an object whose members are texts with free names, RAW is left to its
 * owner (the seccomp additions). */
enum shape { SHAPE_TEXT, SHAPE_FLAG, SHAPE_SIZE, SHAPE_COUNT, SHAPE_REAL, SHAPE_LIST, SHAPE_OBJECT, SHAPE_OBJECTS, SHAPE_MAP, SHAPE_RAW };

struct shape_rule {
    const char *key;
    enum shape shape;
    double min, max;                /* SIZE, COUNT, REAL */
    const char *const *words;       /* TEXT and the entries of LIST: one of these, NULL-terminated */
    bool (*fits)(const char *text); /* TEXT, the entries of LIST, the names in a MAP */
    const char *form;               /* what fits() wants, in words */
    const struct shape_rule *members; /* OBJECT, OBJECTS: ends with key NULL */
};

extern const struct shape_rule policy_shape[];

/* Check `text` against the shape of a policy. Errors begin with the key ("limits.pids: ..."); the caller names the file. */
cJSON *document_parse(const char *text, size_t length, struct error *err);

/* The keys that a policy without `extends` must have: an error names the first that is missing. */
int document_complete(const cJSON *json, struct error *err);

/* `child` over `parent`: members of objects merge, and a value replaces its parent's. Lists of what is denied or required
 * (language.denied_*, imports.names in mode deny, layers) are added to the parent's unless the child says "widen": true;
 * seccomp.add is always added to it. NULL: out of memory. */
cJSON *document_merge(const cJSON *parent, const cJSON *child);

/* A copy whose objects have their members sorted by name. NULL: out of memory. */
cJSON *document_canonical(const cJSON *json);

/* "64MiB", "512 KiB", "4096": bytes. Units B, KiB, MiB, GiB, TiB. false: not a size, or over 2^53. */
bool size_parse(const char *text, uint64_t *ret);
/* 67108864 -> "64 MiB", written into `ret`, which is also the return value. */
#define SIZE_TEXT 32
const char *size_text(uint64_t bytes, char ret[SIZE_TEXT]);

/* The word of `known` (NULL-terminated) that is nearest to `word`, or NULL when none is near enough for a typing error. */
const char *nearest_word(const char *word, const char *const *known);

/* No control characters: the text may be shown on a terminal. */
bool plain_text(const char *text);

bool policy_name_fits(const char *name);

#endif
