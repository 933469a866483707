/* The supervisor's end of a zygote: start, spawn a payload into a jail, exits. Starting and spawning wait (bounded); exits come
 * through the event loop. */
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

typedef void zygote_exit_fn(void *context, const struct zygote_exit *exit);

/* Start the interpreter of a plant and wait until it is warm (tens of milliseconds; bounded at 60 s). */
int zygote_start(uv_loop_t *loop, int user_namespace, const struct plant *plant, zygote_exit_fn *on_exit, void *context,
                 struct zygote **ret, struct error *err);

struct payload_ends { int channel, out, err; }; /* descriptors for the payload; they stay the caller's */

/* Fork a payload into a jail. *ret_pidfd is the caller's. RLIMIT_DATA of `data_limit` bytes, 0: none. */
int zygote_spawn(struct zygote *z, struct jail *jail, const struct payload_ends *ends, uint64_t data_limit, pid_t *ret_pid, int *ret_pidfd,
                 struct error *err);

/* Handle what has come (exits), without waiting longer than `ms` for the exit of `pid`. true: it was among them. */
bool zygote_await_exit(struct zygote *z, pid_t pid, int ms);

bool zygote_dead(const struct zygote *z);
uint64_t zygote_id(const struct zygote *z); /* no two of one supervisor are the same */
const char *zygote_python(const struct zygote *z); /* "3.11.2" */

/* End it and free everything (the handle closes asynchronously on the loop). */
void zygote_stop(struct zygote *z);

#endif
