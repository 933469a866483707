#include "jail/layers.h"

#include <string.h>

static const char *const NAMES[LAYER_COUNT] = {
    [LAYER_USER_NAMESPACE] = "user_namespace",
    [LAYER_MOUNT_NAMESPACE] = "mount_namespace",
    [LAYER_PID_NAMESPACE] = "pid_namespace",
    [LAYER_NETWORK_NAMESPACE] = "network_namespace",
    [LAYER_IPC_NAMESPACE] = "ipc_namespace",
    [LAYER_UTS_NAMESPACE] = "uts_namespace",
    [LAYER_CGROUP_NAMESPACE] = "cgroup_namespace",
    [LAYER_TIME_NAMESPACE] = "time_namespace",
    [LAYER_PIVOT_ROOT] = "pivot_root",
    [LAYER_READ_ONLY_ROOT] = "read_only_root",
    [LAYER_PROC] = "proc",
    [LAYER_DISTINCT_UID] = "distinct_uid",
    [LAYER_RLIMITS] = "rlimits",
    [LAYER_CAPABILITIES] = "capabilities",
    [LAYER_SECUREBITS] = "securebits",
    [LAYER_NO_NEW_PRIVS] = "no_new_privs",
    [LAYER_LANDLOCK] = "landlock",
    [LAYER_SECCOMP] = "seccomp",
    [LAYER_SECCOMP_NOTIFY] = "seccomp_notify",
    [LAYER_NO_USER_NAMESPACES] = "no_user_namespaces",
    [LAYER_KEYRING] = "keyring",
    [LAYER_CGROUP_MEMORY] = "cgroup_memory",
    [LAYER_CGROUP_PIDS] = "cgroup_pids",
    [LAYER_CGROUP_CPU] = "cgroup_cpu",
    [LAYER_CGROUP_KILL] = "cgroup_kill",
};

const char *layer_name(enum layer l)
{
    return (unsigned)l < LAYER_COUNT ? NAMES[l] : "unknown";
}

int layer_by_name(const char *name)
{
    for (int i = 0; i < LAYER_COUNT; i++)
        if (strcmp(NAMES[i], name) == 0)
            return i;
    return -1;
}
