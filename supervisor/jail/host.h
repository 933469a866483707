/* What this host can build: probed once by trying (never by version numbers), each answer with evidence and, where it is "no",
 * a remedy. `doctor` prints it; the backend decides from it. A rung is the name of a kind of host (DESIGN.md, "Host ladder").
 */
#ifndef SNIPARA_JAIL_HOST_H
#define SNIPARA_JAIL_HOST_H

#include "base/error.h"
#include "jail/cgroup.h"
#include "jail/layers.h"

#include <stdbool.h>


struct host_layer {
    enum layer layer;
    bool there;
    char evidence[256]; /* what was tried and what came of it */
    char remedy[256];   /* empty when it is there or nothing helps */
};

struct host {
    const char *rung;                /* "T0" .. "T4" */
    char rung_text[128];             /* in words */
    struct host_layer layers[LAYER_COUNT];
    layer_set there;
    enum cgroup_kind cgroup;
    int landlock_abi;                /* 0: none */
    char kernel[128];                /* uname release and machine */
    char notes[8][256];              /* warnings for doctor: piped core_pattern, AppArmor restriction ... */
    int note_count;
};

/* Name of the rung that a set of layers stands for, and the same in words. */
const char *host_rung(layer_set there, const char **ret_text);
/* What makes a missing layer available, or NULL. */
const char *host_remedy(enum layer l);

/* Probe now (about 10 ms; forks). Only -1 when probing itself failed. */
int host_probe(struct host *ret, struct error *err);

#endif
