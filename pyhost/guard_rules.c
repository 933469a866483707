#include "guard_rules.h"

#include "guard_names.h"
#include "imports.h"
#include "source.h"
#include "syntax.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define REMEDY_FORMAT "use an f-string, or call .format on a string literal with plain fields"

void guard_report(struct guard *g, PyObject *node, const char *rule, const char *remedy, const char *format, ...)
{
    struct findings *f = g->findings;
    long line = syntax_line(node), column = source_column(g->filename, line, syntax_offset(node));
    if (f->count == 0) {
        f->line = line;
        f->column = column;
        snprintf(f->rule, sizeof f->rule, "%s", rule);
        snprintf(f->remedy, sizeof f->remedy, "%s", remedy);
    }
    if (f->count++ >= GUARD_FINDINGS)
        return;
    char what[1400];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    buf_addf(&f->text, "%sline %ld, column %ld: %s", f->text.len ? "\n" : "", line, column, what);
}

/* The scanner of format strings asks without a context; there is one policy per process. */
static const struct configuration *policy;

static bool attribute_refused(const char *name)
{
    if (names_have(&policy->allowed_names, name))
        return false;
    return names_have(&policy->denied_attributes, name) || (policy->restricted && name[0] == '_');
}

void guard_attribute(struct guard *g, PyObject *node, const char *name)
{
    policy = g->policy;
    if (names_have(&policy->allowed_names, name))
        return;
    if (policy->restricted && name[0] == '_')
        guard_report(g, node, "attribute-underscore", "use the public interface of the object",
                     "attribute '%.100s' begins with an underscore; policy %s refuses it", name, policy->policy);
    else if (names_have(&policy->denied_attributes, name))
        guard_report(g, node, "attribute-denied", "do without looking into the interpreter's own objects",
                     "attribute '%.100s' is refused by policy %s", name, policy->policy);
    else if (policy->restricted && (strcmp(name, "format") == 0 || strcmp(name, "format_map") == 0))
        guard_report(g, node, "format", REMEDY_FORMAT,
                     "'.%s' on a value that is no string literal is refused by policy %s: its fields could look up any attribute; "
                     REMEDY_FORMAT, name, policy->policy);
}

void guard_format(struct guard *g, PyObject *attribute, bool is_called)
{
    policy = g->policy;
    cleanup_object PyObject *value = syntax_field(attribute, "value");
    const struct node_class *class = value ? syntax_class(value) : NULL;
    cleanup_object PyObject *literal = class && strcmp(class->name, "Constant") == 0 ? syntax_field(value, "value") : NULL;
    Py_ssize_t length;
    const char *text = literal && PyUnicode_Check(literal) ? PyUnicode_AsUTF8AndSize(literal, &length) : NULL;
    PyErr_Clear();
    if (!policy->restricted || !is_called || !text) {
        guard_attribute(g, attribute, "format");
        return;
    }
    char name[100];
    if (guard_format_refused(text, (size_t)length, attribute_refused, name, sizeof name))
        guard_report(g, attribute, "format", REMEDY_FORMAT,
                     "the format string looks up attribute '%s'; policy %s refuses it; " REMEDY_FORMAT, name, policy->policy);
}

static bool is_special_but_harmless(const char *name, enum name_use use)
{
    if (strcmp(name, "__name__") == 0)
        return true;
    return (use == NAME_METHOD && guard_is_plain_method(name)) || (use == NAME_IN_CLASS_BODY && guard_is_class_setting(name));
}

void guard_name(struct guard *g, PyObject *node, const char *name, enum name_use use)
{
    const struct configuration *p = g->policy;
    if (names_have(&p->allowed_names, name))
        return;
    if (use == NAME_USED && names_have(&p->denied_builtins, name))
        guard_report(g, node, "builtin-denied", "do without it, or choose another name if it is your own",
                     "builtin '%.100s' is refused by policy %s", name, p->policy);
    else if (p->restricted && strncmp(name, "__", 2) == 0 && !is_special_but_harmless(name, use))
        guard_report(g, node, "name-dunder", "choose a name that does not begin with two underscores",
                     "name '%.100s' begins with two underscores; policy %s refuses it", name, p->policy);
}

static void report_import(struct guard *g, PyObject *node, const char *name)
{
    char text[1024];
    imports_explain(name, text, sizeof text);
    guard_report(g, node, "import", "use one of the modules that the policy allows", "%s", text);
}

/* A dotted name is a path of attributes as well. */
static void guard_path(struct guard *g, PyObject *node, const char *name)
{
    char part[256];
    for (const char *at = name; at; at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL) {
        snprintf(part, sizeof part, "%.*s", (int)strcspn(at, "."), at);
        guard_attribute(g, node, part);
    }
}

void guard_import(struct guard *g, PyObject *node, const char *name)
{
    /* Under the whole language an import is judged when it runs: `try: import x except ImportError` is ordinary code. */
    if (!g->policy->restricted)
        return;
    if (!imports_allowed(name))
        report_import(g, node, name);
    else
        guard_path(g, node, name);
}

void guard_import_from(struct guard *g, PyObject *node, const char *module, long level, const char *item)
{
    if (!g->policy->restricted)
        return;
    if (level > 0 || !module) {
        guard_report(g, node, "import-relative", "import by the full name", "a relative import is refused by policy %s",
                     g->policy->policy);
        return;
    }
    char full[512];
    snprintf(full, sizeof full, "%s.%s", module, item);
    if (!imports_allowed(module) && !imports_allowed(full))
        report_import(g, node, module);
    else if (strcmp(item, "*") == 0)
        guard_report(g, node, "import-star", "name what you import", "'from %.100s import *' is refused by policy %s", module,
                     g->policy->policy);
    else
        guard_path(g, node, full);
}
