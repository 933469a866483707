/* The compiled seccomp programs: the evaluator of classic BPF runs them over tables of calls, and one live check compares the
 * evaluator with the kernel. Every number and every argument rule: test_syscalls.c. */
#include "bpf_eval.h"
#include "unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "policy/policy.h"
#include "policy/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define X32 0x40000000u
#define HIGH (1ull << 32)
#define KILL SECCOMP_RET_KILL_PROCESS
#define ALLOW SECCOMP_RET_ALLOW
#define NOTIFY SECCOMP_RET_USER_NOTIF
#define DENY(code) (SECCOMP_RET_ERRNO | (code))
#define BAD BPF_EVAL_BAD

static struct seccomp_data call_of(int number, const uint64_t args[6])
{
    struct seccomp_data data = {.nr = number, .arch = seccomp_arch_native()};
    if (args)
        memcpy(data.args, args, sizeof data.args);
    return data;
}

static uint32_t verdict(const struct seccomp_compiled *c, bool notify, int number, const uint64_t args[6])
{
    struct seccomp_data data = call_of(number, args);
    return bpf_eval_both(notify ? &c->filter_notify : &c->filter, &c->unknown, &data);
}

static struct seccomp_compiled *compiled_policy(const char *name)
{
    struct error err = {0};
    cleanup_policy struct policy *p = NULL;
    struct seccomp_compiled *c = NULL;
    ck_assert_msg(policy_load(name, &p, &err) == 0, "%s", err.message);
    ck_assert_msg(seccomp_compile(p->seccomp, &c, &err) == 0, "%s", err.message);
    return c;
}

static struct seccomp_compiled *compiled_text(const char *text, struct error *err)
{
    struct seccomp_compiled *c = NULL;
    cleanup_json cJSON *oci = json_parse(text, strlen(text), (struct json_limits){0}, err);
    ck_assert_msg(oci != NULL, "%s", err->message);
    return seccomp_compile(oci, &c, err) == 0 ? c : NULL;
}

