/* Sessions: a name, a live interpreter, calls in order. What the faces (mcp/, cli/) use; everything is asynchronous on one
 * libuv loop, one thread. Different sessions run side by side, calls of one session one after the other.
 */
#ifndef SNIPARA_SESSION_SESSION_H
#define SNIPARA_SESSION_SESSION_H

#include "base/error.h"
#include "receipt/receipt.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct sessions;     /* the manager */
struct session_call; /* a call that was accepted and not yet answered */

enum { SESSION_STDOUT, SESSION_STDERR };

/* What the caller sees of a call. `output` gets raw bytes as they come; `done` is called exactly once, last, from the loop
 * (never from inside session_call), and the receipt is only valid during it. */
struct session_observer {
    void (*output)(void *context, int stream, const char *data, size_t length); /* may be NULL */
    /* `document` is receipt_json of it, made once: take it (set it to NULL), or it is freed; NULL: out of memory. */
    void (*done)(void *context, const struct receipt *receipt, cJSON **document);
    void *context;
};

struct session_request {
    const char *session_id;    /* NULL: "default" */
    const char *environment;   /* NULL: "sandbox" (the only one so far; others are an error) */
    const char *policy;        /* NULL: "default" */
    const char *code;
    size_t code_length;
    const char *filename;      /* NULL: "<call N>" */
    double timeout_seconds;    /* 0: the policy's */
    uint64_t memory_bytes;     /* 0: the policy's; fixed when the session is made */
    const struct session_file *files; /* put into /session before the call; may be NULL */
    size_t file_count;
    bool keep_artifacts;       /* the receipt holds their contents; reading them may hold the loop for seconds instead of 250 ms */
};

struct session_file {
    const char *path;  /* relative to /session */
    const char *data;
    size_t length;
};

/* `loop` stays the caller's. Returns -1 when the backend cannot be set up at all (err says the layer and the remedy). */
int sessions_new(uv_loop_t *loop, struct sessions **ret, struct error *err);

/* Kill everything, wait until it is gone (bounded: 5 s), remove cgroups and temporary files. Observers of pending calls get a
 * `cancelled` receipt first. */
void sessions_free(struct sessions *s);

/* Is this id usable? Not empty, no slash, NUL or control character, not "." or "..", under 10 kB, valid UTF-8. */
bool session_id_valid(const char *id, size_t length, struct error *err);

/* Accept a call. 0: `observer->done` will be called. -1: bad request (err: unknown policy or environment, limits out of range,
 * another policy than the session's, too many sessions, code empty, with NUL, not UTF-8 or too long); nothing was
 * started. *ret is valid until done was called. The request's memory may go away after the return. */
int session_call(struct sessions *s, const struct session_request *request, const struct session_observer *observer,
                 struct session_call **ret, struct error *err);

/* Cancel: the work is killed, then done gets status cancelled. Harmless when it is already ending. */
void session_cancel(struct session_call *call);

/* [{id, environment, policy, trust_level, created_at, last_access, age_seconds, idle_seconds, calls, state}] */
cJSON *sessions_list(const struct sessions *s);

/* End a session and forget it; `done` is called when its processes are gone. Pending calls of it are cancelled.
 * "default" may be destroyed like any other (it is made anew by its next call). -1: unknown id. */
int session_destroy(struct sessions *s, const char *id, void (*done)(void *context), void *context, struct error *err);

/* Many calls will come: start `policy` now, so that the first one is quick, and keep `spares` jails ready for new sessions of each
 * policy that is used. Errors are kept for the first call. */
void sessions_warm(struct sessions *s, const char *policy, unsigned spares);

/* Number of calls that are accepted and not yet answered. */
size_t sessions_pending(const struct sessions *s);

#endif
