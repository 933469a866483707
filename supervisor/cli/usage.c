/* Wrong usage. */
#include "cli/usage.h"

#include "mcp/near_match.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int usage_error(const char *command, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "snipara-sandbox%s%s: ", command ? " " : "", command ? command : "");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

int usage_bad_option(const char *command, int code, char **argv, const struct option *options)
{
    const char *known[32], *written = argv[optind - 1];
    size_t count = 0;
    bool is_long = strncmp(written, "--", 2) == 0;
    if (code == ':')
        return is_long ? usage_error(command, "option %s needs a value", written)
                       : usage_error(command, "option -%c needs a value", optopt);
    if (!is_long)
        return usage_error(command, "unknown option -%c; see snipara-sandbox help %s", optopt, command);
    for (; options[count].name && count < sizeof known / sizeof *known; count++)
        known[count] = options[count].name;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(written + 2, "="), written + 2);
    if (optopt != 0)
        return usage_error(command, "option --%s takes no value", name);
    const char *near = near_match(name, known, count);
    return near ? usage_error(command, "unknown option --%s. Did you mean --%s?", name, near)
                : usage_error(command, "unknown option --%s; see snipara-sandbox help %s", name, command);
}

bool usage_json_only(const char *command, int argc, char **argv, bool *ret_json, int *ret_code)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == 'j') {
            *ret_json = true;
        } else if (option == 'h') {
            *ret_code = usage_help(command);
            return false;
        } else {
            *ret_code = usage_bad_option(command, option, argv, options);
            return false;
        }
    }
    if (optind < argc) {
        *ret_code = usage_error(command, "unexpected argument \"%s\"", argv[optind]);
        return false;
    }
    return true;
}
