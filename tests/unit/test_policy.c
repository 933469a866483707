/* policy/: files to policies, what extends may do, who is trusted, what the linter sees. Each test has a home, a configuration and a
 * project of its own in a temporary directory. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "jail/layers.h"
#include "policy/document.h"
#include "policy/policy.h"
#include "policy/strings.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64], old_directory[4096];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    return remove(path);
}

static void setup(void)
{
    snprintf(root, sizeof root, "/tmp/test_policy.XXXXXX");
    ck_assert_ptr_nonnull(getcwd(old_directory, sizeof old_directory));
    ck_assert_ptr_nonnull(mkdtemp(root));
    char path[128];
    static const char *const directories[] = {"config/snipara-sandbox/policies/seccomp", "state", "project/.snipara-sandbox/policies", NULL};
    for (const char *const *d = directories; *d; d++) {
        snprintf(path, sizeof path, "%s/%s", root, *d);
        ck_assert_int_eq(path_make_directories(path, NULL), 0);
    }
    snprintf(path, sizeof path, "%s/config", root);
    setenv("XDG_CONFIG_HOME", path, 1);
    snprintf(path, sizeof path, "%s/state", root);
    setenv("XDG_STATE_HOME", path, 1);
    setenv("HOME", root, 1);
    snprintf(path, sizeof path, "%s/project", root);
    ck_assert_int_eq(chdir(path), 0);
}

static void teardown(void)
{
    ck_assert_int_eq(chdir(old_directory), 0);
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define OPERATOR "config/snipara-sandbox/policies"
#define PROJECT "project/.snipara-sandbox/policies"

static void write_file(const char *directory, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s.json", root, directory, name);
    cleanup_file FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
}

static const char *file_of(const char *directory, const char *name)
{
    static char paths[2][256]; /* two may stand in one call */
    static int turn;
    char *path = paths[turn ^= 1];
    snprintf(path, sizeof paths[0], "%s/%s/%s.json", root, directory, name);
    return path;
}

static struct policy *good(const char *name)
{
    struct error err = {0};
    struct policy *p = NULL;
    ck_assert_msg(policy_load(name, &p, &err) == 0, "%s: %s", name, err.message);
    return p;
}

/* The policy must not load, and the message must hold each of the words (separated by '|'). */
static void refused(const char *name, const char *words)
{
    struct error err = {0};
    struct policy *p = NULL;
    ck_assert_msg(policy_load(name, &p, &err) < 0, "%s loads", name);
    ck_assert_ptr_null(p);
    cleanup_free char *copy = strdup(words);
    for (char *word = strtok(copy, "|"); word; word = strtok(NULL, "|"))
        ck_assert_msg(strstr(err.message, word) != NULL, "\"%s\" is not in: %s", word, err.message);
    ck_assert_ptr_null(strchr(err.message, '\n'));
}

START_TEST(test_default)
{
    cleanup_policy struct policy *p = good("default");
    ck_assert_str_eq(p->name, "default");
    ck_assert_int_eq(p->origin, POLICY_INSTALLED);
    ck_assert_int_eq(strncmp(p->digest, "sha256:", 7), 0);
    ck_assert(!p->restricted && !p->imports_allow_list);
    ck_assert(strings_have(&p->import_names, "ctypes") && strings_have(&p->import_names, "_cffi_backend"));
    ck_assert(strings_have(&p->preload, "threading"));
    ck_assert_int_eq(p->network, NETWORK_NONE);
    const struct policy_limits *l = &p->limits;
    ck_assert_double_eq(l->timeout_seconds, 30);
    ck_assert_double_eq(l->timeout_max_seconds, 300);
    ck_assert_uint_eq(l->memory_bytes, 512ull << 20);
    ck_assert_uint_eq(l->memory_max_bytes, 4ull << 30);
    ck_assert_uint_eq(l->pids, 64);
    ck_assert_double_eq(l->cpus, 1.0);
    ck_assert_uint_eq(l->output_bytes, 262144);
    ck_assert_uint_eq(l->value_bytes, 65536);
    ck_assert_uint_eq(l->source_bytes, 16u << 20);
    ck_assert_uint_eq(l->open_files, 256);
    ck_assert_uint_eq(l->file_bytes, 64u << 20);
    ck_assert_uint_eq(l->stack_bytes, 8u << 20);
    ck_assert_uint_eq(l->artifact_files, 100);
    ck_assert_uint_eq(l->artifact_bytes, 10u << 20);
    ck_assert_uint_eq(l->artifact_total_bytes, 25u << 20);
    ck_assert_uint_eq(l->artifact_depth, 16);
    ck_assert_uint_eq(p->session_bytes, 64u << 20);
    ck_assert_uint_eq(p->session_inodes, 16384);
    ck_assert_uint_eq(p->tmp_bytes, 64u << 20);
    ck_assert_uint_eq(p->shm_bytes, 16u << 20);
    ck_assert(p->mount_count > 0 && !strcmp(p->mounts[0].target, "/usr") && p->mounts[0].kind == MOUNT_RO && p->mounts[0].exec);
    ck_assert(strings_have(&p->environment, "TZ") && strings_have(&p->environment, "HOME=/session"));
    ck_assert_ptr_nonnull(json_get(p->seccomp, "syscalls"));
    ck_assert_str_eq(json_get_string(p->resolved, "name"), "default");
}
END_TEST

