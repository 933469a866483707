/* A receipt made of hostile bytes: output in pieces, claims, denials (the table that init shares included), numbers of any value.
 * What was captured is what a plain buffer says; the JSON is JSON, bounded and whole; its digest holds through print, parse and any
 * order of members; the text for people is UTF-8 within its room. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"
#include "jail/denials.h"
#include "receipt/output_text.h"
#include "receipt/receipt.h"

#include <math.h>

#define FLOOD_MAX 4096u

struct stream {
    struct receipt_capture capture;
    struct buf whole; /* everything that was written */
};

struct made {
    struct receipt r;
    struct stream out, err;
    uint64_t output_bytes;
    struct denials table;
    uint64_t denied; /* calls of receipt_add_denied */
};

static void write_stream(struct stream *s, struct input piece, unsigned times)
{
    for (unsigned i = 0; i < times && s->whole.len < FLOOD_MAX; i++) {
        require(receipt_capture_add(&s->capture, (const char *)piece.at, piece.left) == 0);
        require(buf_add(&s->whole, piece.at, piece.left) == 0);
        require(s->capture.to->head.len <= s->capture.head_max && s->capture.to->tail.len <= 2 * s->capture.tail_max);
    }
}

/* Text as claims.c takes it. */
static char *text_of(struct input piece)
{
    struct buf b = {0};
    require(utf8_clean(&b, (const char *)piece.at, piece.left) == 0);
    return buf_take(&b);
}

static void take_text(struct receipt *r, struct input *in)
{
    char **const texts[] = {&r->session_id, &r->environment, &r->policy, &r->value_repr, &r->value_type,
                            &r->error_type, &r->error_message, &r->error_traceback, &r->rule, &r->remedy};
    char **text = texts[input_u8(in) % (sizeof texts / sizeof *texts)];
    free(*text);
    *text = text_of(input_piece(in));
}

static void take_denied(struct made *m, struct input *in)
{
    static const char *const layers[] = {"seccomp", "import", "language", "landlock"};
    const char *layer = layers[input_u8(in) % 4];
    uint64_t count = input_u64(in);
    cleanup_free char *what = text_of(input_piece(in));
    require(receipt_add_denied(&m->r, layer, what, count) == 0);
    m->denied++;
}

static void take_missing(struct receipt *r, struct input *in)
{
    cleanup_free char *layer = text_of(input_piece(in)), *reason = text_of(input_piece(in)), *remedy = text_of(input_piece(in));
    require(receipt_add_missing(r, layer, reason, remedy) == 0);
}

static void take_number(struct receipt *r, struct input *in)
{
    double *const reals[] = {&r->wall_ms, &r->queue_ms, &r->setup_ms, &r->cpu_user_ms, &r->cpu_system_ms, &r->memory_peak_bytes,
                             &r->pids_peak, &r->timeout_seconds, &r->cpus};
    uint64_t *const counts[] = {&r->call, &r->memory_bytes, &r->pids, &r->disk_bytes, &r->output_bytes, &r->started_wall,
                                &r->finished_wall, &r->denied_more};
    uint8_t which = input_u8(in);
    if (which < 9)
        *reals[which] = input_double(in);
    else if (which < 16)
        *counts[which - 9] = input_u64(in);
    else if (which == 16)
        r->error_line = input_u16(in);
    else if (which == 17)
        r->error_column = input_u16(in);
    else if (which == 18)
        r->signal = input_u8(in) % 65;
    else
        r->exit_code = (int64_t)input_u64(in);
}

static void take_flags(struct receipt *r, struct input *in)
{
    uint8_t flags = input_u8(in);
    r->created = flags & 1;
    r->resumed = flags & 2;
    r->rolled_back = flags & 4;
    r->session_lost = flags & 8;
    r->has_exit_code = flags & 16;
    r->value_truncated = flags & 32;
    r->limit_hit = flags & 64 ? "output" : NULL;
    r->memory_counts = flags & 128 ? "cgroup" : NULL;
}

