#include "backend/claims.h"

#include "base/json.h"
#include "base/utf8.h"
#include "jail/protocol.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 256 * 1024, NAME_MAX_ = 200, DENIED_MAX = 32 };

/* A claimed text: cut at a character, ill-formed bytes replaced. The last one wins. */
static void take_text(const struct wire_field *f, size_t max, char **ret)
{
    struct buf b = {0};
    size_t n = f->length;
    if (n > max)
        n = utf8_cut(f->data, max);
    if (utf8_clean(&b, f->data, n) == 0) {
        free(*ret);
        *ret = buf_take(&b);
    }
    buf_free(&b);
}

static void take_json(const struct wire_field *f, uint64_t value_bytes, struct receipt *r)
{
    struct json_limits limits = {.max_bytes = value_bytes ? (size_t)value_bytes : 1}; /* 0 would be no bound */
    if (!r->value_json) /* the first one counts: parsing is our time, not the guest's */
        r->value_json = json_parse(f->data, f->length, limits, NULL); /* not JSON after all: then the value has none */
}

/* u64 count, layer, NUL, what. Only layers that a payload can know of: a guest must not write into the kernel's columns. */
static void take_denied(const struct wire_field *f, struct receipt *r)
{
    uint64_t count;
    char layer[32], *what = NULL;
    if (f->length < 10)
        return;
    memcpy(&count, f->data, 8);
    const char *name = f->data + 8, *end = f->data + f->length;
    const char *nul = memchr(name, '\0', (size_t)(end - name));
    if (!nul || (size_t)(nul - name) >= sizeof layer)
        return;
    memcpy(layer, name, (size_t)(nul - name) + 1);
    if (strcmp(layer, "import") != 0 && strcmp(layer, "language") != 0)
        return;
    struct wire_field text = {.data = nul + 1, .length = (size_t)(end - nul - 1)};
    take_text(&text, NAME_MAX_, &what);
    /* Half of the receipt's list stays free for what the kernel says. */
    if (what && r->denied_count < DENIED_MAX)
        receipt_add_denied(r, layer, what, count);
    else
        r->denied_more++;
    free(what);
}

static int take_status(uint64_t v, struct receipt *r, struct error *err)
{
    static const enum receipt_status STATUS[] = {[PAYLOAD_OK] = RECEIPT_OK, [PAYLOAD_ERROR] = RECEIPT_ERROR, [PAYLOAD_REJECTED] = RECEIPT_REJECTED};
    if (v >= sizeof STATUS / sizeof *STATUS)
        return error_set(err, "claims", 0, "the interpreter's answer has an unknown status");
    r->status = STATUS[v];
    return 0;
}

static void take_number(const struct wire_field *f, struct receipt *r)
{
    int64_t i;
    uint64_t u;
    if (f->tag == PT_VALUE_TRUNCATED && wire_u64(f, &u))
        r->value_truncated = u != 0;
    else if (f->tag == PT_ERROR_LINE && wire_i64(f, &i))
        r->error_line = i > 0 && i < INT32_MAX ? i : 0;
    else if (f->tag == PT_ERROR_COLUMN && wire_i64(f, &i))
        r->error_column = i > 0 && i < INT32_MAX ? i : 0;
    else if (f->tag == PT_EXIT_CODE && wire_i64(f, &i)) {
        r->has_exit_code = true;
        r->exit_code = i;
    }
}

static void take_field(const struct wire_field *f, uint64_t value_bytes, struct receipt *r)
{
    switch (f->tag) {
    case PT_VALUE_REPR: take_text(f, TEXT_MAX, &r->value_repr); break;
    case PT_VALUE_TYPE: take_text(f, NAME_MAX_, &r->value_type); break;
    case PT_VALUE_JSON: take_json(f, value_bytes, r); break;
    case PT_ERROR_TYPE: take_text(f, NAME_MAX_, &r->error_type); break;
    case PT_ERROR_MESSAGE: take_text(f, TEXT_MAX, &r->error_message); break;
    case PT_ERROR_TRACEBACK: take_text(f, TEXT_MAX, &r->error_traceback); break;
    case PT_RULE: take_text(f, NAME_MAX_, &r->rule); break;
    case PT_REMEDY: take_text(f, 1000, &r->remedy); break;
    case PT_DENIED: take_denied(f, r); break;
    default: take_number(f, r); break;
    }
}

static void drop(char **text)
{
    free(*text);
    *text = NULL;
}

static void drop_error(struct receipt *r)
{
    drop(&r->error_type);
    drop(&r->error_message);
    drop(&r->error_traceback);
    drop(&r->rule);
    drop(&r->remedy);
    r->error_line = r->error_column = 0;
    r->has_exit_code = false;
    r->exit_code = 0;
}

static void drop_value(struct receipt *r)
{
    drop(&r->value_repr);
    drop(&r->value_type);
    cJSON_Delete(r->value_json);
    r->value_json = NULL;
    r->value_truncated = false;
}

void claims_drop(struct receipt *r)
{
    drop_error(r);
    drop_value(r);
}

/* ok has no error, an error has no value: what a forger adds is not passed on. */
static void drop_contradictions(struct receipt *r)
{
    if (r->status == RECEIPT_OK)
        drop_error(r);
    else
        drop_value(r);
}

int claims_take(const struct wire_frame *done, uint64_t value_bytes, struct receipt *r, struct error *err)
{
    struct wire_cursor c = wire_fields(done);
    struct wire_field f;
    uint64_t status;
    bool seen = false;
    int more;
    while ((more = wire_field_next(&c, &f)) > 0) {
        if (f.tag != PT_STATUS) {
            take_field(&f, value_bytes, r);
            continue;
        }
        if (!wire_u64(&f, &status) || take_status(status, r, err) < 0)
            return error_set(err, "claims", 0, "the interpreter's answer has no valid status");
        seen = true;
    }
    if (more < 0 || !seen)
        return error_set(err, "claims", 0, "the interpreter's answer is malformed");
    drop_contradictions(r);
    return 0;
}
