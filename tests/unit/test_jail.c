/* jail/: the pure parts as tables, and one jail made for real and looked at from outside. This program is its own maker, as the
 * product is: /proc/self/exe started with MAKER_ARGUMENT. */
#include "unit.h"

#include "jail/denials.h"
#include "jail/host.h"
#include "jail/jail.h"
#include "jail/maker.h"
#include "jail/plan.h"
#include "jail/seal.h"

#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(layer_names_go_both_ways)
{
    ck_assert_str_ne(layer_name((enum layer)_i), "unknown");
    ck_assert_int_eq(layer_by_name(layer_name((enum layer)_i)), _i);
    ck_assert_int_eq(layer_by_name("no such layer"), -1);
}
END_TEST

START_TEST(denials_count_by_kind)
{
    struct denials shared = {0}, seen = {0}, delta;
    uint64_t inet[6] = {AF_INET}, ignored[6] = {0};
    for (int i = 0; i < 3; i++)
        denials_note(&shared, SYS_socket, inet);
    denials_note(&shared, SYS_mount, ignored);
    denials_since(&shared, &seen, &delta);
    ck_assert_uint_eq(delta.kinds[0].count, 3);
    ck_assert_uint_eq(delta.kinds[1].count, 1);
    denials_note(&shared, SYS_mount, ignored);
    denials_since(&shared, &seen, &delta);
    ck_assert_uint_eq(delta.kinds[0].count, 0);
    ck_assert_uint_eq(delta.kinds[1].count, 1);
}
END_TEST

START_TEST(denials_are_bounded)
{
    struct denials shared = {0}, seen = {0}, delta;
    for (uint32_t n = 0; n < DENIALS_KINDS + 10; n++)
        denials_note(&shared, 1000 + n, (uint64_t[6]){0});
    denials_since(&shared, &seen, &delta);
    ck_assert_uint_eq(delta.more, 10);
    shared.kinds[0].count = 0; /* a table that goes back says nothing, it does not wrap */
    denials_since(&shared, &seen, &delta);
    ck_assert_uint_eq(delta.kinds[0].count, 0);
}
END_TEST

static const struct { struct denial d; const char *name, *text; } DENIAL_TEXTS[] = {
    {{SYS_socket, AF_INET, 1}, "socket", "socket(AF_INET)"},
    {{SYS_socket, 77, 1}, "socket", "socket(0x4d)"},
    {{SYS_ioctl, 0x5412, 1}, "ioctl", "ioctl(0x5412)"},
    {{SYS_mount, DENIALS_NO_ARGUMENT, 1}, "mount", "mount"},
    {{999, DENIALS_NO_ARGUMENT, 1}, NULL, "call 999"},
};

START_TEST(denials_read_as_words)
{
    char text[96];
    denials_text(&DENIAL_TEXTS[_i].d, DENIAL_TEXTS[_i].name, text, sizeof text);
    ck_assert_str_eq(text, DENIAL_TEXTS[_i].text);
}
END_TEST

static void fill(struct jail_plan *plan)
{
    struct error err;
    static const struct plan_mount MOUNTS[] = {
        {.kind = PLAN_BIND_RO, .exec = true, .source = (char *)"/usr", .target = (char *)"/usr"},
        {.kind = PLAN_BIND_RO, .optional = true, .source = (char *)"/no/such/thing", .target = (char *)"/thing"},
        {.kind = PLAN_TMPFS, .bytes = 1 << 20, .inodes = 64, .target = (char *)"/tmp"},
        {.kind = PLAN_TMPFS, .bytes = 1 << 20, .inodes = 64, .target = (char *)"/session"},
    };
    for (size_t i = 0; i < sizeof MOUNTS / sizeof *MOUNTS; i++)
        ck_assert_int_eq(jail_plan_add(plan, MOUNTS[i], &err), 0);
    plan->loopback = true;
    plan->errno_of[SYS_mount] = 1;
}

