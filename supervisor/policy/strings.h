/* Lists of owned strings (struct strings). Pure. */
#ifndef SNIPARA_POLICY_STRINGS_H
#define SNIPARA_POLICY_STRINGS_H

#include "policy/policy.h"

int strings_add(struct strings *list, const char *text); /* a copy; -1: out of memory */
int strings_from(struct strings *list, const cJSON *array); /* every string of a JSON array, or nothing for NULL */
bool strings_have(const struct strings *list, const char *text);
/* The first of `a` that `b` lacks, or NULL. */
const char *strings_beyond(const struct strings *a, const struct strings *b);
void strings_free(struct strings *list);

/* Does `pattern` ("pkg") cover the module `name` ("pkg", "pkg.sub")? */
bool module_covers(const char *pattern, const char *name);
/* Does one entry of the list cover it? */
bool modules_cover(const struct strings *list, const char *name);

#endif
