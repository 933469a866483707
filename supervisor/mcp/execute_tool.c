/* execute_python: arguments to a session_request, a receipt to a tool result. */
#include "mcp/tools.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "mcp/progress.h"
#include "receipt/receipt.h"
#include "receipt/refusal.h"
#include "session/session.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 65536u
#define FILES_MAX 100u
#define FILES_BYTES_MAX (32u << 20)

static const char *const environments[] = {"sandbox", "docker", "local", NULL};
static const char *const profile_names[] = {"quick", "default", "analysis", "extended", NULL};
static const struct { double seconds; uint64_t bytes; } profiles[] = {
    {5, 128ull << 20}, {30, 512ull << 20}, {120, 2048ull << 20}, {300, 4096ull << 20}};

static const struct mcp_argument arguments_of_execute[] = {
    {.name = "code", .type = ARGUMENT_TEXT, .required = true,
     .description = "Python source. The value of a last expression, or of a variable `result`, is returned; print() output too."},
    {.name = "session_id", .type = ARGUMENT_TEXT, .default_text = "default",
     .description = "Session whose variables the code sees and keeps. Unknown ids make a new session; a session idle for 30 minutes ends, "
                    "\"default\" never expires."},
    {.name = "environment", .type = ARGUMENT_CHOICE, .choices = environments, .default_text = "sandbox",
     .description = "Where the code runs: sandbox is a native jail."},
    {.name = "profile", .type = ARGUMENT_CHOICE, .choices = profile_names,
     .description = "Time and memory: quick 5 s/128 MiB, default 30 s/512 MiB, analysis 120 s/2 GiB, extended 300 s/4 GiB. "
                    "Memory is fixed when the session is made."},
    {.name = "timeout", .type = ARGUMENT_NUMBER, .minimum = 1, .maximum = 300, .accepted_minimum = 0.05, .unit = "seconds",
     .description = "Seconds after which the call is stopped; overrides the profile's."},
    {.name = "policy", .type = ARGUMENT_TEXT, .default_text = "default",
     .description = "What the code may do: default (all of Python in a jail without network), strict (a restricted language), open "
                    "(the jail alone), or one of the operator's. Fixed when the session is made."},
    {.name = "files", .type = ARGUMENT_FILES,
     .description = "Files put into /session, the code's working directory, before it runs."}};

static const char receipt_schema[] =
    "{\"type\":\"object\",\"description\":\"snipara-sandbox/receipt/v1\",\"properties\":{"
    "\"schema\":{\"type\":\"string\"},\"receipt_id\":{\"type\":\"string\"},\"tool\":{\"type\":\"string\"},"
    "\"status\":{\"type\":\"string\",\"enum\":[\"ok\",\"error\",\"rejected\",\"timeout\",\"out_of_memory\",\"crashed\",\"cancelled\",\"refused\"]},"
    "\"session\":{\"type\":\"object\"},"
    "\"result\":{\"type\":\"object\",\"description\":\"Absent when there is no value.\",\"properties\":{\"repr\":{\"type\":\"string\"},"
    "\"type\":{\"type\":[\"string\",\"null\"]},\"truncated\":{\"type\":\"boolean\"}},\"required\":[\"repr\"]},"
    "\"stdout\":{\"type\":\"string\"},\"stderr\":{\"type\":\"string\"},\"output\":{\"type\":\"object\"},"
    "\"error\":{\"type\":[\"object\",\"null\"]},\"displays\":{\"type\":\"array\"},\"artifacts\":{\"type\":\"array\"},"
    "\"backend\":{\"type\":\"object\"},\"limits\":{\"type\":\"object\"},\"metrics\":{\"type\":\"object\"},"
    "\"denied\":{\"type\":\"array\"},\"denied_more\":{\"type\":\"integer\"},\"digests\":{\"type\":\"object\"},"
    "\"started_at\":{\"type\":\"string\"},\"finished_at\":{\"type\":\"string\"}},"
    "\"required\":[\"schema\",\"receipt_id\",\"tool\",\"status\",\"session\",\"stdout\",\"stderr\",\"output\",\"backend\",\"limits\","
    "\"metrics\",\"denied\",\"digests\",\"started_at\",\"finished_at\"]}";

