/* The receipt as JSON: the one form that MCP, `exec --json` and the store share (doc/receipt.schema.json). */
#include "receipt/receipt.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "receipt/output_text.h"

#include <math.h> /* isfinite only: a macro, no libm */
#include <string.h>

#define EXACT 9007199254740992.0 /* 2^53: beyond it a JSON number is not exact in every reader */

/* Builders record a failed allocation in *ok, so that the code below reads as the document does. */
static cJSON *put(cJSON *object, const char *name, cJSON *value, bool *ok)
{
    if (!value || !cJSON_AddItemToObject(object, name, value)) {
        cJSON_Delete(value);
        *ok = false;
        return NULL;
    }
    return value;
}

static cJSON *child(cJSON *object, const char *name, bool *ok)
{
    /* A failed allocation still needs something to write into: the object itself, which is thrown away at the end. */
    cJSON *made = put(object, name, cJSON_CreateObject(), ok);
    return made ? made : object;
}

static void put_text(cJSON *object, const char *name, const char *text, bool *ok)
{
    put(object, name, text ? json_text(text, strlen(text)) : cJSON_CreateNull(), ok);
}

static void put_bool(cJSON *object, const char *name, bool value, bool *ok)
{
    put(object, name, cJSON_CreateBool(value), ok);
}

static void put_count(cJSON *object, const char *name, uint64_t value, bool *ok)
{
    put(object, name, cJSON_CreateNumber((double)value < EXACT ? (double)value : EXACT), ok);
}

/* A limit of 0 is one that was not set. */
static void put_limit(cJSON *object, const char *name, double value, bool *ok)
{
    put(object, name, value > 0 && value < EXACT ? cJSON_CreateNumber(value) : cJSON_CreateNull(), ok);
}

static double whole(double value)
{
    return value < EXACT ? (double)(uint64_t)(value + 0.5) : EXACT;
}

static void put_metric(cJSON *object, const char *name, double value, bool *ok)
{
    put(object, name, isfinite(value) && value >= 0 ? cJSON_CreateNumber(whole(value)) : cJSON_CreateNull(), ok);
}

/* Milliseconds with three decimals (dividing, because a product with 0.001 would print as 0.30000000000000004). */
static void put_ms(cJSON *object, const char *name, double ms, bool *ok)
{
    put(object, name, isfinite(ms) && ms >= 0 ? cJSON_CreateNumber(whole(ms * 1000) / 1000) : cJSON_CreateNull(), ok);
}

static void put_session(cJSON *top, const struct receipt *r, bool *ok)
{
    cJSON *s = child(top, "session", ok);
    put_text(s, "id", r->session_id, ok);
    put_text(s, "environment", r->environment, ok);
    put_text(s, "policy", r->policy, ok);
    put_count(s, "call", r->call, ok);
    put_bool(s, "created", r->created, ok);
    put_bool(s, "resumed", r->resumed, ok);
    put_bool(s, "rolled_back", r->rolled_back, ok);
    if (r->session_lost)
        put_bool(s, "session_lost", true, ok);
}

static void put_result(cJSON *top, const struct receipt *r, bool *ok)
{
    if (!r->value_repr)
        return;
    cJSON *v = child(top, "result", ok);
    put_text(v, "repr", r->value_repr, ok);
    put_text(v, "type", r->value_type, ok);
    if (r->value_json)
        put(v, "json", cJSON_Duplicate(r->value_json, true), ok);
    put_bool(v, "truncated", r->value_truncated, ok);
}

static void put_stream(cJSON *top, const char *name, const struct receipt_output *o, bool *ok)
{
    cleanup_buf struct buf text = {0};
    if (receipt_output_text(o, &text) < 0)
        *ok = false;
    else
        put(top, name, cJSON_CreateString(text.data ? text.data : ""), ok); /* receipt_output_text has cleaned it */
}

static void put_output(cJSON *top, const struct receipt *r, bool *ok)
{
    put_stream(top, "stdout", &r->out, ok);
    put_stream(top, "stderr", &r->err, ok);
    cJSON *o = child(top, "output", ok);
    put_count(o, "stdout_bytes", r->out.total, ok);
    put_count(o, "stderr_bytes", r->err.total, ok);
    put_bool(o, "truncated", receipt_output_cut(&r->out) || receipt_output_cut(&r->err), ok);
}

static void put_error(cJSON *top, const struct receipt *r, bool *ok)
{
    if (!r->error_type && !r->error_message && !r->error_traceback && !r->has_exit_code && r->signal == 0) {
        put(top, "error", cJSON_CreateNull(), ok);
        return;
    }
    cJSON *e = child(top, "error", ok);
    put_text(e, "type", r->error_type, ok);
    put_text(e, "message", r->error_message, ok);
    put_text(e, "traceback", r->error_traceback, ok);
    put(e, "line", r->error_line > 0 ? cJSON_CreateNumber((double)r->error_line) : cJSON_CreateNull(), ok);
    if (r->error_column > 0)
        put(e, "column", cJSON_CreateNumber((double)r->error_column), ok);
    put(e, "exit_code", r->has_exit_code ? cJSON_CreateNumber((double)r->exit_code) : cJSON_CreateNull(), ok);
    put(e, "signal", r->signal > 0 ? cJSON_CreateNumber(r->signal) : cJSON_CreateNull(), ok);
    if (r->rule)
        put_text(e, "rule", r->rule, ok);
    if (r->remedy)
        put_text(e, "remedy", r->remedy, ok);
}

