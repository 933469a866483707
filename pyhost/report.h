/* What came of a call, in words: collected while Python objects are there, then written as the fields of PAYLOAD_DONE. */
#ifndef SNIPARA_PYHOST_REPORT_H
#define SNIPARA_PYHOST_REPORT_H

#include "python.h"

#include "guard.h"
#include "base/buf.h"
#include "jail/protocol.h"

#include <stdbool.h>
#include <stdint.h>

struct outcome {
    enum payload_status status;
    /* PAYLOAD_OK with a value */
    bool has_value, value_truncated;
    struct buf value, value_type, value_json; /* value_json empty: the value has no JSON */
    /* PAYLOAD_ERROR */
    struct buf error_type, error_message, traceback;
    long line, column; /* 0: unknown */
    bool has_exit_code;
    int64_t exit_code;
    /* PAYLOAD_REJECTED */
    struct findings findings;
};

/* Put a value into words; runs its __repr__. -1: that raised, exception set. */
int outcome_take_value(struct outcome *outcome, PyObject *value, size_t max);
/* Put an exception into words and make it the outcome; `filename` (may be NULL) is the call's. Leaves no exception set. */
void outcome_take_exception(struct outcome *outcome, PyObject *exception, PyObject *filename);
int outcome_put(const struct outcome *outcome, struct buf *reply);
void outcome_free(struct outcome *outcome);
#define cleanup_outcome __attribute__((cleanup(outcome_free)))

/* PT_STATUS of a reply's fields; -1 when it has none. */
int report_status(const struct buf *fields);

#endif