struct files {
    struct session_file *items;
    char **decoded; /* what base64 was decoded into; owned */
    size_t count, bytes;
};

static void free_files(struct files *f)
{
    for (size_t i = 0; f->decoded && i < f->count; i++)
        free(f->decoded[i]);
    free(f->decoded);
    free(f->items);
}
#define cleanup_files __attribute__((cleanup(free_files)))

static int wrong_file(struct buf *problem, size_t index, const char *text)
{
    buf_addf(problem, "argument \"files\": entry %zu: %s", index + 1, text);
    return -1;
}

static int decode(const char *base64, char **ret, size_t *ret_length)
{
    size_t length = strlen(base64), room = length / 4 * 3 + 3;
    cleanup_free char *bytes = malloc(room);
    if (!bytes || sodium_base642bin((unsigned char *)bytes, room, base64, length, " \r\n", ret_length, NULL, sodium_base64_VARIANT_ORIGINAL) < 0)
        return -1;
    *ret = steal_ptr(&bytes);
    return 0;
}

static int take_file(struct files *f, const cJSON *entry, size_t i, struct buf *problem)
{
    static const char *const known[] = {"path", "text", "base64", NULL};
    struct session_file *file = &f->items[i];
    if (!cJSON_IsObject(entry) || json_unknown_member(entry, known))
        return wrong_file(problem, i, "must be {\"path\": ..., and \"text\" or \"base64\"}");
    file->path = json_get_string(entry, "path");
    if (!file->path || !path_is_inside(file->path, strlen(file->path)))
        return wrong_file(problem, i, "\"path\" must be a relative path inside /session, without empty, . or .. parts");
    const char *text = json_get_string(entry, "text"), *base64 = json_get_string(entry, "base64");
    if (!text == !base64)
        return wrong_file(problem, i, "needs one of \"text\" and \"base64\", as a string");
    if (text) {
        file->data = text;
        file->length = strlen(text);
    } else {
        if (decode(base64, &f->decoded[i], &file->length) < 0)
            return wrong_file(problem, i, "\"base64\" is not base64 (RFC 4648, with padding)");
        file->data = f->decoded[i];
    }
    f->bytes += file->length;
    return f->bytes <= FILES_BYTES_MAX ? 0 : wrong_file(problem, i, "the files are more than 32 MiB in all");
}

static int take_files(struct files *f, const cJSON *list, struct buf *problem)
{
    size_t count = (size_t)cJSON_GetArraySize(list), i = 0;
    if (count == 0)
        return 0;
    if (count > FILES_MAX) {
        buf_addf(problem, "argument \"files\" may have at most %u entries; got %zu", FILES_MAX, count);
        return -1;
    }
    f->items = calloc(count, sizeof *f->items);
    f->decoded = calloc(count, sizeof *f->decoded);
    if (!f->items || !f->decoded) {
        buf_adds(problem, "out of memory");
        return -1;
    }
    f->count = count;
    const cJSON *entry;
    cJSON_ArrayForEach(entry, list) {
        if (take_file(f, entry, i++, problem) < 0)
            return -1;
    }
    return 0;
}

static void take_profile(struct session_request *request, const cJSON *arguments)
{
    const char *profile = mcp_argument_text(arguments, "profile");
    for (size_t i = 0; profile && profile_names[i]; i++)
        if (strcmp(profile, profile_names[i]) == 0) {
            request->timeout_seconds = profiles[i].seconds;
            request->memory_bytes = profiles[i].bytes;
        }
    const cJSON *timeout = json_get(arguments, "timeout");
    if (cJSON_IsNumber(timeout))
        request->timeout_seconds = timeout->valuedouble;
}

