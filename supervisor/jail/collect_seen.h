/* What a walk has seen, for the next one (private to the collect*.c files). Pure. */
#ifndef SNIPARA_JAIL_COLLECT_SEEN_H
#define SNIPARA_JAIL_COLLECT_SEEN_H

#include "jail/collect.h"

#include <sys/stat.h>

struct collect_seen {
    uint64_t path;     /* keyed hash of the path */
    uint64_t state;    /* of inode, size and times; 0: so young that a change could leave no trace in the times, look again */
    uint64_t content;  /* of the digest; 0: it was left out, and state is of what it is and why */
};

/* The new memory while a walk makes it, unsorted. */
struct collect_notes {
    struct collect_seen *entries;
    size_t count, room;
};

void collect_memory_begin(struct collect_memory *m);
uint64_t collect_hash(const struct collect_memory *m, const void *data, size_t length);
uint64_t collect_state_of(const struct collect_memory *m, const struct stat *st);
/* Of a file that is left out: without its times, so that it is told of once. */
uint64_t collect_left_state_of(const struct collect_memory *m, const struct stat *st, enum collect_reason reason);
const struct collect_seen *collect_memory_find(const struct collect_memory *m, uint64_t path);
/* -1: out of memory. */
int collect_note(struct collect_notes *n, struct collect_seen seen);
/* The notes become the memory; of a walk that did not see everything, what it did not see stays. */
void collect_memory_replace(struct collect_memory *m, struct collect_notes *n, bool whole);

#endif
