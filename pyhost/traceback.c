#include "traceback.h"

#include "exception.h"
#include "source.h"

#define PLAIN_FRAMES 40 /* of the plain form */

static PyObject *formatter; /* TracebackException of the private module */

static PyObject *fresh_module(const char *name, PyObject *builtins)
{
    cleanup_object PyObject *util = PyImport_ImportModule("importlib.util");
    cleanup_object PyObject *spec = util ? PyObject_CallMethod(util, "find_spec", "s", name) : NULL;
    cleanup_object PyObject *module = spec ? PyObject_CallMethod(util, "module_from_spec", "O", spec) : NULL;
    if (!module || PyDict_SetItemString(PyModule_GetDict(module), "__builtins__", builtins) < 0)
        return NULL;
    cleanup_object PyObject *loader = PyObject_GetAttrString(spec, "loader");
    cleanup_object PyObject *done = loader ? PyObject_CallMethod(loader, "exec_module", "O", module) : NULL;
    return done ? Py_NewRef(module) : NULL;
}

static int make_private(void)
{
    cleanup_object PyObject *real = PyImport_ImportModule("builtins");
    cleanup_object PyObject *builtins = real ? PyDict_Copy(PyModule_GetDict(real)) : NULL;
    cleanup_object PyObject *lines = builtins ? fresh_module("linecache", builtins) : NULL;
    cleanup_object PyObject *module = lines ? fresh_module("traceback", builtins) : NULL;
    if (!module || PyObject_SetAttrString(lines, "cache", source_private_cache()) < 0 ||
        PyObject_SetAttrString(module, "linecache", lines) < 0)
        return -1;
    Py_XSETREF(formatter, PyObject_GetAttrString(module, "TracebackException"));
    return formatter ? 0 : -1;
}

int traceback_prepare(struct error *err)
{
    return make_private() < 0 ? error_from_python(err, "interpreter", "the private traceback module cannot be made") : 0;
}

/* New reference; NULL without exception set when `object` has no such attribute. */
static PyObject *attribute(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (!value)
        PyErr_Clear();
    return value;
}

static PyObject *frame_code(PyObject *traceback)
{
    cleanup_object PyObject *frame = attribute(traceback, "tb_frame");
    return frame ? attribute(frame, "f_code") : NULL;
}

static bool in_file(PyObject *traceback, PyObject *filename)
{
    cleanup_object PyObject *code = frame_code(traceback);
    cleanup_object PyObject *name = code ? attribute(code, "co_filename") : NULL;
    return name && PyUnicode_Check(name) && PyUnicode_Compare(name, filename) == 0;
}

/* Move *traceback on to the next entry; NULL at the end. */
static void next_entry(PyObject **traceback)
{
    PyObject *next = attribute(*traceback, "tb_next");
    if (next == Py_None)
        Py_CLEAR(next);
    Py_SETREF(*traceback, next);
}

void traceback_trim(PyObject *exception, PyObject *filename)
{
    cleanup_object PyObject *traceback = PyException_GetTraceback(exception);
    while (traceback && !in_file(traceback, filename))
        next_entry(&traceback);
    if (traceback)
        PyException_SetTraceback(exception, traceback);
    PyErr_Clear();
}

static long number(PyObject *object, const char *name)
{
    cleanup_object PyObject *value = attribute(object, name);
    long n = value && PyLong_Check(value) ? PyLong_AsLong(value) : 0;
    PyErr_Clear();
    return n;
}

static bool syntax_position(PyObject *exception, PyObject *filename, long *ret_line, long *ret_column)
{
    if (!PyObject_TypeCheck(exception, (PyTypeObject *)PyExc_SyntaxError))
        return false;
    cleanup_object PyObject *name = attribute(exception, "filename");
    if (!name || !PyUnicode_CheckExact(name) || PyUnicode_Compare(name, filename) != 0)
        return false;
    *ret_line = number(exception, "lineno");
    *ret_column = number(exception, "offset");
    return *ret_line > 0;
}

bool traceback_position(PyObject *exception, PyObject *filename, long *ret_line, long *ret_column)
{
    *ret_line = *ret_column = 0;
    cleanup_object PyObject *traceback = PyException_GetTraceback(exception);
    while (traceback) {
        if (in_file(traceback, filename))
            *ret_line = number(traceback, "tb_lineno");
        next_entry(&traceback);
    }
    return *ret_line > 0 || syntax_position(exception, filename, ret_line, ret_column);
}

