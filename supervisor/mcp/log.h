/* The server's own words, on stderr: stdout carries protocol only. Level by SNIPARA_SANDBOX_LOG_LEVEL (error, warning, info, debug;
 * default warning). A client that never reads stderr must not stop the server: a line that would block is left out. */
#ifndef SNIPARA_MCP_LOG_H
#define SNIPARA_MCP_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void mcp_log(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