static const struct row {
    const char *policy, *call;
    uint64_t args[6];
    uint32_t expected; /* of filter and unknown; a denial with EPERM is a notification in the other program */
} rows[] = {
    {"default", "read", {0}, ALLOW},
    {"default", "openat", {0}, ALLOW},
    {"default", "openat2", {0}, ALLOW},
    {"default", "futex", {0}, ALLOW},
    {"default", "rseq", {0}, ALLOW},
    {"default", "statx", {0}, ALLOW},
    {"default", "sched_getaffinity", {0}, ALLOW},
    {"default", "execve", {0}, ALLOW},
    {"default", "wait4", {0}, ALLOW},
    {"default", "getrandom", {0}, ALLOW},
    {"default", "epoll_create1", {0}, ALLOW},
    {"default", "memfd_create", {0}, ALLOW},
    {"default", "execveat", {0}, DENY(EPERM)},
    /* terminals: the request is 32 bits for the kernel, 64 for the filter */
    {"default", "ioctl", {0, 0x5401}, ALLOW},
    {"default", "ioctl", {0, 0x5413}, ALLOW},
    {"default", "ioctl", {0, 0x5451}, ALLOW},
    {"default", "ioctl", {0, 0x5401 + HIGH}, DENY(EPERM)},
    {"default", "ioctl", {0, 0x5412}, DENY(EPERM)},
    {"default", "ioctl", {0, 0x5412 + HIGH}, DENY(EPERM)},
    {"default", "ioctl", {0, 0x5412 | 0xffffffff00000000}, DENY(EPERM)},
    {"default", "ioctl", {0, 0x541c}, DENY(EPERM)},
    {"default", "ioctl", {0, 0x541c + HIGH}, DENY(EPERM)},
    {"default", "ioctl", {0, 0x5402}, DENY(EPERM)},
    /* namespaces */
    {"default", "clone", {0x1200011}, ALLOW},     /* fork */
    {"default", "clone", {0x4111}, ALLOW},        /* vfork */
    {"default", "clone", {0x3d0f00}, ALLOW},      /* a thread */
    {"default", "clone", {0x10000011}, DENY(EPERM)},
    {"default", "clone", {0x00020011}, DENY(EPERM)},
    {"default", "clone", {0x40000011}, DENY(EPERM)},
    {"default", "clone", {0x20000011}, DENY(EPERM)},
    {"default", "clone", {0x02000011}, DENY(EPERM)},
    {"default", "clone", {0x04000011}, DENY(EPERM)},
    {"default", "clone", {0x08000011}, DENY(EPERM)},
    {"default", "clone", {0x00000080}, DENY(EPERM)},
    {"default", "clone", {0x10000011 + HIGH}, DENY(EPERM)},
    {"default", "clone", {0x00008011}, DENY(EPERM)}, /* CLONE_PARENT: a child of the zygote */
    {"default", "prctl", {15}, ALLOW},
    {"default", "prctl", {22}, DENY(EPERM)},         /* PR_SET_SECCOMP would hide denials */
    {"default", "prctl", {22 + HIGH}, DENY(EPERM)},
    {"default", "fcntl", {0, 2}, ALLOW},
    {"default", "fcntl", {0, 1030}, ALLOW},          /* F_DUPFD_CLOEXEC */
    {"default", "fcntl", {0, 1024}, DENY(EPERM)},    /* F_SETLEASE */
    {"default", "fcntl", {0, 1026}, DENY(EPERM)},    /* F_NOTIFY */
    {"default", "fcntl", {0, 1031}, DENY(EPERM)},    /* F_SETPIPE_SZ */
    {"default", "fcntl", {0, 1026 + HIGH}, DENY(EPERM)},
    {"default", "inotify_init1", {0}, DENY(EPERM)},  /* instances count per user, over all jails of a server */
    {"default", "clone3", {0}, DENY(ENOSYS)},
    {"default", "unshare", {0x10000000}, DENY(EPERM)},
    {"default", "setns", {0}, DENY(EPERM)},
    /* sockets */
    {"default", "socket", {1, 1, 0}, ALLOW},
    {"default", "socket", {1, 0x80801, 0}, ALLOW},
    {"default", "socketpair", {1, 1, 0}, ALLOW},
    {"default", "socket", {1 + HIGH, 1, 0}, DENY(EPERM)},
    {"default", "socket", {2, 1, 0}, DENY(EPERM)},
    {"default", "socket", {10, 2, 0}, DENY(EPERM)},
    {"default", "socket", {16, 3, 0}, DENY(EPERM)},
    {"default", "socket", {17, 3, 0}, DENY(EPERM)},
    {"default", "socket", {38, 5, 0}, DENY(EPERM)},
    {"default", "socket", {40, 1, 0}, DENY(EPERM)},
    {"default", "socketpair", {2, 1, 0}, DENY(EPERM)},
    /* kill(-1) ends everybody */
    {"default", "kill", {1, 0}, ALLOW},
    {"default", "kill", {0, 15}, ALLOW},
    {"default", "kill", {0xfffffffe, 15}, ALLOW},
    {"default", "kill", {0xffffffff, 9}, DENY(EPERM)},
    {"default", "kill", {0xffffffffffffffff, 9}, DENY(EPERM)},
    {"default", "kill", {0xffffffff + HIGH, 9}, DENY(EPERM)},
    {"default", "personality", {0xffffffff}, ALLOW},
    {"default", "personality", {0}, DENY(EPERM)},
    {"default", "personality", {0x40000}, DENY(EPERM)},
    {"default", "personality", {0x40000 + HIGH}, DENY(EPERM)},
    {"default", "mknodat", {0, 0, 0010644}, ALLOW},
    {"default", "mknodat", {0, 0, 0100644}, ALLOW},
    {"default", "mknodat", {0, 0, 0644}, ALLOW},
    {"default", "mknodat", {0, 0, 0020644, 0x103}, DENY(EPERM)},
    {"default", "mknodat", {0, 0, 0060644, 0x800}, DENY(EPERM)},
    {"default", "mknodat", {0, 0, 0020644 + HIGH, 0x103}, DENY(EPERM)},
    /* never */
    {"default", "ptrace", {0}, DENY(EPERM)},
    {"default", "process_vm_readv", {0}, DENY(ENOSYS)},
    {"default", "process_vm_writev", {0}, DENY(ENOSYS)},
    {"default", "io_uring_setup", {0}, DENY(ENOSYS)},
    {"default", "io_uring_enter", {0}, DENY(ENOSYS)},
    {"default", "io_uring_register", {0}, DENY(ENOSYS)},
    {"default", "bpf", {0}, DENY(EPERM)},
    {"default", "perf_event_open", {0}, DENY(EPERM)},
    {"default", "userfaultfd", {0}, DENY(EPERM)},
    {"default", "keyctl", {0}, DENY(EPERM)},
    {"default", "add_key", {0}, DENY(EPERM)},
    {"default", "request_key", {0}, DENY(EPERM)},
    {"default", "mount", {0}, DENY(EPERM)},
    {"default", "umount2", {0}, DENY(EPERM)},
    {"default", "pivot_root", {0}, DENY(EPERM)},
    {"default", "chroot", {0}, DENY(EPERM)},
    {"default", "open_tree", {0}, DENY(EPERM)},
    {"default", "move_mount", {0}, DENY(EPERM)},
    {"default", "fsopen", {0}, DENY(EPERM)},
    {"default", "fsconfig", {0}, DENY(EPERM)},
    {"default", "fsmount", {0}, DENY(EPERM)},
    {"default", "fspick", {0}, DENY(EPERM)},
    {"default", "mount_setattr", {0}, DENY(EPERM)},
    {"default", "open_by_handle_at", {0}, DENY(EPERM)},
    {"default", "name_to_handle_at", {0}, DENY(EPERM)},
    {"default", "fanotify_init", {0}, DENY(EPERM)},
    {"default", "quotactl", {0}, DENY(EPERM)},
    {"default", "swapon", {0}, DENY(EPERM)},
    {"default", "clock_settime", {0}, DENY(EPERM)},
    {"default", "settimeofday", {0}, DENY(EPERM)},
    {"default", "adjtimex", {0}, DENY(EPERM)},
    {"default", "clock_adjtime", {0}, DENY(EPERM)},
    {"default", "memfd_secret", {0}, DENY(EPERM)},
    {"default", "seccomp", {1}, DENY(EPERM)},
    {"default", "pidfd_getfd", {0}, DENY(EPERM)},
    {"default", "kcmp", {0}, DENY(EPERM)},
    {"default", "acct", {0}, DENY(EPERM)},
    {"default", "syslog", {0}, DENY(EPERM)},
    {"default", "vhangup", {0}, DENY(EPERM)},
    {"default", "mbind", {0}, DENY(EPERM)},
    {"default", "move_pages", {0}, DENY(EPERM)},
    {"default", "sethostname", {0}, DENY(EPERM)},
    {"default", "setuid", {0}, DENY(EPERM)},
    {"default", "setgroups", {0}, DENY(EPERM)},
    {"default", "setresuid", {0}, DENY(EPERM)},
    {"default", "capset", {0}, DENY(EPERM)},
    {"default", "kexec_load", {0}, KILL},
    {"default", "init_module", {0}, KILL},
    {"default", "finit_module", {0}, KILL},
    {"default", "delete_module", {0}, KILL},
    {"default", "reboot", {0}, KILL},
#ifdef __x86_64__
    {"default", "arch_prctl", {0x1002}, ALLOW},
    {"default", "modify_ldt", {0}, DENY(EPERM)},
    {"default", "iopl", {0}, DENY(EPERM)},
    {"default", "ioperm", {0}, DENY(EPERM)},
    {"default", "mknod", {0, 0020644}, DENY(EPERM)},
    {"default", "mknod", {0, 0010644}, ALLOW},
#endif
    {"strict", "read", {0}, ALLOW},
    {"strict", "execve", {0}, DENY(EPERM)},
    {"strict", "execveat", {0}, DENY(EPERM)},
    {"strict", "memfd_create", {0}, DENY(EPERM)},
    {"strict", "socket", {1, 1, 0}, DENY(EPERM)},
    {"strict", "shmget", {0}, DENY(EPERM)},
    {"strict", "socketpair", {1, 1, 0}, ALLOW},
    {"strict", "sendmsg", {0}, ALLOW},
    {"strict", "clone", {0x1200011}, ALLOW},
    {"open", "execve", {0}, ALLOW},
    {"open", "ptrace", {0}, DENY(EPERM)},
    {"validation", "socket", {2, 1, 0}, DENY(EPERM)},
    {"validation", "execve", {0}, ALLOW},
};

