/* list_sessions and destroy_session. */
#include "mcp/tools.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

static void answer_structured(struct mcp_call *call, cJSON *structured)
{
    /* The same content as text: clients of older versions see nothing else. */
    cleanup_free char *text = structured ? json_print_pretty(structured) : NULL;
    if (!text) {
        cJSON_Delete(structured);
        structured = NULL;
    }
    mcp_call_answer(call, text ? mcp_tool_result(text, structured, false) : NULL);
}

static void start_list(struct mcp_call *call, const cJSON *arguments)
{
    const struct error *why;
    struct sessions *sessions = mcp_call_sessions(call, &why);
    cJSON *list = sessions ? sessions_list(sessions) : cJSON_CreateArray(), *answer = cJSON_CreateObject();
    (void)arguments;
    if (!list || !cJSON_AddItemToObject(answer, "sessions", list)) {
        cJSON_Delete(list);
        cJSON_Delete(answer);
        answer = NULL;
    }
    answer_structured(call, answer);
}

static void on_destroyed(void *context)
{
    struct mcp_call *call = context;
    cJSON *answer = cJSON_CreateObject();
    if (!cJSON_AddTrueToObject(answer, "destroyed")) {
        cJSON_Delete(answer);
        answer = NULL;
    }
    answer_structured(call, answer);
}

static void start_destroy(struct mcp_call *call, const cJSON *arguments)
{
    cleanup_buf struct buf problem = {.max = 4096};
    struct error err = {0};
    const struct error *why;
    struct sessions *sessions = mcp_call_sessions(call, &why);
    const char *id = mcp_argument_text(arguments, "session_id");
    if (!session_id_valid(id, strlen(id), &err))
        buf_addf(&problem, "destroy_session: argument \"session_id\": %s", err.message);
    else if (!sessions)
        buf_addf(&problem, "destroy_session: there are no sessions: %s", why->message);
    else if (session_destroy(sessions, id, on_destroyed, call, &err) < 0)
        buf_addf(&problem, "destroy_session: argument \"session_id\": %s", err.message);
    else
        return;
    mcp_call_refuse(call, problem.data ? problem.data : "out of memory");
}

static const struct mcp_argument arguments_of_destroy[] = {
    {.name = "session_id", .type = ARGUMENT_TEXT, .required = true,
     .description = "The session to end. \"default\" is reset: its next call starts a new interpreter."}};

const struct mcp_tool mcp_list_sessions = {
    .name = "list_sessions",
    .title = "List sessions",
    .description = "List the live sessions: id, environment, policy, when each was made and last used, and how many calls it ran. A session "
                   "ends after 30 minutes without a call; \"default\" never expires.",
    .output_schema = "{\"type\":\"object\",\"properties\":{\"sessions\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}},"
                     "\"required\":[\"sessions\"]}",
    .read_only = true,
    .idempotent = true,
    .start = start_list};

const struct mcp_tool mcp_destroy_session = {
    .name = "destroy_session",
    .title = "End a session",
    .description = "End a session and everything that runs in it. Its variables and files are gone; a call with the same session_id starts anew.",
    .arguments = arguments_of_destroy,
    .argument_count = 1,
    .output_schema = "{\"type\":\"object\",\"properties\":{\"destroyed\":{\"type\":\"boolean\"}},\"required\":[\"destroyed\"]}",
    .destructive = true,
    .start = start_destroy};
