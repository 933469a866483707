/* Time. Monotonic for measuring (nanoseconds), wall clock only for the stamps in receipts. */
#ifndef SNIPARA_BASE_CLOCK_H
#define SNIPARA_BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_STAMP 32

uint64_t clock_now(void);       /* CLOCK_MONOTONIC, ns */
uint64_t clock_wall(void);      /* CLOCK_REALTIME, ns since 1970 */
static inline double clock_ms(uint64_t ns) { return (double)ns / 1e6; }
/* RFC 3339 in UTC with milliseconds: 2026-11-30T23:48:01.123Z */
void clock_stamp(uint64_t wall_ns, char ret_text[CLOCK_STAMP]);

#endif
