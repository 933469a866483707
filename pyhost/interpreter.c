#include "python.h"

#include "interpreter.h"

#include "config.h"
#include "exception.h"
#include "huge_pages.h"
#include "base/cleanup.h"
#include "base/mutant.h"

#include <sys/stat.h>

static int status_error(PyStatus status, PyConfig *config, struct error *err)
{
    error_set(err, "interpreter", 0, "Python cannot start: %s", status.err_msg ? status.err_msg : "it asked to exit");
    if (config)
        PyConfig_Clear(config);
    return -1;
}

static PyStatus configure(PyConfig *config)
{
    config->site_import = 1; /* dist-packages */
    config->user_site_directory = 0;
    config->write_bytecode = 0;
    config->buffered_stdio = 0;
    config->install_signal_handlers = 1; /* SIGINT is KeyboardInterrupt, SIGPIPE ignored: as in any interpreter */
    config->parse_argv = 0;
    config->pathconfig_warnings = 0;
    PyStatus status = PyConfig_SetBytesString(config, &config->stdio_encoding, "utf-8");
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(config, &config->stdio_errors, "backslashreplace");
    /* prefix and standard library are found from the interpreter that belongs to this libpython, not from our own path */
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(config, &config->program_name, PYTHON_EXECUTABLE);
    return status;
}

int interpreter_start(struct error *err)
{
    huge_pages_gather();
    PyPreConfig pre;
    PyPreConfig_InitIsolatedConfig(&pre);
    pre.utf8_mode = 1;
    PyStatus status = Py_PreInitialize(&pre);
    if (PyStatus_Exception(status))
        return status_error(status, NULL, err);
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    status = configure(&config);
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    if (PyStatus_Exception(status))
        return status_error(status, &config, err);
    PyConfig_Clear(&config);
    return 0;
}

static int set_text(const char *name, const char *text)
{
    cleanup_object PyObject *value = PyUnicode_FromString(text);
    return value ? PySys_SetObject(name, value) : -1;
}

static int append_paths(const struct names *paths)
{
    PyObject *list = PySys_GetObject("path");
    if (!list || !PyList_Check(list))
        return -1;
    for (size_t i = 0; i < paths->count; i++) {
        cleanup_object PyObject *path = PyUnicode_DecodeFSDefault(paths->items[i]);
        if (!path || PyList_Append(list, path) < 0)
            return -1;
    }
    return 0;
}

int interpreter_set_up(const struct configuration *c, struct error *err)
{
    /* What a guest may start again is the policy's choice; it never is this program, which is on the trusted side. */
    if (set_text("executable", c->executable) < 0 || set_text("_base_executable", c->executable) < 0)
        return error_from_python(err, "interpreter", "sys cannot be set up");
    return 0;
}

int interpreter_preload(const struct configuration *c, struct error *err)
{
    for (size_t i = 0; i < c->preload.count; i++) {
        cleanup_object PyObject *module = PyImport_ImportModule(c->preload.items[i]);
        if (!module) {
            error_from_python(err, "preload", "it cannot be imported");
            return error_wrap(err, "preload of '%s' (policy %s)", c->preload.items[i], c->policy);
        }
    }
    /* Only now: here these paths are directories of the host, if there at all, and nothing may be loaded from them. */
    if (append_paths(&c->guest_paths) < 0)
        return error_from_python(err, "interpreter", "sys.path cannot be set up");
    return 0;
}

int interpreter_settle(struct error *err)
{
    PyGC_Collect();
    cleanup_object PyObject *gc = PyImport_ImportModule("gc");
    cleanup_object PyObject *done = gc ? PyObject_CallMethod(gc, "freeze", NULL) : NULL;
    if (!done)
        return error_from_python(err, "warm", "gc.freeze");
    huge_pages_settle();
    return 0;
}

int interpreter_threads(struct error *err)
{
    if (mutant(47))
        return 1;
    struct stat task; /* a directory with one entry for each thread */
    if (stat("/proc/self/task", &task) < 0)
        return error_set(err, "threads", errno, "/proc/self/task cannot be looked at");
    return (int)task.st_nlink - 2;
}
