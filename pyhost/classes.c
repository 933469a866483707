#include "classes.h"

#include "exception.h"
#include "syntax.h"

static PyObject *files;    /* qualified name -> filename of the newest call that defines it */
static PyObject *original; /* inspect.getfile */
static PyObject *main_name;

/* Borrowed filename, or NULL: `object` is no class of a call. No guest code runs: a metaclass with its own attribute access is
 * passed by, type.__getattribute__ is asked directly. */
static PyObject *file_of(PyObject *object)
{
    if (!PyType_Check(object))
        return NULL;
    cleanup_object PyObject *module_key = PyUnicode_FromString("__module__");
    cleanup_object PyObject *qualname_key = PyUnicode_FromString("__qualname__");
    cleanup_object PyObject *module = module_key ? PyType_Type.tp_getattro(object, module_key) : NULL;
    cleanup_object PyObject *qualname = module && qualname_key ? PyType_Type.tp_getattro(object, qualname_key) : NULL;
    PyErr_Clear();
    if (!qualname || !PyUnicode_CheckExact(module) || !PyUnicode_CheckExact(qualname) ||
        PyUnicode_Compare(module, main_name) != 0)
        return NULL;
    return PyDict_GetItemWithError(files, qualname);
}

static PyObject *get_file(PyObject *self, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"object", NULL};
    PyObject *object;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:getfile", (char **)(void *)names, &object))
        return NULL;
    PyObject *file = file_of(object);
    return file ? Py_NewRef(file) : PyObject_CallOneArg(original, object);
}

static PyMethodDef get_file_method = {"getfile", (PyCFunction)(void (*)(void))get_file, METH_VARARGS | METH_KEYWORDS,
                                      "getfile($module, /, object)\n--\n\n"
                                      "Work out which source or compiled file an object was defined in."};

static int patch(void)
{
    cleanup_object PyObject *inspect = PyImport_ImportModule("inspect");
    original = inspect ? PyObject_GetAttrString(inspect, "getfile") : NULL;
    cleanup_object PyObject *module_name = PyUnicode_FromString("inspect");
    cleanup_object PyObject *ours = PyCFunction_NewEx(&get_file_method, NULL, module_name);
    if (!original || !ours)
        return -1;
    return PyObject_SetAttrString(inspect, "getfile", ours);
}

int classes_prepare(struct error *err)
{
    files = PyDict_New();
    main_name = PyUnicode_InternFromString("__main__");
    return files && main_name ? 0 : error_from_python(err, "interpreter", "no memory of classes");
}

int classes_patch_inspect(struct error *err)
{
    return patch() < 0 ? error_from_python(err, "interpreter", "inspect cannot be set up") : 0;
}

static int remember(PyObject *qualname, void *filename)
{
    return PyDict_SetItem(files, qualname, filename);
}

void classes_register(PyObject *tree, PyObject *filename)
{
    if (syntax_classes_defined(tree, remember, filename) < 0)
        PyErr_Clear();
}

void classes_forget(void)
{
    PyDict_Clear(files);
}
