#include "imports.h"

#include "exception.h"
#include "facade.h"
#include "guard.h"
#include "import_policy.h"
#include "loader.h"
#include "tally.h"

#include <string.h>

static const struct configuration *policy;
static PyObject *original_import, *original_import_module;

PyObject *imports_refuse(const char *name)
{
    char text[1024];
    imports_explain(name, text, sizeof text);
    tally_add(TALLY_DENIED, "import", name);
    cleanup_object PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "ignore");
    cleanup_object PyObject *module = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "ignore");
    if (message && module)
        PyErr_SetImportError(message, module, NULL);
    return NULL;
}

/* The file of a frame's code, as UTF-8 that lives as long as the code; "" when it has none. */
static const char *frame_file(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    const char *file = PyUnicode_Check(code->co_filename) ? PyUnicode_AsUTF8(code->co_filename) : NULL;
    Py_DECREF(code); /* the frame keeps it */
    if (!file)
        PyErr_Clear();
    return file ? file : "";
}

/* C code of the interpreter that imports lazily (datetime.strptime needs _strptime) while a guest frame is the innermost one:
 * guarded_import recognises it, the finder is told by this. */
static _Thread_local int for_interpreter;

bool imports_by_guest(void)
{
    PyFrameObject *frame = for_interpreter ? NULL : PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame && import_policy_is_machinery(frame_file(frame))) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    bool guest = frame && !imports_trusted_file(frame_file(frame));
    Py_XDECREF(frame);
    return guest;
}

struct request {
    PyObject *name, *globals, *locals, *fromlist;
    int level;
};

/* The absolute name of what is imported: for a relative import, the package's name cut by level - 1 and the name behind it.
 * NULL without exception set when it cannot be told; then the original reports what is wrong. */
static PyObject *absolute_name(const struct request *r)
{
    if (r->level <= 0)
        return Py_NewRef(r->name);
    PyObject *package = r->globals && PyDict_Check(r->globals) ? PyDict_GetItemString(r->globals, "__package__") : NULL;
    if (!package || !PyUnicode_Check(package))
        return NULL;
    Py_ssize_t end = PyUnicode_GET_LENGTH(package);
    for (int i = 1; i < r->level && end > 0; i++) {
        end = PyUnicode_FindChar(package, '.', 0, end, -1);
        if (end < 0)
            return NULL;
    }
    cleanup_object PyObject *base = PyUnicode_Substring(package, 0, end);
    if (base && PyUnicode_GET_LENGTH(r->name) == 0)
        return Py_NewRef(base);
    return base ? PyUnicode_FromFormat("%U.%U", base, r->name) : NULL;
}

/* Deny mode: the module and each `pkg.item` of a from-import must not be on the list. Allow mode: the module must be, or each
 * `pkg.item`. NULL when it is fine, else the refused name (borrowed from *ret_holder). */
static const char *refused_name(PyObject *name, PyObject *fromlist, PyObject **ret_holder)
{
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) {
        PyErr_Clear();
        return NULL; /* no module has such a name */
    }
    bool whole = imports_allowed(text);
    if (!fromlist || !PyTuple_Check(fromlist) || PyTuple_GET_SIZE(fromlist) == 0 || whole == policy->imports_allow_list)
        return whole ? NULL : text;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fromlist); i++) {
        PyObject *item = PyTuple_GET_ITEM(fromlist, i);
        Py_XSETREF(*ret_holder, PyUnicode_Check(item) ? PyUnicode_FromFormat("%U.%U", name, item) : NULL);
        const char *full = *ret_holder ? PyUnicode_AsUTF8(*ret_holder) : NULL;
        PyErr_Clear();
        if (!full || !imports_allowed(full))
            return policy->imports_allow_list ? text : full;
    }
    return whole || policy->imports_allow_list ? NULL : text;
}

/* The import statement passes a tuple or None as fromlist, PyImport_Import a list. In restricted mode no text can name __import__,
 * so a list is C code. With a deny list nothing that the interpreter needs is denied, and the question is not asked. */
static bool is_for_interpreter(const struct request *r)
{
    return policy->imports_allow_list && r->fromlist && PyList_CheckExact(r->fromlist);
}

static PyObject *import_for_interpreter(PyObject *args, PyObject *keywords)
{
    for_interpreter++;
    PyObject *module = PyObject_Call(original_import, args, keywords);
    for_interpreter--;
    return module;
}

/* The innermost frame is the importer: importlib imports for others without this function. */
static bool importer_is_guest(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    return frame && !imports_trusted_file(frame_file(frame));
}

