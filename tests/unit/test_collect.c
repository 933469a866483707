/* jail/collect: trees that a guest could have left, made in a directory of our own. */
#include "unit.h"

#include "base/clock.h"
#include "jail/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#define SECRET "root:$y$secret:19000:0:99999:7:::"

static char base[64], tree[80];
static int directory;
static struct collect_memory memory;
static struct collection got;
static const struct collect_limits LIMITS = {.files = 100, .file_bytes = 10 << 20, .total_bytes = 25 << 20, .depth = 16, .wall_ms = 2000,
                                             .keep_data = true};

static void setup(void) {
    strcpy(base, "/dev/shm/collect.XXXXXX"); /* a tmpfs, as in a jail, where there is one */
    if (!mkdtemp(base)) {
        strcpy(base, "/tmp/collect.XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(base));
    }
    snprintf(tree, sizeof tree, "%s/output", base);
    ck_assert_int_eq(mkdir(tree, 0700), 0);
    directory = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(directory, 0);
    memset(&memory, 0, sizeof memory);
    memset(&got, 0, sizeof got);
}

/* By descriptors: the deep tree has paths that are too long for one call. */
static void empty(int fd) {
    DIR *listing = fdopendir(fd);
    ck_assert_ptr_nonnull(listing);
    for (struct dirent *e; (e = readdir(listing));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (unlinkat(fd, e->d_name, 0) == 0)
            continue;
        int below = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        ck_assert_int_ge(below, 0);
        empty(below);
        ck_assert_int_eq(unlinkat(fd, e->d_name, AT_REMOVEDIR), 0);
    }
    closedir(listing);
}

static void teardown(void) {
    collection_free(&got);
    collect_memory_free(&memory);
    close(directory);
    empty(open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ck_assert_int_eq(rmdir(base), 0);
}

static void walk(const struct collect_limits *limits) {
    collection_free(&got);
    collect(directory, limits, &memory, &got);
}

/* A file that is old enough for its times to mean something. */
static void put(const char *name, const char *text) {
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
}

static int truncate_at(const char *name, off_t size) {
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int r = fd < 0 ? -1 : ftruncate(fd, size);
    close(fd);
    return r;
}

static void settle(void) {
    usleep(40000);
}

static const struct collect_file *taken(const char *path) {
    for (size_t i = 0; i < got.count; i++)
        if (!strcmp(got.files[i].path, path))
            return &got.files[i];
    return NULL;
}

/* Its reason, or "" when it is not on the list. */
static const char *left(const char *path) {
    for (size_t i = 0; i < got.left_out_count; i++)
        if (!strcmp(got.left_out[i].path, path))
            return collect_reason_name(got.left_out[i].reason);
    return "";
}

START_TEST(test_ordinary_files) {
    put("hello.txt", "hello");
    put("empty", "");
    mkdirat(directory, "a", 0755);
    mkdirat(directory, "a/b", 0755);
    put("a/b/\xc3\xa9t\xc3\xa9.txt", "summer");
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 3);
    ck_assert_uint_eq(got.left_out_count, 0);
    ck_assert_int_eq(got.end, COLLECT_WHOLE);
    ck_assert_str_eq(got.files[0].path, "a/b/\xc3\xa9t\xc3\xa9.txt"); /* sorted */
    const struct collect_file *f = taken("hello.txt");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(f->bytes, 5);
    ck_assert_str_eq(f->digest, "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    ck_assert_uint_eq(f->data.len, 5);
    ck_assert_mem_eq(f->data.data, "hello", 5);
    ck_assert_str_eq(taken("empty")->digest, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
END_TEST

START_TEST(test_contents_only_when_asked) {
    struct collect_limits limits = LIMITS;
    limits.keep_data = false;
    put("x", "hello");
    walk(&limits);
    ck_assert_uint_eq(got.count, 1);
    ck_assert_uint_eq(got.files[0].data.len, 0);
    ck_assert_uint_eq(got.files[0].bytes, 5);
}
END_TEST

START_TEST(test_only_what_is_new_or_changed) {
    put("same", "1");
    put("changed", "1");
    put("touched", "1");
    ck_assert_int_eq(symlinkat("same", directory, "link"), 0);
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 3);
    ck_assert_str_eq(left("link"), "symlink");
    walk(&LIMITS); /* at once, when the times still say nothing */
    ck_assert_uint_eq(got.count + got.left_out_count, 0);
    settle();
    walk(&LIMITS);
    ck_assert_uint_eq(got.count + got.left_out_count, 0);
    put("changed", "2");
    put("touched", "1");
    put("new", "1");
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 2);
    ck_assert_ptr_nonnull(taken("changed"));
    ck_assert_ptr_nonnull(taken("new"));
    unlinkat(directory, "same", 0);
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 0);
    put("same", "1");
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 1); /* it was gone, so it is new */
}
END_TEST