START_TEST(test_others)
{
    cleanup_policy struct policy *strict = good("strict"), *open_policy = good("open"), *validation = good("validation"), *standard = good("default");
    ck_assert(strict->restricted && strict->imports_allow_list);
    ck_assert(strings_have(&strict->denied_builtins, "eval") && strings_have(&strict->denied_attributes, "f_globals"));
    ck_assert(strings_have(&strict->import_names, "math") && !modules_cover(&strict->import_names, "os"));
    ck_assert_ptr_null(strict->widen_reason);
    ck_assert(!open_policy->restricted && !open_policy->import_names.count);
    ck_assert_uint_eq(open_policy->mount_count, standard->mount_count);
    ck_assert_double_eq(validation->limits.timeout_seconds, 300);
    ck_assert_uint_eq(validation->limits.memory_bytes, 2ull << 30);
    ck_assert_uint_eq(validation->limits.pids, 256);
    ck_assert_int_eq(validation->network, NETWORK_NONE);
    ck_assert_uint_eq(validation->layers_required.count, standard->layers_required.count);
    ck_assert_str_ne(strict->digest, standard->digest);
}
END_TEST

/* Every layer of jail/layers.h is either required or optional in the shipped policies, and a policy may name all of them. */
START_TEST(test_layer_names)
{
    cleanup_policy struct policy *p = good("default");
    ck_assert_uint_eq(p->layers_required.count + p->layers_optional.count, LAYER_COUNT);
    for (int layer = 0; layer < LAYER_COUNT; layer++)
        ck_assert_msg(strings_have(&p->layers_required, layer_name(layer)) || strings_have(&p->layers_optional, layer_name(layer)), "%s",
                      layer_name(layer));
}
END_TEST

/* --- the file's shape --- */

static const struct { const char *text, *words; } malformed[] = {
    {"", "t.json"},
    {"{\"name\": \"t\"", "t.json"},
    {"[]", "t.json|object"},
    {"{}", "t.json|name"},
    {"{\"name\": 5}", "name|string"},
    {"{\"name\": \"other\", \"extends\": \"default\"}", "t.json|other|\"t\""},
    {"{\"name\": \"../t\"}", "name"},
    {"{\"name\": \"t\"}", "language|missing|extends"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limit\": {}}", "t.json|limit|did you mean \"limits\""},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"pidz\": 4}}", "limits.pidz|did you mean \"pids\""},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"memory\": 4}}", "limits.memory|memory_bytes"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"colour\": 1}", "colour|known are"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"pids\": \"many\"}}", "limits.pids|number"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"pids\": 4.5}}", "limits.pids|whole"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"pids\": 0}}", "limits.pids|range"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"pids\": -1}}", "limits.pids|range"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"memory_bytes\": 1e300}}", "limits.memory_bytes|range"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"memory_bytes\": \"64 mb\"}}", "limits.memory_bytes|64MiB"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"memory_bytes\": \"99999999999999999999\"}}", "limits.memory_bytes"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"timeout_seconds\": 1e99}}", "limits.timeout_seconds|range"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": []}", "limits|object"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"pids\": 8, \"pids\": 9}}", "pids|twice"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"artifact_files\": 101}}", "limits.artifact_files"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"artifact_depth\": 33}}", "limits.artifact_depth|32"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"widen\": true, \"widen_reason\": \"r\", \"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"source\": \"/srv\", \"target\": \"/session/output\"}]}}",
     "/session/output|the jail makes"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"timeout_max_seconds\": 10}}", "timeout_seconds|timeout_max_seconds"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"memory_max_bytes\": \"64MiB\"}}", "memory_bytes|memory_max_bytes"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"comment\": 4}", "comment"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"layers\": {\"required\": [\"moat\"]}}", "layers.required[0]|moat"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"layers\": {\"required\": [\"secomp\"]}}", "did you mean \"seccomp\""},
    {"{\"name\": \"t\", \"extends\": \"default\", \"language\": {\"mode\": \"ful\"}}", "language.mode|did you mean \"full\""},
    {"{\"name\": \"t\", \"extends\": \"default\", \"imports\": {\"names\": [\"a b\"]}}", "imports.names[0]|module"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"imports\": {\"mode\": \"allow\"}}", "imports.names|must be given"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"source\": \"/opt/../etc\", \"target\": \"/opt\"}]}}",
     "filesystem.mounts[0].source|absolute"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"target\": \"/opt\"}]}}", "filesystem.mounts[0]|source"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"filesystem\": {\"mounts\": [{\"kind\": \"tmpfs\", \"target\": \"/opt\"}]}}", "filesystem.mounts[0]|bytes"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"source\": \"/proc\", \"target\": \"/proc\"}]}}", "/proc|itself"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"network\": {\"hosts\": [\"example.org\"]}}", "network.hosts"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"widen\": true, \"widen_reason\": \"r\", \"network\": {\"mode\": \"allow\"}}", "network.hosts"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"environment\": {\"set\": {\"TZ\": \"UTC\"}}}", "environment.pass|TZ"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"environment\": {\"set\": {\"A=B\": \"1\"}}}", "environment.set|A=B"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"environment\": {\"set\": {\"A\": \"\\u001b[2J\"}}}", "environment.set.A"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"seccomp\": {\"profile\": \"nonesuch\"}}", "seccomp.profile|nonesuch"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"seccomp\": {\"profile\": \"../x\"}}", "seccomp.profile"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"seccomp\": {\"add\": [{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALOW\"}]}}", "seccomp.add[0].action"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"widen\": true}", "widen_reason"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"widen\": true, \"widen_reason\": \"\"}", "widen_reason"},
    {"{\"name\": \"t\", \"extends\": \"default\", \"widen_reason\": \"x\"}", "widen"},
    {"{\"name\": \"t\", \"extends\": \"nonesuch\"}", "t.json|extends|nonesuch|default, open, strict"},
    {"{\"name\": \"t\", \"extends\": \"/etc/passwd\"}", "extends"},
    {"{\"name\": \"t\", \"extends\": \"t\"}", "circle|t -> t"},
};

