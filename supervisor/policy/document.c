/* Checking a policy file against its shape, and making it regular. */
#include "policy/document.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP "policy"
#define WHERE_MAX 160
#define ENTRIES_MAX 4096
#define KEYS_MAX 32

static int check_object(cJSON *object, const struct shape_rule *rules, const char *where, struct error *err);

/* "limits" + "pids" -> "limits.pids". Long paths are cut: they only serve messages. */
static const char *deeper(const char *where, const char *key, char ret[WHERE_MAX]) {
    if (snprintf(ret, WHERE_MAX, "%s%s%s", where, *where ? "." : "", key) >= WHERE_MAX)
        memcpy(ret + WHERE_MAX - 4, "...", 4);
    return ret;
}

static int unknown_key(const char *key, const struct shape_rule *rules, const char *where, struct error *err) {
    const char *known[KEYS_MAX];
    char list[400] = "";
    size_t n = 0;
    for (; rules[n].key && n + 1 < KEYS_MAX; n++) {
        known[n] = rules[n].key;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "", rules[n].key);
    }
    known[n] = NULL;
    const char *near = nearest_word(key, known);
    char path[WHERE_MAX];
    deeper(where, key, path);
    if (near)
        return error_set(err, STEP, 0, "%s: unknown key; did you mean \"%s\"?", path, near);
    return error_set(err, STEP, 0, "%s: unknown key; known are %s", path, list);
}

static int check_text(const cJSON *value, const struct shape_rule *rule, const char *where, struct error *err) {
    if (!cJSON_IsString(value))
        return error_set(err, STEP, 0, "%s: must be a string", where);
    const char *text = value->valuestring;
    if (rule->words) {
        char list[600] = "";
        for (const char *const *w = rule->words; *w; w++) {
            if (!strcmp(*w, text))
                return 0;
            size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", *w);
        }
        const char *near = nearest_word(text, rule->words);
        if (near)
            return error_set(err, STEP, 0, "%s: unknown value \"%.64s\"; did you mean \"%s\"?", where, text, near);
        return error_set(err, STEP, 0, "%s: unknown value \"%.64s\"; known are %s", where, text, list);
    }
    if (rule->fits && !rule->fits(text))
        return error_set(err, STEP, 0, "%s: \"%.64s\" must be %s", where, text, rule->form);
    return 0;
}

static int check_number(cJSON *value, const struct shape_rule *rule, const char *where, struct error *err) {
    uint64_t bytes;
    char low[SIZE_TEXT], high[SIZE_TEXT];
    if (rule->shape == SHAPE_SIZE && cJSON_IsString(value)) {
        if (!size_parse(value->valuestring, &bytes))
            return error_set(err, STEP, 0, "%s: \"%.64s\" is not a size; write bytes as a number, or \"64MiB\" (KiB, MiB, GiB, TiB)",
                             where, value->valuestring);
        /* the node stays where it is: only its value becomes a number */
        cJSON_free(value->valuestring);
        value->valuestring = NULL;
        value->type = cJSON_Number;
        cJSON_SetNumberValue(value, (double)bytes);
    }
    if (!cJSON_IsNumber(value))
        return error_set(err, STEP, 0, "%s: must be %s", where,
                         rule->shape == SHAPE_SIZE ? "a number of bytes or a size such as \"64MiB\"" : "a number");
    double v = value->valuedouble;
    if (rule->shape != SHAPE_REAL && v != floor(v))
        return error_set(err, STEP, 0, "%s: %g must be a whole number", where, v);
    if (!(v >= rule->min && v <= rule->max)) {
        if (rule->shape == SHAPE_SIZE)
            return error_set(err, STEP, 0, "%s: %.17g is out of range; it must be from %s to %s", where, v,
                             size_text((uint64_t)rule->min, low), size_text((uint64_t)rule->max, high));
        return error_set(err, STEP, 0, "%s: %g is out of range; it must be from %g to %.10g", where, v, rule->min, rule->max);
    }
    return 0;
}

static int check_list(const cJSON *value, const struct shape_rule *rule, const char *where, struct error *err) {
    if (!cJSON_IsArray(value))
        return error_set(err, STEP, 0, "%s: must be an array of strings", where);
    int index = 0;
    char at[WHERE_MAX + 16];
    for (const cJSON *entry = value->child; entry; entry = entry->next, index++) {
        snprintf(at, sizeof at, "%s[%d]", where, index);
        if (index >= ENTRIES_MAX)
            return error_set(err, STEP, 0, "%s: more than %d entries", where, ENTRIES_MAX);
        if (check_text(entry, rule, at, err) < 0)
            return -1;
    }
    return 0;
}

static int check_objects(const cJSON *value, const struct shape_rule *rule, const char *where, struct error *err) {
    if (!cJSON_IsArray(value))
        return error_set(err, STEP, 0, "%s: must be an array of objects", where);
    int index = 0;
    char at[WHERE_MAX];
    for (cJSON *entry = value->child; entry; entry = entry->next, index++) {
        char number[16];
        snprintf(number, sizeof number, "[%d]", index);
        if (index >= ENTRIES_MAX)
            return error_set(err, STEP, 0, "%s: more than %d entries", where, ENTRIES_MAX);
        snprintf(at, sizeof at, "%.*s%s", WHERE_MAX - 20, where, number);
        if (check_object(entry, rule->members, at, err) < 0)
            return -1;
    }
    return 0;
}

