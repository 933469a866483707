#include "execute.h"

#include "audit.h"
#include "cell.h"
#include "classes.h"
#include "exception.h"
#include "report.h"
#include "restrict.h"
#include "source.h"
#include "streams.h"
#include "tally.h"
#include "top_level_await.h"
#include "traceback.h"
#include "value.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESERVE (1024u * 1024)

static struct {
    const struct configuration *configuration;
    PyObject *main, *globals, *builtins; /* of __main__ */
    int future_flags;
    pid_t pid;     /* of the process that calls are for */
    void *reserve; /* given back to the system when memory runs out, so that the error can still be told */
} session;

int execute_prepare(const struct configuration *c, struct error *err)
{
    session.configuration = c;
    session.main = PyImport_AddModule("__main__");
    if (!session.main)
        return error_from_python(err, "interpreter", "there is no __main__");
    Py_INCREF(session.main);
    session.globals = Py_NewRef(PyModule_GetDict(session.main));
    if (cell_prepare(err) < 0 || classes_prepare(err) < 0 || source_prepare(err) < 0 || (!c->lean && traceback_prepare(err) < 0))
        return -1;
    session.reserve = malloc(RESERVE);
    session.builtins = restrict_builtins(c);
    if (!session.builtins)
        return error_from_python(err, "interpreter", "__builtins__");
    return 0;
}

/* What the guest may have taken away between calls and Python itself relies on. */
static void restore_main(void)
{
    PyObject *modules = PyImport_GetModuleDict(); /* the interpreter's own dict, also when sys.modules is something else */
    if (modules && PyDict_GetItemString(modules, "__main__") != session.main)
        PyDict_SetItemString(modules, "__main__", session.main);
    if (session.configuration->restricted || !PyDict_GetItemString(session.globals, "__builtins__"))
        PyDict_SetItemString(session.globals, "__builtins__", session.builtins);
    /* "already shown" is remembered by line number; a new call's line 2 is another line 2 */
    if (PyDict_GetItemString(session.globals, "__warningregistry__"))
        PyDict_DelItemString(session.globals, "__warningregistry__");
    PyErr_Clear();
}

static PyObject *run_code(PyObject *code)
{
    PyObject *value = PyEval_EvalCode(code, session.globals, session.globals);
    if (!value || !(((PyCodeObject *)code)->co_flags & CO_COROUTINE))
        return value;
    PyObject *result = top_level_await(value);
    Py_DECREF(value);
    return result;
}

/* The last expression's value, else what this call bound to `result`; Py_None when there is no value. NULL: exception set. */
static PyObject *run_cell(const struct cell *cell)
{
    if (cell->body) {
        PyObject *done = run_code(cell->body);
        if (!done)
            return NULL;
        Py_DECREF(done);
    }
    PyObject *value = cell->value ? run_code(cell->value) : Py_NewRef(Py_None);
    if (value == Py_None && cell->binds_result) {
        PyObject *result = PyDict_GetItemString(session.globals, "result");
        if (result)
            Py_SETREF(value, Py_NewRef(result));
    }
    return value;
}

/* Compile, run, and put the value into words. -1: exception set. 1: rejected. */
static int run_call(const struct call *call, PyObject *filename, struct outcome *outcome)
{
    cleanup_cell struct cell cell = {0};
    int refused = cell_compile(call->source, call->length, filename, &session.future_flags, &cell, &outcome->findings);
    if (refused != 0)
        return refused;
    cleanup_object PyObject *value = run_cell(&cell);
    if (!value)
        return -1;
    return value == Py_None ? 0 : outcome_take_value(outcome, value, session.configuration->value_bytes);
}

static void forget_interrupt(void)
{
    /* A SIGINT that came between two calls was meant for the one before. */
    if (PyErr_CheckSignals() < 0)
        PyErr_Clear();
}

/* A child that guest code made by fork and did not end runs to the end of the cell like its parent. It is a program of its own,
 * not the session: it ends as a script would, and the channel never hears of it. */
static _Noreturn void end_forked_child(const struct outcome *outcome)
{
    if (outcome->has_exit_code)
        _exit((int)outcome->exit_code);
    bool failed = outcome->status != PAYLOAD_OK;
    if (failed && outcome->traceback.len && write(2, outcome->traceback.data, outcome->traceback.len) < 0)
        _exit(2); /* nowhere left to say it */
    _exit(failed);
}

static void settle(struct outcome *outcome, PyObject *filename, int result)
{
    if (result == 1) {
        outcome->status = PAYLOAD_REJECTED;
        tally_add(TALLY_DENIED, "language", outcome->findings.rule);
        return;
    }
    if (result == 0)
        return;
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) {
        free(session.reserve);
        session.reserve = NULL;
    }
    cleanup_object PyObject *exception = exception_take();
    outcome_take_exception(outcome, exception, filename);
}

int execute_call(const struct call *call, struct buf *reply)
{
    if (!session.reserve)
        session.reserve = malloc(RESERVE);
    session.pid = getpid();
    forget_interrupt();
    restore_main();
    streams_reopen();
    tally_reset();
    cleanup_outcome struct outcome outcome = {.status = PAYLOAD_OK};
    cleanup_object PyObject *filename = PyUnicode_DecodeUTF8(call->filename, (Py_ssize_t)call->filename_length, "replace");
    audit_watch(true);
    int result = filename ? run_call(call, filename, &outcome) : -1;
    settle(&outcome, filename, result);
    streams_flush();
    audit_watch(false);
    if (getpid() != session.pid)
        end_forked_child(&outcome);
    return outcome_put(&outcome, reply) < 0 ? -1 : tally_put(reply);
}

/* ------------------------------------------------------------------ warm-up */

static const char warm_source[] =
    "class Warm:\n"
    "    def method(self, x: int = 1) -> dict:\n"
    "        return {str(i): f'{i:>3}' for i in range(x)}\n"
    "print('', end='')\n"
    "try:\n"
    "    Warm().method(3)['4']\n"
    "except KeyError:\n"
    "    pass\n"
    "result = [1.5, 'a', {'b': (None, True)}]\n"
    "result\n";
static const char warm_error[] = "def warm(): return [][1]\nwarm()\n";

static int warm_one(const char *source, size_t length, enum payload_status expected, struct error *err)
{
    const struct call call = {source, length, "<warm>", 6};
    cleanup_buf struct buf reply = {0};
    if (execute_call(&call, &reply) < 0)
        return error_set(err, "warm", 0, "the warm-up snippet gave no reply");
    int status = report_status(&reply);
    /* a policy may well refuse what the snippet uses; then as much as it lets through is warm */
    if (status == (int)expected || status == PAYLOAD_REJECTED)
        return 0;
    return error_set(err, "warm", 0, "the warm-up snippet did not run as expected");
}

int execute_warm(struct error *err)
{
    cleanup_object PyObject *before = PyDict_Copy(session.globals);
    if (!before)
        return error_from_python(err, "warm", "no copy of __main__");
    if (warm_one(warm_source, sizeof warm_source - 1, PAYLOAD_OK, err) < 0 ||
        warm_one(warm_error, sizeof warm_error - 1, PAYLOAD_ERROR, err) < 0)
        return -1;
    PyDict_Clear(session.globals);
    if (PyDict_Update(session.globals, before) < 0)
        return error_from_python(err, "warm", "__main__ cannot be put back");
    cleanup_object PyObject *filename = PyUnicode_FromString("<warm>");
    if (filename)
        source_forget(filename);
    classes_forget();
    session.future_flags = 0;
    tally_reset();
    return 0;
}