static PyObject *guarded_import(PyObject *self, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"name", "globals", "locals", "fromlist", "level", NULL};
    struct request r = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "U|OOOi:__import__", (char **)(void *)names, &r.name, &r.globals, &r.locals,
                                     &r.fromlist, &r.level))
        return NULL;
    bool open = !policy->restricted && !policy->imports_allow_list && policy->imports.count == 0;
    if (open || !importer_is_guest())
        return PyObject_Call(original_import, args, keywords);
    if (is_for_interpreter(&r))
        return import_for_interpreter(args, keywords);
    cleanup_object PyObject *name = absolute_name(&r);
    PyErr_Clear();
    cleanup_object PyObject *holder = NULL;
    const char *refused = name ? refused_name(name, r.fromlist, &holder) : NULL;
    if (refused)
        return imports_refuse(refused);
    PyObject *module = PyObject_Call(original_import, args, keywords);
    if (!module || !policy->restricted || !name)
        return module;
    PyObject *shown = facade_import(name, r.fromlist);
    Py_DECREF(module);
    return shown;
}

static PyObject *guarded_import_module(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *name = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    PyErr_Clear();
    if (text && text[0] != '.' && !imports_allowed(text) && imports_by_guest())
        return imports_refuse(text);
    return PyObject_Call(original_import_module, args, keywords);
}

/* find_spec of the finder in front of sys.meta_path: never finds anything, only refuses. */
static PyObject *find_spec(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *name = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    PyErr_Clear();
    if (text && !imports_leads_to_allowed(text) && imports_by_guest())
        return imports_refuse(text);
    Py_RETURN_NONE;
}

#define WITH_KEYWORDS(f) (PyCFunction)(void (*)(void))(f), METH_VARARGS | METH_KEYWORDS
static PyMethodDef import_method = {"__import__", WITH_KEYWORDS(guarded_import), "Import a module."};
static PyMethodDef import_module_method = {"import_module", WITH_KEYWORDS(guarded_import_module),
                                           "import_module($module, name, package=None)\n--\n\nImport a module."};
static PyMethodDef finder_methods[] = {{"find_spec", WITH_KEYWORDS(find_spec), NULL}, {0}};

static int install_finder(void)
{
    static PyType_Slot slots[] = {{Py_tp_methods, finder_methods}, {0, NULL}};
    static PyType_Spec spec = {"snipara.ImportPolicy", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
    cleanup_object PyObject *type = PyType_FromSpec(&spec);
    cleanup_object PyObject *finder = type ? PyObject_CallNoArgs(type) : NULL;
    PyObject *list = PySys_GetObject("meta_path");
    return finder && list && PyList_Check(list) ? PyList_Insert(list, 0, finder) : -1;
}

static int replace(const char *module_name, const char *name, PyMethodDef *method, PyObject **ret_original)
{
    cleanup_object PyObject *module = PyImport_ImportModule(module_name);
    cleanup_object PyObject *label = PyUnicode_FromString(module_name);
    *ret_original = module ? PyObject_GetAttrString(module, name) : NULL;
    cleanup_object PyObject *ours = *ret_original && label ? PyCFunction_NewEx(method, NULL, label) : NULL;
    return ours ? PyObject_SetAttrString(module, name, ours) : -1;
}

/* Everything on sys.path that the policy did not add for the guest belongs to the interpreter. */
static int trust_paths(const struct configuration *c)
{
    PyObject *list = PySys_GetObject("path");
    Py_ssize_t own = list && PyList_Check(list) ? PyList_GET_SIZE(list) - (Py_ssize_t)c->guest_paths.count : -1;
    if (own < 0)
        return -1;
    for (Py_ssize_t i = 0; i < own; i++) {
        PyObject *path = PyList_GET_ITEM(list, i);
        const char *text = PyUnicode_Check(path) ? PyUnicode_AsUTF8(path) : NULL;
        if (!text || (text[0] == '/' && import_policy_trust(text) < 0))
            return -1;
    }
    return 0;
}

int imports_install(const struct configuration *c, struct error *err)
{
    policy = c;
    import_policy_use(c);
    guard_use(c);
    if (trust_paths(c) < 0 || facade_prepare(c) < 0 || loader_install(c) < 0 || install_finder() < 0 ||
        replace("builtins", "__import__", &import_method, &original_import) < 0 ||
        replace("importlib", "import_module", &import_module_method, &original_import_module) < 0)
        return error_from_python(err, "interpreter", "the import hooks cannot be set");
    return 0;
}