START_TEST(test_row)
{
    const struct row *row = &rows[_i];
    struct seccomp_compiled *c = compiled_policy(row->policy);
    int number = seccomp_syscall_resolve_name(row->call);
    ck_assert_msg(number >= 0, "%s", row->call);
    uint32_t got = verdict(c, false, number, row->args), notified = verdict(c, true, number, row->args);
    uint32_t expected = row->expected == DENY(EPERM) ? NOTIFY : row->expected;
    ck_assert_msg(got == row->expected, "%s %s(%llx, %llx): %x, not %x", row->policy, row->call, (unsigned long long)row->args[0],
                  (unsigned long long)row->args[1], got, row->expected);
    ck_assert_msg(notified == expected, "%s %s with notification: %x, not %x", row->policy, row->call, notified, expected);
    if (expected == NOTIFY)
        ck_assert_int_eq(c->errno_of[number], EPERM);
    if (row->expected == DENY(ENOSYS))
        ck_assert_int_eq(c->errno_of[number], ENOSYS);
    seccomp_compiled_free(c);
}
END_TEST

/* What the table does not name: no number is open that the profile does not list, and every number has a defined answer. */
START_TEST(test_every_number)
{
    struct seccomp_compiled *c = compiled_policy("default");
    ck_assert_int_ge(c->last_known, 440);
    ck_assert_int_lt(c->last_known, 600);
    for (int nr = 0; nr < SECCOMP_NUMBERS; nr++) {
        cleanup_free char *name = seccomp_call_name(nr);
        uint32_t plain = verdict(c, false, nr, NULL), notified = verdict(c, true, nr, NULL);
        ck_assert_uint_ne(plain, BAD);
        ck_assert_uint_ne(notified, BAD);
        if (!name) {
            ck_assert_msg(plain == DENY(ENOSYS) && notified == DENY(ENOSYS), "%d: %x %x", nr, plain, notified);
            ck_assert_int_eq(c->errno_of[nr], ENOSYS);
        } else {
            ck_assert_msg((plain == ALLOW) == (notified == ALLOW), "%s: %x %x", name, plain, notified);
        }
    }
    for (int nr = c->last_known + 1; nr <= 600; nr++)
        ck_assert_uint_eq(verdict(c, false, nr, NULL), DENY(ENOSYS));
    seccomp_compiled_free(c);
}
END_TEST