START_TEST(test_a_change_that_the_times_hide_is_seen) {
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    put("x", "one");
    utimensat(directory, "x", times, 0);
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 1);
    put("x", "two"); /* same size; at most a tick later */
    utimensat(directory, "x", times, 0);
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 1);
}
END_TEST

START_TEST(test_links_lead_nowhere) {
    char outside[100];
    snprintf(outside, sizeof outside, "%s/shadow", base);
    int fd = open(outside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq((int)write(fd, SECRET, sizeof SECRET), (int)sizeof SECRET);
    close(fd);
    ck_assert_int_eq(symlinkat("/etc/shadow", directory, "absolute"), 0);
    ck_assert_int_eq(symlinkat("../shadow", directory, "relative"), 0);
    ck_assert_int_eq(symlinkat("..", directory, "up"), 0);
    ck_assert_int_eq(symlinkat("/proc/self/root/etc", directory, "magic"), 0);
    ck_assert_int_eq(symlinkat("loop", directory, "loop"), 0);
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 0);
    ck_assert_uint_eq(got.left_out_count, 5);
    for (size_t i = 0; i < got.left_out_count; i++)
        ck_assert_int_eq(got.left_out[i].reason, COLLECT_SYMLINK);
    /* the twin: what a collector that follows links would have got */
    char text[sizeof SECRET];
    fd = openat(directory, "relative", O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq((int)read(fd, text, sizeof text), (int)sizeof text);
    ck_assert_str_eq(text, SECRET);
    close(fd);
}
END_TEST

START_TEST(test_other_kinds) {
    mkfifoat(directory, "fifo", 0600);
    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", tree);
    ck_assert_int_eq(bind(sock, (struct sockaddr *)&address, sizeof address), 0);
    put("first", "1");
    ck_assert_int_eq(linkat(directory, "first", directory, "second", 0), 0);
    put("setuid", "1");
    ck_assert_int_eq(fchmodat(directory, "setuid", 04755, 0), 0);
    bool device = mknodat(directory, "device", S_IFCHR | 0600, makedev(1, 5)) == 0; /* /dev/zero: endless; only root may */
    ck_assert(device || errno == EPERM);
    uint64_t began = clock_now();
    walk(&LIMITS);
    ck_assert_double_lt(clock_ms(clock_now() - began), 1000); /* a FIFO that is waited for never ends */
    ck_assert_uint_eq(got.count, 0);
    ck_assert_str_eq(left("fifo"), "fifo");
    ck_assert_str_eq(left("socket"), "socket");
    ck_assert_str_eq(left("first"), "hard_link");
    ck_assert_str_eq(left("second"), "hard_link");
    ck_assert_str_eq(left("setuid"), "set_id");
    ck_assert_str_eq(left("device"), device ? "device" : "");
    close(sock);
}
END_TEST

START_TEST(test_unreadable) {
    if (geteuid() == 0)
        return; /* root reads it; test_sizes and others cover the reading */
    put("x", "1");
    mkdirat(directory, "d", 0);
    ck_assert_int_eq(fchmodat(directory, "x", 0, 0), 0);
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 0);
    ck_assert_str_eq(left("x"), "unreadable");
    ck_assert_str_eq(left("d"), "unreadable");
    ck_assert_int_eq(fchmodat(directory, "d", 0700, 0), 0);
}
END_TEST

