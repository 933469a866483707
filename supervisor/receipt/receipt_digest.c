/* The digest of a receipt: of its compact JSON with the members of every object in byte order of their names. */
#include "receipt/receipt.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    const cJSON *const *x = a, *const *y = b;
    return strcmp((*x)->string, (*y)->string);
}

static void add_text(struct digest *d, const char *text)
{
    digest_add(d, text, strlen(text));
}

static int add_value(struct digest *d, const cJSON *value);

static int add_leaf(struct digest *d, const cJSON *value)
{
    char *text = json_print(value);
    if (!text)
        return -1;
    add_text(d, text);
    free(text);
    return 0;
}

/* A string is printed as JSON prints it: names go through a stand-in value. */
static int add_name(struct digest *d, char *name)
{
    cJSON stand_in = {.type = cJSON_String, .valuestring = name};
    return add_leaf(d, &stand_in);
}

static int add_object(struct digest *d, const cJSON *object)
{
    size_t count = (size_t)cJSON_GetArraySize(object), n = 0;
    const cJSON **members = calloc(count + 1, sizeof *members), *m;
    if (!members)
        return -1;
    cJSON_ArrayForEach(m, object) members[n++] = m;
    qsort(members, n, sizeof *members, by_name);
    int rc = 0;
    add_text(d, "{");
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (i > 0)
            add_text(d, ",");
        rc = add_name(d, members[i]->string);
        add_text(d, ":");
        if (rc == 0)
            rc = add_value(d, members[i]);
    }
    add_text(d, "}");
    free(members);
    return rc;
}

static int add_array(struct digest *d, const cJSON *array)
{
    const cJSON *m;
    bool first = true;
    add_text(d, "[");
    cJSON_ArrayForEach(m, array) {
        if (!first)
            add_text(d, ",");
        first = false;
        if (add_value(d, m) < 0)
            return -1;
    }
    add_text(d, "]");
    return 0;
}

/* Recursion is bounded: receipts are flat but for result.json, which was parsed with a bound on its depth. */
static int add_value(struct digest *d, const cJSON *value)
{
    if (cJSON_IsObject(value))
        return add_object(d, value);
    if (cJSON_IsArray(value))
        return add_array(d, value);
    return add_leaf(d, value);
}

void receipt_digest(const cJSON *receipt, char ret_text[DIGEST_TEXT])
{
    struct digest d;
    digest_begin(&d);
    int rc = add_value(&d, receipt);
    digest_end(&d, ret_text);
    if (rc < 0)
        ret_text[0] = '\0'; /* out of memory: an absent digest is true, a wrong one is not */
}