START_TEST(test_foreign_numbers)
{
    struct seccomp_compiled *c = compiled_policy("default");
    struct seccomp_data data = call_of(0, NULL);
    data.arch = data.arch == AUDIT_ARCH_I386 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_I386; /* int 0x80 */
    ck_assert_uint_eq(bpf_eval_both(&c->filter, &c->unknown, &data), KILL);
    ck_assert_uint_eq(bpf_eval_both(&c->filter_notify, &c->unknown, &data), KILL);
    data.arch = 0;
    ck_assert_uint_eq(bpf_eval_both(&c->filter, &c->unknown, &data), KILL);
    static const uint32_t odd[] = {X32, X32 + 1, X32 + 59, X32 + 512, X32 + 547, 0x7fffffff, 0x80000000, 0xffffffff, 1024, 100000};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        ck_assert_msg(verdict(c, false, (int)odd[i], NULL) == DENY(ENOSYS), "%x", odd[i]);
        ck_assert_msg(verdict(c, true, (int)odd[i], NULL) == DENY(ENOSYS), "%x", odd[i]);
    }
    seccomp_compiled_free(c);
}
END_TEST

/* Names that no libseccomp knows would silently deny: a typing error. Newer names are listed here. */
START_TEST(test_names_exist)
{
    static const char *const newer[] = {"fchmodat2", "map_shadow_stack", "futex_wake", "futex_wait", "futex_requeue", NULL};
    struct error err = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/seccomp/default.json", policy_directory());
    cleanup_json cJSON *oci = json_parse_file(path, (struct json_limits){0}, &err);
    ck_assert_msg(oci != NULL, "%s", err.message);
    for (const cJSON *entry = json_get(oci, "syscalls")->child; entry; entry = entry->next)
        for (const cJSON *name = json_get(entry, "names")->child; name; name = name->next) {
            int x86 = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name->valuestring);
            int arm = seccomp_syscall_resolve_name_arch(SCMP_ARCH_AARCH64, name->valuestring);
            bool excused = false;
            for (const char *const *n = newer; *n; n++)
                excused = excused || !strcmp(*n, name->valuestring);
            ck_assert_msg(x86 >= 0 || arm >= 0 || excused, "%s is no system call", name->valuestring);
        }
}
END_TEST