START_TEST(test_malformed)
{
    write_file(OPERATOR, "t", malformed[_i].text);
    refused("t", malformed[_i].words);
}
END_TEST

START_TEST(test_names_are_not_paths)
{
    static const char *const names[] = {"", ".", "..", "../default", "/etc/passwd", "a/b", "-h", "a b", "a\n", "default.json/", NULL};
    char longest[6000];
    for (const char *const *name = names; *name; name++)
        refused(*name, "policy name");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    refused(longest, "policy name");
    refused("defualt", "unknown policy|did you mean \"default\"|strict");
}
END_TEST

START_TEST(test_files_that_are_none)
{
    struct error err = {0};
    struct policy *p = NULL;
    ck_assert_int_eq(mkfifo(file_of(OPERATOR, "pipe"), 0600), 0);
    refused("pipe", "pipe|regular file");
    ck_assert_int_eq(mkdir(file_of(OPERATOR, "folder"), 0700), 0);
    refused("folder", "folder");
    ck_assert_int_lt(policy_load_file("/nonexistent/x.json", &p, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.message, "/nonexistent/x.json"));
    /* a link out of a project is not followed */
    ck_assert_int_eq(symlink(file_of(OPERATOR, "pipe"), file_of(PROJECT, "link")), 0);
    refused("link", "symbolic link");
}
END_TEST

START_TEST(test_circle_and_depth)
{
    write_file(OPERATOR, "a", "{\"name\": \"a\", \"extends\": \"b\"}");
    write_file(OPERATOR, "b", "{\"name\": \"b\", \"extends\": \"c\"}");
    write_file(OPERATOR, "c", "{\"name\": \"c\", \"extends\": \"a\"}");
    refused("a", "circle|a -> b -> c -> a");
    char name[8], text[128];
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "n%d", i);
        char base[12] = "default";
        if (i)
            snprintf(base, sizeof base, "n%d", i - 1);
        snprintf(text, sizeof text, "{\"name\": \"n%d\", \"extends\": \"%s\"}", i, base);
        write_file(OPERATOR, name, text);
    }
    policy_free(good("n7")); /* n7 .. n0, default: eight steps */
    refused("n8", "8 deep");
}
END_TEST

/* --- extends --- */

