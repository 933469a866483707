/* Private to session/: the manager, its sessions and their calls. */
#ifndef SNIPARA_SESSION_INTERNAL_H
#define SNIPARA_SESSION_INTERNAL_H

#include "backend/backend.h"
#include "session/session.h"

#include <sys/queue.h>

enum { SESSIONS_MAX = 4096, IDLE_SECONDS = 1800, CALLS_WAITING_MAX = 64, FILES_BYTES_MAX = 32 << 20 };

struct session_call {
    struct session *session;
    struct session_call *next;       /* queue of the session, oldest first */
    struct session_observer observer;
    char *code;
    size_t code_length;
    char *filename;                  /* NULL: `name` */
    char name[48];                   /* "<call N>" */
    double timeout_seconds;
    uint64_t memory_bytes;
    struct backend_file *files;
    size_t file_count;
    bool keep_artifacts;
    uint64_t accepted;               /* clock_now */
    bool created;                    /* the session was made for this call */
    bool lost;                       /* the interpreter ended between the last call and this one */
    bool running, cancelled;
    bool repeated;                   /* its first interpreter was lost with a helper before it ran */
};

struct session {
    struct sessions *sessions;
    LIST_ENTRY(session) link;
    char *id;
    char *policy;
    uint64_t memory_bytes;
    uint64_t created_wall, last_wall;
    uint64_t last_used;              /* clock_now */
    struct backend_place *place;     /* NULL: none yet, or lost */
    struct session_call *queue;      /* the first one may be running */
    uint64_t calls;                  /* that ran, over all interpreters of this session */
    uint64_t place_calls;            /* of the present one */
    char previous[DIGEST_TEXT];
    uv_timer_t kick;                 /* starts the next call from the loop */
    bool closing;
    void (*destroyed)(void *context);
    void *destroyed_context;
};

struct sessions {
    uv_loop_t *loop;
    struct backend *backend;
    LIST_HEAD(, session) list;        /* newest first */
    void *by_id;                     /* tree of tsearch(3): those that are not closing */
    size_t count;                    /* of the list */
    uv_timer_t sweep;                /* ends sessions that were idle too long */
    unsigned places_closing;         /* closes asked for and not yet done */
};

/* request.c */
int session_request_check(struct sessions *s, const struct session_request *r, const struct policy **ret_policy, struct error *err);
struct session_call *session_request_copy(const struct session_request *r, const struct policy *policy, struct error *err);
void session_call_free(struct session_call *call);

/* call.c */
void session_kick(struct session *s);                     /* look at the queue soon */
void session_answer_cancelled(struct session_call *call); /* a call that never ran */

/* manager.c */
void session_close_place(struct session *s);
void session_finish_close(struct session *s);

#endif
