/* What `policy list` shows: every file on the search path, broken ones too. */
#include "policy/policy.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "policy/document.h"
#include "policy/load.h"
#include "policy/search.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define STEP "policy"

static int list_file(const struct place *place, const char *file, cJSON *list) {
    char path[PATH_MAX], name[128];
    struct error err = {0};
    size_t stem = strlen(file) - 5;
    if (stem >= sizeof name || snprintf(path, sizeof path, "%s/%s", place->directory, file) >= PATH_MAX)
        return 0;
    memcpy(name, file, stem);
    name[stem] = '\0';
    if (!policy_name_fits(name))
        return 0;
    cleanup_policy_source struct policy_source s = {.path = strdup(path), .origin = place->origin};
    cJSON *entry = cJSON_CreateObject();
    if (!s.path || !entry || !cJSON_AddItemToArray(list, entry)) {
        cJSON_Delete(entry);
        return -1;
    }
    bool shadowed = false, broken = policy_source_read(&s, false, &err) < 0;
    for (const cJSON *other = list->child; other != entry; other = other->next)
        shadowed = shadowed || !strcmp(json_get_string(other, "name"), name);
    const char *about = broken ? err.message : json_get_string(s.json, "description");
    cJSON *about_text = json_text(about ? about : "", about ? strlen(about) : 0);
    bool whole = cJSON_AddStringToObject(entry, "name", name) && cJSON_AddStringToObject(entry, "origin", policy_origin_name(s.origin)) &&
                 cJSON_AddItemToObject(entry, "path", json_text(path, strlen(path))) &&
                 cJSON_AddItemToObject(entry, broken ? "error" : "description", about_text);
    return whole && (!shadowed || cJSON_AddTrueToObject(entry, "shadowed")) ? 0 : -1;
}

static int not_hidden(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && entry->d_name[0] != '.' && !strcmp(entry->d_name + length - 5, ".json") && !strstr(entry->d_name, ".schema.");
}

static int by_bytes(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* By insertion, which is stable: of two entries with one name the one that is loaded stands first. */
static int sort_by_name(cJSON *list) {
    size_t count = (size_t)cJSON_GetArraySize(list);
    cleanup_free cJSON **sorted = calloc(count + 1, sizeof *sorted);
    if (!sorted)
        return -1;
    for (size_t i = 0; i < count; i++) {
        cJSON *entry = cJSON_DetachItemViaPointer(list, list->child);
        size_t at = i;
        for (; at > 0 && strcmp(json_get_string(sorted[at - 1], "name"), json_get_string(entry, "name")) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = entry;
    }
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, sorted[i]);
    return 0;
}

int policy_list(cJSON **ret, struct error *err) {
    cleanup_json cJSON *list = cJSON_CreateArray();
    struct place places[SEARCH_PLACES];
    int r = list ? 0 : -1;
    search_places(places);
    for (int i = 0; r == 0 && i < SEARCH_PLACES; i++) {
        struct dirent **files = NULL;
        int count = places[i].directory[0] ? scandir(places[i].directory, &files, not_hidden, by_bytes) : -1;
        for (int k = 0; k < count; k++) {
            if (r == 0)
                r = list_file(&places[i], files[k]->d_name, list);
            free(files[k]);
        }
        free(files);
    }
    if (r < 0 || sort_by_name(list) < 0)
        return error_set(err, STEP, ENOMEM, "list of policies");
    *ret = steal_ptr(&list);
    return 0;
}
