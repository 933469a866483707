#include "jail/collect_seen.h"

#include "base/clock.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Times of files come from the kernel's coarse clock before Linux 6.13: a change within one tick (10 ms at most) of the last one
 * need not move them. */
#define TICK_NS 20000000ull

_Static_assert(crypto_shorthash_KEYBYTES == sizeof ((struct collect_memory *)0)->key, "the key of a hash");
_Static_assert(crypto_shorthash_BYTES == sizeof(uint64_t), "a hash");

void collect_memory_free(struct collect_memory *m)
{
    free(m->entries);
    memset(m, 0, sizeof *m);
}

void collect_memory_begin(struct collect_memory *m)
{
    if (!m->keyed)
        m->keyed = getrandom(m->key, sizeof m->key, 0) == (ssize_t)sizeof m->key; /* 16 bytes never come short (getrandom(2)) */
}

uint64_t collect_hash(const struct collect_memory *m, const void *data, size_t length)
{
    uint64_t hash;
    crypto_shorthash((unsigned char *)&hash, data, length, m->key);
    return hash ? hash : 1;
}

uint64_t collect_state_of(const struct collect_memory *m, const struct stat *st)
{
    const uint64_t facts[] = {st->st_ino, (uint64_t)st->st_size, st->st_mode, st->st_nlink,
                              (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
                              (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec};
    uint64_t changed = (uint64_t)st->st_ctim.tv_sec * 1000000000ull + (uint64_t)st->st_ctim.tv_nsec;
    return clock_wall() < changed + TICK_NS ? 0 : collect_hash(m, facts, sizeof facts);
}

uint64_t collect_left_state_of(const struct collect_memory *m, const struct stat *st, enum collect_reason reason)
{
    const uint64_t facts[] = {st->st_ino, (uint64_t)st->st_size, st->st_mode, st->st_nlink, (uint64_t)reason};
    return collect_hash(m, facts, sizeof facts);
}

static int by_path(const void *a, const void *b)
{
    uint64_t x = ((const struct collect_seen *)a)->path, y = ((const struct collect_seen *)b)->path;
    return (x > y) - (x < y);
}

const struct collect_seen *collect_memory_find(const struct collect_memory *m, uint64_t path)
{
    const struct collect_seen key = {.path = path};
    return m->count ? bsearch(&key, m->entries, m->count, sizeof key, by_path) : NULL;
}

int collect_note(struct collect_notes *n, struct collect_seen seen)
{
    if (n->count == n->room) {
        size_t room = n->room ? 2 * n->room : 64;
        struct collect_seen *grown = realloc(n->entries, room * sizeof *grown);
        if (!grown)
            return -1;
        n->entries = grown;
        n->room = room;
    }
    n->entries[n->count++] = seen;
    return 0;
}

void collect_memory_replace(struct collect_memory *m, struct collect_notes *n, bool whole)
{
    size_t walked = n->count;
    if (walked > 1)
        qsort(n->entries, n->count, sizeof *n->entries, by_path);
    for (size_t i = 0; !whole && i < m->count && n->count < COLLECT_ENTRIES; i++) {
        const struct collect_memory noted = {.entries = n->entries, .count = walked}; /* it moves when it grows */
        if (!collect_memory_find(&noted, m->entries[i].path) && collect_note(n, m->entries[i]) < 0)
            break;
    }
    if (n->count > walked)
        qsort(n->entries, n->count, sizeof *n->entries, by_path);
    free(m->entries);
    m->entries = n->entries;
    m->count = n->count;
    memset(n, 0, sizeof *n);
}
