/* base/utf8, clock, digest, uuid: the pure ones; base/path and base/fdpass against the kernel. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fdpass.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/uuid.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define BAD "\xef\xbf\xbd"
#define NUL_PICTURE "\xe2\x90\x80"

/* Another way to say what is valid: decode, then look at the value. */
static size_t reference(const unsigned char *p, size_t left) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    uint32_t v;

    if (n <= 1)
        return n;
    if (n > left)
        return 0;
    v = p[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        v = v << 6 | (p[i] & 0x3f);
    }
    return v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff) ? 0 : n;
}

START_TEST(utf8_agrees_with_a_decoder) {
    for (uint32_t v = 0; v <= 0xffffff; v++) { /* every three bytes, then every four that begin like a long character */
        unsigned char p[4] = {v >> 16 & 0xff, v >> 8 & 0xff, v & 0xff, 0xbf};
        size_t n = p[0] < 0xf0 ? 3 : 4, expect = 0, one;

        while (expect < n && (one = reference(p + expect, n - expect)) > 0)
            expect += one;
        if (utf8_valid_prefix((char *)p, n) != expect)
            ck_abort_msg("%02x %02x %02x: %zu, expected %zu", p[0], p[1], p[2], utf8_valid_prefix((char *)p, n), expect);
    }
}
END_TEST

START_TEST(utf8_finds_a_bad_byte_anywhere) {
    char text[64];

    for (size_t at = 0; at < sizeof text; at++) {
        memset(text, 'a', sizeof text);
        text[at] = '\x80';
        ck_assert_uint_eq(utf8_valid_prefix(text, sizeof text), at);
        ck_assert(!utf8_valid(text, sizeof text));
        ck_assert(utf8_valid(text, at));
    }
    ck_assert(utf8_valid(NULL, 0));
}
END_TEST

