/* inspect.getsource for classes that calls define.
 *
 * Functions know their file (co_filename, "<call 7>") and so find their lines. A class only knows its module, and for
 * __main__ without __file__ inspect.getfile says "source code not available". So each call's classes are remembered by
 * qualified name, and inspect.getfile answers with the newest call that defines the class.
 */
#ifndef SNIPARA_PYHOST_CLASSES_H
#define SNIPARA_PYHOST_CLASSES_H

#include "python.h"

#include "base/error.h"

/* In the zygote. */
int classes_prepare(struct error *err);
/* Put our getfile in front of the one of inspect, which is imported. */
int classes_patch_inspect(struct error *err);
/* Remember the classes of a call's tree. Never fails the call. */
void classes_register(PyObject *tree, PyObject *filename);
void classes_forget(void);

#endif