static const struct bad {
    const char *text, *word;
} bad[] = {
    {"{}", "defaultAction"},
    {"[]", "profile"},
    {"{\"defaultAction\":\"SCMP_ACT_ALOW\"}", "SCMP_ACT_ALLOW"},
    {"{\"defaultAction\":\"SCMP_ACT_TRACE\"}", "defaultAction"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":5000}", "defaultErrnoRet"},
    {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"defaultErrnoRet\":1}", "defaultErrnoRet"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"sycalls\":[]}", "syscalls"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":{}}", "syscalls"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[],\"action\":\"SCMP_ACT_ALLOW\"}]}", "syscalls[0].names"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"read\"]}]}", "syscalls[0].action"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"includes\":{}}]}", "docker"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"errnoRet\":1}]}", "errnoRet"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":6,\"value\":1,\"op\":\"SCMP_CMP_EQ\"}]}]}",
     "syscalls[0].args[0].index"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":-1,\"op\":\"SCMP_CMP_EQ\"}]}]}",
     "syscalls[0].args[0].value"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":18446744073709551615,\"op\":\"SCMP_CMP_EQ\"}]}]}",
     "syscalls[0].args[0].value"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_EQL\"}]}]}",
     "SCMP_CMP_EQ"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":1,\"valueTwo\":2,\"op\":\"SCMP_CMP_MASKED_EQ\"}]}]}",
     "mask"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_GE\"},"
     "{\"index\":0,\"value\":5,\"op\":\"SCMP_CMP_LE\"}]}]}", "two entries"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\"},{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ERRNO\","
     "\"args\":[{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_EQ\"}]}]}", "one action per call"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"flags\":[\"SECCOMP_FILTER_FLAG_LOG\"]}", "flags"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"listenerPath\":\"/x\"}", "listenerPath"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"architectures\":[\"SCMP_ARCH_S390X\"]}", "architectures"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[],\"syscalls\":[]}", "twice"},
    {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"a b\"],\"action\":\"SCMP_ACT_ALLOW\"}]}", "names"},
};

START_TEST(test_bad_profile)
{
    struct error err = {0};
    ck_assert_ptr_null(compiled_text(bad[_i].text, &err));
    ck_assert_msg(strstr(err.message, bad[_i].word) != NULL, "%s: %s", bad[_i].text, err.message);
}
END_TEST

