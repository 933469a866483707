#include "value.h"

#include "base/utf8.h"

int value_repr(PyObject *value, size_t max, struct buf *ret, bool *ret_truncated)
{
    cleanup_object PyObject *text = PyObject_Repr(value);
    if (!text)
        return -1;
    /* Cut characters before encoding, so that a repr of 60 MB is not copied again; bytes afterwards. */
    bool truncated = (size_t)PyUnicode_GET_LENGTH(text) > max;
    if (truncated) {
        PyObject *head = PyUnicode_Substring(text, 0, (Py_ssize_t)max);
        if (!head)
            return -1;
        Py_SETREF(text, head);
    }
    cleanup_object PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    if (!bytes)
        return -1;
    size_t length = (size_t)PyBytes_GET_SIZE(bytes);
    if (length > max) {
        length = utf8_cut(PyBytes_AS_STRING(bytes), max);
        truncated = true;
    }
    if (buf_add(ret, PyBytes_AS_STRING(bytes), length) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    *ret_truncated = truncated;
    return 0;
}
