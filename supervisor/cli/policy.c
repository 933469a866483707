/* policy: what code may do, shown and checked. */
#include "cli/policy.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/usage.h"
#include "policy/policy.h"
#include "policy/seccomp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: snipara-sandbox policy list [--json]\n"
    "       snipara-sandbox policy show NAME [--explain | --json]\n"
    "       snipara-sandbox policy check {FILE | NAME} [--json]\n"
    "       snipara-sandbox policy trust FILE\n"
    "\n"
    "A policy says what code may do: language, imports, system calls, files, network, limits, and the walls that must stand.\n"
    "\n"
    "  list        the policies that can be used, and where each comes from\n"
    "  show        one policy with all that it inherits\n"
    "  check       read a policy as a call would, and point out what is dangerous in it; exit code 1 when it is not valid,\n"
    "              or allows a dangerous system call without a comment\n"
    "  trust       record that you have read a project's policy, so that it may do more than narrow an installed one\n"
    "\n"
    "  --explain   each rule in words\n"
    "  --json      print one JSON document and nothing else\n";

struct request {
    const char *verb, *operand;
    bool json, explain;
};

static int print_json(const cJSON *document)
{
    cleanup_free char *text = json_print_pretty(document);
    return text && puts(text) >= 0 && fflush(stdout) == 0 ? 0 : 1;
}

static cJSON *error_json(const struct error *err)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "step", err->step);
    cJSON_AddStringToObject(object, "message", err->message);
    return object;
}

/* Say that it failed, in the form that was asked for; returns the exit code. */
static int failed(const struct request *rq, const struct error *err)
{
    if (!rq->json) {
        fflush(stdout);
        fprintf(stderr, "snipara-sandbox policy %s: %s\n", rq->verb, err->message);
        return 1;
    }
    cleanup_json cJSON *document = cJSON_CreateObject();
    if (!strcmp(rq->verb, "check"))
        cJSON_AddFalseToObject(document, "valid");
    cJSON_AddItemToObject(document, "error", error_json(err));
    print_json(document);
    return 1;
}

