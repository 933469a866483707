/* The native backend: walls built by jail/, interpreters forked by zygotes. This header is private to the native_*.c files and
 * nursery.c, but for native_open. */
#ifndef SNIPARA_BACKEND_NATIVE_H
#define SNIPARA_BACKEND_NATIVE_H

#include "backend/backend.h"
#include "backend/plant.h"
#include "backend/zygote.h"
#include "jail/collect.h"
#include "jail/jail.h"

#include <sys/queue.h>

/* Open the yard (outer user namespace, cgroups). -1: this host cannot have it; err names layer and remedy. */
int native_open(uv_loop_t *loop, struct backend **ret, struct error *err);

struct nursery;

struct native {
    struct backend base;
    uv_loop_t *loop;
    struct yard yard;
    struct cgroup_pool cgroups;
    struct nursery *nurseries;
    TAILQ_HEAD(place_list, backend_place) places; /* oldest first; what is new is looked for from the end */
    unsigned waiting;              /* places in stage PLACE_WAITING */
    unsigned idle;                 /* places that are nobody's: spares, and what of them is on its way out */
    unsigned spares;               /* of each policy that is used */
    bool lean;                     /* one call and away: nothing is preloaded */
    uint64_t generation_forks;     /* of one zygote */
    uv_timer_t trim;               /* gives freed memory back to the system */
};

enum native_end { END_NONE, END_TIMEOUT, END_CANCEL, END_BROKEN, END_CLOSE }; /* why we killed the jail */

enum place_stage {
    PLACE_WAITING,   /* for its turn */
    PLACE_ASKED,     /* the maker knows */
    PLACE_SPAWNING,  /* init runs, the zygote knows; goes on until jail, payload and seal are reported */
    PLACE_READY,
    PLACE_FAILED
};

enum { WATCH_CHANNEL, WATCH_OUT, WATCH_ERR, WATCH_CONTROL, WATCH_INIT, WATCH_PAYLOAD, WATCH_COUNT };

/* Microseconds of the payload's own steps, and of our last look. */
struct place_times {
    uint64_t fork, join, seal, inspect;
};

struct backend_place {
    struct native *native;
    struct nursery *nursery;
    TAILQ_ENTRY(backend_place) link;
    enum place_stage stage;
    bool spare;                    /* nobody's yet */
    bool was_spare;                /* it was ready before anybody asked */
    struct jail jail;
    layer_set layers;              /* all that were verified: jail and payload */
    layer_set payload_layers;
    uint64_t memory_bytes;
    int theirs[3];                 /* the payload's ends, until it was asked for */
    uint64_t zygote_id, spawn_id;  /* of the zygote whose child the payload is, and of the request */
    pid_t payload;                 /* 0: not known yet */
    bool sealed;                   /* it said so */
    int fds[WATCH_COUNT];          /* channel, stdout, stderr are ours; control and init's pidfd the jail's; the payload's pidfd ours */
    uv_poll_t polls[WATCH_COUNT];
    bool watched[WATCH_COUNT];
    uv_timer_t timer;              /* patience with the opening, time-out of the call, patience with a dying jail, retries of the cgroup */
    uv_timer_t listen;             /* until stdout and stderr are watched again */
    bool deaf;                     /* they are not now */
    int open_handles;
    struct error failure;          /* PLACE_FAILED: why */
    bool transient;                /* a helper died; with a new one it may go well */

    struct buf in, out;            /* channel */
    bool exited;                   /* the payload's wait status is known */
    int exit_status;
    bool init_gone;
    bool gone;                     /* every process of the jail is gone */
    enum native_end end;
    char broken[160];              /* END_BROKEN: what was wrong */

    const struct backend_call *pending; /* asked for before the place was ready */
    struct backend_call pending_call;
    bool calling;
    uint64_t nonce;
    struct receipt receipt;
    struct receipt_capture captures[2];
    struct backend_observer observer;
    bool keep_artifacts;           /* the running call wants their contents */
    bool waits_to_write;                 /* the channel is watched for room, too */
    struct collect_memory artifacts_seen;
    uint64_t started;              /* clock_now */
    struct cgroup_usage usage_before;
    uint64_t asked;                /* clock_now of the one who waits for it; 0: told already */
    uint64_t ready_at, begun;
    struct place_times times;

    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* native_open.c: from a request to a sealed interpreter */
struct backend_place *native_place_new(struct nursery *n, uint64_t memory_bytes, bool spare, struct error *err);
int native_place_open(struct backend *b, const char *policy, uint64_t memory_bytes, struct backend_place **ret, struct error *err);
void native_stop_opening(struct backend_place *p);
void native_place_fail(struct backend_place *p, const struct error *why);
void native_maker_word(struct nursery *n, const struct maker_word *word);
void native_maker_lost(struct nursery *n, const struct error *why, bool transient);
void native_payload_spawned(void *context, struct zygote *z, uint64_t id, pid_t pid, int pidfd, const struct error *failure);
void native_on_control(uv_poll_t *handle, int status, int events);
/* The payload's first word, in the channel's buffer. */
void native_take_first_word(struct backend_place *p, const struct wire_frame *frame);
/* native.c: life and death of places */
/* Much memory was used for a moment. What is free of it goes back to the system after TRIM_MS. */
void native_trim_soon(struct native *n);
struct nursery *native_nursery(struct native *n, const char *policy, struct error *err);
void native_watch(struct backend_place *p, int which, int fd);
void native_place_kill(struct backend_place *p, enum native_end why);
void native_place_close(struct backend_place *p, void (*done)(void *), void *context);
void native_payload_exited(void *context, struct zygote *z, const struct zygote_exit *exit);
void native_zygote_lost(struct nursery *n, uint64_t zygote_id, const struct error *why, bool transient);
void native_maker_answered_dying(struct backend_place *p, bool init_runs);
bool native_has_payload_of(const struct native *n, uint64_t zygote_id);
/* native_spare.c */
unsigned native_spare_count(const struct nursery *n);
int native_make_spare(struct nursery *n, struct error *err);
struct backend_place *native_take_spare(struct nursery *n, uint64_t memory_bytes);
void native_close_spares(struct nursery *n);
/* native_call.c */
int native_place_call(struct backend_place *p, const struct backend_call *call, const struct backend_observer *observer, struct error *err);
int native_call_begin(struct backend_place *p, const struct backend_call *call, struct error *err);
void native_on_channel(uv_poll_t *handle, int status, int events);
void native_on_output(uv_poll_t *handle, int status, int events);
void native_drain(struct backend_place *p);
void native_call_lost(struct backend_place *p); /* the jail is gone while a call ran */
/* native_collect.c: what the call wrote into /session/output, into the receipt */
void native_collect(struct backend_place *p, const struct policy *policy);
/* native_facts.c: what the kernel says */
void native_facts_begin(struct backend_place *p);
void native_facts_end(struct backend_place *p);
void native_facts_of_death(struct backend_place *p);

#endif
