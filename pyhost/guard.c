#include "guard.h"

#include "guard_names.h"
#include "guard_rules.h"
#include "syntax.h"

#include <string.h>

/* What a node's parents say about it. */
enum { IN_CLASS_BODY = 1, IS_CALLED = 2 };

static const struct configuration *policy;

void guard_use(const struct configuration *c)
{
    policy = c;
}

void findings_free(struct findings *findings)
{
    buf_free(&findings->text);
}

static void check_field(struct guard *g, PyObject *node, const char *field, enum name_use use)
{
    const char *name = syntax_name(node, field);
    if (name)
        guard_name(g, node, name, use);
}

static bool is_name(PyObject *node, const char *id)
{
    const struct node_class *class = node ? syntax_class(node) : NULL;
    const char *name = class && class->kind == NODE_NAME ? syntax_name(node, "id") : NULL;
    return name && strcmp(name, id) == 0;
}

/* super().__init__(...) and its like: the method of the parent class, called at once. */
static bool is_parent_method(PyObject *attribute, const char *name)
{
    cleanup_object PyObject *value = syntax_field(attribute, "value");
    const struct node_class *class = value ? syntax_class(value) : NULL;
    cleanup_object PyObject *function = class && class->kind == NODE_CALL ? syntax_field(value, "func") : NULL;
    return is_name(function, "super") && guard_is_plain_method(name);
}

static void check_attribute(struct guard *g, PyObject *node, int context)
{
    const char *name = syntax_name(node, "attr");
    bool called = context & IS_CALLED;
    if (!name || (called && is_parent_method(node, name)))
        return;
    if (strcmp(name, "format") == 0)
        guard_format(g, node, called);
    else
        guard_attribute(g, node, name);
}

static void check_name(struct guard *g, PyObject *node, int context)
{
    cleanup_object PyObject *ctx = syntax_field(node, "ctx");
    const struct node_class *class = ctx ? syntax_class(ctx) : NULL;
    bool stored = class && strcmp(class->name, "Store") == 0;
    check_field(g, node, "id", stored && (context & IN_CLASS_BODY) ? NAME_IN_CLASS_BODY : NAME_USED);
}

/* A list of strings: names of global and nonlocal, keyword names of a class pattern. */
static void check_strings(struct guard *g, PyObject *node, const char *field, bool attributes)
{
    cleanup_object PyObject *list = syntax_field(node, field);
    for (Py_ssize_t i = 0; list && PyList_Check(list) && i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        const char *name = PyUnicode_Check(item) ? PyUnicode_AsUTF8(item) : NULL;
        if (name && attributes)
            guard_attribute(g, node, name);
        else if (name)
            guard_name(g, node, name, NAME_USED);
        PyErr_Clear();
    }
}

static void check_alias(struct guard *g, PyObject *alias, const char *module, long level, bool from)
{
    const char *name = syntax_name(alias, "name"), *as = syntax_name(alias, "asname");
    if (!name)
        return;
    if (from)
        guard_import_from(g, alias, module, level, name);
    else
        guard_import(g, alias, name);
    if (strcmp(name, "*") == 0)
        return;
    char first[256]; /* what `import a.b` binds */
    snprintf(first, sizeof first, "%.*s", (int)strcspn(name, "."), name);
    guard_name(g, alias, as ? as : first, NAME_USED);
}

static void check_import(struct guard *g, PyObject *node, bool from)
{
    cleanup_object PyObject *names = syntax_field(node, "names");
    cleanup_object PyObject *level = from ? syntax_field(node, "level") : NULL;
    const char *module = from ? syntax_name(node, "module") : NULL;
    long dots = level && PyLong_Check(level) ? PyLong_AsLong(level) : 0;
    for (Py_ssize_t i = 0; names && PyList_Check(names) && i < PyList_GET_SIZE(names); i++)
        check_alias(g, PyList_GET_ITEM(names, i), module, dots, from);
}

/* type(name, bases, dict) makes a class whose parts no text shows. */
static void check_call(struct guard *g, PyObject *node)
{
    cleanup_object PyObject *function = syntax_field(node, "func");
    cleanup_object PyObject *args = syntax_field(node, "args");
    cleanup_object PyObject *keywords = syntax_field(node, "keywords");
    if (!g->policy->restricted || !is_name(function, "type"))
        return;
    bool one = args && PyList_Check(args) && PyList_GET_SIZE(args) == 1 && keywords && PyList_Check(keywords) &&
               PyList_GET_SIZE(keywords) == 0;
    const struct node_class *class = one ? syntax_class(PyList_GET_ITEM(args, 0)) : NULL;
    if (!class || strcmp(class->name, "Starred") == 0)
        guard_report(g, node, "type-call", "write a class statement",
                     "type() with more than one argument makes a class; policy %s refuses it", g->policy->policy);
}

