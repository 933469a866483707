#include "policy/seccomp_resolve.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "policy/seccomp_oci.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define STEP "seccomp.profile"

static bool has_arguments(const cJSON *entry) {
    const cJSON *args = json_get(entry, "args");
    return args && args->child;
}

/* Take every name of `entry` out of the earlier entries: of all of them, or only of those that deny. */
static void displace(cJSON *syscalls, const cJSON *entry, bool only_denials) {
    for (cJSON *old = syscalls->child, *next; old; old = next) {
        next = old->next;
        if (only_denials && oci_permits(json_get_string(old, "action")))
            continue;
        cJSON *names = cJSON_GetObjectItemCaseSensitive(old, "names");
        for (const cJSON *name = json_get(entry, "names")->child; name; name = name->next)
            for (cJSON *o = names->child, *n; o; o = n) {
                n = o->next;
                if (!strcmp(o->valuestring, name->valuestring))
                    cJSON_Delete(cJSON_DetachItemViaPointer(names, o));
            }
        if (!names->child)
            cJSON_Delete(cJSON_DetachItemViaPointer(syscalls, old));
    }
}

static int lay(cJSON *syscalls, const cJSON *entry) {
    bool permits = oci_permits(json_get_string(entry, "action"));
    if (!has_arguments(entry) || permits)
        displace(syscalls, entry, has_arguments(entry));
    cJSON *copy = cJSON_Duplicate(entry, true);
    if (copy && cJSON_AddItemToArray(syscalls, copy))
        return 0;
    cJSON_Delete(copy);
    return -1;
}

/* socket(family, type, protocol) for TCP or UDP only: SCTP, MPTCP, ICMP and raw sockets are attack surface without a use here.
 * The kernel reads family and protocol as int, so an EQ that also compares the high bits only refuses more. */
static int add_socket(cJSON *syscalls, int family, int type, int protocol) {
    static const char comment[] = "the policy opens the network: TCP and UDP, no other protocol";
    cJSON *entry = cJSON_CreateObject();
    if (!entry || !cJSON_AddItemToArray(syscalls, entry)) {
        cJSON_Delete(entry);
        return -1;
    }
    const char *name = "socket";
    cJSON *names = cJSON_CreateStringArray(&name, 1);
    if (!names || !cJSON_AddItemToObject(entry, "names", names)) {
        cJSON_Delete(names);
        return -1;
    }
    cJSON *args = NULL;
    if (!cJSON_AddStringToObject(entry, "action", "SCMP_ACT_ALLOW") || !(args = cJSON_AddArrayToObject(entry, "args")) ||
        !cJSON_AddStringToObject(entry, "comment", comment))
        return -1;
    const struct { const char *op; double value, two; } tests[] = {
        {"SCMP_CMP_EQ", family, 0},
        {"SCMP_CMP_MASKED_EQ", 0xf, type}, /* SOCK_TYPE_MASK: SOCK_CLOEXEC and SOCK_NONBLOCK stand above it */
        {"SCMP_CMP_EQ", protocol, 0}};
    for (int i = 0; i < 3; i++) {
        cJSON *arg = cJSON_CreateObject();
        if (!arg || !cJSON_AddItemToArray(args, arg)) {
            cJSON_Delete(arg);
            return -1;
        }
        if (!cJSON_AddNumberToObject(arg, "index", i) || !cJSON_AddNumberToObject(arg, "value", tests[i].value) ||
            !cJSON_AddNumberToObject(arg, "valueTwo", tests[i].two) || !cJSON_AddStringToObject(arg, "op", tests[i].op))
            return -1;
    }
    return 0;
}

static int add_network(cJSON *syscalls) {
    static const int families[] = {AF_INET, AF_INET6};
    static const struct { int type, protocol; } kinds[] = {
        {SOCK_STREAM, 0}, {SOCK_STREAM, IPPROTO_TCP}, {SOCK_DGRAM, 0}, {SOCK_DGRAM, IPPROTO_UDP}};
    for (size_t f = 0; f < 2; f++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (add_socket(syscalls, families[f], kinds[k].type, kinds[k].protocol) < 0)
                return -1;
    return 0;
}

int seccomp_resolve(const cJSON *profile, const cJSON *add, enum network_mode network, cJSON **ret, struct error *err) {
    struct oci_profile checked;
    if (oci_parse(profile, seccomp_arch_native(), &checked, err) < 0)
        return -1;
    oci_free(&checked);
    if (oci_check_entries(add, "seccomp.add", err) < 0)
        return -1;
    cleanup_json cJSON *made = cJSON_Duplicate(profile, true);
    cJSON *syscalls = cJSON_GetObjectItemCaseSensitive(made, "syscalls");
    if (made && !syscalls)
        syscalls = cJSON_AddArrayToObject(made, "syscalls");
    int r = syscalls ? 0 : -1;
    for (const cJSON *entry = add ? add->child : NULL; r == 0 && entry; entry = entry->next)
        r = lay(syscalls, entry);
    if (r == 0 && network != NETWORK_NONE)
        r = add_network(syscalls);
    if (r < 0)
        return error_set(err, STEP, ENOMEM, "seccomp");
    *ret = steal_ptr(&made);
    return 0;
}

int seccomp_narrower(const cJSON *parent_add, const cJSON *child_add, struct error *err) {
    /* the child's list begins with its parent's (document_merge appends), so the new ones are those behind it */
    int inherited = cJSON_GetArraySize(parent_add), index = 0;
    for (const cJSON *entry = child_add ? child_add->child : NULL; entry; entry = entry->next, index++) {
        const char *action = json_get_string(entry, "action");
        if (index < inherited || !action)
            continue;
        /* NOTIFY counts as denial here: init never lets a call continue */
        if (oci_permits(action))
            return error_set(err, "policy", 0, "seccomp.add: \"%s\" is permitted", json_get(entry, "names")->child->valuestring);
    }
    return 0;
}
