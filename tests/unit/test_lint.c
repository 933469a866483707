/* The linter of seccomp rules, call by call: each dangerous one is refused without a comment, passes with one, and is nobody's
 * business when it is denied. The list stands here a second time, so that a call cannot fall out of the linter's. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "policy/lint.h"

#include <stdio.h>
#include <string.h>

/* warns: what is said of it with a comment but without a comparison of arguments */
static const struct { const char *name; bool warns; } calls[] = {
    {"clone", true}, {"clone3", true}, {"unshare", true}, {"setns", true}, {"ioctl", true}, {"socket", true}, {"socketpair", true},
    {"personality", true}, {"mknod", true}, {"mknodat", true}, {"fcntl", true}, {"kill", false}, {"prctl", false}, {"memfd_create", false},
    {"execveat", false}, {"pidfd_open", false}, {"pidfd_send_signal", false}, {"shmget", false}, {"semget", false}, {"msgget", false},
    {"mq_open", false}, {"seccomp", false}, {"vmsplice", false}, {"setuid", false}, {"setgid", false}, {"setgroups", false},
    {"setresuid", false}, {"setresgid", false}, {"setreuid", false}, {"setregid", false}, {"setfsuid", false}, {"setfsgid", false},
    {"capset", false}, {"set_mempolicy", false}, {"mbind", false}, {"ptrace", true}, {"process_vm_readv", true},
    {"process_vm_writev", true}, {"process_madvise", true}, {"process_mrelease", true}, {"pidfd_getfd", true}, {"kcmp", true},
    {"bpf", true}, {"perf_event_open", true}, {"userfaultfd", true}, {"io_uring_setup", true}, {"io_uring_enter", true},
    {"io_uring_register", true}, {"keyctl", true}, {"add_key", true}, {"request_key", true}, {"mount", true}, {"umount", true},
    {"umount2", true}, {"pivot_root", true}, {"chroot", true}, {"move_mount", true}, {"open_tree", true}, {"open_tree_attr", true},
    {"statmount", true}, {"listmount", true}, {"fsopen", true}, {"fsmount", true}, {"fsconfig", true}, {"fspick", true},
    {"mount_setattr", true}, {"open_by_handle_at", true}, {"name_to_handle_at", true}, {"fanotify_init", true}, {"fanotify_mark", true},
    {"quotactl", true}, {"quotactl_fd", true}, {"swapon", true}, {"swapoff", true}, {"reboot", true}, {"kexec_load", true},
    {"kexec_file_load", true}, {"init_module", true}, {"finit_module", true}, {"create_module", true}, {"delete_module", true},
    {"clock_settime", true}, {"clock_adjtime", true}, {"settimeofday", true}, {"stime", true}, {"adjtimex", true}, {"memfd_secret", true},
    {"uselib", true}, {"_sysctl", true}, {"vm86", true}, {"vm86old", true}, {"modify_ldt", true}, {"ioperm", true}, {"iopl", true},
    {"acct", true}, {"syslog", true}, {"vhangup", true}, {"lookup_dcookie", true}, {"nfsservctl", true}, {"migrate_pages", true},
    {"move_pages", true}, {"sethostname", true}, {"setdomainname", true}};

/* Findings about a profile of one entry, as the text of a JSON array. */
static char *lint_text(const char *fallback, const char *name, const char *action, const char *more) {
    char text[512];
    struct error err = {0};
    struct findings f = {cJSON_CreateArray(), false};
    snprintf(text, sizeof text, "{\"defaultAction\":\"%s\",\"syscalls\":[{\"names\":[\"read\",\"%s\"],\"action\":\"%s\"%s}]}", fallback, name, action, more);
    cleanup_json cJSON *oci = json_parse(text, strlen(text), (struct json_limits){0}, &err);
    ck_assert_msg(oci != NULL, "%s: %s", text, err.message);
    lint_seccomp(oci, &f);
    ck_assert(!f.failed);
    char *printed = json_print(f.list);
    cJSON_Delete(f.list);
    return printed;
}