static int policy_list_command(const struct request *rq)
{
    struct error err = {0};
    cleanup_json cJSON *list = NULL;
    if (policy_list(&list, &err) < 0)
        return failed(rq, &err);
    if (rq->json)
        return print_json(list);
    for (const cJSON *entry = list->child; entry; entry = entry->next) {
        const char *about = json_get_string(entry, "description"), *broken = json_get_string(entry, "error");
        printf("%-16s %-18s %s\n", json_get_string(entry, "name"), json_get_string(entry, "origin"), json_get_string(entry, "path"));
        if (json_get(entry, "shadowed"))
            printf("%-16s never used: the name is taken by the entry above\n", "");
        if (broken || (about && *about))
            printf("%-16s %s%s\n", "", broken ? "broken: " : "", broken ? broken : about);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

/* The resolved policy with what is known about it beside its rules. */
static cJSON *show_json(const struct policy *p)
{
    cJSON *document = cJSON_Duplicate(p->resolved, true);
    cJSON_AddStringToObject(document, "origin", policy_origin_name(p->origin));
    cJSON_AddStringToObject(document, "path", p->path);
    cJSON_AddStringToObject(document, "digest", p->digest);
    if (p->extends)
        cJSON_AddStringToObject(document, "extends", p->extends);
    if (p->widen_reason)
        cJSON_AddStringToObject(document, "widen_reason", p->widen_reason);
    return document;
}

static const char *counted(const struct strings *list, bool allow, char ret[64])
{
    snprintf(ret, 64, allow ? "only the %zu on the list" : list->count ? "all but %zu" : "all", list->count);
    return ret;
}

static int show_short(const struct policy *p)
{
    static const char *const networks[] = {"none", "loopback", "allow"};
    const struct policy_limits *l = &p->limits;
    char imports[64];
    printf("%-12s %s (%s)\n%-12s %s\n%-12s %s\n", "policy", p->name, policy_origin_name(p->origin), "file", p->path, "digest", p->digest);
    if (p->description)
        printf("%-12s %s\n", "for", p->description);
    if (p->extends)
        printf("%-12s %s%s%s\n", "extends", p->extends, p->widen_reason ? ", allows more: " : "", p->widen_reason ? p->widen_reason : "");
    printf("%-12s %s\n%-12s %s\n", "language", p->restricted ? "restricted" : "full", "imports",
           counted(&p->import_names, p->imports_allow_list, imports));
    printf("%-12s %s\n%-12s %s\n%-12s %zu\n", "network", networks[p->network], "seccomp", p->seccomp_profile, "mounts", p->mount_count);
    printf("%-12s %g s (at most %g), %" PRIu64 " MiB (at most %" PRIu64 "), %" PRIu64 " processes, %g cpus\n", "limits", l->timeout_seconds,
           l->timeout_max_seconds, l->memory_bytes >> 20, l->memory_max_bytes >> 20, l->pids, l->cpus);
    printf("%-12s", "walls");
    for (size_t i = 0; i < p->layers_required.count; i++)
        printf(" %s", p->layers_required.items[i]);
    printf("\nMore with --explain (in words) or --json (all of it).\n");
    return fflush(stdout) == 0 ? 0 : 1;
}

static int policy_show_command(const struct request *rq)
{
    struct error err = {0};
    cleanup_policy struct policy *p = NULL;
    if (policy_load(rq->operand, &p, &err) < 0)
        return failed(rq, &err);
    if (rq->json) {
        cleanup_json cJSON *document = show_json(p);
        return print_json(document);
    }
    if (!rq->explain)
        return show_short(p);
    cleanup_free char *text = policy_explain(p);
    return text && fputs(text, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;
}

/* A path has a slash or the ending of a policy file; everything else is a name. */
static bool is_file(const char *operand)
{
    size_t length = strlen(operand);
    return strchr(operand, '/') || (length > 5 && !strcmp(operand + length - 5, ".json"));
}

static int errors_in(const cJSON *findings)
{
    int count = 0;
    for (const cJSON *entry = findings->child; entry; entry = entry->next)
        count += !strcmp(json_get_string(entry, "severity"), "error");
    return count;
}

static int print_findings(const struct policy *p, const cJSON *findings)
{
    int errors = errors_in(findings);
    for (const cJSON *entry = findings->child; entry; entry = entry->next)
        printf("%s: %s: %s\n", json_get_string(entry, "severity"), json_get_string(entry, "where"), json_get_string(entry, "message"));
    if (errors)
        printf("%s: policy %s is refused: %d error%s\n", p->path, p->name, errors, errors == 1 ? "" : "s");
    else
        printf("%s: policy %s is valid, %s\n", p->path, p->name, p->digest);
    return fflush(stdout) == 0 && !errors ? 0 : 1;
}

static int policy_check_command(const struct request *rq)
{
    struct error err = {0};
    struct seccomp_compiled *compiled = NULL;
    cleanup_policy struct policy *p = NULL;
    cleanup_json cJSON *findings = NULL;
    int r = is_file(rq->operand) ? policy_load_file(rq->operand, &p, &err) : policy_load(rq->operand, &p, &err);
    if (r == 0 && (r = seccomp_compile(p->seccomp, &compiled, &err)) < 0)
        error_wrap(&err, "%s: seccomp", p->path);
    seccomp_compiled_free(compiled);
    if (r < 0 || policy_lint(p, &findings, &err) < 0)
        return failed(rq, &err);
    if (!rq->json)
        return print_findings(p, findings);
    cleanup_json cJSON *document = cJSON_CreateObject();
    bool valid = !errors_in(findings);
    cJSON_AddBoolToObject(document, "valid", valid);
    cJSON_AddStringToObject(document, "name", p->name);
    cJSON_AddStringToObject(document, "path", p->path);
    cJSON_AddStringToObject(document, "origin", policy_origin_name(p->origin));
    cJSON_AddStringToObject(document, "digest", p->digest);
    cJSON_AddItemToObject(document, "findings", steal_ptr(&findings));
    return print_json(document) == 0 && valid ? 0 : 1;
}

static int policy_trust_command(const struct request *rq)
{
    struct error err = {0};
    if (policy_trust(rq->operand, &err) < 0)
        return failed(rq, &err);
    printf("%s is trusted as it stands now; after a change it has to be trusted again\n", rq->operand);
    return fflush(stdout) == 0 ? 0 : 1;
}

static const struct verb {
    const char *name;
    const char *operand; /* what it takes, or NULL */
    bool json, explain;
    int (*run)(const struct request *);
} verbs[] = {{"list", NULL, true, false, policy_list_command},
             {"show", "the NAME of a policy", true, true, policy_show_command},
             {"check", "a FILE or the NAME of a policy", true, false, policy_check_command},
             {"trust", "a FILE", false, false, policy_trust_command}};

static int run_verb(const struct verb *verb, struct request *rq, int operands, char **operand)
{
    if (rq->json && !verb->json)
        return usage_error("policy", "%s has no --json", verb->name);
    if (rq->explain && !verb->explain)
        return usage_error("policy", "--explain goes only with show");
    if (rq->explain && rq->json)
        return usage_error("policy", "choose one of --explain and --json");
    if (verb->operand && operands < 1)
        return usage_error("policy", "%s needs %s", verb->name, verb->operand);
    if (operands > (verb->operand ? 1 : 0))
        return usage_error("policy", "unexpected argument \"%.200s\"", operand[verb->operand ? 1 : 0]);
    rq->verb = verb->name;
    rq->operand = verb->operand ? operand[0] : NULL;
    return verb->run(rq);
}

int cli_policy(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"explain", no_argument, NULL, 'e'}, {"help", no_argument, NULL, 'h'}, {0}};
    struct request rq = {0};
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == 'h')
            return fputs(help, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;
        if (option == 'j')
            rq.json = true;
        else if (option == 'e')
            rq.explain = true;
        else
            return usage_bad_option("policy", option, argv, options);
    }
    if (optind == argc)
        return usage_error("policy", "what to do is missing: list, show, check or trust; see snipara-sandbox policy --help");
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (!strcmp(verbs[i].name, argv[optind]))
            return run_verb(&verbs[i], &rq, argc - optind - 1, argv + optind + 1);
    return usage_error("policy", "unknown command \"%.60s\"; known are list, show, check and trust", argv[optind]);
}
