#include "python.h"

#include "deferred.h"

#include "exception.h"

#include <string.h>

static const struct deferred *pending;

/* PathFinder and not importlib.machinery: what is frozen into the interpreter costs nothing. */
static const char SOURCE[] =
    "def install(wanted, imported):\n"
    "    import sys\n"
    "    from _frozen_importlib_external import PathFinder\n"
    "    class Deferred:\n"
    "        @staticmethod\n"
    "        def find_spec(name, path=None, target=None):\n"
    "            if name not in wanted:\n"
    "                return None\n"
    "            wanted.discard(name)\n"
    "            spec = PathFinder.find_spec(name, path, target)\n"
    "            if spec is not None and spec.loader is not None:\n"
    "                load = spec.loader.exec_module\n"
    "                def exec_module(module):\n"
    "                    load(module)\n"
    "                    imported(name)\n"
    "                spec.loader.exec_module = exec_module\n"
    "            return spec\n"
    "    sys.meta_path.insert(0, Deferred)\n";

static PyObject *imported(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    struct error err;
    if (!text && PyErr_Occurred()) /* a lone surrogate: only a guest calls with one */
        return NULL;
    for (const struct deferred *d = pending; text && d->module; d++)
        if (strcmp(d->module, text) == 0 && d->adjust(&err) < 0) {
            PyErr_Format(PyExc_ImportError, "%s cannot be set up: %s", text, err.message);
            return NULL;
        }
    return Py_NewRef(Py_None);
}

static PyMethodDef imported_method = {"imported", imported, METH_O, NULL};

static int install(PyObject *wanted)
{
    cleanup_object PyObject *scope = PyDict_New();
    cleanup_object PyObject *callback = PyCFunction_New(&imported_method, NULL);
    if (!scope || !callback || PyDict_SetItemString(scope, "__builtins__", PyEval_GetBuiltins()) < 0)
        return -1;
    cleanup_object PyObject *defined = PyRun_String(SOURCE, Py_file_input, scope, scope);
    PyObject *function = defined ? PyDict_GetItemString(scope, "install") : NULL;
    cleanup_object PyObject *done = function ? PyObject_CallFunctionObjArgs(function, wanted, callback, NULL) : NULL;
    return done ? 0 : -1;
}

int deferred_install(const struct deferred *list, struct error *err)
{
    cleanup_object PyObject *wanted = PySet_New(NULL);
    int r = wanted ? 0 : -1;
    for (const struct deferred *d = list; r == 0 && d->module; d++) {
        cleanup_object PyObject *name = PyUnicode_FromString(d->module);
        r = name ? PySet_Add(wanted, name) : -1;
    }
    pending = list;
    return r == 0 && install(wanted) == 0 ? 0 : error_from_python(err, "interpreter", "import hooks cannot be set up");
}
