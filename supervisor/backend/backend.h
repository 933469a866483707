/* What a session stands on: something that keeps an interpreter behind walls and runs calls in it. `native` builds the walls itself;
 * docker and local come behind the same interface. Asynchronous on one libuv loop; nothing waits.
 */
#ifndef SNIPARA_BACKEND_BACKEND_H
#define SNIPARA_BACKEND_BACKEND_H

#include "base/error.h"
#include "policy/policy.h"
#include "receipt/receipt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct backend;
struct backend_place; /* one interpreter in its jail */

struct backend_file {
    const char *path; /* relative to /session */
    const char *data;
    size_t length;
};

struct backend_call {
    const char *code;
    size_t code_length;
    const char *filename;      /* shown in tracebacks */
    uint64_t number;           /* in the session, from 1 */
    double timeout_seconds;
    const struct backend_file *files;
    size_t file_count;
    bool keep_artifacts;       /* their contents in the receipt, not only their digests; and more time to read them: for a caller
                                  whose loop serves nothing else */
};

struct backend_observer {
    void (*output)(void *context, int stream, const char *data, size_t length); /* stream 0 stdout, 1 stderr; may be NULL */
    /* The call has ended: *r has status, claims, output, layers, limits, metrics, denials; the receiver may add to it, the backend
     * frees it afterwards. `alive` false: the interpreter is gone with its variables, close the place. Never called from inside
     * backend functions. */
    void (*ended)(void *context, struct receipt *r, bool alive);
    /* Instead of `ended`: no interpreter could be had, nothing ran. Close the place. `transient`: a helper died meanwhile, another attempt
     * has a new one. */
    void (*refused)(void *context, const struct error *why, bool transient);
    void *context;
};

struct backend_class {
    const char *name;
    /* A spare one, or one that is on its way: calls may be given to it at once. */
    int (*place_open)(struct backend *b, const char *policy, uint64_t memory_bytes, struct backend_place **ret, struct error *err);
    /* One call at a time. -1 (err): nothing runs and the observer is not called. What the request points to stays until it is. */
    int (*place_call)(struct backend_place *p, const struct backend_call *call, const struct backend_observer *observer, struct error *err);
    void (*place_cancel)(struct backend_place *p);  /* ended comes with status cancelled, alive false; or refused */
    bool (*place_dead)(const struct backend_place *p); /* it ended by itself between calls */
    /* End it; done (may be NULL) when its processes and cgroup are gone. The place is not valid after the call. */
    void (*place_close)(struct backend_place *p, void (*done)(void *context), void *context);
    const struct policy *(*policy)(struct backend *b, const char *name, struct error *err); /* compiled and cached; NULL: error */
    /* Serve many calls from now on: start `policy`, and keep `spares` places ready of each policy that is used. */
    void (*warm)(struct backend *b, const char *policy, unsigned spares);
    void (*retire)(struct backend *b);      /* close what nobody opened */
    bool (*quiet)(const struct backend *b); /* no place is left */
    void (*close)(struct backend *b);       /* it is quiet */
};

struct backend {
    const struct backend_class *class;
};

#endif