START_TEST(plan_survives_the_wire)
{
    struct jail_plan plan = {0}, copy = {0};
    struct buf b = {0};
    struct error err;
    fill(&plan);
    ck_assert_int_eq(jail_plan_put(&plan, &b), 0);
    struct wire_cursor cursor = {b.data, b.data + b.len};
    ck_assert_int_eq(jail_plan_take(&copy, cursor, &err), 0);
    ck_assert_uint_eq(copy.mount_count, plan.mount_count);
    for (size_t i = 0; i < plan.mount_count; i++) {
        ck_assert_str_eq(copy.mounts[i].source, plan.mounts[i].source);
        ck_assert_str_eq(copy.mounts[i].target, plan.mounts[i].target);
        ck_assert_uint_eq(copy.mounts[i].bytes, plan.mounts[i].bytes);
    }
    ck_assert(copy.loopback);
    ck_assert_int_eq(copy.errno_of[SYS_mount], 1);
    jail_plan_free(&copy);
    for (size_t cut = 1; cut < b.len; cut += 7) { /* a plan that was cut is an error, never half a plan */
        struct jail_plan part = {0};
        struct wire_cursor c = {b.data, b.data + cut};
        int r = jail_plan_take(&part, c, &err);
        ck_assert(r < 0 || part.mount_count <= plan.mount_count);
        jail_plan_free(&part);
    }
    buf_free(&b);
    jail_plan_free(&plan);
}
END_TEST

/* A root that cannot be read is an error: no root means the host's own directories. */
START_TEST(a_plan_has_one_readable_root)
{
    static const struct { const char *roots[2]; size_t lengths[2]; } bad[] = {{{"/srv\0x", NULL}, {6, 0}}, {{"/srv", "/srv"}, {4, 4}}};
    enum { TAG_ROOTFS = 2 }; /* as in plan.c */
    for (int i = 0; i < UNIT_ROWS(bad); i++) {
        struct jail_plan plan = {0};
        struct buf b = {0};
        struct error err = {0};
        for (int k = 0; k < 2 && bad[i].roots[k]; k++)
            ck_assert_int_eq(wire_put(&b, TAG_ROOTFS, bad[i].roots[k], bad[i].lengths[k]), 0);
        ck_assert_int_lt(jail_plan_take(&plan, (struct wire_cursor){b.data, b.data + b.len}, &err), 0);
        ck_assert_ptr_nonnull(strstr(err.message, "root"));
        jail_plan_free(&plan);
        buf_free(&b);
    }
}
END_TEST

START_TEST(seal_plan_survives_the_wire)
{
    struct seal_plan plan = {.uid = 1000, .gid = 1000, .rlimit_count = 1, .path_count = 1, .landlock_optional = true}, copy = {0};
    struct buf b = {0};
    struct error err;
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    plan.rlimits[0].resource = RLIMIT_CORE;
    plan.paths[0] = (struct seal_path){.path = strdup("/session"), .write = true};
    plan.filter = malloc(sizeof allow);
    memcpy(plan.filter, &allow, sizeof allow);
    plan.filter_count = 1;
    ck_assert_int_eq(seal_plan_put(&plan, &b), 0);
    struct wire_cursor cursor = {b.data, b.data + b.len};
    struct wire_field f;
    while (wire_field_next(&cursor, &f) > 0)
        ck_assert_int_eq(seal_plan_take(&copy, &f, &err), 1);
    ck_assert_uint_eq(copy.uid, 1000);
    ck_assert_str_eq(copy.paths[0].path, "/session");
    ck_assert(copy.paths[0].write && !copy.paths[0].exec && !copy.landlock_network && copy.landlock_optional);
    ck_assert_uint_eq(copy.filter_count, 1);
    seal_plan_free(&copy);
    seal_plan_free(&plan);
    buf_free(&b);
}
END_TEST

