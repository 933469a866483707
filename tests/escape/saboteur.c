/* Runs a program under which chosen system calls fail, or say that they succeeded and do nothing. The program, unmodified, and all
 * that it starts inherit this: seccomp filters are for life.
 *
 *   saboteur RULE... -- PROGRAM ARGUMENT...
 *   RULE = CALL[,INDEX=VALUE | ,INDEX&MASK | ,INDEX!VALUE]...[@TEXT]:WAY
 *   CALL   name of the call; INDEX 0..5 of an argument, compared on its low 32 bits; & some bit of MASK is set, ! is not VALUE
 *   @TEXT  for write: only files whose path ends with TEXT; for mount: only that file system type
 *   WAY    an errno (ENOSYS, EPERM, EIO, ENOSPC), or "success": the result that a caller takes for success
 *
 * A filter sees no paths. Rules with @TEXT are therefore answered by this program, which stays as the parent of PROGRAM: the kernel
 * allows one listener in a line of filters, so the product's own listener is refused (EBUSY) below such rules.
 * The first user's own filters need no_new_privs; with CAP_SYS_ADMIN it is left alone, since the program's handling of it is a thing
 * to be sabotaged too. Exit status: the program's; 125 when the saboteur itself failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RULES = 32, CONDITIONS = 4, CODE = 512, FAILED = 125 };

struct condition {
    unsigned index;
    char how; /* '=', '&' or '!' */
    uint32_t value;
};

struct rule {
    int number;
    struct condition conditions[CONDITIONS];
    unsigned condition_count;
    const char *text; /* NULL: any */
    int code;         /* errno, 0: success */
};

static _Noreturn void die(const char *what, const char *name)
{
    fprintf(stderr, "saboteur: %s: %s (%s)\n", what, name, strerror(errno));
    exit(FAILED);
}

static int way(const char *word)
{
    static const struct { const char *name; int code; } WAYS[] = {
        {"ENOSYS", ENOSYS}, {"EPERM", EPERM}, {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"success", 0}};
    for (size_t i = 0; i < sizeof WAYS / sizeof *WAYS; i++)
        if (strcmp(word, WAYS[i].name) == 0)
            return WAYS[i].code;
    die("no such way", word);
}

static struct rule parse_rule(char *text)
{
    struct rule r = {.number = -1};
    char *colon = strrchr(text, ':'), *at = strchr(text, '@'), *save;
    if (!colon)
        die("a rule without a way", text);
    r.code = way(colon + 1);
    *colon = '\0';
    if (at) {
        *at = '\0';
        r.text = at + 1;
    }
    char *name = strtok_r(text, ",", &save);
    r.number = name ? seccomp_syscall_resolve_name(name) : -1;
    if (r.number < 0)
        die("no such call", text);
    for (char *word; (word = strtok_r(NULL, ",", &save));) {
        struct condition c = {.index = (unsigned)(word[0] - '0'), .how = word[0] ? word[1] : '\0'};
        if (c.index > 5 || !c.how || !strchr("=&!", c.how) || r.condition_count == CONDITIONS)
            die("a bad condition", word);
        c.value = (uint32_t)strtoul(word + 2, NULL, 0);
        r.conditions[r.condition_count++] = c;
    }
    return r;
}

/* The tests of one rule jump over what is left of it; a rule is short, so an offset fits into its byte. */
static size_t put_rule(const struct rule *r, struct sock_filter *code)
{
    size_t n = 0, length = 2 + 2 * r->condition_count + 1;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)r->number, 0, (uint8_t)(length - n - 1));
    n++;
    for (unsigned i = 0; i < r->condition_count; i++) {
        const struct condition *c = &r->conditions[i];
        uint32_t low = (uint32_t)(offsetof(struct seccomp_data, args) + 8 * c->index); /* little endian */
        code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low);
        uint8_t away = (uint8_t)(length - n - 1), yes = c->how == '!' ? away : 0, no = c->how == '!' ? 0 : away;
        uint16_t test = c->how == '&' ? BPF_JSET : BPF_JEQ;
        code[n++] = (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | test | BPF_K), c->value, yes, no);
    }
    uint32_t action = r->text ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | (uint32_t)r->code;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    return n;
}