/* Unicode 15, section 3.9, tables 3-8 to 3-11, and the edges of each range. */
static const struct {
    const char *in;
    size_t length;
    const char *out;
} cleaned[] = {
    {"", 0, ""},
    {"plain text, longer than a word", 30, "plain text, longer than a word"},
    {"\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64", 13, "a" BAD BAD BAD "b" BAD "c" BAD BAD "d"},
    {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", 9, BAD BAD BAD BAD BAD BAD BAD BAD "A"},
    {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", 9, BAD BAD BAD BAD BAD BAD BAD BAD "A"},
    {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", 9, BAD BAD BAD BAD BAD "A" BAD BAD "B"},
    {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", 9, BAD BAD BAD BAD "A"},
    {"\xf0\x9f\x98", 3, BAD},
    {"\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80"},
    {"\xf4\x8f\xbf\xbf\xf4\x90\x80\x80", 8, "\xf4\x8f\xbf\xbf" BAD BAD BAD BAD},
    {"\xed\x9f\xbf\xee\x80\x80", 6, "\xed\x9f\xbf\xee\x80\x80"},
    {"\xf5\x80\x80\x80", 4, BAD BAD BAD BAD},
    {"\xc3", 1, BAD},
    {"a\0b", 3, "a" NUL_PICTURE "b"},
    {"\0\0", 2, NUL_PICTURE NUL_PICTURE},
    {"\xe1\x80\0", 3, BAD NUL_PICTURE},
};

START_TEST(utf8_clean_table) {
    size_t out = strlen(cleaned[_i].out);
    cleanup_buf struct buf b = {0}, small = {.max = 2 + (out ? out - 1 : 0)};

    ck_assert_int_eq(buf_adds(&b, ">"), 0);
    ck_assert_int_eq(utf8_clean(&b, cleaned[_i].in, cleaned[_i].length), 0);
    ck_assert_str_eq(b.data + 1, cleaned[_i].out);
    ck_assert(utf8_valid(b.data, b.len));
    ck_assert_int_eq(buf_adds(&small, ">>"), 0); /* then one byte is missing: nothing may be appended */
    ck_assert_int_eq(utf8_clean(&small, cleaned[_i].in, cleaned[_i].length), out ? -1 : 0);
    ck_assert_str_eq(small.data, ">>");
}
END_TEST

/* A guest's output may be NUL alone: every byte is looked at once, not once for each NUL before it (which took minutes). */
START_TEST(utf8_clean_of_many_nul) {
    const size_t length = 4u << 20;
    cleanup_free char *nuls = calloc(1, length);
    cleanup_buf struct buf b = {0};

    ck_assert_ptr_nonnull(nuls);
    ck_assert_int_eq(utf8_clean(&b, nuls, length), 0);
    ck_assert_uint_eq(b.len, 3 * length);
    ck_assert_mem_eq(b.data + b.len - 3, NUL_PICTURE, 3);
}
END_TEST

START_TEST(utf8_cut_never_splits) {
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
    const size_t expect[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};

    for (size_t n = 0; n < UNIT_ROWS(expect); n++)
        ck_assert_uint_eq(utf8_cut(text, n), expect[n]);
}
END_TEST

static const struct {
    uint64_t ns;
    const char *text;
} stamps[] = {
    {0, "1970-01-01T00:00:00.000Z"},
    {UINT64_C(999999), "1970-01-01T00:00:00.000Z"},
    {UINT64_C(1000000), "1970-01-01T00:00:00.001Z"},
    {UINT64_C(951782400123456789), "2000-02-29T00:00:00.123Z"},
    {UINT64_C(2147483648999000000), "2038-01-19T03:14:08.999Z"},
    {UINT64_MAX, "2554-07-21T23:34:33.709Z"},
};

START_TEST(clock_stamp_table) {
    char text[CLOCK_STAMP];

    clock_stamp(stamps[_i].ns, text);
    ck_assert_str_eq(text, stamps[_i].text);
}
END_TEST

START_TEST(clocks_go_on) {
    uint64_t a = clock_now(), b = clock_now();

    ck_assert(a > 0 && b >= a);
    ck_assert(clock_wall() > UINT64_C(1600000000000000000));
    ck_assert(clock_ms(1500000) > 1.49 && clock_ms(1500000) < 1.51);
}
END_TEST

/* FIPS 180-4's examples and the empty text. */
static const struct {
    const char *text, *digest;
} fips[] = {
    {"", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "sha256:248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
     "sha256:cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

START_TEST(digest_vectors) {
    char text[DIGEST_TEXT];
    size_t length = strlen(fips[_i].text);

    digest_of(fips[_i].text, length, text);
    ck_assert_str_eq(text, fips[_i].digest);
    for (size_t cut = 0; cut <= length; cut++) {
        struct digest d;

        digest_begin(&d);
        digest_add(&d, fips[_i].text, cut);
        digest_add(&d, fips[_i].text + cut, length - cut);
        digest_end(&d, text);
        ck_assert_str_eq(text, fips[_i].digest);
    }
}
END_TEST

START_TEST(digest_of_a_million_a) {
    struct digest d;
    char text[DIGEST_TEXT], block[1000];

    memset(block, 'a', sizeof block);
    digest_begin(&d);
    for (int i = 0; i < 1000; i++)
        digest_add(&d, block, sizeof block);
    digest_end(&d, text);
    ck_assert_str_eq(text, "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

START_TEST(uuids_sort_and_say_their_time) {
    char last[UUID_TEXT] = "", id[UUID_TEXT];
    unsigned long long high, low, before = clock_wall() / 1000000;

    for (int i = 0; i < 20000; i++) { /* more than 12 bits can count in a millisecond */
        uuid_v7(id);
        ck_assert_uint_eq(strlen(id), 36);
        ck_assert_uint_eq(strspn(id, "0123456789abcdef-"), 36);
        ck_assert(id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-');
        ck_assert_int_eq(id[14], '7');
        ck_assert_ptr_nonnull(strchr("89ab", id[19]));
        ck_assert_int_gt(strcmp(id, last), 0);
        memcpy(last, id, sizeof last);
    }
    ck_assert_int_eq(sscanf(id, "%8llx-%4llx", &high, &low), 2);
    ck_assert((high << 16 | low) >= before && (high << 16 | low) <= clock_wall() / 1000000 + 20);
}
END_TEST

static const struct {
    const char *path;
    size_t length;
    bool inside;
} paths[] = {
    {"a", 1, true},        {"a/b.txt", 7, true},  {"..a", 3, true},     {"a..", 3, true},       {"...", 3, true},
    {".a/b", 4, true},     {"a b", 3, true},      {"caf\xc3\xa9", 5, true}, {"", 0, false},     {"/", 1, false},
    {"/a", 2, false},      {"a/", 2, false},      {"a//b", 4, false},   {".", 1, false},        {"..", 2, false},
    {"a/..", 4, false},    {"a/../b", 6, false},  {"./a", 3, false},    {"a/./b", 5, false},    {"../a", 4, false},
    {"a\0b", 3, false},    {"a\nb", 3, false},    {"a\x7f", 2, false},  {"a\x1b[0m", 5, false}, {"\xff", 1, false},
    {"\xc0\xae\xc0\xae/a", 6, false}, {"a\xc2\x9b" "31m", 6, false}, {"a\xc2\x85" "b", 4, false}, {"a\xc2\xa0", 3, true},
    {"a\xe2\x80\xa8", 4, false}, {"a\xe2\x80\xa9", 4, false}, {"a\xe2\x80\xaa", 4, true},
};

START_TEST(path_is_inside_table) {
    ck_assert_msg(path_is_inside(paths[_i].path, paths[_i].length) == paths[_i].inside, "%s", paths[_i].path);
}
END_TEST

START_TEST(path_is_inside_length) {
    char path[4097];

    memset(path, 'a', sizeof path);
    ck_assert(path_is_inside(path, 4095));
    ck_assert(!path_is_inside(path, 4096));
}
END_TEST

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) { return remove(path); }

/* A directory as a guest could leave it; `outside` stands next to it. */
static int guest_directory(char *base) {
    int fd;

    ck_assert_ptr_nonnull(mkdtemp(base));
    fd = open(base, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(mkdirat(fd, "jail", 0700), 0);
    ck_assert_int_eq(mkdirat(fd, "jail/sub", 0700), 0);
    close(openat(fd, "jail/sub/file", O_CREAT | O_WRONLY, 0600));
    close(openat(fd, "outside", O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(symlinkat("../outside", fd, "jail/out"), 0);
    ck_assert_int_eq(symlinkat("sub/file", fd, "jail/in"), 0);
    ck_assert_int_eq(symlinkat("sub", fd, "jail/dirlink"), 0);
    ck_assert_int_eq(symlinkat("/etc/passwd", fd, "jail/abs"), 0);
    ck_assert_int_eq(symlinkat("/proc/self/fd", fd, "jail/fds"), 0);
    ck_assert_int_eq(symlinkat("loop", fd, "jail/loop"), 0);
    int jail = openat(fd, "jail", O_PATH | O_DIRECTORY | O_CLOEXEC);
    close(fd);
    return jail;
}

static const struct {
    const char *path;
    int code; /* 0: opens */
} beneath[] = {
    {"sub/file", 0},       {"sub", 0},           {".", 0},              {"sub/../sub/file", 0}, {"in", ELOOP},
    {"out", ELOOP},        {"abs", ELOOP},       {"loop", ELOOP},       {"dirlink/file", ELOOP}, {"fds/0", ELOOP},
    {"..", EXDEV},         {"../outside", EXDEV}, {"sub/../../outside", EXDEV}, {"/etc/passwd", EXDEV}, {"/", EXDEV},
    {"missing", ENOENT},   {"sub/file/x", ENOTDIR}, {"", ENOENT},
};

START_TEST(open_beneath_table) {
    char base[] = "/tmp/snipara-path-XXXXXX";
    cleanup_fd int jail = guest_directory(base);
    struct error err = {0};
    cleanup_fd int fd = path_open_beneath(jail, beneath[_i].path, O_RDONLY, &err);

    ck_assert_msg(beneath[_i].code ? fd < 0 && err.code == beneath[_i].code : fd >= 0, "%s: %s", beneath[_i].path, err.message);
    if (fd >= 0)
        ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    else
        ck_assert_str_eq(err.step, "path.open");
    nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
END_TEST

START_TEST(open_beneath_creates_nothing) {
    char base[] = "/tmp/snipara-path-XXXXXX";
    cleanup_fd int jail = guest_directory(base);
    struct error err = {0};

    ck_assert_int_eq(path_open_beneath(jail, "new", O_CREAT | O_WRONLY, &err), -1);
    ck_assert_int_eq(err.code, EINVAL);
    ck_assert_int_eq(path_open_beneath(jail, ".", O_TMPFILE | O_WRONLY, &err), -1);
    ck_assert_int_eq(faccessat(jail, "new", F_OK, 0), -1);
    cleanup_fd int sub = path_open_beneath(jail, "sub", O_DIRECTORY | O_RDONLY, &err);

    ck_assert_int_ge(sub, 0);
    nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
END_TEST

START_TEST(open_beneath_refuses_magic_links_and_mounts) {
    cleanup_fd int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *const magic[] = {"fd/0", "root", "cwd", "exe", "root/etc/passwd", "ns/mnt"};
    struct error err = {0};

    for (int i = 0; i < UNIT_ROWS(magic); i++) {
        ck_assert_int_eq(path_open_beneath(self, magic[i], O_RDONLY, &err), -1);
        ck_assert_int_eq(err.code, ELOOP);
    }
    ck_assert_int_eq(path_open_beneath(root, "proc/version", O_RDONLY, &err), -1);
    ck_assert_int_eq(err.code, EXDEV);
}
END_TEST

/* In a mount namespace of its own: a bind mount inside the directory has the same device number, and is still refused.
 * 0: as it must be, 77: no such namespace here, else the step that failed. */
static int bind_mount_child(void) {
    char base[] = "/tmp/snipara-path-XXXXXX";
    struct error err = {0};
    char target[64];
    int jail, fd;

    if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 77;
    jail = guest_directory(base);
    snprintf(target, sizeof target, "%s/jail/sub", base);
    if (mount(base, target, NULL, MS_BIND, NULL) < 0)
        return 77;
    fd = path_open_beneath(jail, "sub/outside", O_RDONLY, &err);
    umount2(target, MNT_DETACH);
    nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return fd < 0 && err.code == EXDEV ? 0 : 1;
}

START_TEST(open_beneath_refuses_a_bind_mount) {
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(bind_mount_child());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        printf("skipped: bind mount (no mount namespace for this user)\n");
    else
        ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(reads_whole_files_within_the_bound) {
    char path[] = "/tmp/snipara-read-XXXXXX";
    cleanup_buf struct buf b = {0}, bounded = {.max = 20000}, tight = {.max = 10};
    cleanup_fd int fd = mkstemp(path);
    struct error err = {0};
    char big[20000];

    memset(big, 'x', sizeof big);
    ck_assert_int_eq(path_read_file(path, 0, &b, &err), 0);
    ck_assert_str_eq(b.data, "");
    ck_assert_int_eq(write(fd, big, sizeof big), (ssize_t)sizeof big);
    ck_assert_int_eq(buf_adds(&b, "kept"), 0);
    ck_assert_int_eq(path_read_file(path, sizeof big - 1, &b, &err), -1);
    ck_assert_int_eq(err.code, EFBIG);
    ck_assert_ptr_nonnull(strstr(err.message, path));
    ck_assert_str_eq(b.data, "kept");
    ck_assert_int_eq(path_read_file(path, sizeof big, &b, &err), 0);
    ck_assert_uint_eq(b.len, sizeof big + 4);
    ck_assert_int_eq(path_read_file(path, SIZE_MAX, &bounded, &err), 0);
    ck_assert_int_eq(path_read_file(path, SIZE_MAX, &tight, &err), -1);
    ck_assert_int_eq(err.code, ENOBUFS);
    ck_assert_int_eq(path_read_file("/nonexistent", 10, &b, &err), -1);
    ck_assert_int_eq(err.code, ENOENT);
    ck_assert_int_eq(path_read_file("/", 10, &b, &err), -1);
    ck_assert_int_eq(err.code, EISDIR);
    buf_clear(&b);
    ck_assert_int_eq(path_read_file("/proc/self/status", 65536, &b, &err), 0); /* stat says 0 bytes */
    ck_assert_ptr_nonnull(strstr(b.data, "Pid:"));
    unlink(path);
}
END_TEST

START_TEST(writes_and_makes_directories) {
    char base[] = "/tmp/snipara-mkdir-XXXXXX", path[128];
    cleanup_buf struct buf b = {0};
    struct error err = {0};
    struct stat st;

    ck_assert_ptr_nonnull(mkdtemp(base));
    snprintf(path, sizeof path, "%s//a/b/c/", base);
    ck_assert_int_eq(path_make_directories(path, &err), 0);
    ck_assert_int_eq(path_make_directories(path, &err), 0);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
    ck_assert_int_eq(path_make_directories("/", &err), 0);
    ck_assert_int_eq(path_make_directories("", &err), -1);
    ck_assert_int_eq(path_make_directories("/proc/self/no/such", &err), -1);
    snprintf(path, sizeof path, "%s/file", base);
    ck_assert_int_eq(path_write_kernel(AT_FDCWD, path, "12\n", &err), -1); /* only existing files */
    ck_assert_int_eq(err.code, ENOENT);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(path_write_kernel(AT_FDCWD, path, "12\n", &err), 0);
    ck_assert_int_eq(path_read_file(path, 10, &b, &err), 0);
    ck_assert_str_eq(b.data, "12\n");
    ck_assert_int_eq(path_write_kernel(AT_FDCWD, "/dev/full", "x", &err), -1);
    ck_assert_int_eq(err.code, ENOSPC);
    snprintf(path, sizeof path, "%s/file/sub", base);
    ck_assert_int_eq(path_make_directories(path, &err), -1);
    ck_assert_int_eq(err.code, ENOTDIR);
    nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
END_TEST

static int open_descriptors(void) {
    int count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Send by hand what fdpass_send would refuse. */
static void send_raw(int sock, size_t length, size_t count) {
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * 100)];
    } control = {0};
    char data[64] = {0};
    struct iovec iov = {data, length};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * count);
    for (size_t i = 0; i < count; i++)
        memcpy(CMSG_DATA(c) + i * sizeof(int), &(int){sock}, sizeof(int));
    ck_assert_int_eq(sendmsg(sock, &msg, 0), (ssize_t)length);
}

START_TEST(descriptors_arrive_close_on_exec) {
    int pair[2], got[FDPASS_MAX], send[FDPASS_MAX];
    struct error err = {0};
    size_t count = 99;
    char data[16];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    for (size_t n = 0; n <= FDPASS_MAX; n++) {
        for (size_t i = 0; i < n; i++)
            send[i] = pair[i % 2];
        ck_assert_int_eq(fdpass_send(pair[0], "hello", 5, send, n, &err), 0);
        ck_assert_int_eq(fdpass_recv(pair[1], data, sizeof data, got, FDPASS_MAX, &count, &err), 5);
        ck_assert_mem_eq(data, "hello", 5);
        ck_assert_uint_eq(count, n);
        for (size_t i = 0; i < count; i++) {
            ck_assert_int_eq(fcntl(got[i], F_GETFD), FD_CLOEXEC);
            close(got[i]);
        }
    }
    close(pair[0]);
    ck_assert_int_eq(fdpass_recv(pair[1], data, sizeof data, got, FDPASS_MAX, &count, &err), 0);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(fdpass_send(pair[1], "x", 1, NULL, 0, &err), -1);
    ck_assert_int_eq(err.code, EPIPE);
    close(pair[1]);
}
END_TEST

/* What a hostile peer sends, into room for 16 bytes and 2 descriptors: an error or an end of file, and nothing stays open. */
static const struct {
    size_t length, count;
    ssize_t expect;
} rude[] = {{1, 3, -1}, {1, 32, -1}, {1, 33, -1}, {1, 34, -1}, {1, 100, -1}, {17, 1, -1}, {17, 0, -1}, {0, 1, 0}, {0, 40, -1}, {16, 2, 16}};

START_TEST(rude_messages_leak_nothing) {
    int pair[2], got[2], before = open_descriptors();
    struct error err = {0};
    size_t count = 0;
    char data[16];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    send_raw(pair[0], rude[_i].length, rude[_i].count);
    ck_assert_int_eq(fdpass_recv(pair[1], data, sizeof data, got, 2, &count, &err), rude[_i].expect);
    if (rude[_i].expect < 0)
        ck_assert_int_eq(err.code, EMSGSIZE);
    for (size_t i = 0; i < count; i++)
        close(got[i]);
    close(pair[0]);
    close(pair[1]);
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

START_TEST(fdpass_limits_and_nonblocking) {
    int pair[2], many[FDPASS_MAX + 1] = {0};
    struct error err = {0};
    char data[4];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
    ck_assert_int_eq(fdpass_recv(pair[1], data, sizeof data, NULL, 0, NULL, &err), -1);
    ck_assert_int_eq(err.code, EAGAIN);
    ck_assert_int_eq(fdpass_send(pair[0], "", 0, many, 1, &err), -1);
    ck_assert_int_eq(err.code, EINVAL);
    ck_assert_int_eq(fdpass_send(pair[0], "x", 1, many, FDPASS_MAX + 1, &err), -1);
    ck_assert_int_eq(err.code, EINVAL);
    ck_assert_int_eq(fdpass_send(pair[0], "x", 1, (int[]){-1}, 1, &err), -1);
    ck_assert_int_eq(err.code, EBADF);
    ck_assert_int_eq(fdpass_send(pair[0], "abc", 3, NULL, 0, &err), 0);
    ck_assert_int_eq(fdpass_recv(pair[1], data, sizeof data, NULL, 0, NULL, &err), 3);
    close(pair[0]);
    close(pair[1]);
    /* A stream, unlike a packet socket, raises SIGPIPE when nobody asks it not to. */
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    close(pair[0]);
    ck_assert_int_eq(fdpass_send(pair[1], "x", 1, NULL, 0, &err), -1);
    ck_assert_int_eq(err.code, EPIPE);
    close(pair[1]);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("base/misc");
    TCase *t = unit_group(s, "utf8");

    tcase_add_test(t, utf8_agrees_with_a_decoder);
    tcase_add_test(t, utf8_finds_a_bad_byte_anywhere);
    tcase_add_loop_test(t, utf8_clean_table, 0, UNIT_ROWS(cleaned));
    tcase_add_test(t, utf8_clean_of_many_nul);
    tcase_add_test(t, utf8_cut_never_splits);
    t = unit_group(s, "clock");
    tcase_add_loop_test(t, clock_stamp_table, 0, UNIT_ROWS(stamps));
    tcase_add_test(t, clocks_go_on);
    t = unit_group(s, "digest");
    tcase_add_loop_test(t, digest_vectors, 0, UNIT_ROWS(fips));
    tcase_add_test(t, digest_of_a_million_a);
    t = unit_group(s, "uuid");
    tcase_add_test(t, uuids_sort_and_say_their_time);
    t = unit_group(s, "path");
    tcase_add_loop_test(t, path_is_inside_table, 0, UNIT_ROWS(paths));
    tcase_add_test(t, path_is_inside_length);
    tcase_add_loop_test(t, open_beneath_table, 0, UNIT_ROWS(beneath));
    tcase_add_test(t, open_beneath_creates_nothing);
    tcase_add_test(t, open_beneath_refuses_magic_links_and_mounts);
    tcase_add_test(t, open_beneath_refuses_a_bind_mount);
    tcase_add_test(t, reads_whole_files_within_the_bound);
    tcase_add_test(t, writes_and_makes_directories);
    t = unit_group(s, "fdpass");
    tcase_add_test(t, descriptors_arrive_close_on_exec);
    tcase_add_loop_test(t, rude_messages_leak_nothing, 0, UNIT_ROWS(rude));
    tcase_add_test(t, fdpass_limits_and_nonblocking);
    return s;
}

UNIT_MAIN(suite)
