/* Words and sizes: what a person types and what was probably meant. */
#include "policy/document.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 64

/* Edits (insert, delete, replace, swap of neighbours) between two short words: Damerau-Levenshtein, optimal alignment. */
static size_t edits(const char *a, const char *b) {
    size_t la = strlen(a), lb = strlen(b);
    if (la >= WORD_MAX || lb >= WORD_MAX)
        return WORD_MAX;
    unsigned char row[3][WORD_MAX + 1];
    for (size_t j = 0; j <= lb; j++)
        row[0][j] = (unsigned char)j;
    for (size_t i = 1; i <= la; i++) {
        unsigned char *now = row[i % 3], *last = row[(i - 1) % 3], *before = row[(i + 1) % 3];
        now[0] = (unsigned char)i;
        for (size_t j = 1; j <= lb; j++) {
            unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1u < best)
                best = last[j] + 1u;
            if (now[j - 1] + 1u < best)
                best = now[j - 1] + 1u;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1u < best)
                best = before[j - 2] + 1u;
            now[j] = (unsigned char)best;
        }
    }
    return row[la % 3][lb];
}

const char *nearest_word(const char *word, const char *const *known) {
    size_t length = strlen(word), best = length < 5 ? 2 : 3; /* fewer edits than this */
    if (length > 12)
        best = 5;
    const char *found = NULL;
    for (const char *const *k = known; *k; k++) {
        size_t n = edits(word, *k);
        if (n < best) {
            best = n;
            found = *k;
        }
    }
    /* "memory" for "memory_bytes": a beginning is as good as a typing error */
    for (const char *const *k = known; !found && length >= 3 && *k; k++)
        if (!strncmp(*k, word, length))
            found = *k;
    return found;
}

static const struct { const char *name; unsigned shift; } units[] = {{"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};

bool size_parse(const char *text, uint64_t *ret) {
    uint64_t value = 0;
    const char *at = text;
    if (!isdigit((unsigned char)*at))
        return false;
    for (; isdigit((unsigned char)*at); at++) {
        if (value > (1ull << 53) / 10)
            return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (*at == ' ')
        at++;
    unsigned shift = 0;
    bool known = !*at && at[-1] != ' ';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(at, units[i].name)) {
            shift = units[i].shift;
            known = true;
        }
    if (!known || value > (1ull << 53) >> shift)
        return false;
    *ret = value << shift;
    return true;
}

const char *size_text(uint64_t bytes, char ret[SIZE_TEXT]) {
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && bytes && !(bytes & 1023)) {
        bytes >>= 10;
        unit++;
    }
    snprintf(ret, SIZE_TEXT, "%" PRIu64 " %s", bytes, unit ? units[unit].name : "bytes");
    return ret;
}

bool plain_text(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

bool policy_name_fits(const char *name) {
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.");
    return length && length <= 64 && !name[length] && name[0] != '.' && name[0] != '-';
}
