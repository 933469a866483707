#include "python.h"

#include "tracker.h"

#include "exception.h"

/* The one place where the tracker is started is ensure_running (3.11) or _ensure_running_and_write (3.13); both end in a
 * descriptor that takes lines, and /dev/null takes them all. Children get the same descriptor (getfd). */
static const char SOURCE[] =
    "def silence():\n"
    "    import os\n"
    "    from multiprocessing import resource_tracker as module\n"
    "    tracker = module._resource_tracker\n"
    "    def ensure_running(self=tracker):\n"
    "        with self._lock:\n"
    "            if self._fd is None:\n"
    "                self._fd = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)\n"
    "    def ensure_and_write(self, msg=None):\n"
    "        ensure_running(self)\n"
    "        if msg is not None:\n"
    "            self._write(msg)\n"
    "    module.ResourceTracker.ensure_running = ensure_running\n"
    "    if hasattr(module.ResourceTracker, '_ensure_running_and_write'):\n"
    "        module.ResourceTracker._ensure_running_and_write = ensure_and_write\n"
    "    module.ensure_running = tracker.ensure_running\n"
    "silence()\n";

int tracker_silence(struct error *err)
{
    cleanup_object PyObject *scope = PyDict_New();
    cleanup_object PyObject *done = NULL;
    if (scope && PyDict_SetItemString(scope, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyRun_String(SOURCE, Py_file_input, scope, scope);
    return done ? 0 : error_from_python(err, "interpreter", "multiprocessing.resource_tracker cannot be silenced");
}
