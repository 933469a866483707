#include "top_level_await.h"

#include <stdbool.h>

static PyObject *runner;

static bool is_usable(void)
{
    if (!runner)
        return false;
    /* Code may have closed the session's loop; then the next call gets a new one. */
    cleanup_object PyObject *loop = PyObject_CallMethod(runner, "get_loop", NULL);
    cleanup_object PyObject *closed = loop ? PyObject_CallMethod(loop, "is_closed", NULL) : NULL;
    PyErr_Clear();
    return closed == Py_False;
}

static int make_runner(void)
{
    /* not PyImport_ImportModule: that asks builtins.__import__, which is the guest's to replace */
    cleanup_object PyObject *asyncio = PyImport_ImportModuleLevel("asyncio", NULL, NULL, NULL, 0);
    PyObject *made = asyncio ? PyObject_CallMethod(asyncio, "Runner", NULL) : NULL;
    if (!made)
        return -1;
    Py_XSETREF(runner, made);
    return 0;
}

PyObject *top_level_await(PyObject *coroutine)
{
    if (!is_usable() && make_runner() < 0)
        return NULL;
    return PyObject_CallMethod(runner, "run", "O", coroutine);
}
