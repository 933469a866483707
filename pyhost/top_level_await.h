/* `await` at the top level of a cell: one asyncio.Runner for the whole session, made on first use, so that tasks, locks and
 * queues of one call can be used in the next. asyncio.run() in ordinary code keeps working: no loop runs between calls. */
#ifndef SNIPARA_PYHOST_TOP_LEVEL_AWAIT_H
#define SNIPARA_PYHOST_TOP_LEVEL_AWAIT_H

#include "python.h"

/* Run a coroutine to its end and return its value (new reference); NULL with an exception set. SIGINT cancels it. */
PyObject *top_level_await(PyObject *coroutine);

#endif
