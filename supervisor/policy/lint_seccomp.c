/* The linter of seccomp rules: a call with a history of escapes is allowed with a comment that says why, or not at all. */
#include "policy/lint.h"

#include "base/json.h"
#include "policy/seccomp_oci.h"

#include <stdio.h>
#include <string.h>

#define ERROR "error"
#define WARNING "warning"

enum care {
    CARE_COMMENT,   /* fine with a comment */
    CARE_ARGUMENTS, /* and only with a comparison of arguments */
    CARE_NEVER      /* has no use in a jail: a warning even with a comment */
};

static const struct {
    const char *name;
    enum care care;
    const char *why;
} dangerous[] = {
    {"clone", CARE_ARGUMENTS, "with CLONE_NEWUSER a guest gets capabilities in a namespace of its own"},
    {"clone3", CARE_NEVER, "its flags stand in memory, where no filter can look"},
    {"unshare", CARE_NEVER, "namespaces of its own give a guest capabilities in them"},
    {"setns", CARE_NEVER, "it enters other namespaces"},
    {"ioctl", CARE_ARGUMENTS, "TIOCSTI and TIOCLINUX type into a terminal (CVE-2017-5226)"},
    {"socket", CARE_ARGUMENTS, "AF_NETLINK, AF_VSOCK, AF_ALG and AF_PACKET reach kernel code without a namespace"},
    {"socketpair", CARE_ARGUMENTS, "only AF_UNIX is of use"},
    {"personality", CARE_ARGUMENTS, "it turns memory protection off"},
    {"mknod", CARE_ARGUMENTS, "a device node is a way round the mounts"},
    {"mknodat", CARE_ARGUMENTS, "a device node is a way round the mounts"},
    {"fcntl", CARE_ARGUMENTS, "F_SETLEASE and F_NOTIFY reach over shared inodes to the host"},
    {"kill", CARE_COMMENT, "kill(-1) ends every process of the jail"},
    {"prctl", CARE_COMMENT, "it changes the process's own walls"},
    {"memfd_create", CARE_COMMENT, "a memory file can be executed past noexec"},
    {"execveat", CARE_COMMENT, "it executes a memory file"},
    {"pidfd_open", CARE_COMMENT, "it names another process"},
    {"pidfd_send_signal", CARE_COMMENT, "it signals another process"},
    {"shmget", CARE_COMMENT, "System V IPC needs the IPC namespace"},
    {"semget", CARE_COMMENT, "System V IPC needs the IPC namespace"},
    {"msgget", CARE_COMMENT, "System V IPC needs the IPC namespace"},
    {"mq_open", CARE_COMMENT, "message queues need the IPC namespace"},
    {"seccomp", CARE_COMMENT, "a listener of its own can stall other processes"},
    {"vmsplice", CARE_COMMENT, "it maps a process's pages into pipes (CVE-2022-0847's neighbourhood)"},
    {"setuid", CARE_COMMENT, "no process of a jail changes its ids"},
    {"setgid", CARE_COMMENT, "no process of a jail changes its ids"},
    {"setgroups", CARE_COMMENT, "no process of a jail changes its ids"},
    {"setresuid", CARE_COMMENT, "no process of a jail changes its ids"},
    {"setresgid", CARE_COMMENT, "no process of a jail changes its ids"},
    {"setreuid", CARE_COMMENT, "no process of a jail changes its ids"},
    {"setregid", CARE_COMMENT, "no process of a jail changes its ids"},
    {"setfsuid", CARE_COMMENT, "no process of a jail changes its ids"},
    {"setfsgid", CARE_COMMENT, "no process of a jail changes its ids"},
    {"capset", CARE_COMMENT, "the capability sets are empty"},
    {"set_mempolicy", CARE_COMMENT, "it changes where memory is taken from"},
    {"mbind", CARE_COMMENT, "it moves memory between nodes"},
    {"ptrace", CARE_NEVER, "it takes other processes over"},
    {"process_vm_readv", CARE_NEVER, "it reads other processes"},
    {"process_vm_writev", CARE_NEVER, "it writes other processes"},
    {"process_madvise", CARE_NEVER, "it reaches into other processes"},
    {"process_mrelease", CARE_NEVER, "it reaches into other processes"},
    {"pidfd_getfd", CARE_NEVER, "it takes descriptors out of other processes"},
    {"kcmp", CARE_NEVER, "it tells kernel pointers apart"},
    {"bpf", CARE_NEVER, "the verifier is a large surface"},
    {"perf_event_open", CARE_NEVER, "large surface, and a clock for side channels"},
    {"userfaultfd", CARE_NEVER, "it holds kernel threads at a chosen point, the tool of many exploits"},
    {"io_uring_setup", CARE_NEVER, "its operations pass no filter"},
    {"io_uring_enter", CARE_NEVER, "its operations pass no filter"},
    {"io_uring_register", CARE_NEVER, "its operations pass no filter"},
    {"keyctl", CARE_NEVER, "keyrings have no namespace"},
    {"add_key", CARE_NEVER, "keyrings have no namespace"},
    {"request_key", CARE_NEVER, "keyrings have no namespace"},
    {"mount", CARE_NEVER, "the mount tree is a wall"},
    {"umount", CARE_NEVER, "the mount tree is a wall"},
    {"umount2", CARE_NEVER, "the mount tree is a wall"},
    {"pivot_root", CARE_NEVER, "the mount tree is a wall"},
    {"chroot", CARE_NEVER, "the classic way out of a root"},
    {"move_mount", CARE_NEVER, "the mount tree is a wall"},
    {"open_tree", CARE_NEVER, "the mount tree is a wall"},
    {"fsopen", CARE_NEVER, "the mount tree is a wall"},
    {"fsmount", CARE_NEVER, "the mount tree is a wall"},
    {"fsconfig", CARE_NEVER, "the mount tree is a wall (CVE-2022-0185)"},
    {"fspick", CARE_NEVER, "the mount tree is a wall"},
    {"mount_setattr", CARE_NEVER, "the mount tree is a wall"},
    {"open_tree_attr", CARE_NEVER, "the mount tree is a wall"},
    {"statmount", CARE_NEVER, "it shows mounts of other namespaces"},
    {"listmount", CARE_NEVER, "it shows mounts of other namespaces"},
    {"open_by_handle_at", CARE_NEVER, "it opens files past every path (shocker)"},
    {"name_to_handle_at", CARE_NEVER, "it makes the handles for open_by_handle_at"},
    {"fanotify_init", CARE_NEVER, "it watches whole file systems"},
    {"fanotify_mark", CARE_NEVER, "it watches whole file systems"},
    {"quotactl", CARE_NEVER, "it is for administrators"},
    {"quotactl_fd", CARE_NEVER, "it is for administrators"},
    {"swapon", CARE_NEVER, "it is for administrators"},
    {"swapoff", CARE_NEVER, "it is for administrators"},
    {"reboot", CARE_NEVER, "it is for administrators"},
    {"kexec_load", CARE_NEVER, "it replaces the kernel"},
    {"kexec_file_load", CARE_NEVER, "it replaces the kernel"},
    {"init_module", CARE_NEVER, "it loads code into the kernel"},
    {"finit_module", CARE_NEVER, "it loads code into the kernel"},
    {"create_module", CARE_NEVER, "it loads code into the kernel"},
    {"delete_module", CARE_NEVER, "it unloads code of the kernel"},
    {"clock_settime", CARE_NEVER, "the clock is the host's"},
    {"clock_adjtime", CARE_NEVER, "the clock is the host's"},
    {"stime", CARE_NEVER, "the clock is the host's"},
    {"settimeofday", CARE_NEVER, "the clock is the host's"},
    {"adjtimex", CARE_NEVER, "the clock is the host's"},
    {"memfd_secret", CARE_NEVER, "it hides memory and holds up hibernation"},
    {"uselib", CARE_NEVER, "it maps a file as code past every mount option"},
    {"_sysctl", CARE_NEVER, "it turns the kernel's knobs"},
    {"vm86", CARE_NEVER, "old segment code with a long list of faults"},
    {"vm86old", CARE_NEVER, "old segment code with a long list of faults"},
    {"modify_ldt", CARE_NEVER, "old segment code with a long list of faults"},
    {"ioperm", CARE_NEVER, "it opens ports of the machine"},
    {"iopl", CARE_NEVER, "it opens ports of the machine"},
    {"acct", CARE_NEVER, "it is for administrators"},
    {"syslog", CARE_NEVER, "it reads the kernel's log"},
    {"vhangup", CARE_NEVER, "it is for administrators"},
    {"lookup_dcookie", CARE_NEVER, "it is for administrators"},
    {"nfsservctl", CARE_NEVER, "it is for administrators"},
    {"migrate_pages", CARE_NEVER, "it moves other processes' memory"},
    {"move_pages", CARE_NEVER, "it moves other processes' memory"},
    {"sethostname", CARE_NEVER, "the name is the jail's"},
    {"setdomainname", CARE_NEVER, "the name is the jail's"}};

