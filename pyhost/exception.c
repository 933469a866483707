#include "exception.h"

#include "base/cleanup.h"
#include "base/utf8.h"

#include <string.h>

PyObject *exception_take(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (!type)
        return NULL;
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback && value)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(traceback);
    Py_DECREF(type);
    return value;
#endif
}

const char *exception_type(PyObject *exception, PyObject **ret_holder)
{
    *ret_holder = PyType_GetName(Py_TYPE(exception));
    const char *name = *ret_holder ? PyUnicode_AsUTF8(*ret_holder) : NULL;
    if (!name) {
        PyErr_Clear();
        return "Exception";
    }
    return name;
}

/* The tail of a UTF-8 text that begins at a character boundary and is at most `max` bytes long. */
static size_t tail_start(const char *data, size_t length, size_t max)
{
    size_t at = length > max ? length - max : 0;
    while (at < length && ((unsigned char)data[at] & 0xc0) == 0x80)
        at++;
    return at;
}

static int add_bounded(struct buf *b, const char *data, size_t length, size_t max, Py_ssize_t characters)
{
    if (length <= max)
        return buf_add(b, data, length);
    size_t head = utf8_cut(data, max / 4 * 3);
    size_t tail = tail_start(data, length, max / 4);
    if (buf_add(b, data, head) < 0 || buf_addf(b, "\n... the middle of %zd characters is left out ...\n", characters) < 0)
        return -1;
    return buf_add(b, data + tail, length - tail);
}

int exception_text(PyObject *text, size_t max, struct buf *b)
{
    /* Encode only what can be shown: a text of 100 MB must not be copied once more to be cut afterwards. */
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    cleanup_object PyObject *shown = NULL;
    if ((size_t)length > 4 * max) {
        cleanup_object PyObject *head = PyUnicode_Substring(text, 0, (Py_ssize_t)max);
        cleanup_object PyObject *tail = PyUnicode_Substring(text, length - (Py_ssize_t)max, length);
        shown = head && tail ? PyUnicode_Concat(head, tail) : NULL;
    } else {
        shown = Py_NewRef(text);
    }
    cleanup_object PyObject *bytes = shown ? PyUnicode_AsEncodedString(shown, "utf-8", "backslashreplace") : NULL;
    if (!bytes) {
        PyErr_Clear();
        return buf_adds(b, "<text not available: out of memory>");
    }
    return add_bounded(b, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes), max, length);
}

int exception_message(PyObject *exception, size_t max, struct buf *b)
{
    cleanup_object PyObject *text = PyObject_Str(exception);
    if (!text) {
        int interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
        PyErr_Clear();
        return buf_adds(b, "<exception str() failed>") < 0 ? -1 : interrupted;
    }
    return exception_text(text, max, b);
}

int error_from_python(struct error *err, const char *step, const char *what)
{
    cleanup_object PyObject *exception = exception_take();
    if (!exception)
        return error_set(err, step, 0, "%s", what);
    cleanup_object PyObject *holder = NULL;
    const char *type = exception_type(exception, &holder);
    cleanup_buf struct buf text = {0};
    if (exception_message(exception, 400, &text) < 0)
        return error_set(err, step, 0, "%s: %s", what, type);
    for (size_t i = 0; i < text.len; i++) /* the message is one line */
        if (text.data[i] == '\n')
            text.data[i] = ' ';
    return error_set(err, step, 0, "%s: %s: %s", what, type, text.data ? text.data : "");
}
