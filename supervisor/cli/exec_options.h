/* What `exec` was asked to do. */
#ifndef SNIPARA_CLI_EXEC_OPTIONS_H
#define SNIPARA_CLI_EXEC_OPTIONS_H

#include "base/buf.h"
#include "session/session.h"

#include <stdbool.h>

#define EXEC_FILES_MAX 100

struct exec_options {
    struct buf source;
    const char *filename;      /* shown in tracebacks; NULL: the session's own words */
    const char *policy;        /* or NULL */
    double timeout_seconds;    /* 0: the policy's */
    uint64_t memory_bytes;     /* 0: the policy's */
    bool json;
    const char *output_dir;    /* or NULL */
    int output_dir_fd;         /* of it, made and opened; -1: none */
    struct session_file files[EXEC_FILES_MAX];
    struct buf contents[EXEC_FILES_MAX];
    size_t file_count;
};

/* true: run. false: *ret_code is the exit code and everything was said. Free the options in both cases. */
bool exec_options_read(int argc, char **argv, struct exec_options *ret, int *ret_code);
void exec_options_free(struct exec_options *o);

#endif
