/* The guard's rules, one function per concept; guard.c walks the tree and asks. */
#ifndef SNIPARA_PYHOST_GUARD_RULES_H
#define SNIPARA_PYHOST_GUARD_RULES_H

#include "python.h"

#include "guard.h"

#include <stdbool.h>

struct guard {
    const struct configuration *policy;
    PyObject *filename;
    struct findings *findings;
};

enum name_use {
    NAME_USED,          /* loaded, stored, deleted, bound in any way */
    NAME_IN_CLASS_BODY, /* assigned by a class body: an attribute of the class */
    NAME_METHOD,        /* def in a class body */
    NAME_KEYWORD        /* name of an argument in a call */
};

/* Add a finding at the position of `node`: "line 3, column 8: " and the text. */
void guard_report(struct guard *g, PyObject *node, const char *rule, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* A name that is looked up on an object: by a dot, a class pattern's keyword, a from-import. */
void guard_attribute(struct guard *g, PyObject *node, const char *name);
void guard_name(struct guard *g, PyObject *node, const char *name, enum name_use use);
/* `import name` */
void guard_import(struct guard *g, PyObject *node, const char *name);
/* `from module import item`, with what is left of the dots in `level` */
void guard_import_from(struct guard *g, PyObject *node, const char *module, long level, const char *item);
/* An attribute `format`. Only a call on a literal whose fields look nothing refused up can be let through: of any other value
 * neither the type nor, if it is a str, the text is known here, and a field like {0.__class__} is code inside a string. */
void guard_format(struct guard *g, PyObject *attribute, bool is_called);

#endif
