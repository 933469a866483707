#include "tally.h"

#include "base/utf8.h"
#include "base/wire.h"
#include "jail/protocol.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 120

struct entry {
    uint64_t count;
    const char *layer;
    char what[TEXT_MAX];
};

struct list {
    struct entry entries[TALLY_NAMES];
    size_t count;
};

static struct list lists[2];

static struct entry *find(struct list *list, const char *layer, const char *what)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->entries[i].layer, layer) == 0 && strncmp(list->entries[i].what, what, TEXT_MAX - 1) == 0)
            return &list->entries[i];
    return NULL;
}

void tally_add(enum tally kind, const char *layer, const char *what)
{
    struct list *list = &lists[kind];
    if (!layer)
        layer = "";
    struct entry *entry = find(list, layer, what);
    if (!entry && list->count == TALLY_NAMES - 1)
        what = "...";
    if (!entry && list->count == TALLY_NAMES)
        entry = &list->entries[TALLY_NAMES - 1];
    if (!entry) {
        entry = &list->entries[list->count++];
        *entry = (struct entry){.layer = layer};
        int length = snprintf(entry->what, sizeof entry->what, "%s", what);
        if (length >= (int)sizeof entry->what)
            entry->what[utf8_cut(entry->what, sizeof entry->what - 1)] = 0;
    }
    entry->count++;
}

void tally_reset(void)
{
    lists[TALLY_DENIED].count = lists[TALLY_OBSERVED].count = 0;
}

static int put_entry(enum tally kind, const struct entry *entry, struct buf *reply)
{
    char data[sizeof entry->count + 32 + TEXT_MAX];
    size_t length = sizeof entry->count;
    memcpy(data, &entry->count, length);
    if (kind == TALLY_DENIED)
        length += (size_t)snprintf(data + length, 32, "%.30s", entry->layer) + 1; /* its NUL is the separator */
    length += (size_t)snprintf(data + length, TEXT_MAX, "%s", entry->what);
    return wire_put(reply, kind == TALLY_DENIED ? PT_DENIED : PT_OBSERVED, data, length);
}

int tally_put(struct buf *reply)
{
    for (int kind = TALLY_DENIED; kind <= TALLY_OBSERVED; kind++)
        for (size_t i = 0; i < lists[kind].count; i++)
            if (put_entry(kind, &lists[kind].entries[i], reply) < 0)
                return -1;
    return 0;
}