static void take_json(struct receipt *r, struct input *in)
{
    struct input piece = input_piece(in);
    cJSON_Delete(r->value_json);
    r->value_json = json_parse((const char *)piece.at, piece.left, (struct json_limits){.max_bytes = 65536}, NULL);
}

/* init's memory may hold anything. */
static void take_denial(struct denials *table, struct input *in)
{
    uint8_t which = input_u8(in);
    if (which < DENIALS_KINDS)
        input_take(in, &table->kinds[which], sizeof table->kinds[which]);
    else
        table->more = input_u64(in);
}

static void take_step(struct made *m, struct input *in)
{
    switch (input_u8(in) % 11) {
    case 0: write_stream(&m->out, input_piece(in), 1); break;
    case 1: write_stream(&m->err, input_piece(in), 1); break;
    case 2: {
        unsigned times = input_u8(in);
        write_stream(&m->out, input_piece(in), times);
        break;
    }
    case 3: take_text(&m->r, in); break;
    case 4: take_denied(m, in); break;
    case 5: take_missing(&m->r, in); break;
    case 6: take_number(&m->r, in); break;
    case 7: take_flags(&m->r, in); break;
    case 8: take_json(&m->r, in); break;
    case 9: take_denial(&m->table, in); break;
    case 10: require(receipt_add_layer(&m->r, input_u8(in) & 1 ? "seccomp" : "landlock") == 0); break;
    }
}

static void add_denials(struct made *m)
{
    struct denials seen = {0}, delta;
    denials_since(&m->table, &seen, &delta);
    for (int i = 0; i < DENIALS_KINDS; i++) {
        char text[64];
        if (delta.kinds[i].count == 0)
            continue;
        denials_text(&delta.kinds[i], i & 1 ? "socket" : NULL, text, sizeof text);
        require(strlen(text) < sizeof text && utf8_valid(text, strlen(text)));
        require(receipt_add_denied(&m->r, "seccomp", text, delta.kinds[i].count) == 0);
        m->denied++;
    }
    denials_since(&m->table, &seen, &delta);
    require(delta.more == 0);
    for (int i = 0; i < DENIALS_KINDS; i++)
        require(delta.kinds[i].count == 0);
}

/* What is kept is the beginning and the end of what was written, and the digest is of all of it. */
static void check_stream(const struct stream *s, const char *shown, uint64_t bound)
{
    const struct receipt_output *o = s->capture.to;
    size_t length = s->whole.len, head = s->capture.head_max, tail = s->capture.tail_max;
    cleanup_buf struct buf clean = {0};
    char digest[DIGEST_TEXT];
    if (head > length)
        head = length;
    if (tail > length - head)
        tail = length - head;
    require(o->total == length && o->head.len == head && o->tail.len == tail && receipt_output_cut(o) == (length > bound));
    if (head)
        require(!memcmp(o->head.data, s->whole.data, head));
    if (tail)
        require(!memcmp(o->tail.data, s->whole.data + length - tail, tail));
    digest_of(s->whole.data ? s->whole.data : "", length, digest);
    require(!strcmp(digest, o->digest));
    require(shown && strlen(shown) <= 3 * bound + 64);
    require(utf8_clean(&clean, s->whole.data ? s->whole.data : "", length) == 0);
    if (!receipt_output_cut(o))
        require(!strcmp(shown, clean.data));
    else
        require(strstr(shown, " bytes left out] ...\n") != NULL);
}

static void reverse(cJSON *value)
{
    cJSON *members[64];
    int count = 0;
    for (cJSON *m = value->child; m; m = m->next)
        reverse(m);
    if (!cJSON_IsObject(value) || cJSON_GetArraySize(value) > 64)
        return;
    while (value->child) {
        members[count] = cJSON_DetachItemViaPointer(value, value->child);
        count++;
    }
    while (count > 0)
        cJSON_AddItemToArray(value, members[--count]); /* keeps the name */
}

