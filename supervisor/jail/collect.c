#include "jail/collect.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mutant.h"
#include "base/path.h"
#include "base/utf8.h"
#include "jail/collect_seen.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define SHOWN 256u      /* bytes of a path that was left out */
#define CHUNK 65536

struct walk {
    const struct collect_limits *limits;
    struct collect_memory *memory;
    struct collect_notes notes;
    struct collection *to;
    uint64_t deadline;
    uint64_t total;     /* bytes taken */
    unsigned entries;
    dev_t device;
    char path[COLLECT_PATH_MAX + 1];
    size_t length;      /* of the path of the directory that is read */
};

const char *collect_reason_name(enum collect_reason reason)
{
    static const char *const NAMES[COLLECT_REASONS] = {
        "symlink", "fifo", "socket", "device", "hard_link", "set_id", "file_bytes", "total_bytes", "files", "depth",
        "name", "changed", "unreadable", "other_mount", "time"};
    return NAMES[reason];
}

const char *collect_end_name(enum collect_end end)
{
    static const char *const NAMES[] = {NULL, "time", "entries", "no_openat2", "no_directory", "no_memory"};
    return NAMES[end];
}

void collection_free(struct collection *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->files[i].path);
        buf_free(&c->files[i].data);
    }
    for (size_t i = 0; i < c->left_out_count; i++)
        free(c->left_out[i].path);
    free(c->files);
    memset(c, 0, sizeof *c);
}

static void stop(struct walk *w, enum collect_end why)
{
    if (w->to->end == COLLECT_WHOLE)
        w->to->end = why;
}

static bool in_time(struct walk *w)
{
    if (clock_now() >= w->deadline)
        stop(w, COLLECT_TIME);
    return w->to->end == COLLECT_WHOLE;
}

/* ------------------------------------------------------------------ what was found */

/* A name stands in a line of ours: it must not begin another one, nor command a terminal. */
static void hide_controls(char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        memset(text + i, '?', utf8_control(text + i, length - i));
}

static void list_left_out(struct walk *w, const char *name, enum collect_reason reason)
{
    struct collection *c = w->to;
    cleanup_buf struct buf shown = {0};
    if (c->left_out_count == COLLECT_LEFT_OUT_MAX) {
        c->left_out_more++;
        return;
    }
    if (utf8_clean(&shown, w->path, w->length) < 0 || (w->length && buf_adds(&shown, "/") < 0) ||
        utf8_clean(&shown, name, strlen(name)) < 0) {
        stop(w, COLLECT_NO_MEMORY);
        return;
    }
    hide_controls(shown.data, shown.len);
    char *text = strndup(shown.data, shown.len > SHOWN ? utf8_cut(shown.data, SHOWN) : shown.len);
    if (!text)
        stop(w, COLLECT_NO_MEMORY);
    else
        c->left_out[c->left_out_count++] = (struct collect_left_out){.path = text, .reason = reason};
}

/* Keyed by the directory's path and the name, which need not fit into w->path. */
static uint64_t hash_of(const struct walk *w, const char *name)
{
    char whole[COLLECT_PATH_MAX + 1 + 256];
    memcpy(whole, w->path, w->length);
    whole[w->length] = '/';
    size_t n = strnlen(name, 255);
    memcpy(whole + w->length + 1, name, n);
    return collect_hash(w->memory, whole, w->length + 1 + n);
}

static void note(struct walk *w, struct collect_seen seen)
{
    if (collect_note(&w->notes, seen) < 0)
        stop(w, COLLECT_NO_MEMORY);
}

/* Told once: the next walk is silent about it while its state is the same. State 0, of what changes right now, is always told.
 * It is looked at again all the same: what found no room in one walk is taken by the next. */
static void leave_out(struct walk *w, const char *name, enum collect_reason reason, uint64_t state)
{
    uint64_t path = hash_of(w, name);
    const struct collect_seen *before = collect_memory_find(w->memory, path);
    if (!before || before->content || before->state != state || state == 0)
        list_left_out(w, name, reason);
    note(w, (struct collect_seen){.path = path, .state = state});
}

static void leave_out_file(struct walk *w, const char *name, enum collect_reason reason, const struct stat *st)
{
    leave_out(w, name, reason, reason == COLLECT_CHANGED ? 0 : collect_left_state_of(w->memory, st, reason));
}

static void leave_out_kind(struct walk *w, const char *name, enum collect_reason reason)
{
    leave_out(w, name, reason, (uint64_t)reason + 1);
}

static enum collect_reason reason_of_mode(mode_t mode)
{
    return S_ISLNK(mode) ? COLLECT_SYMLINK : S_ISFIFO(mode) ? COLLECT_FIFO : S_ISSOCK(mode) ? COLLECT_SOCKET : COLLECT_DEVICE;
}

static void not_opened(struct walk *w, const char *name, int code)
{
    if (code == ENOENT || code == ENOTDIR)
        return; /* it went away, or became something else, between the listing and now: the next walk sees what it is */
    if (code == ENOSYS)
        stop(w, COLLECT_NO_OPENAT2);
    else
        leave_out_kind(w, name, code == ELOOP ? COLLECT_SYMLINK : code == EXDEV ? COLLECT_OTHER_MOUNT : COLLECT_UNREADABLE);
}

