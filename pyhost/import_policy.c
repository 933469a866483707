/* The pure half of imports.h: names, files, words. */
#include "imports.h"

#include "import_policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct configuration *policy;
static struct names trusted; /* directories, each with a trailing slash */

void import_policy_use(const struct configuration *c)
{
    policy = c;
}

int import_policy_trust(const char *directory)
{
    size_t length = strlen(directory);
    char **items = realloc(trusted.items, (trusted.count + 1) * sizeof *items);
    if (!items)
        return -1;
    trusted.items = items;
    items[trusted.count] = malloc(length + 2);
    if (!items[trusted.count])
        return -1;
    snprintf(items[trusted.count++], length + 2, "%s/", directory);
    return 0;
}

/* "pkg" covers "pkg" and "pkg.sub". */
static bool covers(const char *entry, const char *name)
{
    size_t length = strlen(entry);
    return strncmp(entry, name, length) == 0 && (name[length] == 0 || name[length] == '.');
}

static bool listed(const char *name)
{
    for (size_t i = 0; i < policy->imports.count; i++)
        if (covers(policy->imports.items[i], name))
            return true;
    return false;
}

bool imports_allowed(const char *name)
{
    return listed(name) == policy->imports_allow_list;
}

bool imports_leads_to_allowed(const char *name)
{
    for (size_t i = 0; policy->imports_allow_list && i < policy->imports.count; i++)
        if (covers(name, policy->imports.items[i]))
            return true;
    return imports_allowed(name);
}

static const char *reason(const char *name)
{
    static const char *const native[] = {"ctypes", "_ctypes", "_ctypes_test", "cffi", "_cffi_backend", "pycparser", "_testcapi"};
    for (size_t i = 0; i < sizeof native / sizeof *native; i++)
        if (covers(native[i], name))
            return "it opens native code";
    return "the policy's imports list names it";
}

#define NAMED 24 /* allowed modules that a message names */

void imports_explain(const char *name, char *ret, size_t size)
{
    int at = snprintf(ret, size, "import of '%.100s' is refused by policy %s: ", name, policy->policy);
    if (at < 0 || (size_t)at >= size)
        return;
    if (!policy->imports_allow_list) {
        snprintf(ret + at, size - (size_t)at, "%s", reason(name));
        return;
    }
    at += snprintf(ret + at, size - (size_t)at, "it allows only");
    size_t shown = policy->imports.count < NAMED ? policy->imports.count : NAMED;
    for (size_t i = 0; i < shown && (size_t)at < size; i++)
        at += snprintf(ret + at, size - (size_t)at, "%s %s", i ? "," : "", policy->imports.items[i]);
    if (shown < policy->imports.count && (size_t)at < size)
        snprintf(ret + at, size - (size_t)at, " and %zu more", policy->imports.count - shown);
}

bool imports_trusted_file(const char *filename)
{
    if (strncmp(filename, "<frozen ", 8) == 0)
        return true;
    /* a path that climbs out again ("/usr/lib/python3.11/../../tmp/x.py") is not in the directory it begins with */
    if (strstr(filename, "/../"))
        return false;
    for (size_t i = 0; i < trusted.count; i++)
        if (strncmp(filename, trusted.items[i], strlen(trusted.items[i])) == 0)
            return true;
    return false;
}

bool import_policy_is_machinery(const char *filename)
{
    if (strncmp(filename, "<frozen importlib", 17) == 0)
        return true;
    const char *tail = strstr(filename, "/importlib/__init__.py");
    return tail && imports_trusted_file(filename);
}
