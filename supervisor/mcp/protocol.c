/* Versions and the handshake. */
#include "mcp/protocol.h"

#include "config.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

const char *mcp_version_name(enum mcp_version v)
{
    return names[v];
}

enum mcp_version mcp_negotiate(const char *requested)
{
    for (size_t i = 0; requested && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], requested) == 0)
            return (enum mcp_version)i;
    return MCP_LATEST_LEGACY;
}

static const char instructions[] =
    "execute_python runs Python in a native jail (no network, no host files) and answers with a receipt: output, value, error, limits, "
    "what was denied. Variables are kept per session_id between calls; different sessions run side by side. A session that was idle for "
    "30 minutes ends, the session named \"default\" does not.";

cJSON *mcp_initialize_result(enum mcp_version v)
{
    cJSON *result = cJSON_CreateObject();
    cJSON *capabilities = cJSON_AddObjectToObject(result, "capabilities");
    cJSON *tools = cJSON_AddObjectToObject(capabilities, "tools");
    cJSON *server = cJSON_AddObjectToObject(result, "serverInfo");
    if (!cJSON_AddStringToObject(result, "protocolVersion", names[v]) || !cJSON_AddFalseToObject(tools, "listChanged") ||
        !cJSON_AddStringToObject(server, "name", PACKAGE) || !cJSON_AddStringToObject(server, "title", "Snipara Sandbox") ||
        !cJSON_AddStringToObject(server, "version", PACKAGE_VERSION) || !cJSON_AddStringToObject(result, "instructions", instructions)) {
        cJSON_Delete(result);
        return NULL;
    }
    return result;
}
