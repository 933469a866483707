/* The tools that the server has, as a table. */
#ifndef SNIPARA_MCP_TOOLS_H
#define SNIPARA_MCP_TOOLS_H

#include "mcp/arguments.h"
#include "mcp/call.h"

struct mcp_tool {
    const char *name, *title, *description;
    const struct mcp_argument *arguments;
    size_t argument_count;
    const char *output_schema;     /* JSON text */
    bool read_only, destructive, idempotent, open_world;
    /* Start the call; `arguments` passed mcp_arguments_check and is the caller's (NULL: none). Answers now or later. */
    void (*start)(struct mcp_call *call, const cJSON *arguments);
};

extern const struct mcp_tool mcp_execute_python, mcp_list_sessions, mcp_destroy_session;

/* NULL when there is none. */
const struct mcp_tool *mcp_tool_by_name(const char *name);
/* "a, b, c" for messages; -1: out of memory. */
int mcp_tool_names(struct buf *b);
/* Result of tools/list, always in the same order. NULL when out of memory. */
cJSON *mcp_tools_list(enum mcp_version version);

#endif