/* A key that stands twice means one thing to this reader and another to the next: refuse it. */
static int check_twice(const cJSON *object, const char *where, struct error *err) {
    for (const cJSON *a = object->child; a; a = a->next)
        for (const cJSON *b = a->next; b; b = b->next)
            if (!strcmp(a->string, b->string))
                return error_set(err, STEP, 0, "%s%s%.64s: the key stands twice in one object", where, *where ? "." : "", a->string);
    return 0;
}

static int check_map(const cJSON *value, const struct shape_rule *rule, const char *where, struct error *err) {
    if (!cJSON_IsObject(value))
        return error_set(err, STEP, 0, "%s: must be an object of strings", where);
    if (check_twice(value, where, err) < 0)
        return -1;
    char at[WHERE_MAX];
    for (const cJSON *entry = value->child; entry; entry = entry->next) {
        if (!rule->fits(entry->string))
            return error_set(err, STEP, 0, "%s: \"%.64s\" must be %s", where, entry->string, rule->form);
        deeper(where, entry->string, at);
        if (!cJSON_IsString(entry))
            return error_set(err, STEP, 0, "%s: must be a string", at);
        if (strlen(entry->valuestring) > 4096 || !plain_text(entry->valuestring))
            return error_set(err, STEP, 0, "%s: must be one line of at most 4096 bytes without control characters", at);
    }
    return 0;
}

static int check_value(cJSON *value, const struct shape_rule *rule, const char *where, struct error *err) {
    switch (rule->shape) {
    case SHAPE_TEXT: return check_text(value, rule, where, err);
    case SHAPE_FLAG: return cJSON_IsBool(value) ? 0 : error_set(err, STEP, 0, "%s: must be true or false", where);
    case SHAPE_SIZE:
    case SHAPE_COUNT:
    case SHAPE_REAL: return check_number(value, rule, where, err);
    case SHAPE_LIST: return check_list(value, rule, where, err);
    case SHAPE_OBJECT: return check_object(value, rule->members, where, err);
    case SHAPE_OBJECTS: return check_objects(value, rule, where, err);
    case SHAPE_MAP: return check_map(value, rule, where, err);
    case SHAPE_RAW: return 0;
    }
    return 0;
}

static int check_object(cJSON *object, const struct shape_rule *rules, const char *where, struct error *err) {
    if (!cJSON_IsObject(object))
        return error_set(err, STEP, 0, "%s: must be an object", *where ? where : "a policy");
    if (cJSON_GetArraySize(object) > ENTRIES_MAX)
        return error_set(err, STEP, 0, "%s: more than %d members", *where ? where : "a policy", ENTRIES_MAX);
    if (check_twice(object, where, err) < 0)
        return -1;
    char at[WHERE_MAX];
    for (cJSON *member = object->child, *next; member; member = next) {
        next = member->next;
        if (!strcmp(member->string, "comment")) {
            if (!cJSON_IsString(member))
                return error_set(err, STEP, 0, "%s: must be a string", deeper(where, "comment", at));
            cJSON_Delete(cJSON_DetachItemViaPointer(object, member));
            continue;
        }
        const struct shape_rule *rule = rules;
        while (rule->key && strcmp(rule->key, member->string))
            rule++;
        if (!rule->key)
            return unknown_key(member->string, rules, where, err);
        if (check_value(member, rule, deeper(where, member->string, at), err) < 0)
            return -1;
    }
    return 0;
}

cJSON *document_parse(const char *text, size_t length, struct error *err) {
    cleanup_json cJSON *json = json_parse(text, length, (struct json_limits){.max_bytes = POLICY_FILE_MAX, .max_depth = 16}, err);
    if (!json || check_object(json, policy_shape, "", err) < 0)
        return NULL;
    if (!json_get_string(json, "name")) {
        error_set(err, STEP, 0, "name: is missing; a policy is named like its file");
        return NULL;
    }
    return steal_ptr(&json);
}

static int complete(const cJSON *object, const struct shape_rule *rules, const char *where, struct error *err) {
    /* what a policy may leave out although it extends nothing */
    static const char *const free_keys[] = {"$schema", "description", "extends", "widen", "widen_reason", "rootfs",
                                            "hosts", "denied_nodes", "denied_attributes", "denied_builtins", "allowed_names",
                                            "preload", "artifact_files", "artifact_bytes", "artifact_total_bytes", "artifact_depth", "add", "optional", "set", "pass", NULL};
    for (const struct shape_rule *rule = rules; rule->key; rule++) {
        char at[WHERE_MAX];
        const cJSON *member = json_get(object, rule->key);
        bool needed = true;
        for (const char *const *k = free_keys; *k; k++)
            needed = needed && strcmp(*k, rule->key) != 0;
        if (!member && needed)
            return error_set(err, STEP, 0, "%s: is missing; a policy that extends nothing says everything. Add it, or say \"extends\": \"default\"",
                             deeper(where, rule->key, at));
        if (member && rule->shape == SHAPE_OBJECT && complete(member, rule->members, deeper(where, rule->key, at), err) < 0)
            return -1;
    }
    return 0;
}

int document_complete(const cJSON *json, struct error *err) {
    return complete(json, policy_shape, "", err);
}
