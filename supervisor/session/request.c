#include "session/internal.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool session_id_valid(const char *id, size_t length, struct error *err)
{
    const char *what = NULL;
    if (length == 0)
        what = "must not be empty";
    else if (length >= 10000)
        what = "must be shorter than 10000 bytes";
    else if (!utf8_valid(id, length))
        what = "must be valid UTF-8";
    else if ((length == 1 && id[0] == '.') || (length == 2 && id[0] == '.' && id[1] == '.'))
        what = "must not be '.' or '..'";
    for (size_t i = 0; i < length && !what; i++) {
        unsigned char c = (unsigned char)id[i];
        if (c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)id[i + 1] < 0xa0)) /* C0, DEL, C1 */
            what = "must not have control characters";
        else if (c == '/')
            what = "must not have a slash";
    }
    if (what)
        error_set(err, "session_id", 0, "session_id %s", what);
    return !what;
}

static int check_code(const struct session_request *r, const struct policy *policy, struct error *err)
{
    if (r->code_length == 0)
        return error_set(err, "code", 0, "code is empty: give the Python source to run");
    if (r->code_length > policy->limits.source_bytes)
        return error_set(err, "code", 0, "code is %zu bytes long; policy %s takes at most %llu: put data into a file and pass it instead",
                         r->code_length, policy->name, (unsigned long long)policy->limits.source_bytes);
    const char *nul = memchr(r->code, '\0', r->code_length);
    if (nul)
        return error_set(err, "code", 0, "code has a NUL byte at offset %zu: Python source cannot hold one, write \\0 in a string instead",
                         (size_t)(nul - r->code));
    size_t good = utf8_valid_prefix(r->code, r->code_length);
    if (good < r->code_length)
        return error_set(err, "code", 0, "code is not valid UTF-8 at byte offset %zu: convert it to UTF-8", good);
    return 0;
}

static int check_limits(const struct session_request *r, const struct policy *policy, struct error *err)
{
    double t = r->timeout_seconds;
    if (t != 0 && !(isfinite(t) && t >= 0.001 && t <= policy->limits.timeout_max_seconds))
        return error_set(err, "timeout", 0, "timeout is %g; policy %s takes more than 0 and at most %g seconds", t, policy->name,
                         policy->limits.timeout_max_seconds);
    uint64_t m = r->memory_bytes;
    if (m != 0 && (m < (16u << 20) || m > policy->limits.memory_max_bytes))
        return error_set(err, "memory", 0, "memory is %llu bytes; policy %s takes 16 MiB to %llu MiB", (unsigned long long)m, policy->name,
                         (unsigned long long)(policy->limits.memory_max_bytes >> 20));
    return 0;
}

static int check_files(const struct session_request *r, struct error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < r->file_count; i++) {
        const struct session_file *f = &r->files[i];
        if (!path_is_inside(f->path, strlen(f->path)))
            return error_set(err, "files", 0, "files[%zu].path is not a relative path that stays inside /session", i);
        total += f->length;
    }
    if (total > FILES_BYTES_MAX)
        return error_set(err, "files", 0, "files are %zu bytes together; at most %d are taken", total, FILES_BYTES_MAX);
    return 0;
}

int session_request_check(struct sessions *s, const struct session_request *r, const struct policy **ret_policy, struct error *err)
{
    const char *id = r->session_id ? r->session_id : "default", *environment = r->environment ? r->environment : "sandbox";
    if (!session_id_valid(id, strlen(id), err))
        return -1;
    if (strcmp(environment, "sandbox") != 0)
        return error_set(err, "environment", 0, "environment '%.100s' is not available in this version: use 'sandbox'", environment);
    const struct policy *policy = s->backend->class->policy(s->backend, r->policy ? r->policy : "default", err);
    if (!policy)
        return -1;
    if (check_code(r, policy, err) < 0 || check_limits(r, policy, err) < 0 || check_files(r, err) < 0)
        return -1;
    *ret_policy = policy;
    return 0;
}

/* The caller's memory may go away: one block per text. */
static int copy_files(struct session_call *call, const struct session_request *r)
{
    if (r->file_count == 0)
        return 0;
    call->files = calloc(r->file_count, sizeof *call->files);
    if (!call->files)
        return -1;
    for (size_t i = 0; i < r->file_count; i++) {
        char *path = strdup(r->files[i].path), *data = malloc(r->files[i].length + 1);
        call->files[call->file_count++] = (struct backend_file){.path = path, .data = data, .length = r->files[i].length};
        if (!path || !data)
            return -1;
        memcpy(data, r->files[i].data, r->files[i].length);
    }
    return 0;
}

struct session_call *session_request_copy(const struct session_request *r, const struct policy *policy, struct error *err)
{
    struct session_call *call = calloc(1, sizeof *call);
    if (call && (call->code = malloc(r->code_length + 1)) && copy_files(call, r) == 0 &&
        (!r->filename || (call->filename = strdup(r->filename)))) {
        memcpy(call->code, r->code, r->code_length);
        call->code[r->code_length] = '\0';
        call->code_length = r->code_length;
        call->timeout_seconds = r->timeout_seconds != 0 ? r->timeout_seconds : policy->limits.timeout_seconds;
        call->memory_bytes = r->memory_bytes;
        call->keep_artifacts = r->keep_artifacts;
        return call;
    }
    session_call_free(call);
    error_set(err, "session", 0, "out of memory");
    return NULL;
}

void session_call_free(struct session_call *call)
{
    if (!call)
        return;
    for (size_t i = 0; i < call->file_count; i++) {
        free((char *)call->files[i].path);
        free((char *)call->files[i].data);
    }
    free(call->files);
    free(call->filename);
    free(call->code);
    free(call);
}