START_TEST(test_names) {
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = '\0';
    put("new\nline", "1");
    put("escape\x1b[2J", "1");
    put("bad\xff", "1");
    put("c1\xc2\x9b" "31m", "1");
    put("-rf", "1");
    put("with space", "1");
    put("...", "1");
    put(longest, "1");
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 4);
    ck_assert_ptr_nonnull(taken("-rf"));
    ck_assert_ptr_nonnull(taken("..."));
    ck_assert_ptr_nonnull(taken(longest));
    ck_assert_str_eq(left("bad\xef\xbf\xbd"), "name");
    ck_assert_str_eq(left("new?line"), "name");
    ck_assert_str_eq(left("escape?[2J"), "name");
    ck_assert_str_eq(left("c1??31m"), "name");
    ck_assert_uint_eq(got.left_out_count, 4);
}
END_TEST

START_TEST(test_paths_of_1024_bytes) {
    char name[241];
    memset(name, 'd', 240);
    name[240] = '\0';
    int at = dup(directory);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(mkdirat(at, name, 0700), 0);
        int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int fd = openat(next, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_ge(fd, 0);
        close(fd);
        close(at);
        at = next;
    }
    close(at);
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 4); /* the fifth would be 1207 bytes */
    ck_assert_uint_eq(got.left_out_count, 1);
    ck_assert_int_eq(got.left_out[0].reason, COLLECT_NAME);
}
END_TEST

START_TEST(test_sparse_file_costs_nothing) {
    if (truncate_at("huge", (off_t)1 << 50) < 0) /* 1 PiB; ext4 ends at 16 TiB */
        ck_assert_int_eq(truncate_at("huge", (off_t)1 << 43), 0);
    uint64_t began = clock_now();
    walk(&LIMITS);
    ck_assert_double_lt(clock_ms(clock_now() - began), 1000);
    ck_assert_uint_eq(got.count, 0);
    ck_assert_str_eq(left("huge"), "file_bytes");
}
END_TEST

START_TEST(test_a_taken_file_that_becomes_huge) {
    put("x", "small");
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 1);
    ck_assert_int_eq(truncate_at("x", (off_t)1 << 43), 0);
    uint64_t began = clock_now();
    walk(&LIMITS);
    ck_assert_double_lt(clock_ms(clock_now() - began), 1000);
    ck_assert_int_eq(got.end, COLLECT_WHOLE);
    ck_assert_str_eq(left("x"), "file_bytes");
    ck_assert_int_eq(truncate_at("x", 5), 0);
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 1);
}
END_TEST

START_TEST(test_limits_of_bytes) {
    struct collect_limits limits = LIMITS;
    limits.file_bytes = 10;
    limits.total_bytes = 25;
    put("a", "0123456789");
    put("too-large", "0123456789x");
    walk(&limits);
    ck_assert_uint_eq(got.count, 1);
    ck_assert_str_eq(left("too-large"), "file_bytes");
    put("b", "0123456789");
    put("c", "0123456789");
    put("d", "0123456789");
    walk(&limits);
    ck_assert_uint_eq(got.count, 2);
    ck_assert_uint_eq(got.left_out_count, 1);
    ck_assert_int_eq(got.left_out[0].reason, COLLECT_TOTAL_BYTES);
    walk(&limits);
    ck_assert_uint_eq(got.count, 1); /* what found no room is taken the next time */
    ck_assert_uint_eq(got.left_out_count, 0);
}
END_TEST