static const struct { const char *base, *body, *word; /* NULL: it only narrows */ } changes[] = {
    {"default", "\"limits\": {\"pids\": 12}", NULL},
    {"default", "\"limits\": {\"pids\": 65}", "limits.pids"},
    {"default", "\"limits\": {\"memory_bytes\": \"256MiB\", \"timeout_seconds\": 0.5}", NULL},
    {"default", "\"limits\": {\"memory_bytes\": \"1GiB\"}", "limits.memory_bytes"},
    {"default", "\"limits\": {\"timeout_max_seconds\": 301}", "limits.timeout_max_seconds"},
    {"default", "\"limits\": {\"cpus\": 1.5}", "limits.cpus"},
    {"default", "\"limits\": {\"source_bytes\": \"32MiB\"}", "limits.source_bytes"},
    {"default", "\"filesystem\": {\"session\": {\"bytes\": \"32MiB\"}}", NULL},
    {"default", "\"filesystem\": {\"session\": {\"bytes\": \"65MiB\"}}", "filesystem.session.bytes"},
    {"default", "\"filesystem\": {\"tmp\": {\"inodes\": 20000}}", "filesystem.tmp.inodes"},
    {"default", "\"filesystem\": {\"shm\": {\"bytes\": \"1GiB\"}}", "filesystem.shm.bytes"},
    {"default", "\"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"source\": \"/usr\", \"target\": \"/usr\", \"exec\": true}]}", NULL},
    {"default", "\"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"source\": \"/usr\", \"target\": \"/usr\"}]}", NULL},
    {"default", "\"filesystem\": {\"mounts\": [{\"kind\": \"rw\", \"source\": \"/usr\", \"target\": \"/usr\"}]}", "filesystem.mounts"},
    {"default", "\"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"source\": \"/root\", \"target\": \"/usr\"}]}", "filesystem.mounts"},
    {"default", "\"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"source\": \"/etc/fonts\", \"target\": \"/etc/fonts\", \"exec\": true}]}", "filesystem.mounts"},
    {"default", "\"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"source\": \"/root\", \"target\": \"/root\"}]}", "filesystem.mounts"},
    {"default", "\"filesystem\": {\"rootfs\": \"/srv/root\"}", "filesystem.rootfs"},
    {"default", "\"imports\": {\"names\": [\"socket\"]}", NULL},
    {"default", "\"imports\": {\"mode\": \"allow\", \"names\": [\"math\", \"json\"]}", NULL},
    {"default", "\"imports\": {\"mode\": \"allow\", \"names\": [\"ctypes.util\"]}", "imports.names"},
    {"default", "\"language\": {\"mode\": \"restricted\"}", NULL},
    {"default", "\"network\": {\"mode\": \"loopback\"}", "network.mode"},
    {"default", "\"layers\": {\"required\": [\"cgroup_memory\"]}", NULL},
    {"default", "\"environment\": {\"pass\": [\"TZ\", \"AWS_SECRET\"]}", "environment.pass"},
    {"default", "\"environment\": {\"set\": {\"MINE\": \"1\"}}", NULL},
    {"default", "\"seccomp\": {\"add\": [{\"names\": [\"execve\"], \"action\": \"SCMP_ACT_ERRNO\"}]}", NULL},
    {"default", "\"seccomp\": {\"add\": [{\"names\": [\"mount\"], \"action\": \"SCMP_ACT_ALLOW\", \"comment\": \"c\"}]}", "seccomp.add"},
    {"default", "\"seccomp\": {\"add\": [{\"names\": [\"mount\"], \"action\": \"SCMP_ACT_LOG\", \"comment\": \"c\"}]}", "seccomp.add"},
    {"default", "\"seccomp\": {\"profile\": \"lax\"}", "seccomp.profile"},
    {"strict", "\"language\": {\"mode\": \"full\"}", "language.mode"},
    {"strict", "\"language\": {\"allowed_names\": [\"_\"]}", NULL},
    {"strict", "\"language\": {\"allowed_names\": [\"__class__\"]}", "language.allowed_names"},
    {"strict", "\"language\": {\"denied_builtins\": [\"print\"]}", NULL},
    {"strict", "\"imports\": {\"names\": [\"math\", \"collections.abc\"]}", NULL},
    {"strict", "\"imports\": {\"names\": [\"os\"]}", "imports.names"},
    {"strict", "\"imports\": {\"mode\": \"deny\", \"names\": [\"os\"]}", "imports.mode"},
    {"hiding", "\"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"source\": \"/usr\", \"target\": \"/usr\"}]}", "filesystem.mounts"},
};

static void write_change(const char *directory, int i, const char *extra)
{
    char text[1024];
    snprintf(text, sizeof text, "{\"name\": \"t\", \"extends\": \"%s\"%s, %s}", changes[i].base, extra, changes[i].body);
    write_file(directory, "t", text);
    write_file(OPERATOR "/seccomp", "lax", "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}");
    write_file(OPERATOR, "hiding",
               "{\"name\": \"hiding\", \"extends\": \"default\", \"widen\": true, \"widen_reason\": \"r\", \"filesystem\": {\"mounts\": ["
               "{\"kind\": \"ro\", \"source\": \"/usr\", \"target\": \"/usr\"}, {\"kind\": \"tmpfs\", \"target\": \"/usr/local\", \"bytes\": 4096, \"inodes\": 4}]}}");
}

START_TEST(test_narrowing)
{
    write_change(OPERATOR, _i, "");
    if (!changes[_i].word) {
        policy_free(good("t"));
        return;
    }
    char words[128];
    snprintf(words, sizeof words, "t.json|%s|widen|%s", changes[_i].word, changes[_i].base);
    refused("t", words);
    write_change(OPERATOR, _i, ", \"widen\": true, \"widen_reason\": \"a test\"");
    cleanup_policy struct policy *p = good("t");
    ck_assert_str_eq(p->widen_reason, "a test");
}
END_TEST

#define SRV "{\"kind\": \"ro\", \"source\": \"/srv\", \"target\": \"/srv\"}"
#define PRIVATE "{\"kind\": \"tmpfs\", \"target\": \"/srv/private\", \"bytes\": 65536, \"inodes\": 16}"
#define DATA "{\"kind\": \"ro\", \"source\": \"/opt\", \"target\": \"/srv/data\"}"
static const struct { const char *mounts, *word; /* NULL: it only narrows */ } nested[] = {
    {SRV "," PRIVATE "," DATA, NULL},
    {SRV "," DATA "," PRIVATE, NULL},
    {PRIVATE "," DATA, NULL},
    {SRV "," PRIVATE, "without \"/srv/data\""},
    {SRV "," DATA, "without \"/srv/private\""},
    {PRIVATE "," SRV "," DATA, "another order"},
    {SRV "," PRIVATE ",{\"optional\": true, \"kind\": \"ro\", \"source\": \"/opt\", \"target\": \"/srv/data\"}", "\"/srv/data\" is optional"},
};

