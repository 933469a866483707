#include "facade.h"

#include "imports.h"

#include <stdbool.h>
#include <string.h>

static const struct configuration *policy;
static PyObject *facades; /* name -> facade */

/* Public names that undo the restriction: they look attributes up by text, evaluate text, or make classes from texts. */
static bool is_withheld(const char *module, const char *name)
{
    static const char *const withheld[][2] = {
        {"string", "Formatter"}, {"operator", "attrgetter"}, {"operator", "methodcaller"}, {"typing", "get_type_hints"},
        {"typing", "ForwardRef"}, {"typing", "evaluate_forward_ref"}, {"dataclasses", "make_dataclass"},
        {"types", "CodeType"}, {"types", "FunctionType"}, {"types", "LambdaType"}, {"types", "new_class"},
        {"types", "ModuleType"}, {"types", "prepare_class"}, {"abc", "ABCMeta"}, {"enum", "EnumMeta"}, {"enum", "EnumType"},
        {"contextlib", "chdir"},
    };
    for (size_t i = 0; i < sizeof withheld / sizeof *withheld; i++)
        if (strcmp(withheld[i][0], module) == 0 && strcmp(withheld[i][1], name) == 0)
            return true;
    return false;
}

/* A denied builtin under another module's name: io.open, builtins re-exported by six and its like. */
static bool is_denied_builtin(PyObject *value)
{
    cleanup_object PyObject *builtins = PyImport_ImportModuleLevel("builtins", NULL, NULL, NULL, 0);
    for (size_t i = 0; builtins && i < policy->denied_builtins.count; i++)
        if (PyDict_GetItemString(PyModule_GetDict(builtins), policy->denied_builtins.items[i]) == value)
            return true;
    PyErr_Clear();
    return false;
}

static bool is_public(const char *module, PyObject *key, PyObject *value)
{
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
    PyErr_Clear();
    return name && name[0] != '_' && !PyModule_Check(value) && !is_withheld(module, name) && !is_denied_builtin(value);
}

static int fill(PyObject *facade, PyObject *real, const char *module)
{
    PyObject *key, *value, *to = PyModule_GetDict(facade);
    cleanup_object PyObject *from = PyDict_Copy(PyModule_GetDict(real)); /* a lazy module may change while it is read */
    Py_ssize_t position = 0;
    if (!from)
        return -1;
    while (PyDict_Next(from, &position, &key, &value))
        if (is_public(module, key, value) && PyDict_SetItem(to, key, value) < 0)
            return -1;
    PyObject *doc = PyDict_GetItemString(from, "__doc__");
    return doc ? PyDict_SetItemString(to, "__doc__", doc) : 0;
}

/* Borrowed: the facade of a module that is in sys.modules; empty for a package that is only on the way to an allowed module. */
static PyObject *facade_of(PyObject *name)
{
    PyObject *known = PyDict_GetItemWithError(facades, name);
    if (known || PyErr_Occurred())
        return known;
    const char *text = PyUnicode_AsUTF8(name);
    cleanup_object PyObject *real = text ? PyImport_GetModule(name) : NULL;
    if (!real || !PyModule_Check(real)) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ImportError, "module '%U' has no facade under policy %s", name, policy->policy);
        return NULL;
    }
    cleanup_object PyObject *facade = PyModule_NewObject(name);
    if (!facade || (imports_allowed(text) && fill(facade, real, text) < 0) || PyDict_SetItem(facades, name, facade) < 0)
        return NULL;
    return PyDict_GetItemWithError(facades, name);
}

/* `import a.b.c`: facades of a, a.b and a.b.c, each in the one before. New reference to the first. */
static PyObject *facade_chain(PyObject *name)
{
    PyObject *first = NULL, *parent = NULL;
    Py_ssize_t length = PyUnicode_GET_LENGTH(name), start = 0;
    while (start <= length) {
        Py_ssize_t end = PyUnicode_FindChar(name, '.', start, length, 1);
        if (end < 0)
            end = length;
        cleanup_object PyObject *so_far = PyUnicode_Substring(name, 0, end);
        cleanup_object PyObject *part = PyUnicode_Substring(name, start, end);
        PyObject *facade = so_far && part ? facade_of(so_far) : NULL;
        if (!facade || (parent && PyObject_SetAttr(parent, part, facade) < 0))
            return NULL;
        first = first ? first : facade;
        parent = facade;
        start = end + 1;
    }
    return Py_XNewRef(first);
}

/* After `from module import item` the interpreter would look for a missing item in sys.modules["module.item"] and find the real
 * module there: so what is missing ends here, in a facade or an error. */
static int complete(PyObject *facade, PyObject *name, PyObject *item)
{
    if (!PyUnicode_Check(item))
        return 0;
    if (PyDict_Contains(PyModule_GetDict(facade), item) == 1)
        return 0;
    cleanup_object PyObject *full = PyUnicode_FromFormat("%U.%U", name, item);
    const char *text = full ? PyUnicode_AsUTF8(full) : NULL;
    if (!text)
        return -1;
    cleanup_object PyObject *real = imports_allowed(text) ? PyImport_GetModule(full) : NULL;
    PyObject *inner = real ? facade_of(full) : NULL;
    if (inner)
        return PyObject_SetAttr(facade, item, inner);
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ImportError, "cannot import name '%U' from '%U': policy %s hands out its public names only, no modules",
                     item, name, policy->policy);
    return -1;
}

PyObject *facade_import(PyObject *name, PyObject *fromlist)
{
    if (!fromlist || !PyTuple_Check(fromlist) || PyTuple_GET_SIZE(fromlist) == 0)
        return facade_chain(name);
    PyObject *facade = facade_of(name);
    for (Py_ssize_t i = 0; facade && i < PyTuple_GET_SIZE(fromlist); i++)
        if (complete(facade, name, PyTuple_GET_ITEM(fromlist, i)) < 0)
            return NULL;
    return Py_XNewRef(facade);
}

int facade_prepare(const struct configuration *c)
{
    policy = c;
    facades = PyDict_New();
    return facades ? 0 : -1;
}
