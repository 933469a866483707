#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

static uint64_t now(clockid_t id) {
    struct timespec t = {0};

    clock_gettime(id, &t); /* cannot fail for these two clocks and a valid pointer */
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t clock_now(void) { return now(CLOCK_MONOTONIC); }

uint64_t clock_wall(void) { return now(CLOCK_REALTIME); }

void clock_stamp(uint64_t wall_ns, char ret_text[CLOCK_STAMP]) {
    time_t seconds = (time_t)(wall_ns / NS_PER_S);
    unsigned milliseconds = (unsigned)(wall_ns / 1000000 % 1000);
    char date[24];
    struct tm tm;

    gmtime_r(&seconds, &tm); /* 64 bits of nanoseconds end in the year 2554 */
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(ret_text, CLOCK_STAMP, "%s.%03uZ", date, milliseconds);
}
