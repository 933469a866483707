#include "syntax.h"

#include <stdlib.h>
#include <string.h>

const struct node_class syntax_classes[] = { /* sorted by name */
    {"Add", NODE_PLAIN, {0}}, {"And", NODE_PLAIN, {0}},
    {"AnnAssign", NODE_ANN_ASSIGN, {"target", "annotation", "value"}},
    {"Assert", NODE_PLAIN, {"test", "msg"}}, {"Assign", NODE_PLAIN, {"targets", "value"}},
    {"AsyncFor", NODE_PLAIN, {"target", "iter", "body", "orelse"}},
    {"AsyncFunctionDef", NODE_FUNCTION, {"decorator_list", "type_params", "args", "returns", "body"}},
    {"AsyncWith", NODE_PLAIN, {"items", "body"}}, {"Attribute", NODE_ATTRIBUTE, {"value"}},
    {"AugAssign", NODE_PLAIN, {"target", "value"}}, {"Await", NODE_PLAIN, {"value"}},
    {"BinOp", NODE_PLAIN, {"left", "op", "right"}}, {"BitAnd", NODE_PLAIN, {0}}, {"BitOr", NODE_PLAIN, {0}},
    {"BitXor", NODE_PLAIN, {0}}, {"BoolOp", NODE_PLAIN, {"op", "values"}}, {"Break", NODE_PLAIN, {0}},
    {"Call", NODE_CALL, {"func", "args", "keywords"}},
    {"ClassDef", NODE_CLASS, {"decorator_list", "type_params", "bases", "keywords", "body"}},
    {"Compare", NODE_PLAIN, {"left", "ops", "comparators"}}, {"Constant", NODE_PLAIN, {0}}, {"Continue", NODE_PLAIN, {0}},
    {"Del", NODE_PLAIN, {0}}, {"Delete", NODE_PLAIN, {"targets"}}, {"Dict", NODE_PLAIN, {"keys", "values"}},
    {"DictComp", NODE_PLAIN, {"key", "value", "generators"}}, {"Div", NODE_PLAIN, {0}}, {"Eq", NODE_PLAIN, {0}},
    {"ExceptHandler", NODE_EXCEPT, {"type", "body"}}, {"Expr", NODE_EXPR, {"value"}},
    {"Expression", NODE_PLAIN, {"body"}}, {"FloorDiv", NODE_PLAIN, {0}},
    {"For", NODE_PLAIN, {"target", "iter", "body", "orelse"}},
    {"FormattedValue", NODE_PLAIN, {"value", "format_spec"}},
    {"FunctionDef", NODE_FUNCTION, {"decorator_list", "type_params", "args", "returns", "body"}},
    {"GeneratorExp", NODE_PLAIN, {"elt", "generators"}}, {"Global", NODE_GLOBAL, {0}}, {"Gt", NODE_PLAIN, {0}},
    {"GtE", NODE_PLAIN, {0}}, {"If", NODE_PLAIN, {"test", "body", "orelse"}},
    {"IfExp", NODE_PLAIN, {"test", "body", "orelse"}}, {"Import", NODE_IMPORT, {"names"}},
    {"ImportFrom", NODE_IMPORT_FROM, {"names"}}, {"In", NODE_PLAIN, {0}}, {"Invert", NODE_PLAIN, {0}},
    {"Is", NODE_PLAIN, {0}}, {"IsNot", NODE_PLAIN, {0}}, {"JoinedStr", NODE_PLAIN, {"values"}}, {"LShift", NODE_PLAIN, {0}},
    {"Lambda", NODE_LAMBDA, {"args", "body"}}, {"List", NODE_PLAIN, {"elts", "ctx"}},
    {"ListComp", NODE_PLAIN, {"elt", "generators"}}, {"Load", NODE_PLAIN, {0}}, {"Lt", NODE_PLAIN, {0}},
    {"LtE", NODE_PLAIN, {0}}, {"MatMult", NODE_PLAIN, {0}}, {"Match", NODE_PLAIN, {"subject", "cases"}},
    {"MatchAs", NODE_MATCH_NAME, {"pattern"}}, {"MatchClass", NODE_MATCH_CLASS, {"cls", "patterns", "kwd_patterns"}},
    {"MatchMapping", NODE_MATCH_MAPPING, {"keys", "patterns"}}, {"MatchOr", NODE_PLAIN, {"patterns"}},
    {"MatchSequence", NODE_PLAIN, {"patterns"}}, {"MatchSingleton", NODE_PLAIN, {0}}, {"MatchStar", NODE_MATCH_NAME, {0}},
    {"MatchValue", NODE_PLAIN, {"value"}}, {"Mod", NODE_PLAIN, {0}}, {"Module", NODE_PLAIN, {"body"}},
    {"Mult", NODE_PLAIN, {0}}, {"Name", NODE_NAME, {"ctx"}}, {"NamedExpr", NODE_PLAIN, {"target", "value"}},
    {"Nonlocal", NODE_GLOBAL, {0}}, {"Not", NODE_PLAIN, {0}}, {"NotEq", NODE_PLAIN, {0}}, {"NotIn", NODE_PLAIN, {0}},
    {"Or", NODE_PLAIN, {0}}, {"ParamSpec", NODE_TYPE_PARAMETER, {"default_value"}}, {"Pass", NODE_PLAIN, {0}},
    {"Pow", NODE_PLAIN, {0}}, {"RShift", NODE_PLAIN, {0}}, {"Raise", NODE_PLAIN, {"exc", "cause"}},
    {"Return", NODE_PLAIN, {"value"}}, {"Set", NODE_PLAIN, {"elts"}}, {"SetComp", NODE_PLAIN, {"elt", "generators"}},
    {"Slice", NODE_PLAIN, {"lower", "upper", "step"}}, {"Starred", NODE_PLAIN, {"value", "ctx"}}, {"Store", NODE_PLAIN, {0}},
    {"Sub", NODE_PLAIN, {0}}, {"Subscript", NODE_PLAIN, {"value", "slice", "ctx"}},
    {"Try", NODE_PLAIN, {"body", "handlers", "orelse", "finalbody"}},
    {"TryStar", NODE_PLAIN, {"body", "handlers", "orelse", "finalbody"}}, {"Tuple", NODE_PLAIN, {"elts", "ctx"}},
    {"TypeAlias", NODE_PLAIN, {"name", "type_params", "value"}},
    {"TypeVar", NODE_TYPE_PARAMETER, {"bound", "default_value"}},
    {"TypeVarTuple", NODE_TYPE_PARAMETER, {"default_value"}}, {"UAdd", NODE_PLAIN, {0}}, {"USub", NODE_PLAIN, {0}},
    {"UnaryOp", NODE_PLAIN, {"op", "operand"}}, {"While", NODE_PLAIN, {"test", "body", "orelse"}},
    {"With", NODE_PLAIN, {"items", "body"}}, {"Yield", NODE_PLAIN, {"value"}}, {"YieldFrom", NODE_PLAIN, {"value"}},
    {"alias", NODE_ALIAS, {0}}, {"arg", NODE_ARG, {"annotation"}},
    {"arguments", NODE_PLAIN, {"posonlyargs", "args", "vararg", "kwonlyargs", "kw_defaults", "kwarg", "defaults"}},
    {"comprehension", NODE_COMPREHENSION, {"target", "iter", "ifs"}}, {"keyword", NODE_KEYWORD, {"value"}},
    {"match_case", NODE_PLAIN, {"pattern", "guard", "body"}}, {"withitem", NODE_PLAIN, {"context_expr", "optional_vars"}},
    {NULL, NODE_UNKNOWN, {0}},
};
#define CLASS_COUNT (sizeof syntax_classes / sizeof *syntax_classes - 1)

