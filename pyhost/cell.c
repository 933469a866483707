#include "cell.h"

#include "classes.h"
#include "exception.h"
#include "source.h"
#include "syntax.h"

#include <string.h>

static PyObject *builtin_compile, *expression_class;

int cell_prepare(struct error *err)
{
    cleanup_object PyObject *builtins = PyImport_ImportModule("builtins");
    cleanup_object PyObject *ast = PyImport_ImportModule("_ast");
    builtin_compile = builtins ? PyObject_GetAttrString(builtins, "compile") : NULL;
    expression_class = ast ? PyObject_GetAttrString(ast, "Expression") : NULL;
    return builtin_compile && expression_class ? 0 : error_from_python(err, "interpreter", "compile is missing");
}

/* dont_inherit: no flags from whatever frame happens to be there. */
static PyObject *compile_part(PyObject *source, PyObject *filename, const char *mode, int flags)
{
    return PyObject_CallFunction(builtin_compile, "OOsii", source, filename, mode, flags, 1);
}

/* Turning a tree into code recurses once per level of it. Up to CPython 3.11 that counts against the guest's own recursion
 * limit, with a smaller factor than direct compilation: a sum of 1500 terms would fail here and work in a file. */
static int raise_recursion_limit(void)
{
    int limit = Py_GetRecursionLimit();
#if PY_VERSION_HEX < 0x030C0000
    if (limit < 3000)
        Py_SetRecursionLimit(3000);
#endif
    return limit;
}

static bool mentions(PyObject *text, const char *word)
{
    cleanup_object PyObject *part = PyUnicode_FromString(word);
    Py_ssize_t at = part ? PyUnicode_Find(text, part, 0, PyUnicode_GET_LENGTH(text), 1) : 0;
    PyErr_Clear();
    return at >= 0;
}

/* Take a last statement that is an expression out of the module: a new ast.Expression, or NULL (look at PyErr_Occurred). */
static PyObject *split_last(PyObject *tree)
{
    cleanup_object PyObject *body = PyObject_GetAttrString(tree, "body");
    Py_ssize_t count = body && PyList_Check(body) ? PyList_GET_SIZE(body) : 0;
    if (count == 0)
        return NULL;
    PyObject *last = PyList_GET_ITEM(body, count - 1);
    const struct node_class *class = syntax_class(last);
    if (!class || class->kind != NODE_EXPR)
        return NULL;
    cleanup_object PyObject *value = PyObject_GetAttrString(last, "value");
    cleanup_object PyObject *expression = value ? PyObject_CallOneArg(expression_class, value) : NULL;
    if (!expression || PyList_SetSlice(body, count - 1, count, NULL) < 0)
        return NULL;
    return Py_NewRef(expression);
}

static bool has_statements(PyObject *tree)
{
    cleanup_object PyObject *body = syntax_field(tree, "body");
    return body && PyList_Check(body) && PyList_GET_SIZE(body) > 0;
}

static int compile_tree(PyObject *tree, int *future_flags, struct cell *cell)
{
    cleanup_object PyObject *last = split_last(tree);
    if (!last && PyErr_Occurred())
        return -1;
    int flags = *future_flags;
    if (has_statements(tree) || !last) {
        cell->body = compile_part(tree, cell->filename, "exec", flags | PyCF_ALLOW_TOP_LEVEL_AWAIT);
        if (!cell->body)
            return -1;
        flags |= ((PyCodeObject *)cell->body)->co_flags & PyCF_MASK;
    }
    if (last) {
        cell->value = compile_part(last, cell->filename, "eval", flags | PyCF_ALLOW_TOP_LEVEL_AWAIT);
        if (!cell->value)
            return -1;
    }
    *future_flags = flags;
    return 0;
}

static int prepare_tree(PyObject *text, int *future_flags, struct cell *cell, struct findings *findings)
{
    cleanup_object PyObject *tree =
        compile_part(text, cell->filename, "exec", *future_flags | PyCF_ONLY_AST | PyCF_ALLOW_TOP_LEVEL_AWAIT);
    if (!tree)
        return -1;
    int refused = guard_check(tree, cell->filename, findings);
    if (refused != 0)
        return refused;
    int binds = mentions(text, "result") ? syntax_binds(tree, "result") : 0;
    if (binds < 0)
        return -1;
    cell->binds_result = binds > 0;
    if (mentions(text, "class"))
        classes_register(tree, cell->filename);
    return compile_tree(tree, future_flags, cell);
}

int cell_compile(const char *source, size_t length, PyObject *filename, int *future_flags, struct cell *ret,
                 struct findings *findings)
{
    *ret = (struct cell){.filename = filename};
    cleanup_object PyObject *text = source_decode(source, length);
    if (!text)
        return -1;
    source_register(filename, text);
    int limit = raise_recursion_limit();
    /* a tree is millions of objects and no garbage: collections in between find nothing and take half of the time */
    int collecting = PyGC_Disable();
    int result = prepare_tree(text, future_flags, ret, findings);
    if (collecting)
        PyGC_Enable();
    if (Py_GetRecursionLimit() != limit)
        Py_SetRecursionLimit(limit);
    return result;
}

void cell_free(struct cell *cell)
{
    Py_CLEAR(cell->body);
    Py_CLEAR(cell->value);
}
