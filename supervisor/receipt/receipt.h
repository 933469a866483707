/* The answer to a call: snipara-sandbox/receipt/v1 (doc/receipt.schema.json). One struct, filled from below, printed once.
 * The same JSON is MCP structuredContent and `exec --json`. Optional members are absent or null, never invented. Pure.
 */
#ifndef SNIPARA_RECEIPT_RECEIPT_H
#define SNIPARA_RECEIPT_RECEIPT_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/uuid.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

enum receipt_status {
    RECEIPT_OK,
    RECEIPT_ERROR,
    RECEIPT_REJECTED,
    RECEIPT_TIMEOUT,
    RECEIPT_OUT_OF_MEMORY,
    RECEIPT_CRASHED,
    RECEIPT_CANCELLED,
    RECEIPT_REFUSED
};

#define RECEIPT_NO_METRIC (-1.0) /* a number that this host cannot measure: printed as null */

struct receipt_denied {
    char *layer;   /* "seccomp", "import" ... */
    char *what;    /* "socket(AF_INET)", "ctypes" */
    uint64_t count;
};

struct receipt_missing {
    char *layer;   /* layer or metric that is not there */
    char *reason;
    char *remedy;  /* may be NULL */
};

/* Text that came out of the jail: bounded bytes, not yet checked as UTF-8. */
struct receipt_output {
    struct buf head;       /* the first bytes */
    struct buf tail;       /* the last bytes, when the middle was cut */
    uint64_t total;        /* bytes that the guest wrote */
    char digest[DIGEST_TEXT]; /* of all bytes, also of those that were cut */
};

/* What the making of a session's jail took, in microseconds; steps run side by side, so they add up to more than total_us. */
struct receipt_setup {
    bool present;
    bool spare; /* it stood ready before the call came: nobody waited */
    uint64_t cgroup_us, clone_us, maps_us, mounts_us, init_seal_us, fork_us, join_us, seal_us, inspect_us, total_us;
};

/* A file that the call wrote for its caller: name and content are the guest's, size and digest are ours. */
struct receipt_artifact {
    char *path;                /* relative to /session/output */
    uint64_t bytes;
    char digest[DIGEST_TEXT];
    struct buf data;           /* when the request asked for it */
};

struct receipt_left_out {
    char *path;                /* cleaned: UTF-8 */
    const char *reason;        /* "symlink", "file_bytes" ... (jail/collect.h) */
};

struct receipt {
    char id[UUID_TEXT];
    const char *tool;          /* "execute_python" */
    enum receipt_status status;

    char *session_id;
    char *environment;         /* "sandbox" */
    char *policy;
    uint64_t call;             /* number of the call in its session, from 1; 0: none ran */
    bool created;              /* the session was made for this call */
    bool resumed, rolled_back;
    bool session_lost;         /* variables of earlier calls are lost: the interpreter is gone (the next call starts anew), or, in
                                  a call that ended well, it was gone before this call */

    /* the guest's claims, all malloc'ed or NULL */
    char *value_repr, *value_type;
    cJSON *value_json;
    bool value_truncated;
    struct receipt_output out, err;
    char *error_type, *error_message, *error_traceback, *rule, *remedy;
    int64_t error_line, error_column;  /* 0: none */
    bool has_exit_code;
    int64_t exit_code;
    int signal;                        /* kernel's: signal that ended the payload, 0: none */

    struct receipt_artifact *artifacts;
    size_t artifact_count;
    struct receipt_left_out *left_out; /* found in /session/output and not taken */
    size_t left_out_count;
    uint64_t left_out_more;            /* those that did not fit the list */
    const char *artifacts_incomplete;  /* why there may be more that nobody looked at: "time" ...; or NULL */

    const char *backend;               /* "native" */
    const char *rung;                  /* "T0", "T1" ... or NULL */
    const char **layers;               /* names; array is owned, names are static */
    size_t layer_count;
    struct receipt_missing *missing;
    size_t missing_count;

    double timeout_seconds, cpus;
    uint64_t memory_bytes, pids, disk_bytes, output_bytes;
    const char *limit_hit;             /* "timeout", "memory", "output", ... or NULL */

    struct receipt_setup setup; /* in the first receipt of an interpreter */
    double collect_ms;                 /* looking for artifacts */
    double wall_ms, queue_ms, setup_ms, cpu_user_ms, cpu_system_ms, memory_peak_bytes, pids_peak; /* or RECEIPT_NO_METRIC */
    const char *memory_counts;         /* what memory_peak_bytes counts: "cgroup", "payload"; NULL when null */

    struct receipt_denied *denied;
    size_t denied_count;
    uint64_t denied_more;              /* kinds that did not fit the list */

    char digest_code[DIGEST_TEXT], digest_policy[DIGEST_TEXT], digest_previous[DIGEST_TEXT]; /* "" = absent */
    uint64_t started_wall, finished_wall; /* ns since 1970 */
};

void receipt_init(struct receipt *r);   /* zero, metrics RECEIPT_NO_METRIC, new id */
void receipt_free(struct receipt *r);   /* members, not the struct itself */

const char *receipt_status_name(enum receipt_status s);
/* Append to the bounded lists; same layer+what adds up; at most 64 kinds, then denied_more counts. */
int receipt_add_denied(struct receipt *r, const char *layer, const char *what, uint64_t count);
int receipt_add_missing(struct receipt *r, const char *layer, const char *reason, const char *remedy);
int receipt_add_layer(struct receipt *r, const char *name);

/* artifacts.c; the first two are private to this folder */
void receipt_free_artifacts(struct receipt *r);
void receipt_put_artifacts(cJSON *top, const struct receipt *r, bool *ok);
/* One line each for what was written and for what was left out. */
int receipt_artifact_words(struct buf *b, const struct receipt *r);

/* Output capture: keeps head_max first and tail_max last bytes, counts and digests all. */
struct receipt_capture {
    struct receipt_output *to;
    size_t head_max, tail_max;
    struct digest digest;
};
void receipt_capture_begin(struct receipt_capture *c, struct receipt_output *to, uint64_t output_bytes);
int receipt_capture_add(struct receipt_capture *c, const char *data, size_t length);
void receipt_capture_end(struct receipt_capture *c);

/* The JSON object of the contract. NULL when out of memory. */
cJSON *receipt_json(const struct receipt *r);
/* Digest of the compact JSON with sorted keys: what the next receipt's `previous` holds. */
void receipt_digest(const cJSON *receipt, char ret_text[DIGEST_TEXT]);

/* Plain words for an MCP text block: stdout, stderr, result or error, whole by itself; long output as head and tail with a
 * note of what was left out (text_max bytes in all). The caller frees. */
char *receipt_text(const struct receipt *r, size_t text_max);

/* Exit code of `exec` for this receipt (DESIGN.md: 0, the code's own, 1, 3, 4, 124, 137, 139). */
int receipt_exit_code(const struct receipt *r);

#endif
