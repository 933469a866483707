/* Numbers on the command line. Strict: a sign, a blank or anything after the number is an error ("-1" must not become a huge size). Pure. */
#ifndef SNIPARA_CLI_NUMBERS_H
#define SNIPARA_CLI_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* "512M", "1g", "64KiB", "1048576": bytes, in units of 1024. Not 0. */
bool number_size(const char *text, uint64_t *ret);
/* "30", "0.05": seconds, digits with at most one point. */
bool number_seconds(const char *text, double *ret);
/* "3": a whole number from 0 to `max`. */
bool number_count(const char *text, unsigned max, unsigned *ret);

#endif
