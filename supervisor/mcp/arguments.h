/* Arguments of tools as data: one table gives the input schema that clients see and the check that a call goes through, so that
 * the two cannot differ. A message of the check names the argument, what came and what is right. Pure. */
#ifndef SNIPARA_MCP_ARGUMENTS_H
#define SNIPARA_MCP_ARGUMENTS_H

#include "base/buf.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum argument_type { ARGUMENT_TEXT, ARGUMENT_NUMBER, ARGUMENT_CHOICE, ARGUMENT_FILES };

struct mcp_argument {
    const char *name;
    enum argument_type type;
    bool required;
    const char *description;
    const char *const *choices;   /* ARGUMENT_CHOICE: NULL-terminated */
    double minimum, maximum;      /* ARGUMENT_NUMBER: what the schema says */
    double accepted_minimum;      /* ARGUMENT_NUMBER: what is taken (tests use short times) */
    const char *unit;             /* ARGUMENT_NUMBER */
    const char *default_text;     /* shown in the schema; NULL: none */
};

/* JSON Schema object with additionalProperties false; NULL when out of memory. */
cJSON *mcp_arguments_schema(const struct mcp_argument *arguments, size_t count);

/* Check `given` (an object, or NULL for none). false: *problem holds what is wrong, in words. A null stands for an absent optional
 * argument, as several clients send it. */
bool mcp_arguments_check(const struct mcp_argument *arguments, size_t count, const cJSON *given, struct buf *problem);

/* The value of a text argument, or NULL when it is absent or null. */
const char *mcp_argument_text(const cJSON *given, const char *name);

/* Describe a value shortly: `the string "abc"`, `the number 301`, `an object`. */
int mcp_describe_value(struct buf *b, const cJSON *value);

#endif
