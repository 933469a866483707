/* snipara-pyhost: the embedded interpreter. Started by snipara-sandbox only, as a zygote with its control socket on
 * descriptor 3; a person who runs it by hand gets told so. */
#include "python.h"

#include "config.h"
#include "zygote.h"
#include "base/mutant.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: snipara-pyhost --zygote\n"
    "       snipara-pyhost --version\n"
    "\n"
    "The interpreter behind snipara-sandbox. It is started by snipara-sandbox, which hands it a control socket\n"
    "(SOCK_SEQPACKET) on descriptor 3. To run Python in a sandbox: snipara-sandbox exec -c 'print(1)'\n";

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("snipara-pyhost %s (CPython %s)\n", PACKAGE_VERSION, PY_VERSION);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc != 2 || strcmp(argv[1], "--zygote") != 0) {
        if (argc > 1)
            fprintf(stderr, "snipara-pyhost: unknown argument '%s'\n", argv[argc > 2 && strcmp(argv[1], "--zygote") == 0 ? 2 : 1]);
        fputs(usage, stderr);
        return 2;
    }
    mutant_take();
    return zygote_main();
}