static int take_request(struct session_request *request, struct files *files, const cJSON *arguments, struct buf *problem)
{
    struct error err = {0};
    request->code = mcp_argument_text(arguments, "code");
    request->code_length = strlen(request->code);
    request->session_id = mcp_argument_text(arguments, "session_id");
    request->environment = mcp_argument_text(arguments, "environment");
    request->policy = mcp_argument_text(arguments, "policy");
    if (request->code_length == 0)
        return buf_adds(problem, "argument \"code\" is empty: give Python source, for example {\"code\": \"print(6 * 7)\"}"), -1;
    if (request->session_id && !session_id_valid(request->session_id, strlen(request->session_id), &err))
        return buf_addf(problem, "argument \"session_id\": %s", err.message), -1;
    if (request->environment && strcmp(request->environment, "sandbox") != 0)
        return buf_addf(problem, "argument \"environment\": \"%s\" is not available yet; use \"sandbox\", which needs nothing else",
                        request->environment), -1;
    if (request->policy && !*request->policy)
        return buf_adds(problem, "argument \"policy\" is empty: leave it out for \"default\""), -1;
    take_profile(request, arguments);
    if (take_files(files, json_get(arguments, "files"), problem) < 0)
        return -1;
    request->files = files->items;
    request->file_count = files->count;
    return 0;
}

static void answer_with(struct mcp_call *call, const struct receipt *receipt, cJSON **document)
{
    cleanup_free char *text = receipt_text(receipt, TEXT_MAX);
    cJSON *structured = text ? *document : NULL;
    if (structured)
        *document = NULL;
    mcp_call_answer(call, structured ? mcp_tool_result(text, structured, receipt->status != RECEIPT_OK) : NULL);
}

static void on_output(void *context, int stream, const char *data, size_t length)
{
    struct mcp_call *call = context;
    if (call->progress && stream == SESSION_STDOUT)
        mcp_progress_output(call->progress, data, length);
}

static void on_done(void *context, const struct receipt *receipt, cJSON **document)
{
    struct mcp_call *call = context;
    call->work = NULL;
    answer_with(call, receipt, document);
}

static void refuse_without_backend(struct mcp_call *call, const struct session_request *request, const struct error *why)
{
    struct receipt receipt;
    if (receipt_of_refusal(&receipt, request->session_id, request->policy, request->code, request->code_length, why) < 0) {
        mcp_call_refuse(call, why->message);
    } else {
        cleanup_json cJSON *document = receipt_json(&receipt);
        answer_with(call, &receipt, &document);
    }
    receipt_free(&receipt);
}

static void start(struct mcp_call *call, const cJSON *arguments)
{
    cleanup_buf struct buf problem = {.max = 4096};
    cleanup_files struct files files = {0};
    struct session_request request = {0};
    struct error err = {0};
    const struct error *why;
    struct sessions *sessions = mcp_call_sessions(call, &why);
    buf_adds(&problem, "execute_python: ");
    if (take_request(&request, &files, arguments, &problem) < 0) {
        mcp_call_refuse(call, problem.data ? problem.data : "out of memory");
        return;
    }
    if (!sessions) {
        refuse_without_backend(call, &request, why);
        return;
    }
    struct session_observer observer = {.output = on_output, .done = on_done, .context = call};
    if (session_call(sessions, &request, &observer, &call->work, &err) < 0) {
        call->work = NULL;
        buf_adds(&problem, err.message);
        mcp_call_refuse(call, problem.data ? problem.data : "out of memory");
    }
}

const struct mcp_tool mcp_execute_python = {
    .name = "execute_python",
    .title = "Run Python in a jail",
    .description =
        "Run Python code in a native jail and return its output, the value of its last expression, errors with traceback, and a receipt "
        "(limits, measurements, what was denied). Variables, imports and files in /session are kept per session_id between calls, as in a "
        "notebook; an exception keeps them. A session ends after 30 minutes without a call; the session \"default\" never expires. No network "
        "and no host files. Limits: 30 s and 512 MiB unless profile or timeout says otherwise, at most 300 s; long output is returned as its "
        "beginning and end.",
    .arguments = arguments_of_execute,
    .argument_count = sizeof arguments_of_execute / sizeof *arguments_of_execute,
    .output_schema = receipt_schema,
    /* Code can overwrite the session's variables and files; it reaches nothing outside the jail. */
    .destructive = true,
    .start = start};
