/* Policy files as an operator or a project brings them: up to four texts with NUL between them, which become the operator's a and b, a
 * project's p and the seccomp profile `own`. They are loaded as `exec` loads them. What is accepted allows nothing that its parent
 * does not (unless it says widen), its filter answers as the profile says, and the resolved policy, printed and read again, is the
 * same policy. What is refused is refused in one line. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"
#include "filter_oracle.h"
#include "policy/build.h"
#include "policy/document.h"
#include "policy/policy.h"
#include "policy_oracle.h"

#include <fcntl.h>
#include <ftw.h>

enum { FILES = 4 };
static const char *const places[FILES] = {"config/snipara-sandbox/policies/a.json", "config/snipara-sandbox/policies/b.json",
                                          "project/.snipara-sandbox/policies/p.json", "config/snipara-sandbox/policies/seccomp/own.json"};
static char root[512], files[FILES][640];

/* What they may extend: small, and wide enough that there is something to narrow. */
static const char base[] =
    "{\"name\":\"base\",\"language\":{\"mode\":\"full\",\"denied_nodes\":[\"Await\"],\"denied_builtins\":[\"eval\"],\"allowed_names\":[\"_\"]},"
    "\"imports\":{\"mode\":\"deny\",\"names\":[\"ctypes\",\"os.path\"],\"preload\":[\"json\"]},\"seccomp\":{\"profile\":\"small\"},"
    "\"filesystem\":{\"mounts\":[{\"kind\":\"rw\",\"source\":\"/srv\",\"target\":\"/srv\",\"exec\":true},"
    "{\"kind\":\"tmpfs\",\"target\":\"/srv/private\",\"bytes\":65536,\"inodes\":64},"
    "{\"kind\":\"ro\",\"source\":\"/opt\",\"target\":\"/opt\",\"optional\":true}],\"session\":{\"bytes\":\"64MiB\",\"inodes\":4096},"
    "\"tmp\":{\"bytes\":\"64MiB\",\"inodes\":4096},\"shm\":{\"bytes\":\"16MiB\"}},\"network\":{\"mode\":\"allow\",\"hosts\":[\"a\",\"b:80\"]},"
    "\"limits\":{\"timeout_seconds\":30,\"timeout_max_seconds\":300,\"memory_bytes\":\"512MiB\",\"memory_max_bytes\":\"4GiB\",\"pids\":64,"
    "\"cpus\":1.5,\"output_bytes\":\"256KiB\",\"value_bytes\":65536,\"source_bytes\":\"16MiB\",\"open_files\":256,\"file_bytes\":\"64MiB\","
    "\"stack_bytes\":\"8MiB\"},\"layers\":{\"required\":[\"seccomp\",\"landlock\"],\"optional\":[\"keyring\"]},"
    "\"environment\":{\"set\":{\"HOME\":\"/session\"},\"pass\":[\"TZ\"]}}";
static const char small[] =
    "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":1,\"syscalls\":[{\"names\":[\"read\",\"write\",\"close\",\"execve\"],"
    "\"action\":\"SCMP_ACT_ALLOW\"},{\"names\":[\"clone3\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":38},{\"names\":[\"ioctl\"],"
    "\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":1,\"value\":21505,\"op\":\"SCMP_CMP_EQ\"}]}]}";

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    return remove(path);
}

static void clean_up(void)
{
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const char *path, const void *data, size_t length)
{
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, data, length) == (ssize_t)length);
}

