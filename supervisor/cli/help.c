/* help: the text of each command. */
#include "cli/commands.h"

#include "cli/policy.h"
#include "cli/usage.h"

#include <stdio.h>
#include <string.h>

static const char overview[] =
    "Usage: snipara-sandbox COMMAND [OPTION]...\n"
    "\n"
    "Runs Python that nobody has read in a native jail and answers with a receipt.\n"
    "\n"
    "Commands:\n"
    "  exec        run one snippet and print what it printed\n"
    "  mcp-serve   serve MCP clients on standard input and output\n"
    "  policy      list, show and check policies: what code may do\n"
    "  doctor      show which walls this host can build, and remedies\n"
    "  version     show versions\n"
    "  help        show this text, or the text of a command\n"
    "\n"
    "Options:\n"
    "  --version   as the command version\n"
    "  --help      this text; after a command, its text\n";

static const char exec_text[] =
    "Usage: snipara-sandbox exec [OPTION]... {-c CODE | FILE | -}\n"
    "\n"
    "Runs Python source in a jail that is thrown away afterwards. Output appears as it comes; the value of a last expression\n"
    "follows on stdout, a traceback on stderr.\n"
    "\n"
    "  -c CODE             the source itself; FILE is read, - is standard input\n"
    "  -p, --policy NAME   what the code may do (default: default; see snipara-sandbox policy list)\n"
    "  --timeout SECONDS   stop after this long, 0.05 to 300 (default: the policy's)\n"
    "  --memory SIZE       memory limit, as 512M or 2G (default: the policy's)\n"
    "  --file SRC[:DST]    put a file into /session, the code's working directory; may be repeated\n"
    "  --output-dir DIR    write the files that the code left in /session/output into DIR, which is made if it is not there;\n"
    "                      what stands there already is never overwritten\n"
    "  --json              print the receipt as one JSON document and nothing else\n"
    "\n"
    "Exit code: 0 ok; the code's own for SystemExit; 1 error; 2 wrong usage; 3 rejected by the policy; 4 refused, walls are\n"
    "missing; 124 timeout; 137 out of memory or killed; 139 crashed; 130 or 143 interrupted.\n";

static const char mcp_serve_text[] =
    "Usage: snipara-sandbox mcp-serve [--spares N]\n"
    "\n"
    "Speaks the Model Context Protocol (2024-11-05 to 2025-11-25) on standard input and output: tools execute_python,\n"
    "list_sessions and destroy_session. Ends at end of input and on SIGTERM, SIGINT and SIGHUP; nothing stays behind.\n"
    "\n"
    "  --spares N          keep N jails of each policy in use ready for new sessions, 0 to 64 (default: 2)\n"
    "\n"
    "Log lines go to stderr; SNIPARA_SANDBOX_LOG_LEVEL is error, warning (default), info or debug.\n";

static const char doctor_text[] =
    "Usage: snipara-sandbox doctor [--json]\n"
    "\n"
    "Tries what this host can build and shows for each wall whether it is there, what was tried, and what would help;\n"
    "then runs one snippet. Exit code 1 when something is missing that the default policy requires.\n"
    "\n"
    "  --json              print one JSON document and nothing else\n";

static const char version_text[] =
    "Usage: snipara-sandbox version [--json]\n"
    "\n"
    "Shows the version of the program, of the embedded Python and of the libraries.\n"
    "\n"
    "  --json              print one JSON document and nothing else\n";

static const char help_text[] = "Usage: snipara-sandbox help [COMMAND]\n";

static const struct { const char *command, *text; } texts[] = {
    {"exec", exec_text}, {"mcp-serve", mcp_serve_text}, {"doctor", doctor_text}, {"version", version_text}, {"help", help_text}};

static int print(const char *text)
{
    return fputs(text, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;
}

int usage_help(const char *command)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].command, command) == 0)
            return print(texts[i].text);
    return print(overview);
}

int cli_help(int argc, char **argv)
{
    char policy[] = "policy", help[] = "--help", *of_policy[] = {policy, help, NULL};
    if (argc < 2)
        return print(overview);
    if (argc > 2)
        return usage_error("help", "unexpected argument \"%.200s\"", argv[2]);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return print(help_text);
    if (strcmp(argv[1], "policy") == 0)
        return cli_policy(2, of_policy);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].command, argv[1]) == 0)
            return print(texts[i].text);
    return usage_error("help", "unknown command \"%.60s\"; snipara-sandbox help lists the commands", argv[1]);
}
