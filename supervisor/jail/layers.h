/* Names of the walls, as they stand in receipts (`backend.layers`) and policies (`layers.required`, `layers.optional`). */
#ifndef SNIPARA_JAIL_LAYERS_H
#define SNIPARA_JAIL_LAYERS_H

#include <stdint.h>

enum layer {
    LAYER_USER_NAMESPACE,
    LAYER_MOUNT_NAMESPACE,
    LAYER_PID_NAMESPACE,
    LAYER_NETWORK_NAMESPACE,
    LAYER_IPC_NAMESPACE,
    LAYER_UTS_NAMESPACE,
    LAYER_CGROUP_NAMESPACE,
    LAYER_TIME_NAMESPACE,
    LAYER_PIVOT_ROOT,
    LAYER_READ_ONLY_ROOT,
    LAYER_PROC,              /* a fresh /proc with subset=pid */
    LAYER_DISTINCT_UID,      /* a host uid of its own per jail */
    LAYER_RLIMITS,
    LAYER_CAPABILITIES,
    LAYER_SECUREBITS,
    LAYER_NO_NEW_PRIVS,
    LAYER_LANDLOCK,
    LAYER_SECCOMP,
    LAYER_SECCOMP_NOTIFY,    /* denials are counted */
    LAYER_NO_USER_NAMESPACES,/* max_user_namespaces is 0 inside */
    LAYER_KEYRING,
    LAYER_CGROUP_MEMORY,
    LAYER_CGROUP_PIDS,
    LAYER_CGROUP_CPU,
    LAYER_CGROUP_KILL,
    LAYER_COUNT
};

typedef uint64_t layer_set;
#define LAYER_BIT(l) ((layer_set)1 << (l))

const char *layer_name(enum layer l);        /* "user_namespace", ... */
int layer_by_name(const char *name);         /* enum layer, or -1 */

#endif