START_TEST(test_limit_of_files) {
    struct collect_limits limits = LIMITS;
    char name[16];
    for (int i = 0; i < 150; i++) {
        snprintf(name, sizeof name, "f%d", i);
        put(name, "x");
    }
    walk(&limits);
    ck_assert_uint_eq(got.count, 100);
    ck_assert_uint_eq(got.left_out_count, COLLECT_LEFT_OUT_MAX);
    ck_assert_uint_eq(got.left_out_more, 50 - COLLECT_LEFT_OUT_MAX);
    ck_assert_int_eq(got.left_out[0].reason, COLLECT_FILES);
    ck_assert_int_eq(got.end, COLLECT_WHOLE);
}
END_TEST

START_TEST(test_deep_tree) {
    int at = dup(directory);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(mkdirat(at, "d", 0700), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
    }
    close(at);
    put("d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/in", "1");     /* depth 16 */
    put("d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/out", "1"); /* depth 17 */
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 1);
    ck_assert_str_eq(got.files[0].path, "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/in");
    ck_assert_uint_eq(got.left_out_count, 1);
    ck_assert_int_eq(got.left_out[0].reason, COLLECT_DEPTH);
}
END_TEST

START_TEST(test_hundred_thousand_files) {
    struct collect_limits limits = LIMITS;
    char name[16];
    limits.wall_ms = COLLECT_WALL_MS;
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "f%d", i);
        int fd = openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_ge(fd, 0);
        close(fd);
    }
    uint64_t began = clock_now();
    walk(&limits);
    ck_assert_double_lt(clock_ms(clock_now() - began), 2 * COLLECT_WALL_MS);
    ck_assert_uint_eq(got.count, 100);
    ck_assert(got.end == COLLECT_MANY_ENTRIES || got.end == COLLECT_TIME);
    ck_assert_uint_le(memory.count, COLLECT_ENTRIES);
}
END_TEST

START_TEST(test_time) {
    struct collect_limits limits = LIMITS;
    limits.wall_ms = 0;
    put("x", "1");
    walk(&limits);
    ck_assert_int_eq(got.end, COLLECT_TIME);
    ck_assert_uint_eq(got.count, 0);
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 1); /* nothing is forgotten over it */
}
END_TEST

START_TEST(test_an_incomplete_walk_forgets_nothing) {
    struct collect_limits none = LIMITS;
    none.wall_ms = 0;
    put("x", "1");
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 1);
    settle();
    walk(&none);
    walk(&LIMITS);
    ck_assert_int_eq(got.end, COLLECT_WHOLE);
    ck_assert_uint_eq(got.count, 0);
}
END_TEST

START_TEST(test_not_a_directory) {
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    collect(file, &LIMITS, &memory, &got);
    ck_assert_int_eq(got.end, COLLECT_NO_DIRECTORY);
    close(file);
}
END_TEST

/* ---- while the tree changes */

static atomic_bool stopped;
static atomic_uint turns;

/* "d" is by turns a directory with the file "passwd" and a link to a directory outside that has one too; "f" is by turns a file, a
 * FIFO and a link. */
static void *swapper(void *unused) {
    (void)unused;
    while (!stopped) {
        renameat2(directory, "d", directory, "link", RENAME_EXCHANGE);
        renameat2(directory, "f", directory, "fifo", RENAME_EXCHANGE);
        renameat2(directory, "f", directory, "file-link", RENAME_EXCHANGE);
        turns++;
    }
    return NULL;
}

