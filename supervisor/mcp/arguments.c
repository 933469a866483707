/* Arguments: schema and check. */
#include "mcp/arguments.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"
#include "mcp/near_match.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN 80u /* bytes of a wrong value that a message repeats */

static const char *const schema_types[] = {"string", "number", "string", "array"};

/* {path, and one of text and base64} */
static cJSON *files_item_schema(void)
{
    return cJSON_Parse(
        "{\"type\":\"object\",\"properties\":{"
        "\"path\":{\"type\":\"string\",\"description\":\"Relative to /session, without .. parts.\"},"
        "\"text\":{\"type\":\"string\",\"description\":\"The file's content as text.\"},"
        "\"base64\":{\"type\":\"string\",\"description\":\"The file's content as base64, instead of text.\"}},"
        "\"required\":[\"path\"],\"additionalProperties\":false}");
}

static bool add_property(cJSON *properties, const struct mcp_argument *a)
{
    cJSON *p = cJSON_AddObjectToObject(properties, a->name);
    if (!cJSON_AddStringToObject(p, "type", schema_types[a->type]) || !cJSON_AddStringToObject(p, "description", a->description))
        return false;
    if (a->default_text && !cJSON_AddStringToObject(p, "default", a->default_text))
        return false;
    if (a->type == ARGUMENT_NUMBER)
        return cJSON_AddNumberToObject(p, "minimum", a->minimum) && cJSON_AddNumberToObject(p, "maximum", a->maximum);
    if (a->type == ARGUMENT_FILES)
        return cJSON_AddItemToObject(p, "items", files_item_schema());
    if (a->type == ARGUMENT_CHOICE) {
        cJSON *list = cJSON_AddArrayToObject(p, "enum");
        for (const char *const *c = a->choices; *c; c++)
            if (!cJSON_AddItemToArray(list, cJSON_CreateString(*c)))
                return false;
    }
    return true;
}

cJSON *mcp_arguments_schema(const struct mcp_argument *arguments, size_t count)
{
    cleanup_json cJSON *schema = cJSON_CreateObject();
    if (!cJSON_AddStringToObject(schema, "type", "object"))
        return NULL;
    cJSON *properties = cJSON_AddObjectToObject(schema, "properties"), *required = cJSON_CreateArray();
    bool ok = properties && required;
    for (size_t i = 0; ok && i < count; i++)
        ok = add_property(properties, &arguments[i]) &&
             (!arguments[i].required || cJSON_AddItemToArray(required, cJSON_CreateString(arguments[i].name)));
    /* "required": [] is not valid in draft 4, which some clients still check against */
    if (ok && cJSON_GetArraySize(required) > 0)
        ok = cJSON_AddItemToObject(schema, "required", required);
    else
        cJSON_Delete(required);
    if (!ok || !cJSON_AddFalseToObject(schema, "additionalProperties"))
        return NULL;
    return steal_ptr(&schema);
}

int mcp_describe_value(struct buf *b, const cJSON *value)
{
    if (!value)
        return buf_adds(b, "nothing");
    if (cJSON_IsObject(value))
        return buf_adds(b, "an object");
    if (cJSON_IsArray(value))
        return buf_adds(b, "an array");
    if (cJSON_IsNull(value) || cJSON_IsBool(value))
        return buf_adds(b, cJSON_IsNull(value) ? "null" : cJSON_IsTrue(value) ? "true" : "false");
    char *text = json_print(value);
    if (!text)
        return -1;
    size_t length = strlen(text), shown = length > SHOWN ? utf8_cut(text, SHOWN) : length;
    int rc = buf_addf(b, "the %s %.*s%s", cJSON_IsString(value) ? "string" : "number", (int)shown, text, shown < length ? "..." : "");
    free(text);
    return rc;
}

/* "argument "timeout" must be ...; got ..." */
static bool wrong(struct buf *problem, const char *name, const char *right, const cJSON *got)
{
    if (buf_addf(problem, "argument \"%s\" must be %s; got ", name, right) == 0)
        mcp_describe_value(problem, got);
    return false;
}

static bool check_choice(const struct mcp_argument *a, const cJSON *value, struct buf *problem)
{
    cleanup_buf struct buf right = {0};
    size_t count = 0;
    for (; a->choices[count]; count++) {
        if (cJSON_IsString(value) && strcmp(a->choices[count], value->valuestring) == 0)
            return true;
        buf_addf(&right, "%s\"%s\"", count == 0 ? "one of " : ", ", a->choices[count]);
    }
    wrong(problem, a->name, right.data ? right.data : "a known word", value);
    const char *near = cJSON_IsString(value) ? near_match(value->valuestring, a->choices, count) : NULL;
    if (near)
        buf_addf(problem, ". Did you mean \"%s\"?", near);
    return false;
}

static bool check_number(const struct mcp_argument *a, const cJSON *value, struct buf *problem)
{
    /* Written so that NaN fails too. */
    if (cJSON_IsNumber(value) && value->valuedouble >= a->accepted_minimum && value->valuedouble <= a->maximum)
        return true;
    cleanup_buf struct buf right = {0};
    buf_addf(&right, "a number of %s from %g to %g", a->unit, a->minimum, a->maximum);
    return wrong(problem, a->name, right.data ? right.data : "a number", value);
}

static bool check_one(const struct mcp_argument *a, const cJSON *value, struct buf *problem)
{
    switch (a->type) {
    case ARGUMENT_TEXT: return cJSON_IsString(value) || wrong(problem, a->name, "a string", value);
    case ARGUMENT_NUMBER: return check_number(a, value, problem);
    case ARGUMENT_CHOICE: return check_choice(a, value, problem);
    case ARGUMENT_FILES: return cJSON_IsArray(value) || wrong(problem, a->name, "an array of {\"path\", \"text\" or \"base64\"}", value);
    }
    return false;
}

static bool unknown(const struct mcp_argument *arguments, size_t count, const char *name, struct buf *problem)
{
    const char *known[16];
    size_t n = 0;
    cleanup_buf struct buf shown = {0};
    utf8_clean(&shown, name, strnlen(name, SHOWN));
    for (; n < count && n < sizeof known / sizeof *known; n++)
        known[n] = arguments[n].name;
    buf_addf(problem, "unknown argument \"%s\"", shown.data ? shown.data : "");
    const char *near = near_match(name, known, n);
    if (near)
        buf_addf(problem, ". Did you mean \"%s\"?", near);
    else if (n == 0)
        buf_adds(problem, ": this tool takes none");
    for (size_t i = 0; !near && i < n; i++)
        buf_addf(problem, "%s%s", i == 0 ? ": known are " : ", ", known[i]);
    return false;
}

bool mcp_arguments_check(const struct mcp_argument *arguments, size_t count, const cJSON *given, struct buf *problem)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, given) {
        size_t i = 0;
        while (i < count && strcmp(arguments[i].name, member->string) != 0)
            i++;
        if (i == count)
            return unknown(arguments, count, member->string, problem);
    }
    for (size_t i = 0; i < count; i++) {
        const cJSON *value = json_get(given, arguments[i].name);
        if (!value && arguments[i].required) {
            buf_addf(problem, "argument \"%s\" is missing: %s", arguments[i].name, arguments[i].description);
            return false;
        }
        if (!value || (cJSON_IsNull(value) && !arguments[i].required))
            continue;
        if (!check_one(&arguments[i], value, problem))
            return false;
    }
    return true;
}

const char *mcp_argument_text(const cJSON *given, const char *name)
{
    return given ? json_get_string(given, name) : NULL;
}