/* ------------------------------------------------------------------ one file */

static bool same_state(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_nlink == b->st_nlink && a->st_mode == b->st_mode &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

enum reading { READ_WHOLE, READ_CHANGED, READ_FAILED, READ_STOPPED };

/* Never more than the size that was checked: the guest may be writing. */
static enum reading read_file(struct walk *w, int fd, const struct stat *st, struct collect_file *file)
{
    char chunk[CHUNK];
    struct digest digest;
    struct stat after;
    digest_begin(&digest);
    while (in_time(w)) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return READ_FAILED;
        if (n == 0)
            break;
        if ((uint64_t)n > (uint64_t)st->st_size - file->bytes)
            return READ_CHANGED;
        file->bytes += (uint64_t)n;
        digest_add(&digest, chunk, (size_t)n);
        if (w->limits->keep_data && buf_add(&file->data, chunk, (size_t)n) < 0)
            stop(w, COLLECT_NO_MEMORY);
    }
    if (w->to->end != COLLECT_WHOLE)
        return READ_STOPPED;
    if (fstat(fd, &after) < 0 || file->bytes != (uint64_t)st->st_size || !same_state(st, &after))
        return READ_CHANGED;
    digest_end(&digest, file->digest);
    return READ_WHOLE;
}

static void add_file(struct walk *w, struct collect_file *file)
{
    struct collection *c = w->to;
    struct collect_file *grown = realloc(c->files, (c->count + 1) * sizeof *grown);
    if (!grown || !(c->files = grown, file->path = strdup(w->path))) {
        stop(w, COLLECT_NO_MEMORY);
        return;
    }
    w->total += file->bytes;
    c->files[c->count++] = *file;
    memset(file, 0, sizeof *file);
}

/* The first limit that taking so many bytes more would break, or COLLECT_REASONS. */
static enum collect_reason limit_of(const struct walk *w, uint64_t bytes)
{
    const struct collect_limits *l = w->limits;
    return bytes > l->file_bytes ? COLLECT_FILE_BYTES : w->to->count >= l->files ? COLLECT_FILES
         : bytes > l->total_bytes - w->total ? COLLECT_TOTAL_BYTES : COLLECT_REASONS;
}

static void take_content(struct walk *w, int fd, const char *name, const struct stat *st, struct collect_seen seen, uint64_t known)
{
    struct collect_file file = {0};
    switch (read_file(w, fd, st, &file)) {
    case READ_WHOLE:
        seen.content = collect_hash(w->memory, file.digest, strlen(file.digest));
        enum collect_reason over = seen.content == known ? COLLECT_REASONS : limit_of(w, file.bytes);
        if (over != COLLECT_REASONS) {
            leave_out_file(w, name, over, st);
            break;
        }
        size_t directory = w->length;
        if (directory)
            w->path[w->length++] = '/';
        strcpy(w->path + w->length, name); /* visit() has checked that it fits */
        if (seen.content != known)
            add_file(w, &file);
        w->path[w->length = directory] = '\0';
        note(w, seen);
        break;
    case READ_CHANGED: leave_out_file(w, name, COLLECT_CHANGED, st); break;
    case READ_FAILED: leave_out_file(w, name, COLLECT_UNREADABLE, st); break;
    case READ_STOPPED: list_left_out(w, name, COLLECT_LATE); break; /* not noted: the next walk takes it */
    }
    buf_free(&file.data);
}

static void take_file(struct walk *w, int directory, const char *name)
{
    struct error err;
    struct stat st;
    /* O_NONBLOCK: a FIFO that has taken the file's place, or a lease on it, must not hold us (open(2), fcntl(2)). */
    cleanup_fd int fd = path_open_beneath(directory, name, O_RDONLY | O_NONBLOCK | (mutant(28) ? 0 : O_NOFOLLOW) | O_NOCTTY, &err);
    if (fd < 0) {
        not_opened(w, name, err.code);
        return;
    }
    if (fstat(fd, &st) < 0 || st.st_nlink == 0 || S_ISDIR(st.st_mode))
        return; /* deleted, or replaced by a directory, meanwhile */
    if (!S_ISREG(st.st_mode)) {
        leave_out_kind(w, name, reason_of_mode(st.st_mode));
        return;
    }
    struct collect_seen seen = {.path = hash_of(w, name), .state = collect_state_of(w->memory, &st)};
    const struct collect_seen *before = collect_memory_find(w->memory, seen.path);
    if (before && before->content && seen.state && before->state == seen.state) {
        note(w, *before);
        return;
    }
    enum collect_reason why = st.st_dev != w->device && !mutant(28) ? COLLECT_OTHER_MOUNT : st.st_nlink > 1 ? COLLECT_HARD_LINK
                            : st.st_mode & (S_ISUID | S_ISGID) ? COLLECT_SET_ID
                            : (uint64_t)st.st_size > w->limits->file_bytes ? COLLECT_FILE_BYTES : COLLECT_REASONS;
    uint64_t known = before ? before->content : 0;
    if (why == COLLECT_REASONS && !known) /* a file that was taken before may turn out not to have changed */
        why = limit_of(w, (uint64_t)st.st_size);
    if (why != COLLECT_REASONS)
        leave_out_file(w, name, why, &st);
    else
        take_content(w, fd, name, &st, seen, known);
}