static int refused(const char *name, const char *action, const char *more) {
    char wanted[96];
    cleanup_free char *text = lint_text("SCMP_ACT_ERRNO", name, action, more);
    snprintf(wanted, sizeof wanted, "\"%s is allowed without a comment", name);
    ck_assert_int_eq(strstr(text, "\"error\"") != NULL, strstr(text, wanted) != NULL);
    return strstr(text, "\"error\"") != NULL;
}

START_TEST(test_without_a_comment)
{
    static const char *const actions[] = {"SCMP_ACT_ALLOW", "SCMP_ACT_LOG"};
    static const char *const nothing[] = {"", ",\"comment\":\"\"", ",\"comment\":\" \\t \"",
                                          ",\"args\":[{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_EQ\",\"comment\":\"of the argument\"}]"};
    for (size_t a = 0; a < 2; a++)
        for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
            ck_assert_msg(refused(calls[_i].name, actions[a], nothing[i]), "%s %s%s", calls[_i].name, actions[a], nothing[i]);
}
END_TEST

START_TEST(test_with_a_comment)
{
    ck_assert(!refused(calls[_i].name, "SCMP_ACT_ALLOW", ",\"comment\":\"needed here\""));
    cleanup_free char *text = lint_text("SCMP_ACT_ERRNO", calls[_i].name, "SCMP_ACT_ALLOW", ",\"comment\":\"needed here\"");
    ck_assert_msg((strstr(text, "\"warning\"") != NULL) == calls[_i].warns, "%s: %s", calls[_i].name, text);
}
END_TEST

START_TEST(test_denied)
{
    static const char *const actions[] = {"SCMP_ACT_ERRNO", "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_NOTIFY"};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        cleanup_free char *text = lint_text("SCMP_ACT_ERRNO", calls[_i].name, actions[i], "");
        ck_assert_str_eq(text, "[]");
    }
}
END_TEST

/* Both lists hold the same calls. */
START_TEST(test_list_is_whole)
{
    size_t count = 0;
    for (const char *name; (name = lint_dangerous_call(count)); count++) {
        bool here = false;
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            here = here || !strcmp(calls[i].name, name);
        ck_assert_msg(here, "%s is in the linter's list and not tested", name);
    }
    ck_assert_uint_eq(count, sizeof calls / sizeof *calls);
}
END_TEST

START_TEST(test_ordinary_calls_need_no_comment)
{
    static const char *const ordinary[] = {"openat", "mmap", "execve", "futex", "sendmsg", "wait4", "rt_sigaction"};
    for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++) {
        cleanup_free char *text = lint_text("SCMP_ACT_ERRNO", ordinary[i], "SCMP_ACT_ALLOW", "");
        ck_assert_str_eq(text, "[]");
    }
}
END_TEST

/* A default that permits: every dangerous call that is not denied is allowed without a comment. */
START_TEST(test_default_that_permits)
{
    static const char *const permitting[] = {"SCMP_ACT_ALLOW", "SCMP_ACT_LOG"};
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *text = lint_text(permitting[i], "mount", "SCMP_ACT_ERRNO", "");
        ck_assert_msg(strstr(text, "\"error\"") && strstr(text, "such as clone"), "%s", text);
    }
    struct error err = {0};
    static const char commented[] = "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"comment\":\"a machine of its own\"}";
    cleanup_json cJSON *oci = json_parse(commented, strlen(commented), (struct json_limits){0}, &err);
    struct findings f = {cJSON_CreateArray(), false};
    lint_seccomp(oci, &f);
    ck_assert_int_eq(cJSON_GetArraySize(f.list), 1);
    ck_assert_str_eq(json_get_string(f.list->child, "severity"), "warning");
    cJSON_Delete(f.list);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("lint");
    TCase *each = unit_group(s, "each"), *lists = unit_group(s, "lists");
    tcase_add_loop_test(each, test_without_a_comment, 0, UNIT_ROWS(calls));
    tcase_add_loop_test(each, test_with_a_comment, 0, UNIT_ROWS(calls));
    tcase_add_loop_test(each, test_denied, 0, UNIT_ROWS(calls));
    tcase_add_test(lists, test_list_is_whole);
    tcase_add_test(lists, test_ordinary_calls_need_no_comment);
    tcase_add_test(lists, test_default_that_permits);
    return s;
}

UNIT_MAIN(suite)
