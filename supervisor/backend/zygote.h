/* The supervisor's end of a zygote. Nothing here waits: starting takes tens of milliseconds of its own time, and requests may be sent
 * before it is warm; what it says comes through the event loop. */
#ifndef SNIPARA_BACKEND_ZYGOTE_H
#define SNIPARA_BACKEND_ZYGOTE_H

#include "base/error.h"
#include "jail/jail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

struct zygote;
struct plant;

struct zygote_exit {     /* wait4(2), as the zygote got it from the kernel */
    pid_t pid;
    int status;
    int64_t user_us, system_us, maxrss_kb;
};

/* But for the first, from the loop or from inside zygote_hear; never from zygote_start or zygote_spawn. */
struct zygote_events {
    /* From zygote_start, between the start of the program and its configuration, which needs the plant compiled. */
    int (*meanwhile)(void *context, struct error *err);
    void (*ready)(void *context, struct zygote *z);
    /* The answer to a spawn: `pidfd` is the receiver's; or failure is not NULL and pid and pidfd are -1. */
    void (*spawned)(void *context, struct zygote *z, uint64_t id, pid_t pid, int pidfd, const struct error *failure);
    void (*exited)(void *context, struct zygote *z, const struct zygote_exit *exit);
    /* It ended, could not start, or talks nonsense. Once; stop it (not from inside this callback's caller's loop over it). */
    void (*gone)(void *context, struct zygote *z, const struct error *why);
    void *context;
};

/* Start the interpreter of a plant. `lean`: without preload list and warm-up, for a program that runs one call. */
int zygote_start(uv_loop_t *loop, int user_namespace, const struct plant *plant, bool lean, const struct zygote_events *events,
                 struct zygote **ret, struct error *err);

struct payload_ends { int channel, out, err; }; /* descriptors for the payload; they stay the caller's */

/* Ask for a payload in a jail (its init runs, it need not be ready). RLIMIT_DATA of `data_limit` bytes, 0: none. `warm`: let it run the
 * warm-up once it is sealed, before a call comes. */
int zygote_spawn(struct zygote *z, struct jail *jail, const struct payload_ends *ends, uint64_t data_limit, bool warm, uint64_t *ret_id,
                 struct error *err);

/* Handle what has come already. */
void zygote_hear(struct zygote *z);

bool zygote_dead(const struct zygote *z);
bool zygote_ready(const struct zygote *z);
uint64_t zygote_id(const struct zygote *z);    /* no two of one supervisor are the same */
uint64_t zygote_forks(const struct zygote *z); /* asked for so far */
uint64_t zygote_since(const struct zygote *z); /* clock_now of its start */

/* Without waiting: `gone` will tell. */
void zygote_kill(struct zygote *z);

/* End it and free everything (the handle closes asynchronously on the loop). NULL is fine. */
void zygote_stop(struct zygote *z);

#endif
