#include "jail/capabilities.h"

#include "base/mutant.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(CAPABILITIES_SECUREBITS ==
                   (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
                    SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED),
               "the mask in the header is what securebits.h says");

/* The kernel may know more capabilities than our headers: PR_CAPBSET_READ says EINVAL after the last one, as PR_CAPBSET_DROP does. */
static bool capability_exists(int cap)
{
    return prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0;
}

int capabilities_close_bounding(struct error *err)
{
    if (mutant(11))
        return 0;
    int cap = 0;
    while (cap < 64 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
        cap++;
    if (cap < 64 && (errno != EINVAL || capability_exists(cap)))
        return error_set(err, "capabilities.bounding", errno, "capability %d cannot be dropped from the bounding set", cap);
    /* EINVAL: a kernel before 4.3 has no ambient set, and then there is nothing to clear. */
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
        return error_set(err, "capabilities.ambient", errno, "the ambient set cannot be cleared");
    return 0;
}

int capabilities_lock_securebits(struct error *err)
{
    if (mutant(10))
        return 0;
    if (prctl(PR_SET_SECUREBITS, CAPABILITIES_SECUREBITS, 0, 0, 0) < 0)
        return error_set(err, "securebits", errno, "securebits cannot be locked");
    int seen = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    if (seen != (int)CAPABILITIES_SECUREBITS)
        return error_set(err, "securebits", 0, "securebits are 0x%x after they were set to 0x%x", (unsigned)seen, CAPABILITIES_SECUREBITS);
    return 0;
}

int capabilities_clear(struct error *err)
{
    if (mutant(11))
        return 0;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct data[2] = {{0}, {0}};
    if (syscall(SYS_capset, &header, data) < 0)
        return error_set(err, "capabilities.clear", errno, "capabilities cannot be given up");
    return 0;
}

int capabilities_verify_none(struct error *err)
{
    if (mutant(11))
        return 0;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct data[2] = {{0}, {0}};
    if (syscall(SYS_capget, &header, data) < 0)
        return error_set(err, "capabilities.verify", errno, "capabilities cannot be read");
    uint32_t left = 0;
    for (int i = 0; i < 2; i++)
        left |= data[i].effective | data[i].permitted | data[i].inheritable;
    if (left)
        return error_set(err, "capabilities.verify", 0, "effective, permitted or inheritable capabilities are left");
    /* The ambient set is within permitted and inheritable (capabilities(7)), and these are empty. */
    int in_bounding;
    for (int cap = 0; cap < 64 && (in_bounding = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0; cap++)
        if (in_bounding)
            return error_set(err, "capabilities.verify", 0, "capability %d is left in the bounding set", cap);
    return 0;
}
