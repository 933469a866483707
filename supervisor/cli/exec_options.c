/* Options of `exec`, its source and its files. */
#include "cli/exec_options.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "cli/exec_artifacts.h"
#include "cli/numbers.h"
#include "cli/source.h"
#include "cli/usage.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECONDS_MIN 0.05
#define SECONDS_MAX 300.0
#define MEMORY_MIN ((uint64_t)16 << 20) /* below it no interpreter starts */
#define FILES_BYTES ((size_t)32 << 20)

static const struct option options[] = {
    {"policy", required_argument, NULL, 'p'}, {"timeout", required_argument, NULL, 't'}, {"memory", required_argument, NULL, 'm'},
    {"file", required_argument, NULL, 'f'},   {"output-dir", required_argument, NULL, 'o'},
    {"json", no_argument, NULL, 'j'},        {"help", no_argument, NULL, 'h'},           {0}};

void exec_options_free(struct exec_options *o)
{
    buf_free(&o->source);
    close_fd(&o->output_dir_fd);
    for (size_t i = 0; i < o->file_count; i++)
        buf_free(&o->contents[i]);
    memset(o, 0, sizeof *o);
    o->output_dir_fd = -1;
}

static int take_timeout(struct exec_options *o, const char *text)
{
    if (!number_seconds(text, &o->timeout_seconds) || o->timeout_seconds < SECONDS_MIN || o->timeout_seconds > SECONDS_MAX)
        return usage_error("exec", "--timeout takes seconds from %g to %g, as 30 or 0.5; got \"%.60s\"", SECONDS_MIN, SECONDS_MAX, text);
    return 0;
}

static int take_memory(struct exec_options *o, const char *text)
{
    if (!number_size(text, &o->memory_bytes) || o->memory_bytes < MEMORY_MIN)
        return usage_error("exec", "--memory takes a size of at least 16M, as 512M or 2G; got \"%.60s\"", text);
    return 0;
}

/* SRC or SRC:DST. A file whose name holds a colon is meant when it is there. */
static int take_file(struct exec_options *o, char *text)
{
    struct error err = {0};
    size_t i = o->file_count, total = 0;
    char *colon = access(text, F_OK) == 0 ? NULL : strrchr(text, ':');
    if (i == EXEC_FILES_MAX)
        return usage_error("exec", "at most %d files can be given with --file", EXEC_FILES_MAX);
    if (colon)
        *colon = '\0';
    const char *slash = strrchr(text, '/'), *target = colon ? colon + 1 : slash ? slash + 1 : text;
    if (!path_is_inside(target, strlen(target)))
        return usage_error("exec", "--file: \"%.200s\" is not a place below /session: use a relative path without empty, . or .. parts", target);
    o->file_count++;
    if (path_read_file(text, FILES_BYTES, &o->contents[i], &err) < 0)
        return usage_error("exec", "--file: %s", err.message);
    for (size_t n = 0; n <= i; n++)
        total += o->contents[n].len;
    if (total > FILES_BYTES)
        return usage_error("exec", "--file: the files are more than 32 MiB in all, with %s", text);
    o->files[i] = (struct session_file){.path = target, .data = o->contents[i].data ? o->contents[i].data : "", .length = o->contents[i].len};
    return 0;
}

static int take_output_dir(struct exec_options *o, const char *path)
{
    struct error err = {0};
    close_fd(&o->output_dir_fd);
    o->output_dir = path;
    o->output_dir_fd = exec_artifacts_open(path, &err);
    return o->output_dir_fd < 0 ? usage_error("exec", "--output-dir: %s", err.message) : 0;
}

static int take_source(struct exec_options *o, const char *code, const char *path)
{
    struct error err = {0};
    if (code ? buf_adds(&o->source, code) < 0 : source_read(path, &o->source, &err) < 0)
        return usage_error("exec", "%s", code ? "out of memory" : err.message);
    bool is_file = !code && strcmp(path, "-") != 0;
    if (is_file)
        o->filename = path;
    if (source_check(code ? "the code of -c" : is_file ? path : "standard input", o->source.data ? o->source.data : "", o->source.len, &err) < 0)
        return usage_error("exec", "%s", err.message);
    return 0;
}

static int take_option(struct exec_options *o, int option, char **argv, const char **code)
{
    switch (option) {
    case 'c': *code = optarg; return 0;
    case 'p': o->policy = optarg; return *optarg ? 0 : usage_error("exec", "--policy: the name of a policy is empty");
    case 't': return take_timeout(o, optarg);
    case 'm': return take_memory(o, optarg);
    case 'f': return take_file(o, optarg);
    case 'o': return take_output_dir(o, optarg);
    case 'j': o->json = true; return 0;
    default: return usage_bad_option("exec", option, argv, options);
    }
}

bool exec_options_read(int argc, char **argv, struct exec_options *ret, int *ret_code)
{
    const char *code = NULL, *path = NULL;
    int option;
    memset(ret, 0, sizeof *ret);
    ret->output_dir_fd = -1;
    optind = 1;
    opterr = 0;
    /* "+": what stands after FILE is not ours */
    while ((option = getopt_long(argc, argv, "+:c:p:h", options, NULL)) != -1) {
        if (option == 'h') {
            *ret_code = usage_help("exec");
            return false;
        }
        *ret_code = take_option(ret, option, argv, &code);
        if (*ret_code != 0)
            return false;
    }
    if (!code && optind < argc)
        path = argv[optind++];
    if (optind < argc)
        *ret_code = usage_error("exec", "unexpected argument \"%.200s\": options stand before FILE, and code comes from one place only", argv[optind]);
    else if (!code && !path)
        *ret_code = usage_error("exec", "no code: give -c CODE, a FILE, or - for standard input");
    else
        *ret_code = take_source(ret, code, path);
    return *ret_code == 0;
}