/* ------------------------------------------------------------------ the tree */

/* `depth`: of the directory, 0 for the first. */
static void walk_directory(struct walk *w, int fd, uint64_t depth);

static void enter(struct walk *w, int directory, const char *name, uint64_t depth)
{
    struct error err;
    size_t before = w->length, n = strlen(name);
    if (depth + 1 >= w->limits->depth || depth + 1 >= COLLECT_DEPTH_MAX) {
        leave_out_kind(w, name, COLLECT_DEPTH);
        return;
    }
    int fd = path_open_beneath(directory, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOFOLLOW, &err);
    if (fd < 0) {
        not_opened(w, name, err.code);
        return;
    }
    if (before)
        w->path[w->length++] = '/';
    memcpy(w->path + w->length, name, n + 1);
    w->length += n;
    walk_directory(w, fd, depth + 1);
    w->path[w->length = before] = '\0';
}

static unsigned char type_of(int directory, const struct dirent *entry)
{
    struct error err;
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    /* A file system that does not say (readdir(3)). The descriptor is of the thing itself, a link included. */
    cleanup_fd int fd = path_open_beneath(directory, entry->d_name, O_PATH | O_NOFOLLOW, &err);
    return fd < 0 || fstat(fd, &st) < 0 ? DT_REG : (unsigned char)IFTODT(st.st_mode); /* opening it for reading says what is wrong */
}

static void visit(struct walk *w, int directory, const struct dirent *entry, uint64_t depth)
{
    const char *name = entry->d_name;
    size_t n = strlen(name);
    if (!path_is_inside(name, n) || strchr(name, '/') || w->length + 1 + n > COLLECT_PATH_MAX) {
        leave_out_kind(w, name, COLLECT_NAME);
        return;
    }
    switch (type_of(directory, entry)) { /* a hint: what is opened is looked at again */
    case DT_DIR: enter(w, directory, name, depth); break;
    case DT_REG: take_file(w, directory, name); break;
    case DT_LNK: mutant(28) ? take_file(w, directory, name) : leave_out_kind(w, name, COLLECT_SYMLINK); break;
    case DT_FIFO: leave_out_kind(w, name, COLLECT_FIFO); break;
    case DT_SOCK: leave_out_kind(w, name, COLLECT_SOCKET); break;
    default: leave_out_kind(w, name, COLLECT_DEVICE); break;
    }
}

/* Takes fd. */
static void walk_directory(struct walk *w, int fd, uint64_t depth)
{
    cleanup_dir DIR *listing = fdopendir(fd);
    if (!listing) {
        close(fd);
        stop(w, COLLECT_NO_MEMORY);
        return;
    }
    for (struct dirent *entry; in_time(w) && (entry = readdir(listing));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (w->entries++ == COLLECT_ENTRIES)
            stop(w, COLLECT_MANY_ENTRIES);
        else
            visit(w, dirfd(listing), entry, depth);
    }
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct collect_file *)a)->path, ((const struct collect_file *)b)->path);
}

/* Most calls write nothing. Opening the directory costs several times as much as reading the end of an empty one. */
static bool is_empty(int directory)
{
    _Alignas(struct dirent64) char bytes[1024];
    ssize_t n;
    if (lseek(directory, 0, SEEK_SET) < 0)
        return false;
    while ((n = getdents64(directory, bytes, sizeof bytes)) > 0)
        for (ssize_t at = 0; at < n; at += ((struct dirent64 *)(void *)(bytes + at))->d_reclen) {
            const char *name = ((struct dirent64 *)(void *)(bytes + at))->d_name;
            if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
                return false;
        }
    return n == 0;
}

void collect(int directory, const struct collect_limits *limits, struct collect_memory *seen, struct collection *ret)
{
    struct walk w = {.limits = limits, .memory = seen, .to = ret, .deadline = clock_now() + limits->wall_ms * 1000000u};
    static bool have_openat2; /* it was used: an empty directory needs no proof that it is there */
    struct error err;
    struct stat st;
    memset(ret, 0, sizeof *ret);
    if (have_openat2 && is_empty(directory)) {
        seen->count = 0;
        return;
    }
    collect_memory_begin(seen);
    int fd = path_open_beneath(directory, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK, &err);
    if (fd < 0 || fstat(fd, &st) < 0) {
        ret->end = fd < 0 && err.code == ENOSYS ? COLLECT_NO_OPENAT2 : COLLECT_NO_DIRECTORY;
        close_fd(&fd);
        return;
    }
    have_openat2 = true;
    w.device = st.st_dev;
    walk_directory(&w, fd, 0);
    collect_memory_replace(seen, &w.notes, ret->end == COLLECT_WHOLE);
    if (ret->count > 1)
        qsort(ret->files, ret->count, sizeof *ret->files, by_path);
}