/* A SyntaxError of the cell itself has no traceback and nothing before it: then the interpreter prints no header. */
static bool stands_alone(PyObject *exception)
{
    cleanup_object PyObject *traceback = PyException_GetTraceback(exception);
    cleanup_object PyObject *cause = PyException_GetCause(exception);
    cleanup_object PyObject *context = PyException_GetContext(exception);
    return !traceback && !cause && !context;
}

static PyObject *format_private(PyObject *exception)
{
    if (!formatter && make_private() < 0) /* a lean start left it for now */
        return NULL;
    cleanup_object PyObject *traceback = PyException_GetTraceback(exception);
    cleanup_object PyObject *args = Py_BuildValue("(OOO)", (PyObject *)Py_TYPE(exception), exception, traceback ? traceback : Py_None);
    cleanup_object PyObject *keywords = Py_BuildValue("{s:O}", "compact", Py_True);
    cleanup_object PyObject *whole = args && keywords ? PyObject_Call(formatter, args, keywords) : NULL;
    const char *method = stands_alone(exception) ? "format_exception_only" : "format";
    cleanup_object PyObject *parts = whole ? PyObject_CallMethod(whole, method, NULL) : NULL;
    cleanup_object PyObject *empty = parts ? PyUnicode_FromString("") : NULL;
    PyObject *text = empty ? PyUnicode_Join(empty, parts) : NULL;
    if (text && !PyUnicode_Check(text))
        Py_CLEAR(text);
    return text;
}

static int plain_entry(PyObject *traceback, struct buf *b)
{
    cleanup_object PyObject *code = frame_code(traceback);
    cleanup_object PyObject *file = code ? attribute(code, "co_filename") : NULL;
    cleanup_object PyObject *name = code ? attribute(code, "co_name") : NULL;
    const char *file_text = file && PyUnicode_Check(file) ? PyUnicode_AsUTF8(file) : NULL;
    const char *name_text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    PyErr_Clear();
    return buf_addf(b, "  File \"%s\", line %ld, in %s\n", file_text ? file_text : "?", number(traceback, "tb_lineno"),
                    name_text ? name_text : "?");
}

void traceback_complete(PyObject *exception, PyObject *filename)
{
    long line, column;
    cleanup_object PyObject *text = attribute(exception, "text");
    if (text == Py_None && syntax_position(exception, filename, &line, &column) && source_line(filename, line))
        PyObject_SetAttrString(exception, "text", source_line(filename, line));
    PyErr_Clear();
}

int traceback_format_plain(PyObject *exception, const struct buf *message, struct buf *b)
{
    cleanup_object PyObject *traceback = PyException_GetTraceback(exception);
    if (traceback && buf_adds(b, "Traceback (most recent call last):\n") < 0)
        return -1;
    for (int i = 0; traceback && i < PLAIN_FRAMES; i++) {
        if (plain_entry(traceback, b) < 0)
            return -1;
        next_entry(&traceback);
    }
    cleanup_object PyObject *holder = NULL;
    const char *type = exception_type(exception, &holder);
    return message->len ? buf_addf(b, "%s: %s\n", type, message->data) : buf_addf(b, "%s\n", type);
}

/* What is left when the guest broke what the private modules need, or memory is short. */
static int fall_back(PyObject *exception, struct buf *b)
{
    cleanup_buf struct buf message = {0};
    return exception_message(exception, TRACEBACK_MAX / 2, &message) < 0 ? -1 : traceback_format_plain(exception, &message, b);
}

int traceback_format(PyObject *exception, struct buf *b)
{
    /* A guest that lowered the recursion limit must not take the text of its own error away. */
    int limit = Py_GetRecursionLimit();
    if (limit < 1000)
        Py_SetRecursionLimit(1000);
    cleanup_object PyObject *text = format_private(exception);
    if (!text && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) { /* a late SIGINT; once more */
        PyErr_Clear();
        text = format_private(exception);
    }
    PyErr_Clear();
    int result = text ? exception_text(text, TRACEBACK_MAX, b) : fall_back(exception, b);
    if (limit < 1000)
        Py_SetRecursionLimit(limit);
    PyErr_Clear();
    return result;
}