static int compare_class(const void *key, const void *class)
{
    return strcmp(key, ((const struct node_class *)class)->name);
}

const struct node_class *syntax_class(PyObject *node)
{
    const char *name = Py_TYPE(node)->tp_name, *dot = strrchr(name, '.');
    return bsearch(dot ? dot + 1 : name, syntax_classes, CLASS_COUNT, sizeof *syntax_classes, compare_class);
}

PyObject *syntax_field(PyObject *node, const char *name)
{
    PyObject *value = PyObject_GetAttrString(node, name);
    if (!value)
        PyErr_Clear();
    return value;
}

const char *syntax_name(PyObject *node, const char *field)
{
    cleanup_object PyObject *value = syntax_field(node, field);
    const char *text = value && PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : NULL;
    if (!text)
        PyErr_Clear();
    return text; /* kept alive by the node, which holds the str */
}

static long number(PyObject *node, const char *field)
{
    cleanup_object PyObject *value = syntax_field(node, field);
    long n = value && PyLong_Check(value) ? PyLong_AsLong(value) : 0;
    PyErr_Clear();
    return n;
}

long syntax_line(PyObject *node) { return number(node, "lineno"); }
long syntax_offset(PyObject *node) { return number(node, "col_offset"); }

int syntax_push(struct node_stack *stack, PyObject *node, int context)
{
    if (stack->count == stack->room) {
        size_t room = stack->room ? stack->room * 2 : 64;
        struct node_entry *entries = realloc(stack->entries, room * sizeof *entries);
        if (!entries) {
            PyErr_NoMemory();
            return -1;
        }
        stack->entries = entries;
        stack->room = room;
    }
    stack->entries[stack->count].node = Py_NewRef(node);
    stack->entries[stack->count++].context = context;
    return 0;
}

int syntax_push_field(struct node_stack *stack, PyObject *node, const char *field, int context)
{
    cleanup_object PyObject *value = syntax_field(node, field);
    if (!value || value == Py_None)
        return 0;
    if (!PyList_Check(value))
        return syntax_push(stack, value, context);
    for (Py_ssize_t i = PyList_GET_SIZE(value); i-- > 0;) {
        PyObject *item = PyList_GET_ITEM(value, i);
        if (item != Py_None && syntax_push(stack, item, context) < 0)
            return -1;
    }
    return 0;
}

int syntax_push_children(struct node_stack *stack, PyObject *node, const struct node_class *class, int context)
{
    size_t count = 0;
    while (count < sizeof class->children / sizeof *class->children && class->children[count])
        count++;
    while (count-- > 0)
        if (syntax_push_field(stack, node, class->children[count], context) < 0)
            return -1;
    return 0;
}

bool syntax_pop(struct node_stack *stack, PyObject **ret_node, int *ret_context)
{
    if (stack->count == 0)
        return false;
    struct node_entry *entry = &stack->entries[--stack->count];
    *ret_node = entry->node;
    *ret_context = entry->context;
    return true;
}

void syntax_stack_free(struct node_stack *stack)
{
    while (stack->count > 0)
        Py_DECREF(stack->entries[--stack->count].node);
    free(stack->entries);
    *stack = (struct node_stack){0};
}
