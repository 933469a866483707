/* jail/cgroup_paths and cgroup_unified: texts of the kernel as tables, and a tree of plain files in place of a hierarchy. What only a
 * kernel can answer is tested in the emulated guest (scripts/check-vm). */
#include "unit.h"

#include "jail/cgroup.h"
#include "jail/cgroup_paths.h"
#include "jail/cgroup_unified.h"

#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *list, *word;
    bool there;
} LISTS[] = {
    {"cpuset cpu io memory pids\n", "cpu", true},  {"cpuset io memory pids\n", "cpu", false}, {"cpu,cpuacct", "cpuacct", true},
    {"cpu,cpuacct", "cpu", true},                  {"rw,memory", "mem", false},               {"", "cpu", false},
    {"\n", "cpu", false},                          {"pids", "pids", true},
};

START_TEST(controllers_are_whole_words)
{
    ck_assert_int_eq(cgroup_list_has(LISTS[_i].list, LISTS[_i].word), LISTS[_i].there);
}
END_TEST

static FILE *text_file(const char *text)
{
    FILE *f = fmemopen((char *)text, strlen(text), "r");
    ck_assert_ptr_nonnull(f);
    return f;
}

static const struct {
    const char *text, *controller, *path; /* NULL: none */
} OWN[] = {
    {"0::/\n", "", "/"},
    {"0::/user.slice/a:b\n", "", "/user.slice/a:b"},
    {"4:memory:/m\n3:cpu,cpuacct:/c\n0::/u\n", "cpuacct", "/c"},
    {"4:memory:/m\n3:cpuset:/s\n0::/u\n", "cpu", NULL},
    {"4:memory:/m\n1:name=systemd:/x\n", "", NULL},
    {"nonsense\n", "", NULL},
};

START_TEST(own_path)
{
    char path[64] = "untouched";
    FILE *f = text_file(OWN[_i].text);
    ck_assert_int_eq(cgroup_own_path(f, OWN[_i].controller, path, sizeof path), OWN[_i].path != NULL);
    if (OWN[_i].path)
        ck_assert_str_eq(path, OWN[_i].path);
    fclose(f);
}
END_TEST

#define V2(root, point) "30 20 0:25 " root " " point " rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1(controller, point) "31 20 0:26 / " point " rw - cgroup " controller " rw," controller "\n"

static const struct {
    const char *text, *controller, *path, *own, *point; /* own "": no mount shows the group */
    bool seen;
} MOUNTS[] = {
    {V2("/", "/sys/fs/cgroup"), "", "/", "/sys/fs/cgroup", "/sys/fs/cgroup", true},
    {V2("/", "/sys/fs/cgroup"), "", "/a/b", "/sys/fs/cgroup/a/b", "/sys/fs/cgroup", true},
    {V2("/docker/1", "/sys/fs/cgroup"), "", "/docker/1", "/sys/fs/cgroup", "/sys/fs/cgroup", true},
    {V2("/docker/1", "/sys/fs/cgroup"), "", "/docker/1/x", "/sys/fs/cgroup/x", "/sys/fs/cgroup", true},
    {V2("/docker/1", "/sys/fs/cgroup"), "", "/docker/12", "", "", true},
    {V2("/../..", "/sys/fs/cgroup"), "", "/", "", "", true},
    {V2("/", "/sys/fs/cgroup"), "", "/../other", "", "", true},
    {V2("/../..", "/a") V2("/", "/b"), "", "/", "/b", "/b", true},
    {V1("memory", "/m") V2("/", "/u"), "", "/g", "/u/g", "/u", true},
    {V1("cpuset", "/s") V1("cpu", "/c"), "cpu", "/g", "/c/g", "/c", true},
    {V1("memory", "/m"), "", "/", "", "", false},
    {"broken line\n", "", "/", "", "", false},
};

START_TEST(mount_that_shows_a_group)
{
    struct cgroup_mount mount;
    FILE *f = text_file(MOUNTS[_i].text);
    cgroup_find_mount(f, MOUNTS[_i].controller, MOUNTS[_i].path, &mount);
    fclose(f);
    ck_assert_int_eq(mount.seen, MOUNTS[_i].seen);
    ck_assert_str_eq(mount.own, MOUNTS[_i].own);
    ck_assert_str_eq(mount.point, MOUNTS[_i].point);
}
END_TEST