/* Every action and operator, in a profile that knows no default.json. */
START_TEST(test_actions_and_operators)
{
    static const char text[] =
        "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":13,\"architectures\":[\"SCMP_ARCH_X86_64\",\"SCMP_ARCH_AARCH64\",\"SCMP_ARCH_RISCV64\"],\"syscalls\":["
        "{\"names\":[\"read\",\"no_such_call\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":null},{\"names\":[\"write\"],\"action\":\"SCMP_ACT_LOG\"},"
        "{\"names\":[\"close\"],\"action\":\"SCMP_ACT_KILL\"},{\"names\":[\"dup\"],\"action\":\"SCMP_ACT_KILL_THREAD\"},"
        "{\"names\":[\"dup3\"],\"action\":\"SCMP_ACT_KILL_PROCESS\"},{\"names\":[\"fcntl\"],\"action\":\"SCMP_ACT_TRAP\"},"
        "{\"names\":[\"ptrace\"],\"action\":\"SCMP_ACT_NOTIFY\"},{\"names\":[\"mount\"],\"action\":\"SCMP_ACT_ERRNO\"},"
        "{\"names\":[\"bpf\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":95},"
        "{\"names\":[\"getpid\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":5,\"op\":\"SCMP_CMP_NE\"}]},"
        "{\"names\":[\"getppid\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":1,\"value\":5,\"op\":\"SCMP_CMP_LT\"}]},"
        "{\"names\":[\"getuid\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":2,\"value\":5,\"op\":\"SCMP_CMP_LE\"}]},"
        "{\"names\":[\"geteuid\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":3,\"value\":5,\"op\":\"SCMP_CMP_GE\"}]},"
        "{\"names\":[\"getgid\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":4,\"value\":5,\"op\":\"SCMP_CMP_GT\"}]},"
        "{\"names\":[\"getegid\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":5,\"value\":12,\"valueTwo\":4,\"op\":\"SCMP_CMP_MASKED_EQ\"}]},"
        "{\"names\":[\"gettid\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_EQ\"},{\"index\":1,\"value\":2,\"op\":\"SCMP_CMP_EQ\"}]}]}";
    static const struct { const char *call; uint64_t args[6]; uint32_t plain, notified; int16_t answer; } want[] = {
        {"read", {0}, ALLOW, ALLOW, 13}, {"write", {0}, SECCOMP_RET_LOG, SECCOMP_RET_LOG, 13},
        {"close", {0}, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_KILL_THREAD, 13}, {"dup", {0}, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_KILL_THREAD, 13},
        {"dup3", {0}, KILL, KILL, 13}, {"fcntl", {0}, SECCOMP_RET_TRAP, SECCOMP_RET_TRAP, 13},
        {"ptrace", {0}, DENY(EPERM), NOTIFY, EPERM}, {"mount", {0}, DENY(EPERM), NOTIFY, EPERM}, {"bpf", {0}, DENY(95), DENY(95), 95},
        {"socket", {0}, DENY(13), NOTIFY, 13},
        {"getpid", {5}, DENY(13), NOTIFY, 13}, {"getpid", {6}, ALLOW, ALLOW, 13}, {"getpid", {5 + HIGH}, ALLOW, ALLOW, 13},
        {"getppid", {0, 4}, ALLOW, ALLOW, 13}, {"getppid", {0, 5}, DENY(13), NOTIFY, 13}, {"getppid", {0, 1 + HIGH}, DENY(13), NOTIFY, 13},
        {"getuid", {0, 0, 5}, ALLOW, ALLOW, 13}, {"getuid", {0, 0, 6}, DENY(13), NOTIFY, 13},
        {"geteuid", {0, 0, 0, 5}, ALLOW, ALLOW, 13}, {"geteuid", {0, 0, 0, 4}, DENY(13), NOTIFY, 13}, {"geteuid", {0, 0, 0, HIGH}, ALLOW, ALLOW, 13},
        {"getgid", {0, 0, 0, 0, 6}, ALLOW, ALLOW, 13}, {"getgid", {0, 0, 0, 0, 5}, DENY(13), NOTIFY, 13},
        {"getegid", {0, 0, 0, 0, 0, 0xf4}, ALLOW, ALLOW, 13}, {"getegid", {0, 0, 0, 0, 0, 8}, DENY(13), NOTIFY, 13}, {"getegid", {0, 0, 0, 0, 0, 0xf7 + HIGH}, ALLOW, ALLOW, 13},
        {"gettid", {1, 2}, ALLOW, ALLOW, 13}, {"gettid", {1, 3}, DENY(13), NOTIFY, 13}, {"gettid", {0, 2}, DENY(13), NOTIFY, 13},
    };
    struct error err = {0};
    struct seccomp_compiled *c = compiled_text(text, &err);
    ck_assert_msg(c != NULL, "%s", err.message);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        int number = seccomp_syscall_resolve_name(want[i].call);
        uint32_t plain = verdict(c, false, number, want[i].args), notified = verdict(c, true, number, want[i].args);
        ck_assert_msg(plain == want[i].plain, "%zu %s: %x", i, want[i].call, plain);
        ck_assert_msg(notified == want[i].notified, "%zu %s: %x", i, want[i].call, notified);
        ck_assert_int_eq(c->errno_of[number], want[i].answer);
    }
    seccomp_compiled_free(c);
}
END_TEST

/* A deny list has no denials to notify: both programs are the same. */
START_TEST(test_default_allow)
{
    struct error err = {0};
    struct seccomp_compiled *c = compiled_text("{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"mount\"],\"action\":\"SCMP_ACT_ERRNO\"}]}", &err);
    ck_assert_msg(c != NULL, "%s", err.message);
    ck_assert_uint_eq(verdict(c, false, SYS_mount, NULL), DENY(EPERM));
    ck_assert_uint_eq(verdict(c, true, SYS_mount, NULL), DENY(EPERM));
    ck_assert_uint_eq(verdict(c, true, SYS_read, NULL), ALLOW);
    ck_assert_uint_eq(verdict(c, true, 600, NULL), DENY(ENOSYS));
    seccomp_compiled_free(c);
}
END_TEST

