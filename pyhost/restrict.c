#include "restrict.h"

#include <stdbool.h>
#include <string.h>

static const struct configuration *policy;

/* `self` is the name. The guard refuses the name before anything runs; this is for ways to it that no text shows. */
static PyObject *refuse_builtin(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyErr_Format(PyExc_NameError, "builtin '%U' is refused by policy %s", self, policy->policy);
    return NULL;
}

static PyMethodDef refuse_method = {"refused", (PyCFunction)(void (*)(void))refuse_builtin, METH_VARARGS | METH_KEYWORDS, NULL};

/* The import and class statements call these by name: the import hook and the guard stand behind them, no text can name them. */
static bool is_needed_by_statements(const char *name)
{
    return strcmp(name, "__import__") == 0 || strcmp(name, "__build_class__") == 0;
}

PyObject *restrict_builtins(const struct configuration *c)
{
    policy = c;
    cleanup_object PyObject *builtins = PyImport_ImportModule("builtins");
    if (!builtins || !c->restricted)
        return builtins ? Py_NewRef(builtins) : NULL;
    cleanup_object PyObject *reduced = PyDict_Copy(PyModule_GetDict(builtins));
    for (size_t i = 0; reduced && i < c->denied_builtins.count; i++) {
        const char *name = c->denied_builtins.items[i];
        if (is_needed_by_statements(name) || !PyDict_GetItemString(reduced, name))
            continue;
        cleanup_object PyObject *text = PyUnicode_FromString(name);
        cleanup_object PyObject *refusal = text ? PyCFunction_New(&refuse_method, text) : NULL;
        if (!refusal || PyDict_SetItemString(reduced, name, refusal) < 0)
            return NULL;
    }
    return reduced ? Py_NewRef(reduced) : NULL;
}
