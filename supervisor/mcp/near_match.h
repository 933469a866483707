/* "Did you mean ...?": the known word that is nearest to what was written. Pure. */
#ifndef SNIPARA_MCP_NEAR_MATCH_H
#define SNIPARA_MCP_NEAR_MATCH_H

#include <stddef.h>

/* The nearest of `count` words by edit distance, or NULL when none is near (more than a third of the letters differ). */
const char *near_match(const char *word, const char *const *known, size_t count);

#endif