START_TEST(an_incomplete_seal_plan_runs_nothing)
{
    struct seal_plan plan = {.uid = 1000, .gid = 1000};
    layer_set layers = 0;
    struct error err = {0};
    pid_t pid = fork();
    if (pid == 0)
        _exit(seal_self(&plan, -1, &layers, &err) < 0 && layers == 0 && strcmp(err.step, "seal.plan") == 0 ? 0 : 1);
    int status = 0;
    waitpid(pid, &status, 0);
    ck_assert_int_eq(status, 0);
}
END_TEST

struct ground {
    struct yard yard;
    struct jail_plan plan;
    struct jail_maker maker;
    struct cgroup_pool pool;
};

static const struct cgroup_limits LIMITS = {.memory_bytes = 64 << 20, .pids = 8, .cpus = 0.5};

static void prepare(struct ground *g)
{
    struct error err = {0};
    memset(g, 0, sizeof *g);
    ck_assert_msg(yard_open(&g->yard, &err) == 0 && yard_find_cgroups(&g->yard, &err) == 0, "%s: %s", err.step, err.message);
    fill(&g->plan);
}

static void start_maker(struct ground *g)
{
    struct error err = {0};
    ck_assert_msg(jail_maker_start(&g->yard, &g->maker, &err) == 0, "%s: %s", err.step, err.message);
    ck_assert_msg(jail_maker_plan(&g->maker, &g->plan, &err) == 0, "%s: %s", err.step, err.message);
}

static int make_one(struct ground *g, struct jail *ret, struct error *err)
{
    return jail_make(&g->yard, &g->maker, &g->pool, &LIMITS, ret, err);
}

static void give_back(struct ground *g)
{
    jail_maker_stop(&g->maker);
    cgroup_pool_empty(&g->pool);
    jail_plan_free(&g->plan);
    yard_close(&g->yard);
}

static void end(struct ground *g, struct jail *j)
{
    jail_kill(j);
    for (int i = 0; i < 2000 && !jail_end(j, &g->pool); i++)
        poll(NULL, 0, 2);
}

/* The one that needs a kernel: on a host without user namespaces it fails, and doctor says what to do. */
START_TEST(a_jail_is_made_and_seen_from_outside)
{
    struct ground g;
    struct jail jail, other;
    struct error err = {0};
    prepare(&g);
    start_maker(&g);
    ck_assert_msg(make_one(&g, &jail, &err) == 0, "%s: %s", err.step, err.message);
    ck_assert_msg(make_one(&g, &other, &err) == 0, "%s: %s", err.step, err.message);
    ck_assert(jail.layers & LAYER_BIT(LAYER_PIVOT_ROOT));
    ck_assert(jail.layers & LAYER_BIT(LAYER_READ_ONLY_ROOT));
    layer_set claimed = jail.layers | LAYER_BIT(LAYER_CAPABILITIES) | LAYER_BIT(LAYER_NO_NEW_PRIVS) | LAYER_BIT(LAYER_SECCOMP);
    ck_assert_msg(jail_inspect(jail.init, claimed, &err) == 0, "%s", err.message);
    /* and the look itself can fail: this very process has none of it */
    ck_assert_int_lt(jail_inspect(getpid(), claimed, &err), 0);
    end(&g, &jail);
    end(&g, &other);
    give_back(&g);
}
END_TEST

START_TEST(a_mount_that_is_missing_makes_no_jail)
{
    struct ground g;
    struct jail jail;
    struct error err = {0};
    prepare(&g);
    g.plan.mounts[1].optional = false;
    start_maker(&g);
    ck_assert_int_lt(make_one(&g, &jail, &err), 0);
    ck_assert_str_eq(err.step, "mounts.source");
    ck_assert_ptr_nonnull(strstr(err.message, "/no/such/thing"));
    give_back(&g);
}
END_TEST

