#include "jail/denials.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static uint32_t telling_argument(uint32_t number, const uint64_t args[6])
{
    switch (number) {
    case SYS_socket:
    case SYS_prctl:
    case SYS_clone:
    case SYS_unshare:
    case SYS_personality:
        return (uint32_t)args[0];
    case SYS_ioctl:
        return (uint32_t)args[1];
    default:
        return DENIALS_NO_ARGUMENT;
    }
}

void denials_note(struct denials *d, uint32_t number, const uint64_t args[6])
{
    uint32_t argument = telling_argument(number, args);
    for (int i = 0; i < DENIALS_KINDS; i++) {
        struct denial *k = &d->kinds[i];
        if (k->count == 0) {
            k->number = number;
            k->argument = argument;
            __atomic_store_n(&k->count, 1, __ATOMIC_RELEASE);
            return;
        }
        if (k->number == number && k->argument == argument) {
            __atomic_add_fetch(&k->count, 1, __ATOMIC_RELEASE);
            return;
        }
    }
    __atomic_add_fetch(&d->more, 1, __ATOMIC_RELEASE);
}

void denials_since(const struct denials *shared, struct denials *seen, struct denials *ret_delta)
{
    memset(ret_delta, 0, sizeof *ret_delta);
    for (int i = 0; i < DENIALS_KINDS; i++) {
        uint64_t now = __atomic_load_n(&shared->kinds[i].count, __ATOMIC_ACQUIRE);
        uint64_t before = seen->kinds[i].count;
        ret_delta->kinds[i] = shared->kinds[i];
        ret_delta->kinds[i].count = now > before ? now - before : 0; /* a count that goes back is a broken init: say nothing */
        seen->kinds[i].count = now;
    }
    uint64_t more = __atomic_load_n(&shared->more, __ATOMIC_ACQUIRE);
    ret_delta->more = more > seen->more ? more - seen->more : 0;
    seen->more = more;
}

static const char *family_name(uint32_t family)
{
    switch (family) {
    case AF_INET: return "AF_INET";
    case AF_INET6: return "AF_INET6";
    case AF_NETLINK: return "AF_NETLINK";
    case AF_PACKET: return "AF_PACKET";
    case AF_VSOCK: return "AF_VSOCK";
    case AF_ALG: return "AF_ALG";
    default: return NULL;
    }
}

void denials_text(const struct denial *d, const char *name, char *ret_text, unsigned long size)
{
    char number[24];
    if (!name) {
        snprintf(number, sizeof number, "call %u", d->number);
        name = number;
    }
    const char *family = d->number == SYS_socket ? family_name(d->argument) : NULL;
    if (family)
        snprintf(ret_text, size, "%.40s(%s)", name, family);
    else if (d->argument != DENIALS_NO_ARGUMENT)
        snprintf(ret_text, size, "%.40s(0x%x)", name, d->argument);
    else
        snprintf(ret_text, size, "%.40s", name);
}
