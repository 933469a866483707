#include "python.h"

#include "print.h"

#include "exception.h"
#include "streams.h"

#include <stdbool.h>

static PyObject *original; /* CPython's print */

struct options {
    PyObject *separator, *end; /* borrowed; NULL: the usual */
    bool flush;
};

/* 1: as read, 0: something that CPython's own shall deal with (and refuse in its own words), -1: exception set. */
static int read_options(PyObject *const *values, PyObject *names, struct options *o)
{
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = values[i];
        bool is_text = PyUnicode_CompareWithASCIIString(name, "sep") == 0 || PyUnicode_CompareWithASCIIString(name, "end") == 0;
        if (is_text && value != Py_None && !PyUnicode_CheckExact(value))
            return 0;
        if (is_text) {
            *(PyUnicode_READ_CHAR(name, 0) == 's' ? &o->separator : &o->end) = value == Py_None ? NULL : value;
        } else if (PyUnicode_CompareWithASCIIString(name, "flush") == 0) {
            int truth = PyObject_IsTrue(value);
            if (truth < 0)
                return -1;
            o->flush = truth;
        } else if (PyUnicode_CompareWithASCIIString(name, "file") != 0 || value != Py_None) {
            return 0;
        }
    }
    return 1;
}

static int write_out(PyObject *stream, PyObject **text)
{
    if (!*text)
        return 0;
    PyObject *done = PyObject_CallMethod(stream, "write", "O", *text);
    Py_CLEAR(*text);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Whether its text is made without guest code: what that prints must come after what stands before it. */
static bool is_plain(PyObject *value)
{
    return PyUnicode_CheckExact(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value) || value == Py_None;
}

/* Takes `piece`; NULL is an exception that is set. */
static int append(PyObject **text, PyObject *piece)
{
    if (!piece)
        return -1;
    if (!*text) {
        *text = piece;
        return 0;
    }
    PyUnicode_AppendAndDel(text, piece);
    return *text ? 0 : -1;
}

static int print_all(PyObject *stream, PyObject *const *values, Py_ssize_t count, const struct options *o)
{
    cleanup_object PyObject *text = NULL, *space = PyUnicode_FromString(" "), *newline = PyUnicode_FromString("\n");
    if (!space || !newline)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (i > 0 && append(&text, Py_NewRef(o->separator ? o->separator : space)) < 0)
            return -1;
        if (!is_plain(values[i]) && write_out(stream, &text) < 0)
            return -1;
        if (append(&text, PyObject_Str(values[i])) < 0)
            return -1;
    }
    return append(&text, Py_NewRef(o->end ? o->end : newline)) < 0 ? -1 : write_out(stream, &text);
}

static PyObject *print(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names)
{
    struct options o = {0};
    PyObject *stream = PySys_GetObject("stdout");
    int understood = streams_is_ours(stream) ? read_options(values + count, names, &o) : 0;
    if (understood < 0)
        return NULL;
    if (understood == 0)
        return PyObject_Vectorcall(original, values, (size_t)count, names);
    Py_INCREF(stream);
    int result = print_all(stream, values, count, &o);
    PyObject *flushed = result == 0 && o.flush ? PyObject_CallMethod(stream, "flush", NULL) : NULL;
    Py_DECREF(stream);
    if (result < 0 || (o.flush && !flushed))
        return NULL;
    Py_XDECREF(flushed);
    return Py_NewRef(Py_None);
}

static PyMethodDef definition = {"print", (PyCFunction)(void (*)(void))print, METH_FASTCALL | METH_KEYWORDS, NULL};

int print_install(struct error *err)
{
    cleanup_object PyObject *builtins = PyImport_ImportModule("builtins");
    cleanup_object PyObject *name = PyUnicode_FromString("builtins");
    original = builtins ? PyObject_GetAttrString(builtins, "print") : NULL;
    if (original && PyCFunction_Check(original)) /* signature and documentation are in this one text */
        definition.ml_doc = ((PyCFunctionObject *)original)->m_ml->ml_doc;
    cleanup_object PyObject *function = original && name ? PyCFunction_NewEx(&definition, builtins, name) : NULL;
    if (!function || PyObject_SetAttrString(builtins, "print", function) < 0)
        return error_from_python(err, "interpreter", "print cannot be set up");
    return 0;
}
