#include "python.h"

#include "reseed.h"

#include "exception.h"
#include "base/mutant.h"

/* Borrowed; NULL when nobody has imported it, and then there is no state. */
static PyObject *imported(const char *name)
{
    return PyDict_GetItemString(PyImport_GetModuleDict(), name);
}

static int call_seed(const char *name)
{
    PyObject *module = imported(name);
    PyObject *done = module ? PyObject_CallMethod(module, "seed", NULL) : Py_NewRef(Py_None);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* random.seed() without its Python part, which only sorts out kinds of seeds: every page that it touches would be copied. What it does
 * besides is to forget the second half of a pair of Gaussian numbers. */
static int seed_random(void)
{
    PyObject *module = imported("random"), *core = imported("_random");
    if (!module || !core)
        return 0;
    cleanup_object PyObject *instance = PyObject_GetAttrString(module, "_inst");
    cleanup_object PyObject *base = PyObject_GetAttrString(core, "Random");
    cleanup_object PyObject *done = instance && base ? PyObject_CallMethod(base, "seed", "O", instance) : NULL;
    return done ? PyObject_SetAttrString(instance, "gauss_next", Py_None) : -1;
}

static int forget(const char *name, const char *attribute)
{
    PyObject *module = imported(name);
    cleanup_object PyObject *value = module ? PyObject_GetAttrString(module, attribute) : NULL;
    PyErr_Clear();
    return value && value != Py_None ? PyObject_SetAttrString(module, attribute, Py_None) : 0;
}

/* multiprocessing makes its authentication key when it is imported: in the zygote, once for all jails. */
static int renew_process_key(void)
{
    PyObject *module = imported("multiprocessing.process"), *os = imported("os");
    if (!module || !os)
        return 0;
    cleanup_object PyObject *process = PyObject_CallMethod(module, "current_process", NULL);
    cleanup_object PyObject *key = process ? PyObject_CallMethod(os, "urandom", "i", 32) : NULL;
    return key ? PyObject_SetAttrString(process, "authkey", key) : -1;
}

/* threading knows its main thread by the zygote's number, which is none of the guest's business and not its own. */
static int renew_thread_number(void)
{
    PyObject *module = imported("threading");
    cleanup_object PyObject *thread = module ? PyObject_CallMethod(module, "main_thread", NULL) : NULL;
    cleanup_object PyObject *done = thread ? PyObject_CallMethod(thread, "_set_native_id", NULL) : NULL;
    return done || !module ? 0 : -1;
}

int reseed(struct error *err)
{
    if (renew_thread_number() < 0)
        return error_from_python(err, "reseed", "the main thread cannot be renumbered");
    if (mutant(45))
        return 0;
    if (seed_random() < 0 || call_seed("numpy.random") < 0 || forget("tempfile", "_name_sequence") < 0 ||
        forget("uuid", "_last_timestamp") < 0 || forget("uuid", "_node") < 0 || renew_process_key() < 0)
        return error_from_python(err, "reseed", "random state cannot be renewed");
    return 0;
}