#define DANGEROUS (sizeof dangerous / sizeof *dangerous)

const char *lint_dangerous_call(size_t index) {
    return index < DANGEROUS ? dangerous[index].name : NULL;
}

/* Without a comment nobody has thought about it: that alone refuses. With one it is the reader's business, and what is rarely right
 * is still pointed out. */
static void lint_call(const char *name, bool commented, bool compared, const char *where, struct findings *f) {
    for (size_t i = 0; i < DANGEROUS; i++) {
        if (strcmp(dangerous[i].name, name) != 0)
            continue;
        if (!commented)
            finding(f, ERROR, where, "%s is allowed without a comment: %s; say in \"comment\" why it is needed, or leave it out", name, dangerous[i].why);
        else if (dangerous[i].care == CARE_NEVER)
            finding(f, WARNING, where, "%s is allowed: %s", name, dangerous[i].why);
        else if (dangerous[i].care == CARE_ARGUMENTS && !compared)
            finding(f, WARNING, where, "%s is allowed with any arguments: %s; compare them with \"args\"", name, dangerous[i].why);
    }
}

/* Something other than blanks. */
static bool says_something(const char *comment) {
    return comment && comment[strspn(comment, " \t")] != '\0';
}

/* The kernel reads most arguments as 32 bits while BPF compares 64. Where inequality decides for the guest, a high bit decides. */
static void lint_operator(const cJSON *arg, bool permits, const char *where, struct findings *f) {
    const char *op = json_get_string(arg, "op");
    if (!op)
        return;
    if (permits && (!strcmp(op, "SCMP_CMP_NE") || !strcmp(op, "SCMP_CMP_GT") || !strcmp(op, "SCMP_CMP_GE")))
        finding(f, WARNING, where, "%s lets a call through whose argument has high bits set, which the kernel may ignore (CVE-2019-10063); "
                "permit what is listed, with EQ or MASKED_EQ", op);
    if (!permits && !strcmp(op, "SCMP_CMP_EQ"))
        finding(f, WARNING, where, "EQ compares 64 bits: an argument with high bits set, which the kernel may ignore, is not denied "
                "(CVE-2019-10063); use SCMP_CMP_MASKED_EQ with value 4294967295");
}

