/* value_json of value.h. Everything is bounded: depth, bytes; a cycle ends at the depth. */
#include "value.h"

#include <math.h>
#include <string.h>

#define JSON_LEVELS 20
#define EXACT (1LL << 53) /* integers beyond it are changed by readers that use doubles */

static int put(PyObject *value, int level, struct buf *b);

static int put_escaped(unsigned char c, struct buf *b)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    const char *at = strchr(plain, c);
    return c && at ? buf_addf(b, "\\%c", letter[at - plain]) : buf_addf(b, "\\u%04x", c);
}

static int put_string(PyObject *text, struct buf *b)
{
    /* A long text is refused before its UTF-8 form is made: that form stays in memory with the object. */
    if ((size_t)PyUnicode_GET_LENGTH(text) > b->max - b->len)
        return -1;
    Py_ssize_t length;
    const char *data = PyUnicode_AsUTF8AndSize(text, &length);
    if (!data || memchr(data, 0, (size_t)length) || buf_add(b, "\"", 1) < 0)
        return -1;
    Py_ssize_t plain = 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        if (buf_add(b, data + plain, (size_t)(i - plain)) < 0 || put_escaped(c, b) < 0)
            return -1;
        plain = i + 1;
    }
    return buf_add(b, data + plain, (size_t)(length - plain)) < 0 ? -1 : buf_add(b, "\"", 1);
}

static int put_int(PyObject *value, struct buf *b)
{
    int overflow;
    long long n = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || n > EXACT || n < -EXACT)
        return -1;
    return buf_addf(b, "%lld", n);
}

static int put_float(PyObject *value, struct buf *b)
{
    double n = PyFloat_AS_DOUBLE(value);
    if (!isfinite(n))
        return -1;
    char *text = PyOS_double_to_string(n, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    int result = text ? buf_adds(b, text) : -1;
    PyMem_Free(text);
    return result;
}

static int put_sequence(PyObject *value, int level, struct buf *b)
{
    if (buf_add(b, "[", 1) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++)
        if ((i && buf_add(b, ",", 1) < 0) || put(PySequence_Fast_GET_ITEM(value, i), level + 1, b) < 0)
            return -1;
    return buf_add(b, "]", 1);
}

static int put_dict(PyObject *value, int level, struct buf *b)
{
    PyObject *key, *item;
    Py_ssize_t position = 0;
    bool first = true;
    if (buf_add(b, "{", 1) < 0)
        return -1;
    while (PyDict_Next(value, &position, &key, &item)) {
        if (!PyUnicode_CheckExact(key) || (!first && buf_add(b, ",", 1) < 0) || put_string(key, b) < 0 ||
            buf_add(b, ":", 1) < 0 || put(item, level + 1, b) < 0)
            return -1;
        first = false;
    }
    return buf_add(b, "}", 1);
}

static int put(PyObject *value, int level, struct buf *b)
{
    if (level > JSON_LEVELS)
        return -1;
    if (value == Py_None)
        return buf_adds(b, "null");
    if (PyBool_Check(value))
        return buf_adds(b, value == Py_True ? "true" : "false");
    if (PyLong_CheckExact(value))
        return put_int(value, b);
    if (PyFloat_CheckExact(value))
        return put_float(value, b);
    if (PyUnicode_CheckExact(value))
        return put_string(value, b);
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value))
        return put_sequence(value, level, b);
    if (PyDict_CheckExact(value))
        return put_dict(value, level, b);
    return -1;
}

int value_json(PyObject *value, size_t max, struct buf *ret)
{
    ret->max = max;
    int result = max ? put(value, 1, ret) : -1;
    PyErr_Clear();
    if (result < 0)
        buf_clear(ret);
    return result < 0 ? 1 : 0;
}
