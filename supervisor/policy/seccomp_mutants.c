#include "policy/seccomp_mutants.h"

#ifdef SNIPARA_MUTANTS
#include <stdlib.h>

#define CALLS 48

static const struct {
    int row;
    const char *calls[CALLS];
} OPENED[] = {
    {5, {"ioctl"}},
    {9, {"add_key", "request_key", "keyctl"}},
    {31, {"socket"}},
    {39, {"inotify_init1", "vmsplice", "io_setup"}},
    {40, {"clone", "clone3", "unshare", "setns"}},
    {41, {"io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "ptrace", "process_vm_readv",
          "process_vm_writev", "pidfd_getfd", "kcmp", "mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen", "fsconfig",
          "fsmount", "fspick", "mount_setattr", "chroot", "personality", "modify_ldt", "fanotify_init", "fanotify_mark", "quotactl",
          "quotactl_fd", "swapon", "swapoff", "reboot", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
          "clock_settime", "clock_adjtime", "settimeofday", "memfd_secret", "seccomp", "open_by_handle_at", "name_to_handle_at"}},
    {42, {"execve", "execveat", "memfd_create"}},
};

static void open_call(struct oci_profile *profile, const char *name)
{
    int number = seccomp_syscall_resolve_name(name);
    size_t kept = 0;
    if (number < 0)
        return;
    for (size_t i = 0; i < profile->count; i++)
        if (profile->rules[i].number != number)
            profile->rules[kept++] = profile->rules[i];
    profile->count = kept;
    struct oci_rule *rules = realloc(profile->rules, (kept + 1) * sizeof *rules);
    if (!rules)
        return;
    profile->rules = rules;
    rules[profile->count++] = (struct oci_rule){.number = number, .native = number, .name = name, .action = SCMP_ACT_ALLOW};
}

void seccomp_mutate(struct oci_profile *profile)
{
    for (size_t i = 0; i < sizeof OPENED / sizeof *OPENED; i++)
        for (size_t k = 0; mutant(OPENED[i].row) && k < CALLS && OPENED[i].calls[k]; k++)
            open_call(profile, OPENED[i].calls[k]);
}
#endif
