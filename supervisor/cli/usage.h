/* Words about wrong usage, in one form: "snipara-sandbox exec: what is wrong". */
#ifndef SNIPARA_CLI_USAGE_H
#define SNIPARA_CLI_USAGE_H

#include <getopt.h>
#include <stdbool.h>

#define EXIT_USAGE 2

/* Print on stderr and return EXIT_USAGE. `command` may be NULL. */
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* After getopt_long gave '?' or ':' (opterr is 0, the short option string begins with ':'): say which option it was, with a near match. */
int usage_bad_option(const char *command, int code, char **argv, const struct option *options);

/* For commands whose only option is --json: false when usage is wrong (said already) or help was printed; *ret_code then holds the exit code. */
bool usage_json_only(const char *command, int argc, char **argv, bool *ret_json, int *ret_code);

/* Print the help text of a command on stdout; returns 0, or 1 when stdout cannot be written. */
int usage_help(const char *command);

#endif
