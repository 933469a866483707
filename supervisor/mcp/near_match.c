/* Optimal string alignment distance (edits and swaps of neighbours) over short words. */
#include "mcp/near_match.h"

#include <string.h>

#define WORD_MAX 48u

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t d[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= n; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            size_t change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = least(change, least(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

const char *near_match(const char *word, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t length = strnlen(word, WORD_MAX + 1), best_distance = length / 3 + 1;
    if (length == 0 || length > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t m = strnlen(known[i], WORD_MAX + 1);
        if (m > WORD_MAX)
            continue;
        size_t d = distance(word, length, known[i], m);
        if (d <= best_distance && (!best || d < best_distance)) {
            best = known[i];
            best_distance = d;
        }
    }
    return best;
}
