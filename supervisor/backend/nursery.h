/* A nursery: where the places of one policy come from. A maker, the zygote of the present generation (and old ones whose payloads
 * still live), and spare places that wait, sealed and warm, for a session. */
#ifndef SNIPARA_BACKEND_NURSERY_H
#define SNIPARA_BACKEND_NURSERY_H

#include "backend/native.h"
#include "backend/plant.h"
#include "backend/zygote.h"

enum { NURSERY_GENERATIONS = 8, NURSERY_OPENING_MAX = 16 };

struct nursery {
    struct native *native;
    struct plant *plant;
    struct nursery *next;
    struct jail_maker maker;
    uv_poll_t maker_poll;
    bool maker_watched, maker_planned, closing;
    struct zygote *zygote;                         /* forks the next payload; NULL: none yet */
    struct zygote *successor;                      /* starting; takes over when it is ready */
    struct zygote *retired[NURSERY_GENERATIONS];   /* parents of payloads that live */
    uv_timer_t tend;                               /* makes spares while nobody waits */
    int open_handles;
    unsigned opening;                              /* places between their request and readiness */
    bool short_of_spares;                          /* one was taken; the end of a call is the time to look */
    bool barren;                                   /* the last spare failed: no more before a session has asked */
};

/* Takes the plant over, also on failure. Nothing is started. */
int nursery_new(struct native *native, struct plant *plant, struct nursery **ret, struct error *err);

/* The rest of the plant; an interpreter that is wanted for one call starts meanwhile. -1: the policy's seccomp profile is no good. */
int nursery_compile(struct nursery *n, struct error *err);

/* Start what is not running: maker and zygote, a new generation where the present one is spent. */
int nursery_ready(struct nursery *n, struct error *err);

/* Look soon whether spares are to be made. */
void nursery_tend(struct nursery *n);
/* A place was asked for and none was ready: begin another one beside it. */
void nursery_keep_pace(struct nursery *n);
/* Places that wait for their turn are started. */
void nursery_serve(struct nursery *n);
/* End zygotes of old generations that have no payload left. */
void nursery_forget_retired(struct nursery *n);

/* No more will come: the helpers end while the last place does. Its payload is adopted by us. */
void nursery_hurry(struct nursery *n);
/* No place of it is left. Frees it, asynchronously on the loop. */
void nursery_close(struct nursery *n);

#endif