/* --- the kernel's word --- */

static const struct live {
    long number;
    uint64_t args[3];
} live[] = {
    {SYS_getpid, {0}},
    {SYS_ioctl, {0xffffffff, 0x5412}},
    {SYS_ioctl, {0xffffffff, 0x5412 + HIGH}},
    {SYS_ioctl, {0xffffffff, 0x5401 + HIGH}},
    {SYS_ioctl, {0xffffffff, 0x5401}},
    {SYS_clone, {0x10000011}},
    {SYS_unshare, {0x10000000}},
    {SYS_mount, {0}},
    {SYS_ptrace, {0}},
    {SYS_socket, {2, 1, 0}},
    {SYS_socket, {40, 1, 0}},
    {SYS_kill, {0xffffffff, 0}},
    {SYS_personality, {0xffffffff}},
    {SYS_personality, {0x40000}},
    {SYS_process_vm_readv, {0}},
    {435 /* clone3 */, {0}},
    {425 /* io_uring_setup */, {0}},
    {457, {0}},
    {600, {0}},
    {1023, {0}},
#ifdef __x86_64__
    {400, {0}}, /* in the gap */
    {(long)X32 + 39, {0}},
#endif
};
#define LIVE (sizeof live / sizeof *live)

/* In the child: seal, try, write down the errno of each call (0: it succeeded). */
static void live_child(const struct seccomp_compiled *c, int *results)
{
    struct sock_fprog first = {(unsigned short)c->filter.count, c->filter.code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &first) < 0)
        _exit(77);
    for (size_t i = 0; i < LIVE; i++)
        results[i] = syscall(live[i].number, live[i].args[0], live[i].args[1], live[i].args[2], 0, 0, 0) < 0 ? errno : 0;
    _exit(0);
}

START_TEST(test_live)
{
    struct seccomp_compiled *c = compiled_policy("default");
    int *results = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), status = 0;
    ck_assert_ptr_ne(results, MAP_FAILED);
    pid_t pid = fork();
    if (pid == 0)
        live_child(c, results);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        fprintf(stderr, "skip: this kernel or container lets no seccomp filter be loaded\n");
    } else {
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with wait status %x", status);
        for (size_t i = 0; i < LIVE; i++) {
            const uint64_t args[6] = {live[i].args[0], live[i].args[1], live[i].args[2]};
            uint32_t expected = verdict(c, false, (int)live[i].number, args);
            /* an allowed call answers for itself, but never with what the filter would say */
            if ((expected & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
                ck_assert_msg(results[i] == (int)(expected & SECCOMP_RET_DATA), "%ld: errno %d, evaluator says %x", live[i].number, results[i], expected);
            else
                ck_assert_msg(expected == ALLOW && results[i] != EPERM && results[i] != ENOSYS, "%ld: errno %d, evaluator says %x", live[i].number,
                              results[i], expected);
        }
    }
    munmap(results, 4096);
    seccomp_compiled_free(c);
}
END_TEST

START_TEST(test_kill_is_live)
{
    struct seccomp_compiled *c = compiled_policy("default");
    struct sock_fprog first = {(unsigned short)c->filter.count, c->filter.code};
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
            syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &first) < 0)
            _exit(77);
        syscall(SYS_delete_module, "", 0);
        _exit(1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg((WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) || (WIFEXITED(status) && WEXITSTATUS(status) == 77), "wait status %x", status);
    seccomp_compiled_free(c);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("seccomp");
    TCase *tables = unit_group(s, "tables"), *profiles = unit_group(s, "profiles"), *kernel = unit_group(s, "live");
    tcase_add_loop_test(tables, test_row, 0, UNIT_ROWS(rows));
    tcase_add_test(tables, test_every_number);
    tcase_add_test(tables, test_foreign_numbers);
    tcase_add_test(tables, test_names_exist);
    tcase_add_loop_test(profiles, test_bad_profile, 0, UNIT_ROWS(bad));
    tcase_add_test(profiles, test_actions_and_operators);
    tcase_add_test(profiles, test_default_allow);
    tcase_add_test(kernel, test_live);
    tcase_add_test(kernel, test_kill_is_live);
    return s;
}

UNIT_MAIN(suite)
