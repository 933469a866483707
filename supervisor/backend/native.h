/* The native backend: walls built by jail/, interpreters forked by zygotes. This header is private to the native_*.c files, but for
 * native_open. */
#ifndef SNIPARA_BACKEND_NATIVE_H
#define SNIPARA_BACKEND_NATIVE_H

#include "backend/backend.h"
#include "backend/plant.h"
#include "jail/jail.h"

/* Open the yard (maker, cgroups). -1: this host cannot have it; err names layer and remedy. */
int native_open(uv_loop_t *loop, struct backend **ret, struct error *err);

struct native {
    struct backend base;
    uv_loop_t *loop;
    struct yard yard;
    struct plant *plants;
    struct backend_place *places;
};

enum native_end { END_NONE, END_TIMEOUT, END_CANCEL, END_BROKEN, END_CLOSE }; /* why we killed the jail */

enum { WATCH_CHANNEL, WATCH_OUT, WATCH_ERR, WATCH_INIT, WATCH_PAYLOAD, WATCH_COUNT };

struct backend_place {
    struct native *native;
    struct plant *plant;
    struct backend_place *next;
    struct jail jail;
    layer_set layers;             /* all that were verified: jail and payload */
    uint64_t memory_bytes;
    pid_t payload;
    uint64_t zygote_id;           /* of the zygote whose child the payload is */
    int payload_pidfd;            /* the same as fds[WATCH_PAYLOAD] */
    int fds[WATCH_COUNT];          /* channel, stdout, stderr; pidfds of init (owned by jail) and payload */
    uv_poll_t polls[WATCH_COUNT];
    uv_timer_t timer;             /* time-out of the call, then patience with a dying jail, then retries of the cgroup */
    int open_handles;

    struct buf in, out;           /* channel */
    bool exited;                  /* the zygote told us */
    int exit_status;
    bool gone;                    /* every process of the jail is gone */
    enum native_end end;
    char broken[160];             /* END_BROKEN: what was wrong */

    bool calling;
    uint64_t nonce;
    struct receipt receipt;
    struct receipt_capture captures[2];
    struct backend_observer observer;
    uint64_t started;             /* clock_now */
    struct cgroup_usage usage_before;
    double setup_ms;              /* of the place; told in the first receipt */

    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* native_open.c */
int native_place_open(struct backend *b, const char *policy, uint64_t memory_bytes, struct backend_place **ret, struct error *err);
/* native.c */
struct plant *native_plant(struct native *n, const char *policy, struct error *err);
int native_zygote(struct native *n, struct plant *plant, struct error *err);
void native_place_watch(struct backend_place *p);
void native_place_kill(struct backend_place *p, enum native_end why);
/* native_call.c */
int native_place_call(struct backend_place *p, const struct backend_call *call, const struct backend_observer *observer, struct error *err);
void native_on_channel(uv_poll_t *handle, int status, int events);
void native_on_output(uv_poll_t *handle, int status, int events);
void native_drain(struct backend_place *p);
void native_call_lost(struct backend_place *p); /* the jail is gone while a call ran */
/* native_facts.c: what the kernel says */
void native_facts_begin(struct backend_place *p);
void native_facts_end(struct backend_place *p);
void native_facts_of_death(struct backend_place *p);
void native_missing(const struct native *n, const struct plant *plant, layer_set there, struct receipt *r);

#endif
