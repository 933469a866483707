/* snipara-sandbox: the command line. Finds the command and hands over; everything else is in cli/. */
#include "base/mutant.h"
#include "cli/commands.h"
#include "cli/policy.h"
#include "cli/usage.h"
#include "jail/maker.h"
#include "mcp/near_match.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {{"exec", cli_exec},       {"mcp-serve", cli_mcp_serve}, {"policy", cli_policy}, {"doctor", cli_doctor},
                {"version", cli_version}, {"help", cli_help},           {"--version", cli_version}, {"-V", cli_version},
                {"--help", cli_help},     {"-h", cli_help}};

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

/* A caller may have closed standard streams. The next file that is opened would take the number, and what is meant for the caller
 * would be written into it. */
static bool fill_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    const char *names[COMMAND_COUNT];
    if (!fill_standard_streams())
        return 1;
    if (argc < 2) {
        usage_error(NULL, "no command; snipara-sandbox --help lists the commands");
        return EXIT_USAGE;
    }
    if (argc == 2 && strcmp(argv[1], MAKER_ARGUMENT) == 0)
        return maker_main(); /* not a command: the supervisor starts its helper so */
    mutant_announce();
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, argv[1]) == 0)
            return commands[i].run(argc - 1, argv + 1);
        names[i] = commands[i].name;
    }
    const char *near = near_match(argv[1], names, COMMAND_COUNT);
    return near ? usage_error(NULL, "unknown command \"%.60s\". Did you mean %s?", argv[1], near)
                : usage_error(NULL, "unknown command \"%.60s\"; snipara-sandbox --help lists the commands", argv[1]);
}
