/* The commands. Each takes its own argument vector (argv[0] is its name) and returns the exit code; 2 is wrong usage. One file per
 * command, no logic of its own: reading options, calling a module, printing. */
#ifndef SNIPARA_CLI_COMMANDS_H
#define SNIPARA_CLI_COMMANDS_H

int cli_exec(int argc, char **argv);
int cli_mcp_serve(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_version(int argc, char **argv);
int cli_help(int argc, char **argv);

#endif