/* The listener, or 0 without one. */
static int install(const struct rule *rules, size_t count, bool listen)
{
    static struct sock_filter code[CODE];
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += put_rule(&rules[i], code + n);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
    unsigned flags = listen ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (r < 0 && errno == EACCES) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
            die("no_new_privs", "prctl");
        r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    }
    if (r < 0)
        die("the filter is refused", "seccomp");
    return (int)r;
}

/* The file that a write goes to, or the type of a file system, as the caller's memory has it now. */
static bool subject(const struct seccomp_notif *request, char *ret, size_t size)
{
    char path[64];
    if (request->data.nr == SYS_write) {
        snprintf(path, sizeof path, "/proc/%u/fd/%d", request->pid, (int)request->data.args[0]);
        ssize_t n = readlink(path, ret, size - 1);
        ret[n > 0 ? n : 0] = '\0';
        return n > 0;
    }
    snprintf(path, sizeof path, "/proc/%u/mem", request->pid);
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = memory < 0 ? -1 : pread(memory, ret, size - 1, (off_t)request->data.args[2]);
    if (memory >= 0)
        close(memory);
    ret[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static bool matches(const struct rule *r, const struct seccomp_notif *request, const char *seen)
{
    size_t n = strlen(seen), m = strlen(r->text ? r->text : "");
    if (!r->text || r->number != request->data.nr)
        return false;
    return request->data.nr == SYS_write ? n >= m && strcmp(seen + n - m, r->text) == 0 : strcmp(seen, r->text) == 0;
}

static void answer(int listener, const struct rule *rules, size_t count)
{
    struct seccomp_notif request = {0};
    struct seccomp_notif_resp response = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    char seen[256] = "";
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
        return;
    response.id = request.id;
    if (subject(&request, seen, sizeof seen))
        for (size_t i = 0; i < count; i++)
            if (matches(&rules[i], &request, seen)) {
                response.flags = 0;
                response.error = -rules[i].code;
                if (rules[i].code == 0)
                    response.val = request.data.nr == SYS_write ? (int64_t)request.data.args[2] : 0;
                break;
            }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* A socket carries the listener from the child, which cannot write while nobody answers. */
static void hand_over(int sock, int fd)
{
    union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control = {0};
    struct iovec part = {.iov_base = (char[]){'L'}, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    if (sendmsg(sock, &message, 0) < 0)
        die("the listener cannot be handed over", "sendmsg");
}

static int take_over(int sock)
{
    union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control = {0};
    char byte;
    int fd;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (recvmsg(sock, &message, MSG_CMSG_CLOEXEC) != 1 || message.msg_controllen < sizeof control.header)
        exit(FAILED); /* the child has said why */
    memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
    return fd;
}

static int serve(pid_t child, int listener, const struct rule *rules, size_t count)
{
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0), status;
    struct pollfd p[2] = {{.fd = listener, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
    while (!p[1].revents) {
        if (poll(p, 2, -1) < 0 && errno != EINTR)
            die("poll", "listener");
        if (p[0].revents & POLLIN)
            answer(listener, rules, count);
    }
    if (waitpid(child, &status, 0) < 0)
        die("waitpid", "program");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    static struct rule rules[RULES];
    size_t count = 0;
    bool listen = false;
    int i = 1, pair[2];
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (count == RULES)
            die("too many rules", argv[i]);
        rules[count] = parse_rule(argv[i]);
        listen |= rules[count++].text != NULL;
    }
    if (i + 1 >= argc)
        die("usage", "saboteur RULE... -- PROGRAM ARGUMENT...");
    if (listen) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
            die("socketpair", "listener");
        pid_t child = fork();
        if (child < 0)
            die("fork", "program");
        if (child > 0) {
            close(pair[1]);
            return serve(child, take_over(pair[0]), rules, count);
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    }
    int listener = install(rules, count, listen);
    if (listen)
        hand_over(pair[1], listener);
    if (listen)
        close(listener);
    execv(argv[i + 1], argv + i + 1);
    die("the program cannot be started", argv[i + 1]);
}