/* A mount inside another hides what is there: a child must not bring that back by leaving it out, by the order or by chance. */
START_TEST(test_nested_mounts)
{
    char text[1024];
    write_file(OPERATOR, "s", "{\"name\": \"s\", \"extends\": \"default\", \"widen\": true, \"widen_reason\": \"r\", \"filesystem\": {\"mounts\": ["
                              SRV "," PRIVATE "," DATA "]}}");
    snprintf(text, sizeof text, "{\"name\": \"t\", \"extends\": \"s\", \"filesystem\": {\"mounts\": [%s]}}", nested[_i].mounts);
    write_file(OPERATOR, "t", text);
    if (nested[_i].word)
        refused("t", nested[_i].word);
    else
        policy_free(good("t"));
}
END_TEST

/* What a parent denies and requires stays, without being repeated. */
START_TEST(test_lists_grow)
{
    write_file(OPERATOR, "t", "{\"name\": \"t\", \"extends\": \"default\", \"imports\": {\"names\": [\"socket\", \"ctypes\"]}, \"layers\": {\"required\": "
                              "[\"cgroup_pids\"]}, \"seccomp\": {\"add\": [{\"names\": [\"execve\"], \"action\": \"SCMP_ACT_ERRNO\"}]}}");
    write_file(OPERATOR, "u", "{\"name\": \"u\", \"extends\": \"t\", \"imports\": {\"names\": [\"ssl\"]}, \"seccomp\": {\"add\": [{\"names\": [\"fork\"], "
                              "\"action\": \"SCMP_ACT_ERRNO\"}]}}");
    cleanup_policy struct policy *standard = good("default"), *t = good("t"), *u = good("u");
    ck_assert(strings_have(&t->import_names, "_ctypes") && strings_have(&t->import_names, "socket"));
    ck_assert_uint_eq(t->import_names.count, standard->import_names.count + 1);
    ck_assert_uint_eq(t->layers_required.count, standard->layers_required.count + 1);
    ck_assert(!strings_have(&t->layers_optional, "cgroup_pids"));
    ck_assert(strings_have(&u->import_names, "ssl") && strings_have(&u->import_names, "socket") && strings_have(&u->import_names, "ctypes"));
    ck_assert_int_eq(cJSON_GetArraySize(u->seccomp_add), 2);
    ck_assert_str_eq(u->extends, "t");
}
END_TEST

/* The order of keys, comments and units say nothing, so the digest does not see them. */
START_TEST(test_digest_is_canonical)
{
    write_file(OPERATOR, "t", "{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"pids\": 12, \"memory_bytes\": \"64MiB\"}, \"network\": {\"mode\": \"none\"}}");
    cleanup_policy struct policy *first = good("t");
    write_file(OPERATOR, "t", "{\"network\": {\"comment\": \"closed\", \"mode\": \"none\"}, \"comment\": \"c\", \"limits\": {\"memory_bytes\": 67108864, \"pids\": 12}, "
                              "\"extends\": \"default\", \"name\": \"t\"}");
    cleanup_policy struct policy *second = good("t");
    ck_assert_str_eq(first->digest, second->digest);
    write_file(OPERATOR, "t", "{\"name\": \"t\", \"extends\": \"default\", \"limits\": {\"pids\": 13, \"memory_bytes\": \"64MiB\"}}");
    cleanup_policy struct policy *third = good("t");
    ck_assert_str_ne(first->digest, third->digest);
}
END_TEST

static bool allows_inet(const struct policy *p)
{
    for (const cJSON *entry = json_get(p->seccomp, "syscalls")->child; entry; entry = entry->next)
        for (const cJSON *name = json_get(entry, "names")->child; name; name = name->next) {
            const cJSON *args = json_get(entry, "args"), *first = args ? args->child : NULL;
            if (!strcmp(name->valuestring, "socket") && first && json_get(first, "value")->valuedouble == 2)
                return true;
        }
    return false;
}

START_TEST(test_network_opens_sockets)
{
    write_file(OPERATOR, "loop", "{\"name\": \"loop\", \"extends\": \"default\", \"widen\": true, \"widen_reason\": \"servers under test\", \"network\": {\"mode\": \"loopback\"}}");
    write_file(OPERATOR, "net", "{\"name\": \"net\", \"extends\": \"loop\", \"widen\": true, \"widen_reason\": \"r\", \"network\": {\"mode\": \"allow\", \"hosts\": [\"pypi.org:443\"]}}");
    write_file(OPERATOR, "closed", "{\"name\": \"closed\", \"extends\": \"loop\", \"network\": {\"mode\": \"none\"}}");
    cleanup_policy struct policy *loop = good("loop"), *net = good("net"), *closed = good("closed");
    ck_assert(loop->network == NETWORK_LOOPBACK && allows_inet(loop));
    ck_assert(net->network == NETWORK_ALLOW && allows_inet(net) && strings_have(&net->hosts, "pypi.org:443"));
    ck_assert(closed->network == NETWORK_NONE && !allows_inet(closed));
}
END_TEST

/* --- trust --- */

START_TEST(test_project_narrows)
{
    write_file(PROJECT, "small", "{\"name\": \"small\", \"extends\": \"default\", \"limits\": {\"pids\": 8}}");
    cleanup_policy struct policy *p = good("small");
    ck_assert_int_eq(p->origin, POLICY_PROJECT);
    ck_assert_uint_eq(p->limits.pids, 8);
}
END_TEST

