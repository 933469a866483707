#include "policy/strings.h"

#include <stdlib.h>
#include <string.h>

int strings_add(struct strings *list, const char *text) {
    char **items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items)
        return -1;
    list->items = items;
    if (!(items[list->count] = strdup(text)))
        return -1;
    list->count++;
    return 0;
}

int strings_from(struct strings *list, const cJSON *array) {
    for (const cJSON *entry = array ? array->child : NULL; entry; entry = entry->next)
        if (cJSON_IsString(entry) && !strings_have(list, entry->valuestring) && strings_add(list, entry->valuestring) < 0)
            return -1;
    return 0;
}

bool strings_have(const struct strings *list, const char *text) {
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i], text))
            return true;
    return false;
}

const char *strings_beyond(const struct strings *a, const struct strings *b) {
    for (size_t i = 0; i < a->count; i++)
        if (!strings_have(b, a->items[i]))
            return a->items[i];
    return NULL;
}

void strings_free(struct strings *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct strings){0};
}

bool module_covers(const char *pattern, const char *name) {
    size_t length = strlen(pattern);
    return !strncmp(pattern, name, length) && (!name[length] || name[length] == '.');
}

bool modules_cover(const struct strings *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (module_covers(list->items[i], name))
            return true;
    return false;
}
