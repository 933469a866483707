/* Denied system calls, counted by init in memory that it shares with the supervisor: no message, so a flood of denials costs the
 * guest and nobody else. The supervisor reads the table as hostile: counts only, bounded, names made on its side. */
#ifndef SNIPARA_JAIL_DENIALS_H
#define SNIPARA_JAIL_DENIALS_H

#include <stdint.h>

#define DENIALS_KINDS 64
#define DENIALS_NO_ARGUMENT UINT32_MAX

struct denial {
    uint32_t number;   /* system call; the count is written last, so a reader never sees a half-made row */
    uint32_t argument; /* socket: family; ioctl, prctl, clone: low half of the first telling argument; else DENIALS_NO_ARGUMENT */
    uint64_t count;
};

struct denials {
    struct denial kinds[DENIALS_KINDS];
    uint64_t more;     /* denials of kinds that found no room */
};

/* Writer (init). */
void denials_note(struct denials *d, uint32_t number, const uint64_t args[6]);

/* Reader: what came since `seen` was last updated by this call; *ret_delta has the counts of this interval. */
void denials_since(const struct denials *shared, struct denials *seen, struct denials *ret_delta);

/* "socket(AF_INET)", "mount", "ioctl(0x5412)": into a buffer of at least 64 bytes. `name` is the call's name or NULL. */
void denials_text(const struct denial *d, const char *name, char *ret_text, unsigned long size);

#endif