/* Names that stand twice in the guest's value keep their order in the digest. */
static bool has_twins(const cJSON *value)
{
    for (const cJSON *m = value->child; m; m = m->next) {
        if (has_twins(m))
            return true;
        for (const cJSON *n = m->next; n && cJSON_IsObject(value); n = n->next)
            if (!strcmp(m->string, n->string))
                return true;
    }
    return false;
}

static void check_digest(const cJSON *json, const char *text)
{
    char first[DIGEST_TEXT], second[DIGEST_TEXT];
    cleanup_json cJSON *again = json_parse(text, strlen(text), (struct json_limits){.max_depth = JSON_DEPTH + 2}, NULL);
    require(again != NULL);
    if (!has_twins(again))
        reverse(again);
    receipt_digest(json, first);
    receipt_digest(again, second);
    require(!strncmp(first, "sha256:", 7) && strlen(first) == 71 && !strcmp(first, second));
}

static void check_members(const cJSON *json)
{
    static const char *const all[] = {"schema", "receipt_id", "tool", "status", "session", "stdout", "stderr", "output", "error", "displays",
                                      "artifacts", "backend", "limits", "metrics", "denied", "digests", "started_at", "finished_at"};
    static const char *const metrics[] = {"wall_ms", "queue_ms", "setup_ms", "cpu_user_ms", "cpu_system_ms", "memory_peak_bytes", "pids_peak"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        require(json_get(json, all[i]) != NULL);
    require(strlen(json_get_string(json, "started_at")) < 40 && strlen(json_get_string(json, "finished_at")) < 40);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        const cJSON *metric = json_get(json_get(json, "metrics"), metrics[i]);
        require(cJSON_IsNull(metric) || (cJSON_IsNumber(metric) && metric->valuedouble >= 0 && isfinite(metric->valuedouble)));
    }
}

static void check_denied(const struct made *m, const cJSON *json)
{
    const cJSON *list = json_get(json, "denied"), *d;
    require(cJSON_GetArraySize(list) <= 64 && m->r.denied_count <= 64 && m->r.denied_count <= m->denied);
    cJSON_ArrayForEach(d, list)
        require(strlen(json_get_string(d, "what")) <= 3 * 256 && json_get_string(d, "layer") && cJSON_IsNumber(json_get(d, "count")));
}

static void check_words(const struct receipt *r, size_t room)
{
    cleanup_free char *text = receipt_text(r, room);
    require(text != NULL);
    size_t length = strlen(text);
    require(length > 0 && utf8_valid(text, length) && length <= (room < 64 ? 64 : room));
    int code = receipt_exit_code(r);
    require(code >= 0 && code <= 255 && (code != 0 || r->status == RECEIPT_OK || (r->status == RECEIPT_ERROR && r->has_exit_code)));
}

static void check(struct made *m, size_t room)
{
    cleanup_json cJSON *json = receipt_json(&m->r);
    cleanup_free char *text = json ? json_print(json) : NULL;
    require(text && utf8_valid(text, strlen(text)) && !strchr(text, '\n'));
    require(json_check(text, strlen(text), (struct json_limits){.max_depth = JSON_DEPTH + 2}, NULL) == JSON_OK);
    check_stream(&m->out, json_get_string(json, "stdout"), m->output_bytes);
    check_stream(&m->err, json_get_string(json, "stderr"), m->output_bytes);
    check_digest(json, text);
    check_members(json);
    check_denied(m, json);
    check_words(&m->r, room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct made m = {0};
    receipt_init(&m.r);
    m.r.status = (enum receipt_status)(input_u8(&in) % 8);
    m.output_bytes = input_u16(&in);
    size_t room = input_u16(&in);
    receipt_capture_begin(&m.out.capture, &m.r.out, m.output_bytes);
    receipt_capture_begin(&m.err.capture, &m.r.err, m.output_bytes);
    for (int steps = 0; in.left && steps < 64; steps++)
        take_step(&m, &in);
    receipt_capture_end(&m.out.capture);
    receipt_capture_end(&m.err.capture);
    add_denials(&m);
    check(&m, room);
    buf_free(&m.out.whole);
    buf_free(&m.err.whole);
    receipt_free(&m.r);
    return 0;
}
