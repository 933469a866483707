/* mcp-serve: the MCP server on standard input and output. */
#include "cli/commands.h"

#include "cli/numbers.h"
#include "cli/usage.h"
#include "mcp/log.h"
#include "mcp/serve.h"

#include <malloc.h>
#include <unistd.h>

enum { SPARES = 2, SPARES_MAX = 64 };

/* Guests choose how large their answers are. What is freed stays for the next answer: mapped anew each time, the buffers of a large one
 * cost thousands of page faults. The backend gives it back half a second later. */
static void keep_memory_for_a_moment(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 * 1024 * 1024);
    mallopt(M_TRIM_THRESHOLD, 64 * 1024 * 1024);
}

int cli_mcp_serve(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {"spares", required_argument, NULL, 's'}, {0}};
    unsigned spares = SPARES;
    struct sessions *sessions = NULL;
    struct error why = {0};
    uv_loop_t loop;
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option != 's')
            return option == 'h' ? usage_help("mcp-serve") : usage_bad_option("mcp-serve", option, argv, options);
        if (!number_count(optarg, SPARES_MAX, &spares))
            return usage_error("mcp-serve", "--spares %.100s: give a whole number from 0 to %d", optarg, SPARES_MAX);
    }
    if (optind < argc)
        return usage_error("mcp-serve", "unexpected argument \"%.200s\"", argv[optind]);
    if (isatty(STDIN_FILENO))
        mcp_log(LOG_LEVEL_WARNING, "mcp-serve speaks JSON-RPC, one message per line, and is started by an MCP client; end with Ctrl-D");
    keep_memory_for_a_moment();
    uv_loop_init(&loop);
    /* A host without walls still gets a server: its client can then show what is missing, instead of a server that is gone. */
    if (sessions_new(&loop, &sessions, &why) < 0) {
        sessions = NULL;
        mcp_log(LOG_LEVEL_ERROR, "no code can run: %s", why.message);
    }
    if (sessions)
        sessions_warm(sessions, "default", spares);
    int code = mcp_serve(&loop, sessions, &why, STDIN_FILENO, STDOUT_FILENO);
    uv_loop_close(&loop);
    return code;
}