static void put_backend(cJSON *top, const struct receipt *r, bool *ok)
{
    cJSON *b = child(top, "backend", ok);
    put_text(b, "name", r->backend, ok);
    put_text(b, "rung", r->rung, ok);
    cJSON *layers = put(b, "layers", cJSON_CreateArray(), ok);
    for (size_t i = 0; layers && i < r->layer_count; i++)
        if (!cJSON_AddItemToArray(layers, cJSON_CreateString(r->layers[i])))
            *ok = false;
    cJSON *missing = put(b, "missing", cJSON_CreateArray(), ok);
    for (size_t i = 0; missing && i < r->missing_count; i++) {
        cJSON *m = cJSON_CreateObject();
        if (!cJSON_AddItemToArray(missing, m)) {
            *ok = false;
            return;
        }
        put_text(m, "layer", r->missing[i].layer, ok);
        put_text(m, "reason", r->missing[i].reason, ok);
        put_text(m, "remedy", r->missing[i].remedy, ok);
    }
}

static void put_limits(cJSON *top, const struct receipt *r, bool *ok)
{
    cJSON *l = child(top, "limits", ok);
    put_limit(l, "timeout_seconds", r->timeout_seconds, ok);
    put_limit(l, "memory_bytes", (double)r->memory_bytes, ok);
    put_limit(l, "pids", (double)r->pids, ok);
    put_limit(l, "cpus", r->cpus, ok);
    put_limit(l, "disk_bytes", (double)r->disk_bytes, ok);
    put_limit(l, "output_bytes", (double)r->output_bytes, ok);
    put_text(l, "hit", r->limit_hit, ok);
}

static void put_setup(cJSON *metrics, const struct receipt_setup *s, bool *ok)
{
    const struct { const char *name; uint64_t us; } steps[] = {
        {"cgroup_us", s->cgroup_us}, {"clone_us", s->clone_us}, {"maps_us", s->maps_us}, {"mounts_us", s->mounts_us},
        {"init_seal_us", s->init_seal_us}, {"fork_us", s->fork_us}, {"join_us", s->join_us}, {"seal_us", s->seal_us},
        {"inspect_us", s->inspect_us}, {"total_us", s->total_us}};
    if (!s->present)
        return;
    cJSON *o = child(metrics, "setup", ok);
    put_bool(o, "spare", s->spare, ok);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        put_count(o, steps[i].name, steps[i].us, ok);
}

static void put_metrics(cJSON *top, const struct receipt *r, bool *ok)
{
    cJSON *m = child(top, "metrics", ok);
    put_ms(m, "wall_ms", r->wall_ms, ok);
    put_ms(m, "queue_ms", r->queue_ms, ok);
    put_ms(m, "setup_ms", r->setup_ms, ok);
    put_setup(m, &r->setup, ok);
    if (r->collect_ms >= 0)
        put_ms(m, "collect_ms", r->collect_ms, ok);
    put_ms(m, "cpu_user_ms", r->cpu_user_ms, ok);
    put_ms(m, "cpu_system_ms", r->cpu_system_ms, ok);
    put_metric(m, "memory_peak_bytes", r->memory_peak_bytes, ok);
    put_text(m, "memory_counts", r->memory_peak_bytes >= 0 ? r->memory_counts : NULL, ok);
    put_metric(m, "pids_peak", r->pids_peak, ok);
}

static void put_denied(cJSON *top, const struct receipt *r, bool *ok)
{
    cJSON *list = put(top, "denied", cJSON_CreateArray(), ok);
    for (size_t i = 0; list && i < r->denied_count; i++) {
        cJSON *d = cJSON_CreateObject();
        if (!cJSON_AddItemToArray(list, d)) {
            *ok = false;
            return;
        }
        put_text(d, "layer", r->denied[i].layer, ok);
        put_text(d, "what", r->denied[i].what, ok);
        put_count(d, "count", r->denied[i].count, ok);
    }
    if (r->denied_more > 0)
        put_count(top, "denied_more", r->denied_more, ok);
}

static void put_digests(cJSON *top, const struct receipt *r, bool *ok)
{
    const struct { const char *name, *text; } all[] = {
        {"code", r->digest_code}, {"policy", r->digest_policy}, {"stdout", r->out.digest},
        {"stderr", r->err.digest}, {"previous", r->digest_previous}};
    cJSON *d = child(top, "digests", ok);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (*all[i].text)
            put_text(d, all[i].name, all[i].text, ok);
}

static void put_stamps(cJSON *top, const struct receipt *r, bool *ok)
{
    char text[CLOCK_STAMP];
    clock_stamp(r->started_wall, text);
    put_text(top, "started_at", text, ok);
    clock_stamp(r->finished_wall, text);
    put_text(top, "finished_at", text, ok);
}

cJSON *receipt_json(const struct receipt *r)
{
    bool ok = true;
    cleanup_json cJSON *top = cJSON_CreateObject();
    if (!top)
        return NULL;
    put_text(top, "schema", "snipara-sandbox/receipt/v1", &ok);
    put_text(top, "receipt_id", r->id, &ok);
    put_text(top, "tool", r->tool, &ok);
    put_text(top, "status", receipt_status_name(r->status), &ok);
    put_session(top, r, &ok);
    put_result(top, r, &ok);
    put_output(top, r, &ok);
    put_error(top, r, &ok);
    put(top, "displays", cJSON_CreateArray(), &ok);
    receipt_put_artifacts(top, r, &ok);
    put_backend(top, r, &ok);
    put_limits(top, r, &ok);
    put_metrics(top, r, &ok);
    put_denied(top, r, &ok);
    put_digests(top, r, &ok);
    put_stamps(top, r, &ok);
    if (!ok)
        return NULL;
    return steal_ptr(&top);
}