static const char *const greedy[] = {
    "\"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"source\": \"/root\", \"target\": \"/root\"}]}",
    "\"imports\": {\"preload\": [\"antigravity\"]}",
    "\"network\": {\"mode\": \"loopback\"}",
    "\"environment\": {\"set\": {\"LD_PRELOAD\": \"/session/x.so\"}}",
    "\"environment\": {\"pass\": [\"SECRET\"]}",
    "\"widen\": true, \"widen_reason\": \"please\", \"limits\": {\"pids\": 1000}",
    "\"widen\": true, \"widen_reason\": \"please\"",
};

START_TEST(test_project_is_not_trusted)
{
    char text[512];
    struct error err = {0};
    snprintf(text, sizeof text, "{\"name\": \"greedy\", \"extends\": \"default\", %s}", greedy[_i]);
    write_file(PROJECT, "greedy", text);
    refused("greedy", "greedy|policy trust");
    /* by its path it is the same project's file */
    struct policy *p = NULL;
    ck_assert_int_lt(policy_load_file(file_of(PROJECT, "greedy"), &p, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.message, "policy trust"));
    if (strstr(greedy[_i], "widen")) {
        ck_assert_msg(policy_trust(file_of(PROJECT, "greedy"), &err) == 0, "%s", err.message);
        p = good("greedy");
        ck_assert_int_eq(p->origin, POLICY_PROJECT_TRUSTED);
        policy_free(p);
        /* one changed byte, and it is another text */
        snprintf(text, sizeof text, "{\"name\": \"greedy\", \"extends\": \"default\",  %s}", greedy[_i]);
        write_file(PROJECT, "greedy", text);
        refused("greedy", "policy trust");
    }
}
END_TEST

START_TEST(test_project_may_not_shadow)
{
    write_file(PROJECT, "default", "{\"name\": \"default\", \"extends\": \"strict\"}");
    cleanup_policy struct policy *p = good("default");
    ck_assert_int_eq(p->origin, POLICY_INSTALLED);
    write_file(PROJECT, "alone", "{\"name\": \"alone\"}");
    refused("alone", "extend an installed one|policy trust");
    /* what the operator installed does not rest on what a project brings */
    write_file(PROJECT, "base", "{\"name\": \"base\", \"extends\": \"default\"}");
    write_file(OPERATOR, "mine", "{\"name\": \"mine\", \"extends\": \"base\"}");
    policy_free(good("base"));
    refused("mine", "base|unknown policy");
}
END_TEST

