/* The guard's tables: names that restricted mode lets pass although they look special, and format strings. Pure. */
#ifndef SNIPARA_PYHOST_GUARD_NAMES_H
#define SNIPARA_PYHOST_GUARD_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Special methods that a class body may define with `def`: the interpreter calls them with operands, they look nothing up.
 * super() may be asked for them too. */
bool guard_is_plain_method(const char *name);
/* Special names that a class body may assign. */
bool guard_is_class_setting(const char *name);

/* The first attribute name that a format string looks up and that `refused` does not want, copied to `ret` (cut at `size`); also
 * when the string is malformed ("?"): what cannot be read is not let through. False: the string is harmless. */
bool guard_format_refused(const char *text, size_t length, bool (*refused)(const char *name), char *ret, size_t size);

#endif
