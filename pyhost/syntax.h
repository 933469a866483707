/* The abstract syntax of Python 3.11 to 3.13 as a table: node classes and their child fields, in source order. Whoever walks a
 * tree walks by this table, never by `_fields`, which a guest may change; a class that is not in it is not known. */
#ifndef SNIPARA_PYHOST_SYNTAX_H
#define SNIPARA_PYHOST_SYNTAX_H

#include "python.h"

#include <stdbool.h>

enum node_kind {
    NODE_UNKNOWN,
    NODE_PLAIN, /* nothing but children to look at */
    NODE_ALIAS, NODE_ANN_ASSIGN, NODE_ARG, NODE_ATTRIBUTE, NODE_CALL, NODE_CLASS, NODE_COMPREHENSION, NODE_EXCEPT,
    NODE_EXPR, NODE_FUNCTION, NODE_GLOBAL, NODE_IMPORT, NODE_IMPORT_FROM, NODE_KEYWORD, NODE_LAMBDA, NODE_MATCH_CLASS,
    NODE_MATCH_NAME, NODE_MATCH_MAPPING, NODE_NAME, NODE_TYPE_PARAMETER
};

struct node_class {
    const char *name;
    enum node_kind kind;
    const char *children[8]; /* fields that hold nodes or lists of nodes; NULL-terminated */
};

/* The class of a node; NULL for an object that is no ast node or of a class that is not in the table. */
const struct node_class *syntax_class(PyObject *node);
/* All known names, NULL-terminated by name == NULL, sorted. */
extern const struct node_class syntax_classes[];

/* Field of a node, a new reference; NULL (no exception set) when it is absent. */
PyObject *syntax_field(PyObject *node, const char *name);
/* A field that is a str, as UTF-8 that lives as long as the node; NULL when it is anything else. */
const char *syntax_name(PyObject *node, const char *field);
long syntax_line(PyObject *node);
long syntax_offset(PyObject *node); /* in bytes, from 0 */

/* A stack of nodes still to be visited, so that deep trees do not use up the C stack. */
struct node_stack {
    struct node_entry { PyObject *node; int context; } *entries; /* strong references */
    size_t count, room;
};
/* Push one node / all children by the table / one child field, in reverse, so that they are popped in source order.
 * None and non-nodes are left out. -1: out of memory, MemoryError set. */
int syntax_push(struct node_stack *stack, PyObject *node, int context);
int syntax_push_children(struct node_stack *stack, PyObject *node, const struct node_class *class, int context);
int syntax_push_field(struct node_stack *stack, PyObject *node, const char *field, int context);
/* false when empty; the caller owns *ret_node. */
bool syntax_pop(struct node_stack *stack, PyObject **ret_node, int *ret_context);
void syntax_stack_free(struct node_stack *stack);
#define cleanup_stack __attribute__((cleanup(syntax_stack_free)))

/* Does the module's own code (not its functions, classes, lambdas, comprehension targets) bind `name`: assignment of any kind,
 * for, with-as, walrus, import-as, match capture? -1 with an exception set. */
int syntax_binds(PyObject *module, const char *name);

/* Call `visit` with the __qualname__ of every class that the tree defines, in source order. */
int syntax_classes_defined(PyObject *module, int (*visit)(PyObject *qualname, void *data), void *data);

#endif
