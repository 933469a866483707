#include "guard_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

#define HAVE(table, name) (bsearch(name, table, sizeof table / sizeof *table, sizeof *table, compare) != NULL)

bool guard_is_plain_method(const char *name)
{
    static const char *const methods[] = { /* sorted */
        "__abs__", "__add__", "__aenter__", "__aexit__", "__aiter__", "__and__", "__anext__", "__bool__", "__call__",
        "__ceil__", "__complex__", "__contains__", "__delitem__", "__divmod__", "__enter__", "__eq__", "__exit__",
        "__float__", "__floor__", "__floordiv__", "__format__", "__ge__", "__getitem__", "__gt__", "__hash__", "__iadd__",
        "__iand__", "__ifloordiv__", "__ilshift__", "__imatmul__", "__imod__", "__imul__", "__index__", "__init__",
        "__int__", "__invert__", "__ior__", "__ipow__", "__irshift__", "__isub__", "__iter__", "__itruediv__", "__ixor__",
        "__le__", "__len__", "__length_hint__", "__lshift__", "__lt__", "__matmul__", "__missing__", "__mod__", "__mul__",
        "__ne__", "__neg__", "__next__", "__or__", "__pos__", "__post_init__", "__pow__", "__radd__", "__rand__",
        "__rdivmod__", "__repr__", "__reversed__", "__rfloordiv__", "__rlshift__", "__rmatmul__", "__rmod__", "__rmul__",
        "__ror__", "__round__", "__rpow__", "__rrshift__", "__rshift__", "__rsub__", "__rtruediv__", "__rxor__",
        "__setitem__", "__str__", "__sub__", "__truediv__", "__trunc__", "__xor__",
    };
    return HAVE(methods, name);
}

bool guard_is_class_setting(const char *name)
{
    static const char *const settings[] = {"__doc__", "__hash__", "__slots__"}; /* sorted */
    return HAVE(settings, name);
}

struct scanner {
    const char *at, *end;
    bool (*refused)(const char *name);
    char *ret;
    size_t size;
};

static bool found(struct scanner *s, const char *name)
{
    snprintf(s->ret, s->size, "%s", name);
    return true;
}

/* After a '.', up to the next '.', '[', '!', ':' or '}'. */
static bool attribute_refused(struct scanner *s)
{
    char name[128];
    size_t length = 0;
    while (s->at < s->end && !strchr(".[!:}{", *s->at) && length < sizeof name - 1)
        name[length++] = *s->at++;
    name[length] = 0;
    return length == 0 || length == sizeof name - 1 ? found(s, "?") : s->refused(name) ? found(s, name) : false;
}

static bool replacement_refused(struct scanner *s, int level);

/* The specification behind ':' may hold replacement fields of its own. Stands on the closing brace afterwards. */
static bool specification_refused(struct scanner *s, int level)
{
    while (s->at < s->end && *s->at != '}') {
        if (*s->at++ == '{' && (level > 1 ? found(s, "?") : replacement_refused(s, level + 1)))
            return true;
    }
    return false;
}

/* Just behind '{': field name with its path, conversion, specification, '}'. */
static bool replacement_refused(struct scanner *s, int level)
{
    while (s->at < s->end && !strchr("!:}", *s->at)) {
        char c = *s->at++;
        if (c == '{')
            return found(s, "?");
        if (c == '[') { /* an item, not an attribute: any text up to ']' */
            while (s->at < s->end && *s->at != ']')
                s->at++;
            if (s->at < s->end)
                s->at++;
        } else if (c == '.' && attribute_refused(s)) {
            return true;
        }
    }
    if (s->at < s->end && *s->at == '!')
        s->at += s->end - s->at > 1 ? 2 : 1;
    if (s->at < s->end && *s->at == ':' && (s->at++, specification_refused(s, level)))
        return true;
    if (s->at == s->end || *s->at != '}')
        return found(s, "?");
    s->at++;
    return false;
}

bool guard_format_refused(const char *text, size_t length, bool (*refused)(const char *name), char *ret, size_t size)
{
    struct scanner s = {text, text + length, refused, ret, size};
    while (s.at < s.end) {
        char c = *s.at++;
        if ((c == '{' || c == '}') && s.at < s.end && *s.at == c)
            s.at++; /* doubled: a brace */
        else if (c == '{' && replacement_refused(&s, 1))
            return true;
    }
    return false;
}
