/* Taking out of a jail what its guest has written for the caller: everything new or changed below /session/output.
 *
 * The tree is the guest's, which may be changing it at this moment. Every step into it is one openat2(2) of one name with
 * RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV (path_open_beneath) from a directory that is
 * held open; only regular files are read, and what counts is fstat(2) of what was opened, never a look at a name before (the
 * collectors that followed links were the escape class of 2025-26: go-judge, sandlock #112, CVE-2026-47766, CVE-2025-31133,
 * CVE-2025-52565, CVE-2025-52881). A kernel without openat2 collects nothing; there is no other way in. Every walk is bounded in
 * entries, depth, bytes and time.
 */
#ifndef SNIPARA_JAIL_COLLECT_H
#define SNIPARA_JAIL_COLLECT_H

#include "base/buf.h"
#include "base/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLLECT_ENTRIES 10000u   /* names that one walk looks at */
#define COLLECT_WALL_MS 250u     /* time of one walk: the event loop waits for it */
#define COLLECT_PATIENT_MS 5000u /* where the loop serves nobody else */
#define COLLECT_PATH_MAX 1024u   /* longest relative path, bytes */
#define COLLECT_LEFT_OUT_MAX 32u /* entries of the list of what was left out */
#define COLLECT_DEPTH_MAX 32u    /* of any policy: a descriptor is held per level */

struct collect_limits {
    uint64_t files;       /* taken by one walk */
    uint64_t file_bytes;  /* of one */
    uint64_t total_bytes; /* of all that one walk takes */
    uint64_t depth;       /* a file directly in the directory has depth 1 */
    uint64_t wall_ms;
    bool keep_data;       /* hand out contents too, not only their digests */
};

enum collect_reason {
    COLLECT_SYMLINK, COLLECT_FIFO, COLLECT_SOCKET, COLLECT_DEVICE,
    COLLECT_HARD_LINK,   /* it has a second name */
    COLLECT_SET_ID,
    COLLECT_FILE_BYTES, COLLECT_TOTAL_BYTES, COLLECT_FILES, COLLECT_DEPTH, /* the limit of that name */
    COLLECT_NAME,        /* not UTF-8, a control character, or a path that is too long */
    COLLECT_CHANGED,     /* while it was read */
    COLLECT_UNREADABLE,  /* its permissions, a lease, an error of its file system */
    COLLECT_OTHER_MOUNT,
    COLLECT_LATE,        /* the time was over while it was read */
    COLLECT_REASONS
};

enum collect_end { COLLECT_WHOLE, COLLECT_TIME, COLLECT_MANY_ENTRIES, COLLECT_NO_OPENAT2, COLLECT_NO_DIRECTORY, COLLECT_NO_MEMORY };

/* As they stand in receipts: "symlink", ...; "time", "entries", "no_openat2", ... (NULL for COLLECT_WHOLE). */
const char *collect_reason_name(enum collect_reason reason);
const char *collect_end_name(enum collect_end end);

struct collect_file {
    char *path;                /* relative, valid UTF-8, no control characters */
    uint64_t bytes;
    char digest[DIGEST_TEXT];
    struct buf data;           /* with keep_data */
};

struct collect_left_out {
    char *path;                /* cleaned for showing, may be cut */
    enum collect_reason reason;
};

struct collection {
    struct collect_file *files;         /* sorted by path */
    size_t count;
    struct collect_left_out left_out[COLLECT_LEFT_OUT_MAX];
    size_t left_out_count;
    uint64_t left_out_more;             /* those that did not fit */
    enum collect_end end;               /* not COLLECT_WHOLE: there may be more that nobody looked at */
};

void collection_free(struct collection *c);

/* What earlier walks of one directory have seen: 24 bytes per entry, at most COLLECT_ENTRIES. Zero is a fresh one. */
struct collect_memory {
    struct collect_seen *entries;       /* sorted */
    size_t count;
    bool keyed;
    unsigned char key[16];              /* a guest cannot look for two names with one hash */
};

void collect_memory_free(struct collect_memory *m);

/* Walk the directory and take what `seen` does not know in this state. What was left out is told once, and again when it
 * changed. `directory` stays the caller's, its offset moves; *ret is always filled, and freed by the caller. */
void collect(int directory, const struct collect_limits *limits, struct collect_memory *seen, struct collection *ret);

#endif
