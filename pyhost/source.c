#include "source.h"

#include "exception.h"

#include <string.h>

static PyObject *private_cache;

int source_prepare(struct error *err)
{
    private_cache = PyDict_New();
    return private_cache ? 0 : error_from_python(err, "interpreter", "no line cache");
}

PyObject *source_private_cache(void)
{
    return private_cache;
}

PyObject *source_decode(const char *data, size_t length)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (length >= 3 && memcmp(data, mark, 3) == 0) {
        data += 3;
        length -= 3;
    }
    if (length && memchr(data, 0, length)) {
        PyErr_SetString(PyExc_SyntaxError, "source code cannot contain null bytes");
        return NULL;
    }
    return PyUnicode_DecodeUTF8(data, (Py_ssize_t)length, "strict");
}

/* End of the line that begins at `at`, its end mark included: \n, \r\n and \r, as the tokenizer has it. str.splitlines also
 * splits at form feeds and U+2028, which would shift every number after them. */
static Py_ssize_t line_end(PyObject *text, Py_ssize_t at, Py_ssize_t length)
{
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    while (at < length) {
        Py_UCS4 c = PyUnicode_READ(kind, data, at++);
        if (c == '\n')
            return at;
        if (c == '\r')
            return at < length && PyUnicode_READ(kind, data, at) == '\n' ? at + 1 : at;
    }
    return at;
}

/* One line, its end mark made a single \n. */
static PyObject *one_line(PyObject *text, Py_ssize_t from, Py_ssize_t to)
{
    Py_ssize_t body = to;
    while (body > from && (PyUnicode_READ_CHAR(text, body - 1) == '\n' || PyUnicode_READ_CHAR(text, body - 1) == '\r'))
        body--;
    if (to == body + 1 && PyUnicode_READ_CHAR(text, body) == '\n') /* nearly always */
        return PyUnicode_Substring(text, from, to);
    cleanup_object PyObject *line = PyUnicode_Substring(text, from, body);
    return line ? PyUnicode_FromFormat("%U\n", line) : NULL;
}

static PyObject *split_lines(PyObject *text)
{
    PyObject *lines = PyList_New(0);
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    for (Py_ssize_t at = 0; lines && at < length;) {
        Py_ssize_t end = line_end(text, at, length);
        cleanup_object PyObject *line = one_line(text, at, end);
        if (!line || PyList_Append(lines, line) < 0)
            Py_CLEAR(lines);
        at = end;
    }
    return lines;
}

/* mtime None is linecache's mark for "not a file": checkcache leaves such an entry alone. */
static void put_entry(PyObject *cache, PyObject *filename, PyObject *text, PyObject *lines)
{
    cleanup_object PyObject *entry = Py_BuildValue("(nOOO)", PyUnicode_GET_LENGTH(text), Py_None, lines, filename);
    if (entry && PyDict_Check(cache))
        PyDict_SetItem(cache, filename, entry);
    PyErr_Clear();
}

/* Borrowed: the dict linecache.cache of the module that the guest sees, if it still is one. */
static PyObject *public_cache(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "linecache") : NULL;
    PyObject *names = module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    return names ? PyDict_GetItemString(names, "cache") : NULL;
}

void source_register(PyObject *filename, PyObject *text)
{
    cleanup_object PyObject *lines = split_lines(text);
    if (!lines) {
        PyErr_Clear();
        return;
    }
    PyObject *shared = public_cache();
    cleanup_object PyObject *copy = shared ? PyList_GetSlice(lines, 0, PyList_GET_SIZE(lines)) : NULL;
    if (copy)
        put_entry(shared, filename, text, copy);
    if (private_cache)
        put_entry(private_cache, filename, text, lines);
    PyErr_Clear();
}

int source_publish(struct error *err)
{
    PyObject *shared = public_cache(), *key, *entry;
    Py_ssize_t at = 0;
    while (private_cache && shared && PyDict_Check(shared) && PyDict_Next(private_cache, &at, &key, &entry)) {
        cleanup_object PyObject *text = PyTuple_GetSlice(entry, 0, 2);
        cleanup_object PyObject *lines = PySequence_List(PyTuple_GET_ITEM(entry, 2));
        cleanup_object PyObject *mine = text && lines ? Py_BuildValue("(OOOO)", PyTuple_GET_ITEM(text, 0), PyTuple_GET_ITEM(text, 1), lines, key) : NULL;
        if (!mine || PyDict_SetItem(shared, key, mine) < 0)
            return error_from_python(err, "source", "the line cache cannot be filled");
    }
    return 0;
}

static void drop_entry(PyObject *cache, PyObject *filename)
{
    if (cache && PyDict_Check(cache) && PyDict_Contains(cache, filename) == 1)
        PyDict_DelItem(cache, filename);
    PyErr_Clear();
}

void source_forget(PyObject *filename)
{
    drop_entry(public_cache(), filename);
    drop_entry(private_cache, filename);
}

PyObject *source_line(PyObject *filename, long line)
{
    PyObject *entry = private_cache ? PyDict_GetItemWithError(private_cache, filename) : NULL;
    PyObject *lines = entry && PyTuple_Check(entry) && PyTuple_GET_SIZE(entry) == 4 ? PyTuple_GET_ITEM(entry, 2) : NULL;
    if (!lines || !PyList_Check(lines) || line < 1 || line > PyList_GET_SIZE(lines))
        return NULL;
    return PyList_GET_ITEM(lines, line - 1);
}

long source_column(PyObject *filename, long line, long byte_offset)
{
    PyObject *text = source_line(filename, line);
    Py_ssize_t size;
    const char *bytes = text ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;
    if (!bytes || byte_offset < 0 || byte_offset > size) {
        PyErr_Clear();
        return byte_offset + 1;
    }
    long column = 1;
    for (long i = 0; i < byte_offset; i++)
        column += ((unsigned char)bytes[i] & 0xc0) != 0x80;
    return column;
}
