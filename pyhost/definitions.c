/* What a module's own code defines: names it binds, classes it makes (syntax.h). */
#include "syntax.h"

#include <string.h>

static bool is_store(PyObject *node)
{
    cleanup_object PyObject *ctx = syntax_field(node, "ctx");
    const struct node_class *class = ctx ? syntax_class(ctx) : NULL;
    return class && strcmp(class->name, "Store") == 0;
}

/* `import a.b` binds a, `import a.b as c` binds c. */
static bool alias_binds(PyObject *node, const char *name)
{
    const char *as = syntax_name(node, "asname"), *module = syntax_name(node, "name");
    if (as)
        return strcmp(as, name) == 0;
    size_t length = module ? strcspn(module, ".") : 0;
    return module && strlen(name) == length && strncmp(module, name, length) == 0;
}

static bool field_is(PyObject *node, const char *field, const char *name)
{
    const char *text = syntax_name(node, field);
    return text && strcmp(text, name) == 0;
}

static bool node_binds(PyObject *node, enum node_kind kind, const char *name)
{
    switch (kind) {
    case NODE_NAME: return field_is(node, "id", name) && is_store(node);
    case NODE_ALIAS: return alias_binds(node, name);
    case NODE_MATCH_NAME: return field_is(node, "name", name);
    case NODE_MATCH_MAPPING: return field_is(node, "rest", name);
    default: return false;
    }
}

static int push_own(struct node_stack *stack, PyObject *node, const struct node_class *class)
{
    switch (class->kind) {
    case NODE_FUNCTION:
    case NODE_CLASS:
    case NODE_LAMBDA: /* scopes of their own */
        return 0;
    case NODE_COMPREHENSION: /* its target lives in the comprehension; a walrus in it does not */
        return syntax_push_field(stack, node, "ifs", 0) < 0 ? -1 : syntax_push_field(stack, node, "iter", 0);
    case NODE_ANN_ASSIGN: { /* `x: int` alone binds nothing */
        cleanup_object PyObject *value = syntax_field(node, "value");
        return !value || value == Py_None ? 0 : syntax_push_children(stack, node, class, 0);
    }
    default:
        return syntax_push_children(stack, node, class, 0);
    }
}

int syntax_binds(PyObject *module, const char *name)
{
    cleanup_stack struct node_stack stack = {0};
    if (syntax_push(&stack, module, 0) < 0)
        return -1;
    PyObject *popped;
    int context;
    while (syntax_pop(&stack, &popped, &context)) {
        cleanup_object PyObject *node = popped;
        const struct node_class *class = syntax_class(node);
        if (!class)
            continue;
        if (node_binds(node, class->kind, name))
            return 1;
        if (push_own(&stack, node, class) < 0)
            return -1;
    }
    return 0;
}

static int visit_statement(PyObject *node, PyObject *prefix, int (*visit)(PyObject *, void *), void *data);

static bool holds_statements(const char *field)
{
    static const char *const blocks[] = {"body", "orelse", "handlers", "finalbody", "cases"};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (strcmp(field, blocks[i]) == 0)
            return true;
    return false;
}

/* Statements are nested a hundred deep at most (the tokenizer's limit on indentation), so recursion is safe. */
static int visit_blocks(PyObject *node, const struct node_class *class, PyObject *prefix,
                        int (*visit)(PyObject *, void *), void *data)
{
    for (size_t i = 0; i < sizeof class->children / sizeof *class->children && class->children[i]; i++) {
        if (!holds_statements(class->children[i]))
            continue;
        cleanup_object PyObject *list = syntax_field(node, class->children[i]);
        for (Py_ssize_t k = 0; list && PyList_Check(list) && k < PyList_GET_SIZE(list); k++)
            if (visit_statement(PyList_GET_ITEM(list, k), prefix, visit, data) < 0)
                return -1;
    }
    return 0;
}

static int visit_statement(PyObject *node, PyObject *prefix, int (*visit)(PyObject *, void *), void *data)
{
    const struct node_class *class = syntax_class(node);
    if (!class)
        return 0;
    if (class->kind != NODE_CLASS && class->kind != NODE_FUNCTION)
        return visit_blocks(node, class, prefix, visit, data);
    cleanup_object PyObject *name = syntax_field(node, "name");
    cleanup_object PyObject *qualname = name ? PyUnicode_FromFormat("%U%U", prefix, name) : NULL;
    if (!qualname || (class->kind == NODE_CLASS && visit(qualname, data) < 0))
        return -1;
    cleanup_object PyObject *inner =
        PyUnicode_FromFormat(class->kind == NODE_CLASS ? "%U." : "%U.<locals>.", qualname);
    return inner ? visit_blocks(node, class, inner, visit, data) : -1;
}

int syntax_classes_defined(PyObject *module, int (*visit)(PyObject *qualname, void *data), void *data)
{
    cleanup_object PyObject *prefix = PyUnicode_FromString("");
    const struct node_class *class = syntax_class(module);
    return prefix && class ? visit_blocks(module, class, prefix, visit, data) : -1;
}
