/* The command `policy`: list, show, check, trust. argv[0] is "policy"; returns the exit code (1: invalid policy, 2: wrong usage). */
#ifndef SNIPARA_CLI_POLICY_H
#define SNIPARA_CLI_POLICY_H

int cli_policy(int argc, char **argv);

#endif