START_TEST(test_trust_record)
{
    struct error err = {0};
    char record[128];
    snprintf(record, sizeof record, "%s/state/snipara-sandbox/trusted-policies", root);
    write_file(PROJECT, "bad", "{\"name\": \"bad\", \"extends\": \"default\", \"limits\": {\"pidz\": 1}}");
    ck_assert_int_lt(policy_trust(file_of(PROJECT, "bad"), &err), 0);
    ck_assert_ptr_nonnull(strstr(err.message, "pidz"));
    ck_assert_int_lt(access(record, F_OK), 0);
    write_file(PROJECT, "wide", "{\"name\": \"wide\", \"extends\": \"default\", \"widen\": true, \"widen_reason\": \"r\", \"limits\": {\"pids\": 100}}");
    ck_assert_int_eq(policy_trust(file_of(PROJECT, "wide"), &err), 0);
    ck_assert_int_eq(policy_trust(file_of(PROJECT, "wide"), &err), 0);
    struct stat st;
    ck_assert_int_eq(stat(record, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    cleanup_buf struct buf text = {0};
    ck_assert_int_eq(path_read_file(record, 4096, &text, NULL), 0);
    ck_assert_ptr_eq(strchr(text.data, '\n'), text.data + text.len - 1); /* one line, not two */
    policy_free(good("wide"));
    /* the same text elsewhere is not trusted */
    ck_assert_int_eq(rename(file_of(PROJECT, "wide"), "wide.json"), 0);
    ck_assert_int_eq(mkdir("nested", 0700), 0);
    ck_assert_int_eq(path_make_directories("nested/.snipara-sandbox/policies", NULL), 0);
    ck_assert_int_eq(rename("wide.json", "nested/.snipara-sandbox/policies/wide.json"), 0);
    ck_assert_int_eq(chdir("nested"), 0);
    refused("wide", "policy trust");
    /* a record that others can write is no record */
    ck_assert_int_eq(chmod(record, 0666), 0);
    refused("wide", "trusted-policies|0600");
}
END_TEST

START_TEST(test_list)
{
    write_file(PROJECT, "default", "{\"name\": \"default\", \"extends\": \"strict\"}");
    write_file(PROJECT, "broken", "{");
    write_file(OPERATOR, "mine", "{\"name\": \"mine\", \"extends\": \"default\", \"description\": \"of mine\"}");
    cleanup_json cJSON *list = NULL;
    struct error err = {0};
    ck_assert_int_eq(policy_list(&list, &err), 0);
    static const struct { const char *name, *origin; bool shadowed, error; } want[] = {
        {"broken", "project", false, true}, {"default", "installed", false, false}, {"default", "project", true, false},
        {"mine", "operator", false, false}, {"open", "installed", false, false}, {"strict", "installed", false, false},
        {"validation", "installed", false, false}};
    ck_assert_int_eq(cJSON_GetArraySize(list), UNIT_ROWS(want));
    const cJSON *entry = list->child;
    for (int i = 0; i < UNIT_ROWS(want); i++, entry = entry->next) {
        ck_assert_str_eq(json_get_string(entry, "name"), want[i].name);
        ck_assert_str_eq(json_get_string(entry, "origin"), want[i].origin);
        ck_assert_int_eq(json_get(entry, "shadowed") != NULL, want[i].shadowed);
        ck_assert_int_eq(json_get_string(entry, "error") != NULL, want[i].error);
        ck_assert_ptr_nonnull(json_get_string(entry, "path"));
    }
}
END_TEST

/* --- lint, explain, words --- */

static const struct { const char *body, *word; } lint[] = {
    {"\"seccomp\": {\"add\": [{\"names\": [\"ptrace\"], \"action\": \"SCMP_ACT_ALLOW\", \"comment\": \"c\"}]}", "ptrace is allowed"},
    {"\"seccomp\": {\"add\": [{\"names\": [\"setuid\"], \"action\": \"SCMP_ACT_ALLOW\"}]}", "setuid is allowed without a comment"},
    {"\"seccomp\": {\"add\": [{\"names\": [\"ioctl\"], \"action\": \"SCMP_ACT_ALLOW\", \"comment\": \"c\"}]}", "ioctl is allowed with any arguments"},
    {"\"seccomp\": {\"add\": [{\"names\": [\"socket\"], \"action\": \"SCMP_ACT_ALLOW\", \"comment\": \"c\", \"args\": [{\"index\": 0, \"value\": 40, \"op\": "
     "\"SCMP_CMP_NE\"}]}]}", "high bits"},
    {"\"seccomp\": {\"add\": [{\"names\": [\"dup\"], \"action\": \"SCMP_ACT_ERRNO\", \"args\": [{\"index\": 0, \"value\": 4, \"op\": \"SCMP_CMP_EQ\"}]}]}", "MASKED_EQ"},
    {"\"seccomp\": {\"profile\": \"lax\"}", "deny by default"},
    {"\"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"source\": \"/etc\", \"target\": \"/etc\"}]}", "password hashes"},
    {"\"filesystem\": {\"mounts\": [{\"kind\": \"ro\", \"source\": \"/run/docker.sock\", \"target\": \"/run/docker.sock\"}]}", "daemons"},
    {"\"filesystem\": {\"mounts\": [{\"kind\": \"rw\", \"source\": \"/srv\", \"target\": \"/srv\", \"exec\": true}]}", "not noexec"},
    {"\"imports\": {\"preload\": [\"ctypes\"]}", "although imports.names denies it"},
    {"\"environment\": {\"pass\": [\"OPENAI_API_KEY\"]}", "secret"},
    {"\"environment\": {\"set\": {\"LD_PRELOAD\": \"x\"}}", "LD_PRELOAD"},
    {"\"layers\": {\"required\": []}", "seccomp is not required"},
    {"\"language\": {\"mode\": \"restricted\"}", "undoes the restriction"},
    {"\"network\": {\"mode\": \"allow\", \"hosts\": [\"a\"]}", "open to 1 host"},
    {"\"limits\": {\"pids\": 4}", "allows more than"},
};

START_TEST(test_lint)
{
    char text[1024];
    struct error err = {0};
    cleanup_json cJSON *findings = NULL;
    write_file(OPERATOR "/seccomp", "lax", "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}");
    snprintf(text, sizeof text, "{\"name\": \"t\", \"extends\": \"default\", \"widen\": true, \"widen_reason\": \"r\", %s}", lint[_i].body);
    write_file(OPERATOR, "t", text);
    cleanup_policy struct policy *p = good("t");
    ck_assert_int_eq(policy_lint(p, &findings, &err), 0);
    cleanup_free char *all = json_print(findings);
    ck_assert_msg(strstr(all, lint[_i].word) != NULL, "\"%s\" is not in %s", lint[_i].word, all);
}
END_TEST

static const char *const shipped[] = {"default", "strict", "open", "validation"};

START_TEST(test_shipped_have_no_warnings)
{
    cleanup_policy struct policy *p = good(shipped[_i]);
    cleanup_json cJSON *findings = NULL;
    ck_assert_int_eq(policy_lint(p, &findings, NULL), 0);
    for (const cJSON *f = findings->child; f; f = f->next)
        ck_assert_msg(!strcmp(json_get_string(f, "severity"), "note"), "%s: %s", json_get_string(f, "where"), json_get_string(f, "message"));
    cleanup_free char *text = policy_explain(p);
    static const char *const words[] = {"Language", "Imports", "Network", "memory", "seccomp", "clone", "/session", NULL};
    for (const char *const *word = words; *word; word++)
        ck_assert_msg(strstr(text, *word) != NULL, "%s: %s", shipped[_i], *word);
}
END_TEST

START_TEST(test_sizes)
{
    static const struct { const char *text; bool ok; uint64_t value; } rows[] = {
        {"0", true, 0}, {"4096", true, 4096}, {"64MiB", true, 64ull << 20}, {"512 KiB", true, 512 << 10}, {"1GiB", true, 1ull << 30}, {"1B", true, 1},
        {"8TiB", true, 8ull << 40}, {"8192TiB", true, 1ull << 53}, {"8193TiB", false, 0}, {"", false, 0}, {"MiB", false, 0}, {"-1", false, 0},
        {"+1", false, 0}, {" 1", false, 0}, {"1 ", false, 0}, {"1  MiB", false, 0}, {"1mib", false, 0}, {"1MB", false, 0}, {"1.5MiB", false, 0},
        {"1e9", false, 0}, {"0x10", false, 0}, {"9007199254740993", false, 0}, {"18446744073709551616", false, 0}, {"1MiB ", false, 0}};
    for (int i = 0; i < UNIT_ROWS(rows); i++) {
        uint64_t value = 77;
        ck_assert_msg(size_parse(rows[i].text, &value) == rows[i].ok, "%s", rows[i].text);
        ck_assert_uint_eq(value, rows[i].ok ? rows[i].value : 77);
    }
    char text[SIZE_TEXT];
    ck_assert_str_eq(size_text(64ull << 20, text), "64 MiB");
    ck_assert_str_eq(size_text(1000, text), "1000 bytes");
    ck_assert_str_eq(size_text(1536ull << 20, text), "1536 MiB");
}
END_TEST

/* The table in shape.c and the schema for editors hold the same keys. */
static void same_keys(const struct shape_rule *rules, const cJSON *schema, const cJSON *definitions)
{
    const char *reference = json_get_string(schema, "$ref");
    if (reference)
        schema = json_get(definitions, reference + strlen("#/$defs/"));
    const cJSON *properties = json_get(schema, "properties");
    ck_assert_ptr_nonnull(properties);
    ck_assert_ptr_nonnull(json_get(properties, "comment"));
    int count = 1;
    for (const struct shape_rule *rule = rules; rule->key; rule++, count++) {
        const cJSON *property = json_get(properties, rule->key);
        ck_assert_msg(property != NULL, "%s is not in the schema", rule->key);
        if (rule->shape == SHAPE_OBJECT)
            same_keys(rule->members, property, definitions);
        if (rule->shape == SHAPE_OBJECTS)
            same_keys(rule->members, json_get(property, "items"), definitions);
        const cJSON *range = json_get(property, "anyOf") ? json_get(property, "anyOf")->child : property;
        if (rule->shape == SHAPE_SIZE || rule->shape == SHAPE_COUNT || rule->shape == SHAPE_REAL) {
            ck_assert_msg(json_get(range, "minimum")->valuedouble == rule->min, "%s", rule->key);
            ck_assert_msg(json_get(range, "maximum")->valuedouble == rule->max, "%s", rule->key);
        }
    }
    ck_assert_int_eq(cJSON_GetArraySize(properties), count);
}

START_TEST(test_schema_says_the_same)
{
    char path[4096];
    struct error err = {0};
    snprintf(path, sizeof path, "%s/policy.schema.json", policy_directory());
    cleanup_json cJSON *schema = json_parse_file(path, (struct json_limits){0}, &err);
    ck_assert_msg(schema != NULL, "%s", err.message);
    same_keys(policy_shape, schema, json_get(schema, "$defs"));
    ck_assert_int_eq(cJSON_GetArraySize(json_get(json_get(json_get(schema, "$defs"), "layer"), "enum")), LAYER_COUNT);
}
END_TEST

static TCase *group(Suite *s, const char *name)
{
    TCase *t = unit_group(s, name);
    tcase_add_checked_fixture(t, setup, teardown);
    return t;
}

static Suite *suite(void)
{
    Suite *s = suite_create("policy");
    TCase *ships = group(s, "shipped"), *shape = group(s, "shape"), *extends = group(s, "extends"), *trust = group(s, "trust"), *lints = group(s, "lint");
    tcase_add_test(ships, test_default);
    tcase_add_test(ships, test_others);
    tcase_add_test(ships, test_layer_names);
    tcase_add_loop_test(ships, test_shipped_have_no_warnings, 0, UNIT_ROWS(shipped));
    tcase_add_loop_test(shape, test_malformed, 0, UNIT_ROWS(malformed));
    tcase_add_test(shape, test_names_are_not_paths);
    tcase_add_test(shape, test_files_that_are_none);
    tcase_add_test(shape, test_circle_and_depth);
    tcase_add_test(shape, test_sizes);
    tcase_add_test(shape, test_schema_says_the_same);
    tcase_add_loop_test(extends, test_narrowing, 0, UNIT_ROWS(changes));
    tcase_add_loop_test(extends, test_nested_mounts, 0, UNIT_ROWS(nested));
    tcase_add_test(extends, test_lists_grow);
    tcase_add_test(extends, test_digest_is_canonical);
    tcase_add_test(extends, test_network_opens_sockets);
    tcase_add_test(trust, test_project_narrows);
    tcase_add_loop_test(trust, test_project_is_not_trusted, 0, UNIT_ROWS(greedy));
    tcase_add_test(trust, test_project_may_not_shadow);
    tcase_add_test(trust, test_trust_record);
    tcase_add_test(trust, test_list);
    tcase_add_loop_test(lints, test_lint, 0, UNIT_ROWS(lint));
    return s;
}

UNIT_MAIN(suite)
