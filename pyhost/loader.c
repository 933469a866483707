#include "python.h"

#include "loader.h"

#include "guard.h"
#include "imports.h"
#include "tally.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static const struct configuration *policy;
static PyObject *builtin_compile, *file_finder, *loader_details;

static PyObject *compile_text(PyObject *source, PyObject *path, int flags)
{
    return PyObject_CallFunction(builtin_compile, "OOsii", source, path, "exec", flags, 1);
}

static PyObject *refuse(const struct findings *findings, PyObject *path)
{
    tally_add(TALLY_DENIED, "language", findings->rule);
    cleanup_object PyObject *text = PyUnicode_DecodeUTF8(findings->text.data ? findings->text.data : "",
                                                         (Py_ssize_t)findings->text.len, "replace");
    cleanup_object PyObject *message = text ? PyUnicode_FromFormat("%U is refused by policy %s: %U", path, policy->policy, text) : NULL;
    if (message)
        PyErr_SetImportError(message, NULL, path);
    return NULL;
}

/* The guard sees the tree that the interpreter compiles: from the bytes under their own encoding cookie, once. */
static PyObject *checked_code(PyObject *data, PyObject *path)
{
    if (!configuration_guarded(policy))
        return compile_text(data, path, 0);
    cleanup_object PyObject *tree = compile_text(data, path, PyCF_ONLY_AST);
    if (!tree)
        return NULL;
    cleanup_findings struct findings findings = {0};
    int refused = guard_check(tree, path, &findings);
    if (refused < 0)
        return NULL;
    return refused ? refuse(&findings, path) : compile_text(tree, path, 0);
}

/* get_code(self, fullname): like SourceLoader's without the .pyc half. */
static PyObject *get_code(PyObject *module, PyObject *args)
{
    PyObject *self, *name;
    if (!PyArg_ParseTuple(args, "OO:get_code", &self, &name))
        return NULL;
    cleanup_object PyObject *path = PyObject_CallMethod(self, "get_filename", "O", name);
    cleanup_object PyObject *data = path ? PyObject_CallMethod(self, "get_data", "O", path) : NULL;
    return data ? checked_code(data, path) : NULL;
}

/* FileFinder for directories of the guest, also for such that do not exist yet: in the zygote /session is not there, and the
 * interpreter remembers a path without finder for good. ImportError passes the others on to the interpreter's own hooks. */
static PyObject *path_hook(PyObject *self, PyObject *path)
{
    cleanup_object PyObject *bytes = PyUnicode_Check(path) ? PyUnicode_EncodeFSDefault(path) : NULL;
    PyErr_Clear();
    const char *text = bytes ? PyBytes_AS_STRING(bytes) : NULL;
    char directory[PATH_MAX + 2];
    struct stat there;
    if (text && snprintf(directory, sizeof directory, "%s/", text) < (int)sizeof directory &&
        !imports_trusted_file(directory) && (stat(text, &there) < 0 || S_ISDIR(there.st_mode)))
        return PyObject_CallFunctionObjArgs(file_finder, path, loader_details, NULL);
    PyErr_SetString(PyExc_ImportError, "not a directory of the guest");
    return NULL;
}

static PyMethodDef get_code_method = {"get_code", get_code, METH_VARARGS, NULL};
static PyMethodDef path_hook_method = {"guest_path_hook", path_hook, METH_O, NULL};

/* class GuestLoader(SourceFileLoader): get_code */
static PyObject *make_loader(PyObject *machinery)
{
    cleanup_object PyObject *base = PyObject_GetAttrString(machinery, "SourceFileLoader");
    cleanup_object PyObject *function = PyCFunction_New(&get_code_method, NULL);
    cleanup_object PyObject *method = function ? PyInstanceMethod_New(function) : NULL; /* binds self, as a def would */
    if (!base || !method)
        return NULL;
    return PyObject_CallFunction((PyObject *)&PyType_Type, "s(O){s:O,s:s}", "GuestLoader", base, "get_code", method,
                                 "__module__", "importlib");
}

int loader_install(const struct configuration *c)
{
    policy = c;
    cleanup_object PyObject *builtins = PyImport_ImportModule("builtins");
    cleanup_object PyObject *machinery = PyImport_ImportModule("importlib.machinery");
    if (!builtins || !machinery)
        return -1;
    builtin_compile = PyObject_GetAttrString(builtins, "compile");
    file_finder = PyObject_GetAttrString(machinery, "FileFinder");
    cleanup_object PyObject *loader = make_loader(machinery);
    loader_details = loader ? Py_BuildValue("(O[s])", loader, ".py") : NULL;
    cleanup_object PyObject *hook = PyCFunction_New(&path_hook_method, NULL);
    PyObject *hooks = PySys_GetObject("path_hooks"), *cache = PySys_GetObject("path_importer_cache");
    if (!builtin_compile || !file_finder || !loader_details || !hook || !hooks || PyList_Insert(hooks, 0, hook) < 0)
        return -1;
    /* finders that were made before this hook was there */
    if (cache && PyDict_Check(cache))
        PyDict_Clear(cache);
    return 0;
}
