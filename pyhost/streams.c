#include "python.h"

#include "streams.h"

#include "exception.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>

/* Unbuffered and write-through, as `python -u`: what was printed before a time-out or a crash has already left the process. */
static PyObject *make_writer(PyObject *io, int fd, const char *name)
{
    cleanup_object PyObject *raw_type = PyObject_GetAttrString(io, "FileIO");
    cleanup_object PyObject *text_type = PyObject_GetAttrString(io, "TextIOWrapper");
    cleanup_object PyObject *raw_args = Py_BuildValue("(is)", fd, "wb");
    cleanup_object PyObject *raw_keywords = Py_BuildValue("{s:O}", "closefd", Py_False);
    if (!raw_type || !text_type || !raw_args || !raw_keywords)
        return NULL;
    cleanup_object PyObject *raw = PyObject_Call(raw_type, raw_args, raw_keywords);
    cleanup_object PyObject *label = PyUnicode_FromString(name);
    if (!raw || !label || PyObject_SetAttrString(raw, "name", label) < 0)
        return NULL;
    cleanup_object PyObject *args = PyTuple_Pack(1, raw);
    /* backslashreplace: a lone surrogate is printed as \udcXX, not an error in the middle of a print */
    cleanup_object PyObject *keywords = Py_BuildValue("{s:s,s:s,s:s,s:O}", "encoding", "utf-8", "errors", "backslashreplace",
                                                      "newline", "\n", "write_through", Py_True);
    if (!args || !keywords)
        return NULL;
    PyObject *text = PyObject_Call(text_type, args, keywords);
    cleanup_object PyObject *mode = PyUnicode_FromString("w");
    if (text && (!mode || PyObject_SetAttrString(text, "mode", mode) < 0))
        Py_CLEAR(text);
    return text;
}

static PyObject *make_reader(PyObject *io, const char *name)
{
    cleanup_object PyObject *open = PyObject_GetAttrString(io, "open");
    cleanup_object PyObject *args = Py_BuildValue("(is)", 0, "r");
    cleanup_object PyObject *keywords = Py_BuildValue("{s:s,s:s,s:O}", "encoding", "utf-8", "errors", "surrogateescape",
                                                      "closefd", Py_False);
    cleanup_object PyObject *label = PyUnicode_FromString(name);
    if (!open || !args || !keywords || !label)
        return NULL;
    PyObject *text = PyObject_Call(open, args, keywords);
    cleanup_object PyObject *buffer = text ? PyObject_GetAttrString(text, "buffer") : NULL;
    cleanup_object PyObject *raw = buffer ? PyObject_GetAttrString(buffer, "raw") : NULL;
    if (text && (!raw || PyObject_SetAttrString(raw, "name", label) < 0))
        Py_CLEAR(text);
    return text;
}

static struct standard {
    const char *name, *original, *label;
    PyObject *stream; /* ours */
} standards[] = {{"stdin", "__stdin__", "<stdin>", NULL}, {"stdout", "__stdout__", "<stdout>", NULL},
                 {"stderr", "__stderr__", "<stderr>", NULL}};

static PyObject *io_module; /* held: the guest may empty sys.modules */

/* The number of a stream is its descriptor. */
static int make_one(int fd)
{
    struct standard *s = &standards[fd];
    PyObject *stream = fd == 0 ? make_reader(io_module, s->label) : make_writer(io_module, fd, s->label);
    if (!stream || PySys_SetObject(s->name, stream) < 0 || PySys_SetObject(s->original, stream) < 0) {
        Py_XDECREF(stream);
        return -1;
    }
    Py_XSETREF(s->stream, stream);
    return 0;
}

static int make_all(void)
{
    io_module = PyImport_ImportModule("io");
    return !io_module || make_one(0) < 0 || make_one(1) < 0 || make_one(2) < 0 ? -1 : 0;
}

void streams_reopen(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (PySys_GetObject(standards[fd].name) != standards[fd].stream)
            continue;
        cleanup_object PyObject *closed = PyObject_GetAttrString(standards[fd].stream, "closed");
        if (closed == Py_True)
            make_one(fd);
        PyErr_Clear();
    }
}

bool streams_is_ours(const void *stream)
{
    return stream && stream == standards[1].stream;
}

int streams_install(struct error *err)
{
    /* TextIOWrapper and FileIO remember whether their descriptor can seek when they are made. The payload's 1 and 2 are pipes,
     * the zygote's may be files: they are pipes for this moment. */
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, "streams", errno, "no pipe");
    cleanup_fd int reader = ends[0], writer = ends[1];
    (void)reader; /* only held open: without it the pipe would be broken */
    cleanup_fd int saved_out = fcntl(1, F_DUPFD_CLOEXEC, 10), saved_err = fcntl(2, F_DUPFD_CLOEXEC, 10);
    if (saved_out < 0 || saved_err < 0 || dup2(writer, 1) < 0 || dup2(writer, 2) < 0)
        return error_set(err, "streams", errno, "the standard descriptors cannot be copied");
    int made = make_all();
    if (dup2(saved_out, 1) < 0 || dup2(saved_err, 2) < 0)
        return error_set(err, "streams", errno, "the standard descriptors cannot be put back");
    return made < 0 ? error_from_python(err, "streams", "the standard streams cannot be made") : 0;
}

static void flush_one(const char *name)
{
    PyObject *stream = PySys_GetObject(name);
    if (!stream || stream == Py_None)
        return;
    Py_INCREF(stream);
    PyObject *done = PyObject_CallMethod(stream, "flush", NULL);
    Py_XDECREF(done);
    Py_DECREF(stream);
    PyErr_Clear();
}

void streams_flush(void)
{
    flush_one("stdout");
    flush_one("stderr");
}