static void put(const char *directory, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void make_group(const char *directory, const char *type, const char *controllers, const char *handed_down)
{
    ck_assert_int_eq(mkdir(directory, 0755), 0);
    if (type)
        put(directory, "cgroup.type", type);
    put(directory, "cgroup.controllers", controllers);
    put(directory, "cgroup.subtree_control", handed_down);
    put(directory, "cgroup.procs", "");
}

static char top[64], slice[80], unit[96];

static void make_tree(void)
{
    snprintf(top, sizeof top, "/tmp/snipara-cgroup-%d", getpid());
    snprintf(slice, sizeof slice, "%s/slice", top);
    snprintf(unit, sizeof unit, "%s/unit", slice);
    make_group(top, NULL, "cpu memory pids\n", "cpu memory pids\n");
    make_group(slice, "domain\n", "memory pids\n", "memory pids\n");
}

static void remove_tree(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", top);
    ck_assert_int_eq(system(command), 0);
}

static const struct {
    const char *type, *controllers, *handed_down;
    bool own;           /* our own group serves; else the slice does */
    bool cpu;
} PLACES[] = {
    {"domain\n", "cpu memory pids\n", "cpu memory pids\n", true, true},
    {"domain\n", "cpuset memory pids\n", "memory pids\n", true, false},
    {"domain\n", "cpuset pids\n", "pids\n", false, false},
    {"threaded\n", "cpu memory pids\n", "cpu memory pids\n", false, false},
    {"domain invalid\n", "cpu memory pids\n", "cpu memory pids\n", false, false},
};

START_TEST(nearest_group_that_serves)
{
    char base[256], reason[256], leaf[128];
    make_group(unit, PLACES[_i].type, PLACES[_i].controllers, PLACES[_i].handed_down);
    ck_assert(cgroup_unified_find(unit, top, base, sizeof base, reason, sizeof reason));
    ck_assert_str_eq(base, PLACES[_i].own ? unit : slice);
    ck_assert_int_eq(reason[0] == '\0', PLACES[_i].cpu);
    if (!PLACES[_i].cpu)
        ck_assert_ptr_nonnull(strstr(reason, "cpu controller"));
    /* What was written for cpu stands in the plain files as it is; a kernel would have kept a list. */
    put(slice, "cgroup.subtree_control", "memory pids\n");
    put(unit, "cgroup.subtree_control", PLACES[_i].handed_down);
    /* Somebody whom an earlier supervisor moved into its leaf starts another one. */
    snprintf(leaf, sizeof leaf, "%s/snipara-supervisor", unit);
    ck_assert(cgroup_unified_find(leaf, top, base, sizeof base, reason, sizeof reason));
    ck_assert_str_eq(base, PLACES[_i].own ? unit : slice);
}
END_TEST

START_TEST(no_group_serves)
{
    char base[256] = "untouched", reason[256];
    put(top, "cgroup.controllers", "cpu\n");
    put(slice, "cgroup.controllers", "cpu\n");
    make_group(unit, "threaded\n", "", "");
    ck_assert(!cgroup_unified_find(unit, top, base, sizeof base, reason, sizeof reason));
    ck_assert_str_eq(base, "untouched");
    ck_assert_ptr_nonnull(strstr(reason, "of type \"threaded\"")); /* that of our own group */
    ck_assert_ptr_nonnull(strstr(reason, unit));
}
END_TEST

START_TEST(reasons_of_layers)
{
    struct cgroup_host h = {.kind = CGROUP_NONE, .reason = "why"};
    ck_assert_ptr_null(cgroup_host_reason(&h, LAYER_SECCOMP));
    ck_assert_str_eq(cgroup_host_reason(&h, LAYER_CGROUP_KILL), "why");
    h.kind = CGROUP_V2;
    ck_assert_str_eq(cgroup_host_reason(&h, LAYER_CGROUP_CPU), "why");
    ck_assert_ptr_nonnull(strstr(cgroup_host_reason(&h, LAYER_CGROUP_KILL), "5.14"));
    h.kind = CGROUP_HYBRID;
    ck_assert_ptr_nonnull(strstr(cgroup_host_reason(&h, LAYER_CGROUP_KILL), "v1"));
    h.reason[0] = '\0';
    ck_assert_ptr_null(cgroup_host_reason(&h, LAYER_CGROUP_CPU));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cgroup");
    TCase *texts = unit_group(s, "texts"), *tree = unit_group(s, "tree");
    tcase_add_loop_test(texts, controllers_are_whole_words, 0, UNIT_ROWS(LISTS));
    tcase_add_loop_test(texts, own_path, 0, UNIT_ROWS(OWN));
    tcase_add_loop_test(texts, mount_that_shows_a_group, 0, UNIT_ROWS(MOUNTS));
    tcase_add_test(texts, reasons_of_layers);
    tcase_add_checked_fixture(tree, make_tree, remove_tree);
    tcase_add_loop_test(tree, nearest_group_that_serves, 0, UNIT_ROWS(PLACES));
    tcase_add_test(tree, no_group_serves);
    return s;
}

UNIT_MAIN(suite)