static const char *below(const char *name)
{
    static char path[640];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

/* A configuration of its own in TMPDIR: nothing of this machine is read. */
static void prepare(void)
{
    static const char *const directories[] = {"installed/seccomp", "config/snipara-sandbox/policies/seccomp", "project/.snipara-sandbox/policies", "state"};
    const char *tmp = getenv("TMPDIR");
    snprintf(root, sizeof root, "%.400s/fuzz_policy.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    require(mkdtemp(root) != NULL && atexit(clean_up) == 0);
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        require(path_make_directories(below(directories[i]), NULL) == 0);
    for (int i = 0; i < FILES; i++)
        snprintf(files[i], sizeof files[i], "%s", below(places[i]));
    write_file(below("installed/base.json"), base, sizeof base - 1);
    write_file(below("installed/seccomp/small.json"), small, sizeof small - 1);
    setenv("SNIPARA_SANDBOX_POLICY_DIR", below("installed"), 1);
    setenv("XDG_CONFIG_HOME", below("config"), 1);
    setenv("XDG_STATE_HOME", below("state"), 1);
    setenv("HOME", root, 1);
}

static void put_files(const uint8_t *data, size_t size)
{
    static bool there[FILES];
    for (int i = 0; i < FILES; i++) {
        const uint8_t *end = size ? memchr(data, 0, size) : NULL;
        size_t length = end ? (size_t)(end - data) : size;
        if (length)
            write_file(files[i], data, length);
        else if (there[i])
            unlink(files[i]);
        there[i] = length > 0;
        data = end ? end + 1 : data + length;
        size -= length + (end != NULL);
    }
}

/* The resolved policy with its seccomp section as it was written: a document that extends nothing and builds the same policy. */
static void check_round_trip(const struct policy *p)
{
    struct error err = {0};
    cleanup_json cJSON *flat = cJSON_Duplicate(p->resolved, true), *seccomp = cJSON_CreateObject();
    require(flat && seccomp && cJSON_AddStringToObject(seccomp, "profile", p->seccomp_profile));
    if (p->seccomp_add->child)
        require(cJSON_AddItemToObject(seccomp, "add", cJSON_Duplicate(p->seccomp_add, true)));
    require(cJSON_ReplaceItemInObjectCaseSensitive(flat, "seccomp", steal_ptr(&seccomp)));
    cleanup_free char *text = json_print(flat);
    cleanup_json cJSON *again = document_parse(text, strlen(text), &err);
    cleanup_policy struct policy *built = NULL;
    require(again && document_complete(again, &err) == 0 && policy_build(again, &built, &err) == 0);
    require(!strcmp(built->digest, p->digest));
    if (!p->origin || p->origin == POLICY_OPERATOR)
        policy_check_narrower(p, built);
    policy_check_narrower(built, p);
}

static void check_words(const struct policy *p)
{
    cleanup_json cJSON *findings = NULL;
    cleanup_free char *words = policy_explain(p);
    const cJSON *f;
    require(words && *words && utf8_valid(words, strlen(words)));
    require(policy_lint(p, &findings, NULL) == 0 && cJSON_IsArray(findings));
    cJSON_ArrayForEach(f, findings) {
        const char *severity = json_get_string(f, "severity"), *message = json_get_string(f, "message");
        require(severity && (!strcmp(severity, "error") || !strcmp(severity, "warning") || !strcmp(severity, "note")));
        require(message && *message && !strchr(message, '\n') && json_get_string(f, "where"));
    }
}

static bool refused_well(const struct error *err)
{
    return err->message[0] && !strchr(err->message, '\n') && utf8_valid(err->message, strlen(err->message));
}

static struct seccomp_compiled *compile(const struct policy *p)
{
    struct seccomp_compiled *made = NULL;
    struct error err = {0};
    if (seccomp_compile(p->seccomp, &made, &err) < 0) {
        require(!made && refused_well(&err));
        return NULL;
    }
    filter_check(p->seccomp, made);
    return made;
}

static void check_against_parent(const struct policy *p)
{
    cleanup_policy struct policy *parent = NULL;
    bool widens = p->widen_reason != NULL;
    if (!p->extends)
        return;
    require(!widens || p->origin != POLICY_PROJECT);
    require(policy_load(p->extends, &parent, NULL) == 0);
    if (!widens)
        policy_check_narrower(parent, p);
    if (cJSON_Compare(parent->seccomp, p->seccomp, true))
        return;
    struct seccomp_compiled *mine = compile(p), *theirs = mine && !widens ? compile(parent) : NULL;
    if (theirs)
        filter_check_narrower(p->seccomp, mine, parent->seccomp, theirs);
    seccomp_compiled_free(mine);
    seccomp_compiled_free(theirs);
}

static void check(const char *file)
{
    struct error err = {0};
    cleanup_policy struct policy *p = NULL;
    if (policy_load_file(file, &p, &err) < 0) {
        require(!p && refused_well(&err));
        return;
    }
    require(!strncmp(p->digest, "sha256:", 7) && p->seccomp && p->resolved);
    check_against_parent(p);
    check_round_trip(p);
    check_words(p);
    if (!p->extends)
        seccomp_compiled_free(compile(p));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!*root)
        prepare();
    put_files(data, size);
    for (int i = 0; i < 3; i++)
        if (access(files[i], F_OK) == 0)
            check(files[i]);
    return 0;
}