static void check_metaclass(struct guard *g, PyObject *node)
{
    cleanup_object PyObject *keywords = syntax_field(node, "keywords");
    for (Py_ssize_t i = 0; g->policy->restricted && keywords && PyList_Check(keywords) && i < PyList_GET_SIZE(keywords); i++) {
        PyObject *keyword = PyList_GET_ITEM(keywords, i);
        const char *name = syntax_name(keyword, "arg");
        if (!name || strcmp(name, "metaclass") == 0)
            guard_report(g, keyword, "class-keyword", "inherit from a base class (abc.ABC for abstract classes)",
                         "a metaclass is refused by policy %s", g->policy->policy);
    }
}

static void check_node(struct guard *g, PyObject *node, const struct node_class *class, int context)
{
    bool in_class = context & IN_CLASS_BODY;
    if (names_have(&g->policy->denied_nodes, class->name))
        guard_report(g, node, "node-denied", "write it without this construct", "%s is refused by policy %s", class->name,
                     g->policy->policy);
    switch (class->kind) {
    case NODE_ATTRIBUTE: check_attribute(g, node, context); break;
    case NODE_NAME: check_name(g, node, context); break;
    case NODE_FUNCTION: check_field(g, node, "name", in_class ? NAME_METHOD : NAME_USED); break;
    case NODE_CLASS:
        check_field(g, node, "name", in_class ? NAME_IN_CLASS_BODY : NAME_USED);
        check_metaclass(g, node);
        break;
    case NODE_ARG: check_field(g, node, "arg", NAME_USED); break;
    case NODE_KEYWORD: check_field(g, node, "arg", NAME_KEYWORD); break;
    case NODE_EXCEPT:
    case NODE_MATCH_NAME:
    case NODE_TYPE_PARAMETER: check_field(g, node, "name", NAME_USED); break;
    case NODE_MATCH_MAPPING: check_field(g, node, "rest", NAME_USED); break;
    case NODE_MATCH_CLASS: check_strings(g, node, "kwd_attrs", true); break;
    case NODE_GLOBAL: check_strings(g, node, "names", false); break;
    case NODE_IMPORT: check_import(g, node, false); break;
    case NODE_IMPORT_FROM: check_import(g, node, true); break;
    case NODE_CALL: check_call(g, node); break;
    default: break;
    }
}

static int push_parts(struct node_stack *stack, PyObject *node, const struct node_class *class, int context)
{
    switch (class->kind) {
    case NODE_CLASS: /* reverse of the source's order: what is pushed last is visited first */
        if (syntax_push_field(stack, node, "body", IN_CLASS_BODY) < 0 || syntax_push_field(stack, node, "keywords", 0) < 0 ||
            syntax_push_field(stack, node, "bases", 0) < 0 || syntax_push_field(stack, node, "type_params", 0) < 0)
            return -1;
        return syntax_push_field(stack, node, "decorator_list", 0);
    case NODE_CALL:
        if (syntax_push_field(stack, node, "keywords", 0) < 0 || syntax_push_field(stack, node, "args", 0) < 0)
            return -1;
        return syntax_push_field(stack, node, "func", IS_CALLED);
    case NODE_PLAIN: /* statements and targets of a class body are still in the class body */
    case NODE_ANN_ASSIGN:
    case NODE_EXPR:
        return syntax_push_children(stack, node, class, context & IN_CLASS_BODY);
    default:
        return syntax_push_children(stack, node, class, 0);
    }
}

int guard_check(PyObject *tree, PyObject *filename, struct findings *ret)
{
    if (!policy || !configuration_guarded(policy))
        return 0;
    struct guard g = {policy, filename, ret};
    cleanup_stack struct node_stack stack = {0};
    if (syntax_push(&stack, tree, 0) < 0)
        return -1;
    PyObject *popped;
    int context;
    while (syntax_pop(&stack, &popped, &context)) {
        cleanup_object PyObject *node = popped;
        const struct node_class *class = syntax_class(node);
        if (class)
            check_node(&g, node, class, context);
        else if (policy->restricted)
            guard_report(&g, node, "node-unknown", "write it without this construct",
                         "%s is not known to this version; policy %s refuses it", Py_TYPE(node)->tp_name, policy->policy);
        if (class && push_parts(&stack, node, class, context) < 0)
            return -1;
    }
    if (ret->count > GUARD_FINDINGS)
        buf_addf(&ret->text, "\n... and %zu more", ret->count - GUARD_FINDINGS);
    return ret->count > 0;
}
