/* One document over another, and the canonical order of members. Pure. */
#include "policy/document.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static int put(cJSON *object, const char *key, cJSON *value) {
    if (!value)
        return -1;
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    if (cJSON_AddItemToObject(object, key, value))
        return 0;
    cJSON_Delete(value);
    return -1;
}

static bool stands_in(const cJSON *array, const cJSON *text) {
    for (const cJSON *entry = array->child; entry; entry = entry->next)
        if (cJSON_IsString(entry) && cJSON_IsString(text) && !strcmp(entry->valuestring, text->valuestring))
            return true;
    return false;
}

static int append(cJSON *array, const cJSON *more) {
    for (const cJSON *entry = more->child; entry; entry = entry->next) {
        if (stands_in(array, entry))
            continue;
        cJSON *copy = cJSON_Duplicate(entry, true);
        if (!copy || !cJSON_AddItemToArray(array, copy)) {
            cJSON_Delete(copy);
            return -1;
        }
    }
    return 0;
}

struct merging {
    bool widen;      /* the child may shorten lists of denials: it replaces them */
    bool deny_lists; /* imports.mode is "deny" before and after */
};

/* Lists that a child adds to: what its parent denies stays denied and what it requires stays required, without repeating it. */
static bool grows(const struct merging *how, const char *section, const char *key) {
    static const struct { const char *section, *key; } lists[] = {
        {"language", "denied_nodes"}, {"language", "denied_attributes"}, {"language", "denied_builtins"}, {"layers", "required"},
        {"layers", "optional"}};
    if (!strcmp(section, "seccomp") && !strcmp(key, "add"))
        return true; /* also when widening: a later entry overrules an earlier one */
    if (how->widen)
        return false;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!strcmp(section, lists[i].section) && !strcmp(key, lists[i].key))
            return true;
    return how->deny_lists && !strcmp(section, "imports") && !strcmp(key, "names");
}

static int merge_into(cJSON *base, const cJSON *over, const char *section, const struct merging *how) {
    for (const cJSON *member = over->child; member; member = member->next) {
        cJSON *old = cJSON_GetObjectItemCaseSensitive(base, member->string);
        int r;
        if (cJSON_IsObject(old) && cJSON_IsObject(member))
            r = merge_into(old, member, member->string, how);
        else if (cJSON_IsArray(old) && cJSON_IsArray(member) && grows(how, section, member->string))
            r = append(old, member);
        else
            r = put(base, member->string, cJSON_Duplicate(member, true));
        if (r < 0)
            return -1;
    }
    return 0;
}

static bool import_mode_is_deny(const cJSON *json, bool missing) {
    const char *mode = json_get_string(json_get(json, "imports"), "mode");
    return mode ? !strcmp(mode, "deny") : missing;
}

cJSON *document_merge(const cJSON *parent, const cJSON *child) {
    /* these speak of one file, not of what it inherits */
    static const char *const own[] = {"$schema", "name", "description", "extends", "widen", "widen_reason", NULL};
    cleanup_json cJSON *merged = cJSON_Duplicate(parent, true);
    if (!merged)
        return NULL;
    for (const char *const *key = own; *key; key++)
        cJSON_DeleteItemFromObjectCaseSensitive(merged, *key);
    struct merging how = {.deny_lists = import_mode_is_deny(parent, false) && import_mode_is_deny(child, true)};
    json_get_bool(child, "widen", &how.widen);
    if (merge_into(merged, child, "", &how) < 0)
        return NULL;
    return steal_ptr(&merged);
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(cJSON *const *)a)->string, (*(cJSON *const *)b)->string);
}

static int canonical(cJSON *value) {
    size_t count = 0;
    for (cJSON *child = value->child; child; child = child->next, count++)
        if (canonical(child) < 0)
            return -1;
    if (!cJSON_IsObject(value) || count < 2)
        return 0;
    cleanup_free cJSON **members = calloc(count, sizeof *members);
    if (!members)
        return -1;
    for (size_t i = 0; i < count; i++)
        members[i] = cJSON_DetachItemViaPointer(value, value->child);
    qsort(members, count, sizeof *members, by_name);
    /* cJSON_AddItemToArray links a node at the end and leaves its name alone */
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(value, members[i]);
    return 0;
}

cJSON *document_canonical(const cJSON *json) {
    cleanup_json cJSON *copy = cJSON_Duplicate(json, true);
    if (!copy || canonical(copy) < 0)
        return NULL;
    return steal_ptr(&copy);
}
