#include "python.h"

#include "fork_hooks.h"

#include "exception.h"

#include <string.h>

enum moment { BEFORE, IN_PARENT, IN_CHILD, MOMENTS };

static const char *const KEYWORDS[MOMENTS] = {"before", "after_in_parent", "after_in_child"};

/* The modules whose hooks a payload does without, and why it may:
 *   random                      reseed() gives it its state
 *   threading                   forgets other threads and makes locks anew; there are none, and none is held
 *   logging, concurrent.futures.thread   take locks before and give them back or make them anew afterwards */
static const char *const NEEDLESS[] = {"random", "threading", "logging", "concurrent.futures.thread"};

static struct {
    PyObject *hooks[MOMENTS]; /* lists of (callable, whether a payload needs it) */
    PyObject *original;       /* the interpreter's os.register_at_fork */
    bool quiet;
} state;

static bool is_needless(const char *module)
{
    for (size_t i = 0; module && i < sizeof NEEDLESS / sizeof *NEEDLESS; i++)
        if (strcmp(module, NEEDLESS[i]) == 0)
            return true;
    return false;
}

/* The module whose code registers: a lock's bound method says nothing about where it comes from. */
static bool caller_is_needless(void)
{
    PyObject *globals = PyEval_GetGlobals();
    PyObject *name = globals ? PyDict_GetItemString(globals, "__name__") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    PyErr_Clear();
    return is_needless(text);
}

static PyObject *register_at_fork(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *hook[MOMENTS] = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOO:register_at_fork", (char **)(const char *[]){"before", "after_in_parent",
                                     "after_in_child", NULL}, &hook[BEFORE], &hook[IN_PARENT], &hook[IN_CHILD]))
        return NULL;
    if (!hook[BEFORE] && !hook[IN_PARENT] && !hook[IN_CHILD]) {
        PyErr_SetString(PyExc_TypeError, "At least one argument is required.");
        return NULL;
    }
    PyObject *needed = caller_is_needless() ? Py_False : Py_True;
    for (int m = 0; m < MOMENTS; m++) {
        if (hook[m] && !PyCallable_Check(hook[m]))
            return PyErr_Format(PyExc_TypeError, "'%s' must be callable, not %s", KEYWORDS[m], Py_TYPE(hook[m])->tp_name);
        cleanup_object PyObject *pair = hook[m] ? PyTuple_Pack(2, hook[m], needed) : NULL;
        if (hook[m] && (!pair || PyList_Append(state.hooks[m], pair) < 0))
            return NULL;
    }
    return Py_NewRef(Py_None);
}

/* As the interpreter does it: the last one registered is the first before a fork, an error is written and stops nothing. */
static PyObject *run(enum moment m)
{
    Py_ssize_t count = PyList_GET_SIZE(state.hooks[m]);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *pair = PyList_GET_ITEM(state.hooks[m], m == BEFORE ? count - 1 - i : i);
        if (state.quiet && PyTuple_GET_ITEM(pair, 1) == Py_False)
            continue;
        PyObject *hook = PyTuple_GET_ITEM(pair, 0), *done = PyObject_CallNoArgs(hook);
        if (!done)
            PyErr_WriteUnraisable(hook);
        Py_XDECREF(done);
    }
    return Py_NewRef(Py_None);
}

static PyObject *run_before(PyObject *self, PyObject *unused) { return run(BEFORE); }
static PyObject *run_in_parent(PyObject *self, PyObject *unused) { return run(IN_PARENT); }
static PyObject *run_in_child(PyObject *self, PyObject *unused) { return run(IN_CHILD); }

static PyMethodDef methods[] = {
    {"register_at_fork", (PyCFunction)(void (*)(void))register_at_fork, METH_VARARGS | METH_KEYWORDS, NULL},
    {"before", run_before, METH_NOARGS, NULL},
    {"after_in_parent", run_in_parent, METH_NOARGS, NULL},
    {"after_in_child", run_in_child, METH_NOARGS, NULL},
};

/* `posix` and `os` each have the name. */
static int publish(PyObject *function)
{
    cleanup_object PyObject *os = PyImport_ImportModule("os"), *posix = PyImport_ImportModule("posix");
    return os && posix && PyObject_SetAttrString(os, "register_at_fork", function) == 0 ?
        PyObject_SetAttrString(posix, "register_at_fork", function) : -1;
}

static int collect(void)
{
    cleanup_object PyObject *posix = PyImport_ImportModule("posix");
    cleanup_object PyObject *nothing = PyTuple_New(0), *keywords = PyDict_New();
    cleanup_object PyObject *ours = PyCFunction_New(&methods[0], NULL);
    if (!posix || !nothing || !keywords || !ours || !(state.original = PyObject_GetAttrString(posix, "register_at_fork")))
        return -1;
    for (int m = 0; m < MOMENTS; m++) {
        cleanup_object PyObject *runner = PyCFunction_New(&methods[1 + m], NULL);
        if (!(state.hooks[m] = PyList_New(0)) || !runner || PyDict_SetItemString(keywords, KEYWORDS[m], runner) < 0)
            return -1;
    }
    cleanup_object PyObject *done = PyObject_Call(state.original, nothing, keywords);
    return done ? publish(ours) : -1;
}

int fork_hooks_collect(struct error *err)
{
    return collect() < 0 ? error_from_python(err, "interpreter", "fork hooks cannot be collected") : 0;
}

int fork_hooks_settle(struct error *err)
{
    return publish(state.original) < 0 ? error_from_python(err, "interpreter", "os.register_at_fork cannot be put back") : 0;
}

void fork_hooks_quiet(bool is_payload)
{
    state.quiet = is_payload;
}
