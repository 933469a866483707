#include "base/uuid.h"

#include "base/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* Two ids must never be equal, so without random bytes there is no way on. After boot getrandom(2) fails only where a seccomp
 * filter refuses it. */
static uint64_t random64(void) {
    uint64_t v;
    ssize_t n;

    do
        n = getrandom(&v, sizeof v, 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof v) {
        perror("getrandom");
        abort();
    }
    return v;
}

/* The upper 60 bits of an id that sort: milliseconds and a 12 bit counter as one number (RFC 9562, 6.2, method 1). A new
 * millisecond begins with a random 11 bit counter; within one, or when the wall clock steps back, the last value goes up by
 * one, and a full counter carries into the milliseconds, which the RFC allows. */
static uint64_t next_ordered(uint64_t random) {
    static _Atomic uint64_t last;
    uint64_t fresh = (clock_wall() / 1000000) << 12 | (random & 0x7ff);
    uint64_t before = atomic_load(&last), after;

    do
        after = fresh > before ? fresh : before + 1;
    while (!atomic_compare_exchange_weak(&last, &before, after));
    return after;
}

void uuid_v7(char ret_text[UUID_TEXT]) {
    uint64_t ordered = next_ordered(random64()), tail = random64();
    uint64_t milliseconds = ordered >> 12 & UINT64_C(0xffffffffffff);

    snprintf(ret_text, UUID_TEXT, "%08x-%04x-7%03x-%04x-%012llx", (unsigned)(milliseconds >> 16), (unsigned)(milliseconds & 0xffff),
             (unsigned)(ordered & 0xfff), (unsigned)(0x8000 | (tail >> 48 & 0x3fff)),
             (unsigned long long)(tail & UINT64_C(0xffffffffffff)));
}
