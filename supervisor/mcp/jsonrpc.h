/* JSON-RPC 2.0, one message at a time: what is this text, and how does an answer look? Pure; knows no transport and no MCP.
 *
 * Ids are echoed byte for byte (a number beyond 2^53, 1.50, escapes in a string), so they are kept as raw text that points into the
 * message. A text with NUL or a lone surrogate in some string is JSON, but no C string can hold it: it is refused with its own id.
 */
#ifndef SNIPARA_MCP_JSONRPC_H
#define SNIPARA_MCP_JSONRPC_H

#include "base/buf.h"
#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum jsonrpc_code {
    JSONRPC_PARSE_ERROR = -32700,
    JSONRPC_INVALID_REQUEST = -32600,
    JSONRPC_UNKNOWN_METHOD = -32601,
    JSONRPC_INVALID_PARAMS = -32602,
    JSONRPC_INTERNAL_ERROR = -32603
};

enum jsonrpc_kind {
    JSONRPC_REQUEST,      /* id and method are set */
    JSONRPC_NOTIFICATION, /* method is set */
    JSONRPC_NOTHING,      /* a response of the client, or a notification that cannot be read: no answer, no effect */
    JSONRPC_BATCH,        /* an array: split it with jsonrpc_batch_next */
    JSONRPC_INVALID       /* answer with code, message and id (null when there is none) */
};

struct jsonrpc_message {
    enum jsonrpc_kind kind;
    const char *text; /* the message itself, the caller's */
    size_t length;
    const char *id;   /* raw text within the message, or NULL */
    size_t id_length;
    cJSON *body;      /* owned */
    const char *method;
    const cJSON *params; /* an object, or NULL */
    int code;
    char message[400];
};

/* Fills *ret always; jsonrpc_free afterwards. `text` must live as long as *ret. */
void jsonrpc_read(const char *text, size_t length, struct jsonrpc_message *ret);
void jsonrpc_free(struct jsonrpc_message *m);
static inline void cleanup_jsonrpc_(struct jsonrpc_message *m) { jsonrpc_free(m); }
#define cleanup_jsonrpc __attribute__((cleanup(cleanup_jsonrpc_)))

/* Walk the elements of a batch (a text of kind JSONRPC_BATCH). *cursor starts at 0. false at the end. */
bool jsonrpc_batch_next(const char *text, size_t length, size_t *cursor, const char **ret_at, size_t *ret_length);

/* Raw text of a member two or three levels deep: names is NULL-terminated, {"params", "requestId", NULL}. */
bool jsonrpc_raw_at(const struct jsonrpc_message *m, const char *const *names, const char **ret_at, size_t *ret_length);

/* A form of an id (string or number) that is equal for equal ids: strings are unescaped, numbers are their raw text.
 * NULL when raw is neither, or out of memory. The caller frees. */
char *jsonrpc_id_key(const char *raw, size_t length);

/* Append one answer, without a line end. `id` NULL: null. -1: out of memory. `result` stays the caller's. */
int jsonrpc_put_result(struct buf *b, const char *id, size_t id_length, const cJSON *result);
int jsonrpc_put_error(struct buf *b, const char *id, size_t id_length, int code, const char *message);
int jsonrpc_put_notification(struct buf *b, const char *method, const char *raw_params);

#endif