START_TEST(test_swapped_while_walking) {
    char outside[100], file[120];
    pthread_t thread;
    snprintf(outside, sizeof outside, "%s/outside", base);
    snprintf(file, sizeof file, "%s/passwd", outside);
    mkdir(outside, 0700);
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq((int)write(fd, SECRET, sizeof SECRET), (int)sizeof SECRET);
    close(fd);
    mkdirat(directory, "d", 0700);
    put("d/passwd", "mine");
    put("f", "mine");
    ck_assert_int_eq(symlinkat(outside, directory, "link"), 0);
    ck_assert_int_eq(symlinkat(file, directory, "file-link"), 0);
    mkfifoat(directory, "fifo", 0600);
    stopped = false;
    turns = 0;
    ck_assert_int_eq(pthread_create(&thread, NULL, swapper, NULL), 0);
    size_t seen = 0;
    uint64_t until = clock_now() + 700000000;
    for (int i = 0; i < 100000 && (clock_now() < until || turns < 1000 || seen == 0); i++) {
        collect_memory_free(&memory);
        walk(&LIMITS);
        ck_assert_int_eq(got.end, COLLECT_WHOLE);
        for (size_t k = 0; k < got.count; k++) {
            ck_assert_mem_eq(got.files[k].data.data, "mine", 4);
            ck_assert_uint_eq(got.files[k].bytes, 4);
        }
        seen += got.count;
    }
    stopped = true;
    pthread_join(thread, NULL);
    ck_assert_uint_gt(seen, 0);
    ck_assert_uint_ge(turns, 1000);
}
END_TEST

static void *grower(void *unused) {
    char block[4096];
    (void)unused;
    memset(block, 'g', sizeof block);
    int fd = openat(directory, "x", O_WRONLY | O_CLOEXEC);
    while (!stopped) {
        for (int i = 0; i < 256; i++)
            turns += write(fd, block, sizeof block) > 0;
        if (lseek(fd, 0, SEEK_CUR) > 9 << 20 && (ftruncate(fd, 1 << 20) < 0 || lseek(fd, 0, SEEK_SET) < 0))
            break;
    }
    close(fd);
    return NULL;
}

START_TEST(test_growing_file) {
    pthread_t thread;
    put("x", "start");
    stopped = false;
    turns = 0;
    ck_assert_int_eq(pthread_create(&thread, NULL, grower, NULL), 0);
    while (turns < 100)
        usleep(100);
    unsigned changed = 0;
    for (int i = 0; i < 30; i++) {
        walk(&LIMITS);
        ck_assert_uint_le(got.count + got.left_out_count, 1);
        changed += !strcmp(left("x"), "changed");
        if (got.count) /* as long as what was looked at first, whatever came after */
            ck_assert_uint_eq(got.files[0].bytes, got.files[0].data.len);
    }
    stopped = true;
    pthread_join(thread, NULL);
    ck_assert_uint_gt(changed, 0);
    put("x", "at rest"); /* the last walk may have taken it as the writer left it */
    settle();
    walk(&LIMITS);
    ck_assert_uint_eq(got.count, 1); /* it rests, and is taken */
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("collect");
    TCase *one = unit_group(s, "still"), *two = unit_group(s, "moving");
    tcase_add_checked_fixture(one, setup, teardown);
    tcase_add_checked_fixture(two, setup, teardown);
    tcase_set_timeout(one, 60);
    tcase_add_test(one, test_ordinary_files);
    tcase_add_test(one, test_contents_only_when_asked);
    tcase_add_test(one, test_only_what_is_new_or_changed);
    tcase_add_test(one, test_a_change_that_the_times_hide_is_seen);
    tcase_add_test(one, test_links_lead_nowhere);
    tcase_add_test(one, test_other_kinds);
    tcase_add_test(one, test_unreadable);
    tcase_add_test(one, test_names);
    tcase_add_test(one, test_paths_of_1024_bytes);
    tcase_add_test(one, test_sparse_file_costs_nothing);
    tcase_add_test(one, test_a_taken_file_that_becomes_huge);
    tcase_add_test(one, test_limits_of_bytes);
    tcase_add_test(one, test_limit_of_files);
    tcase_add_test(one, test_deep_tree);
    tcase_add_test(one, test_hundred_thousand_files);
    tcase_add_test(one, test_time);
    tcase_add_test(one, test_an_incomplete_walk_forgets_nothing);
    tcase_add_test(one, test_not_a_directory);
    tcase_add_test(two, test_swapped_while_walking);
    tcase_add_test(two, test_growing_file);
    return s;
}

UNIT_MAIN(suite)