static bool denied_whole(const cJSON *entries, const char *call) {
    for (const cJSON *entry = entries ? entries->child : NULL; entry; entry = entry->next) {
        const char *action = json_get_string(entry, "action");
        const cJSON *names = json_get(entry, "names"), *args = json_get(entry, "args");
        if (!action || oci_permits(action) || (args && args->child))
            continue;
        for (const cJSON *name = names ? names->child : NULL; name; name = name->next)
            if (!strcmp(name->valuestring, call))
                return true;
    }
    return false;
}

/* A default that permits allows every dangerous call that no entry denies; the profile's own comment stands for all of them. */
static void lint_default(const cJSON *oci, const char *fallback, struct findings *f) {
    const char *example = NULL;
    size_t open = 0;
    for (size_t i = 0; i < DANGEROUS; i++)
        if (!denied_whole(json_get(oci, "syscalls"), dangerous[i].name)) {
            example = example ? example : dangerous[i].name;
            open++;
        }
    bool refused = open && !says_something(json_get_string(oci, "comment"));
    finding(f, refused ? ERROR : WARNING, "seccomp.defaultAction", "%s: a list of denials lets every new system call through, and %zu dangerous ones%s%s; "
            "deny by default and list what is allowed%s", fallback, open, example ? " such as " : "", example ? example : "",
            refused ? ", or say in the profile's \"comment\" why not" : "");
}

void lint_seccomp(const cJSON *oci, struct findings *f) {
    const char *fallback = json_get_string(oci, "defaultAction");
    if (fallback && oci_permits(fallback))
        lint_default(oci, fallback, f);
    const cJSON *entries = json_get(oci, "syscalls");
    for (const cJSON *entry = entries ? entries->child : NULL; entry; entry = entry->next) {
        const char *action = json_get_string(entry, "action"), *comment = json_get_string(entry, "comment");
        const cJSON *names = json_get(entry, "names"), *args = json_get(entry, "args");
        bool permits = action && oci_permits(action);
        char where[96];
        snprintf(where, sizeof where, "seccomp %.64s", names && names->child ? names->child->valuestring : "");
        for (const cJSON *arg = args ? args->child : NULL; arg; arg = arg->next)
            lint_operator(arg, permits, where, f);
        for (const cJSON *name = permits && names ? names->child : NULL; name; name = name->next)
            lint_call(name->valuestring, says_something(comment), args && args->child, where, f);
    }
}
