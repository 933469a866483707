/* The tool table and its listing. */
#include "mcp/tools.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <string.h>

static const struct mcp_tool *const tools[] = {&mcp_execute_python, &mcp_list_sessions, &mcp_destroy_session};
#define TOOL_COUNT (sizeof tools / sizeof *tools)

const struct mcp_tool *mcp_tool_by_name(const char *name)
{
    for (size_t i = 0; i < TOOL_COUNT; i++)
        if (strcmp(tools[i]->name, name) == 0)
            return tools[i];
    return NULL;
}

int mcp_tool_names(struct buf *b)
{
    for (size_t i = 0; i < TOOL_COUNT; i++)
        if (buf_addf(b, "%s%s", i == 0 ? "" : ", ", tools[i]->name) < 0)
            return -1;
    return 0;
}

static bool add_annotations(cJSON *entry, const struct mcp_tool *t)
{
    cJSON *a = cJSON_AddObjectToObject(entry, "annotations");
    return cJSON_AddStringToObject(a, "title", t->title) && cJSON_AddBoolToObject(a, "readOnlyHint", t->read_only) &&
           cJSON_AddBoolToObject(a, "destructiveHint", t->destructive) && cJSON_AddBoolToObject(a, "idempotentHint", t->idempotent) &&
           cJSON_AddBoolToObject(a, "openWorldHint", t->open_world);
}

static bool add_tool(cJSON *list, const struct mcp_tool *t, enum mcp_version version)
{
    cJSON *entry = cJSON_CreateObject();
    if (!cJSON_AddItemToArray(list, entry))
        return false;
    if (!cJSON_AddStringToObject(entry, "name", t->name) || !cJSON_AddStringToObject(entry, "title", t->title) ||
        !cJSON_AddStringToObject(entry, "description", t->description))
        return false;
    cJSON *schema = mcp_arguments_schema(t->arguments, t->argument_count);
    if (!schema || !cJSON_AddItemToObject(entry, "inputSchema", schema) || !add_annotations(entry, t))
        return false;
    if (!mcp_has_output_schema(version))
        return true;
    cJSON *output = cJSON_Parse(t->output_schema);
    return output && cJSON_AddItemToObject(entry, "outputSchema", output);
}

cJSON *mcp_tools_list(enum mcp_version version)
{
    cleanup_json cJSON *result = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(result, "tools");
    for (size_t i = 0; i < TOOL_COUNT; i++)
        if (!add_tool(list, tools[i], version))
            return NULL;
    return steal_ptr(&result);
}
