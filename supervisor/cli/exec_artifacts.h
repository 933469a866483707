/* Artifacts of an `exec` as files of the caller's. */
#ifndef SNIPARA_CLI_EXEC_ARTIFACTS_H
#define SNIPARA_CLI_EXEC_ARTIFACTS_H

#include "base/error.h"
#include "cli/exec_output.h"
#include "receipt/receipt.h"

/* Make (0700) and open the directory; before the code runs, so that a wrong one costs nothing. */
int exec_artifacts_open(const char *path, struct error *err);

/* Write each artifact below it (files 0600, directories 0700), whole or not at all, over nothing that is there and through no
 * symbolic link. What could not be written, and without a directory (-1) what nobody keeps, is said on `err`. -1: not everything
 * is written. */
int exec_artifacts_write(const struct receipt *r, int directory, const char *name, struct exec_stream *err);

#endif
