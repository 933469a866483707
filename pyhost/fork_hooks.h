/* What preloaded modules asked os.register_at_fork(3.7) for. A payload is forked from a process with one thread that holds no lock and
 * about to be reseeded, so the hooks that only mend locks, threads and `random` have nothing to do there, and cost a fresh jail a
 * hundred copied pages; every other one runs. For the guest's own os.fork() all of them run, in CPython's order. */
#ifndef SNIPARA_FORK_HOOKS_H
#define SNIPARA_FORK_HOOKS_H

#include "base/error.h"

#include <stdbool.h>

/* From here to fork_hooks_settle, os.register_at_fork keeps its hooks in a list of ours, which the interpreter calls. Before any module
 * that registers one is imported. 0, or -1 with the error set. */
int fork_hooks_collect(struct error *err);

/* os.register_at_fork is the interpreter's own again. 0, or -1 with the error set. */
int fork_hooks_settle(struct error *err);

/* Whether the next fork makes a payload. The child says false before guest code runs. */
void fork_hooks_quiet(bool is_payload);

#endif
