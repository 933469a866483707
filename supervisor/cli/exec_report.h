/* The end of an `exec` for people: value on stdout, traceback and one line about the rest on stderr. */
#ifndef SNIPARA_CLI_EXEC_REPORT_H
#define SNIPARA_CLI_EXEC_REPORT_H

#include "cli/exec_output.h"
#include "receipt/receipt.h"

/* `kept`: artifacts are written somewhere. */
void exec_report(const struct receipt *r, bool kept, struct exec_stream *out, struct exec_stream *err);

#endif