START_TEST(closing_the_control_socket_ends_the_jail)
{
    struct ground g;
    struct jail jail;
    struct error err = {0};
    prepare(&g);
    start_maker(&g);
    ck_assert_msg(make_one(&g, &jail, &err) == 0, "%s: %s", err.step, err.message);
    close(jail.control);
    jail.control = -1;
    struct pollfd p = {.fd = jail.init_pidfd, .events = POLLIN};
    ck_assert_int_eq(poll(&p, 1, 2000), 1);
    end(&g, &jail);
    give_back(&g);
}
END_TEST

/* ISOLATION.md row 35: the next one in the same cgroup finds no trace of the one before. */
START_TEST(a_cgroup_is_used_again_with_fresh_accounts)
{
    struct ground g;
    struct jail jail;
    struct error err = {0};
    struct cgroup_usage usage;
    char name[64];
    prepare(&g);
    start_maker(&g);
    ck_assert_msg(make_one(&g, &jail, &err) == 0, "%s: %s", err.step, err.message);
    enum cgroup_kind kind = g.yard.cgroups.kind;
    snprintf(name, sizeof name, "%s", jail.cgroup.name);
    end(&g, &jail);
    if (kind == CGROUP_V1 || kind == CGROUP_HYBRID) {
        ck_assert_uint_eq(g.pool.count, 1);
        ck_assert_msg(make_one(&g, &jail, &err) == 0, "%s: %s", err.step, err.message);
        ck_assert_str_eq(jail.cgroup.name, name);
        cgroup_usage(&jail.cgroup, CGROUP_CPU | CGROUP_PEAKS | CGROUP_KILLS, &usage);
        ck_assert(usage.memory_peak < 4 << 20);
        ck_assert(usage.oom_kills == 0);
        end(&g, &jail);
        struct cgroup_limits others = LIMITS;
        others.pids++;
        struct cgroup cg;
        ck_assert_int_eq(cgroup_pool_take(&g.pool, &g.yard.cgroups, &others, &cg, &err), 0);
        ck_assert_str_ne(cg.name, name);
        cgroup_remove(&cg);
    } else {
        ck_assert_uint_eq(g.pool.count, 0);
    }
    give_back(&g);
}
END_TEST

START_TEST(the_probe_agrees_with_itself)
{
    struct host host;
    struct error err;
    ck_assert_int_eq(host_probe(&host, &err), 0);
    ck_assert_ptr_nonnull(host.rung);
    for (int l = 0; l < LAYER_COUNT; l++) {
        ck_assert_int_eq(host.layers[l].layer, l);
        ck_assert(host.layers[l].evidence[0] != '\0');
        ck_assert_int_eq(host.layers[l].there, (host.there >> l) & 1);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("jail");
    TCase *pure = unit_group(s, "pure");
    tcase_add_loop_test(pure, layer_names_go_both_ways, 0, LAYER_COUNT);
    tcase_add_test(pure, denials_count_by_kind);
    tcase_add_test(pure, denials_are_bounded);
    tcase_add_loop_test(pure, denials_read_as_words, 0, UNIT_ROWS(DENIAL_TEXTS));
    tcase_add_test(pure, plan_survives_the_wire);
    tcase_add_test(pure, seal_plan_survives_the_wire);
    tcase_add_test(pure, a_plan_has_one_readable_root);
    TCase *live = unit_group(s, "live");
    tcase_add_test(live, an_incomplete_seal_plan_runs_nothing);
    tcase_add_test(live, a_jail_is_made_and_seen_from_outside);
    tcase_add_test(live, a_cgroup_is_used_again_with_fresh_accounts);
    tcase_add_test(live, a_mount_that_is_missing_makes_no_jail);
    tcase_add_test(live, closing_the_control_socket_ends_the_jail);
    tcase_add_test(live, the_probe_agrees_with_itself);
    return s;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], MAKER_ARGUMENT) == 0)
        return maker_main();
    return unit_run(suite());
}
