/* MCP's revisions of the legacy era (the ones with an `initialize` handshake) and what differs between them. Pure.
 * The stateless era (2026-07-28) will be a second reader of the same tools: nothing here is shared with its handshake. */
#ifndef SNIPARA_MCP_PROTOCOL_H
#define SNIPARA_MCP_PROTOCOL_H

#include <cjson/cJSON.h>
#include <stdbool.h>

enum mcp_version { MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18, MCP_2025_11_25, MCP_LATEST_LEGACY = MCP_2025_11_25 };

const char *mcp_version_name(enum mcp_version v);
/* A version that we speak is taken, anything else (NULL too) is answered with our latest: clients hang up on an error. */
enum mcp_version mcp_negotiate(const char *requested);

static inline bool mcp_has_batches(enum mcp_version v) { return v == MCP_2025_03_26; }
static inline bool mcp_has_output_schema(enum mcp_version v) { return v >= MCP_2025_06_18; }
static inline bool mcp_has_progress_message(enum mcp_version v) { return v >= MCP_2025_03_26; }

/* Result of `initialize`; NULL when out of memory. */
cJSON *mcp_initialize_result(enum mcp_version v);

#endif
