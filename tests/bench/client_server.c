/* MCP as raw lines: requests are printed from a template, answers are searched for the few bytes that matter. No JSON library, so that
 * a call costs the client two system calls and a scan. Every answer is checked: a bench that counts refusals would be fast and wrong. */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 64
#define REQUEST_MAX 65536
#define LINE_ROOM (1u << 20)

static bool put(struct server *s, const char *text, size_t length, struct samples *result)
{
    for (size_t at = 0; at < length;) {
        ssize_t n = write(s->in, text + at, length - at);
        if (n < 0 && errno != EINTR)
            return samples_fail(result, "the server does not read: %s", strerror(errno));
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* The next line, NUL-terminated in place, without its newline. */
static char *take_line(struct server *s, struct samples *result)
{
    memmove(s->line, s->line + s->taken, s->length -= s->taken);
    s->taken = 0;
    for (size_t scanned = 0;;) {
        char *end = memchr(s->line + scanned, '\n', s->length - scanned);
        if (end) {
            *end = '\0';
            s->taken = (size_t)(end + 1 - s->line);
            return s->line;
        }
        scanned = s->length;
        if (s->length == s->room) {
            samples_fail(result, "an answer is longer than %zu bytes", s->room);
            return NULL;
        }
        ssize_t n = read(s->out, s->line + s->length, s->room - s->length);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            samples_fail(result, "the server ended: %s", n == 0 ? "end of file" : strerror(errno));
            return NULL;
        }
        s->length += n > 0 ? (size_t)n : 0;
    }
}

const char *server_last(const struct server *s)
{
    return s->taken > 0 ? s->line : NULL;
}

/* The id of an answer, 0 for lines without one (notifications). Ours are numbers and stand in front. */
static unsigned long id_of(const char *line)
{
    const char *at = strstr(line, "\"id\":");
    return at && at < line + 64 ? strtoul(at + 5, NULL, 10) : 0;
}

static bool is_good(const char *line, const char *expect, struct samples *result)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "\"stdout\":\"%s\\n\"", expect);
    return (strstr(line, "\"status\":\"ok\"") && strstr(line, wanted)) || samples_fail(result, "unexpected answer: %.300s", line);
}

static bool ask(struct server *s, unsigned long id, const char *policy, const char *session, const char *code, struct samples *result)
{
    char text[REQUEST_MAX];
    int n = snprintf(text, sizeof text,
                     "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"tools/call\",\"params\":{\"name\":\"execute_python\",\"arguments\":"
                     "{\"code\":\"%s\",\"session_id\":\"%s\",\"policy\":\"%s\"}}}\n", id, code, session, policy);
    return n < (int)sizeof text ? put(s, text, (size_t)n, result) : samples_fail(result, "the code is too long");
}

static bool destroy(struct server *s, unsigned long id, const char *session, struct samples *result)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"tools/call\",\"params\":{\"name\":\"destroy_session\",\"arguments\":"
                     "{\"session_id\":\"%s\"}}}\n", id, session);
    return put(s, text, (size_t)n, result);
}

bool server_start(struct server *s, char *const argv[], struct samples *result)
{
    static const char hello[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","
                                "\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n"
                                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    s->room = LINE_ROOM;
    s->next_id = 2;
    if (!s->line && !(s->line = malloc(s->room + 1)))
        return samples_fail(result, "out of memory");
    if (s->pid > 0)
        return samples_fail(result, "there is a server already");
    if (!spawn_piped(argv, &s->in, &s->out, &s->pid, result) || !put(s, hello, sizeof hello - 1, result))
        return false;
    const char *line = take_line(s, result);
    return line && (strstr(line, "\"protocolVersion\"") || samples_fail(result, "unexpected answer: %.300s", line));
}

/* End of input ends the server; one that does not end gets 10 s before it is killed. */
void server_stop(struct server *s)
{
    if (s->pid <= 0)
        return;
    close(s->in);
    for (int i = 0; i < 1000 && waitpid(s->pid, NULL, WNOHANG) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    if (kill(s->pid, 0) == 0 && waitpid(s->pid, NULL, WNOHANG) == 0) {
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
    }
    close(s->out);
    s->pid = 0;
    s->length = s->taken = s->opened = 0;
}

/* One run of calls in fresh sessions: which call an open id belongs to, and what is still to come. */
struct fresh {
    const char *policy, *code, *expect;
    size_t count, skip, clients, started, answered;
    uint64_t began[CLIENTS_MAX];         /* when the call of a slot was sent */
    unsigned long id[CLIENTS_MAX];       /* its id, 0: the slot is free */
    size_t goodbyes;                     /* destroy_session that are not answered yet */
};

static void session_name(char name[32], unsigned long id)
{
    snprintf(name, 32, "f%lu", id);
}

static bool start_one(struct server *s, struct fresh *f, size_t slot, struct samples *result)
{
    char name[32];
    f->id[slot] = s->next_id++;
    session_name(name, f->id[slot]);
    f->started++;
    f->began[slot] = now_ns();
    return ask(s, f->id[slot], f->policy, name, f->code, result);
}

/* An answer: of a call (then its session is said goodbye to, and the slot is free) or of a goodbye. */
static bool take_answer(struct server *s, struct fresh *f, size_t *ret_slot, struct samples *result)
{
    char name[32];
    const char *line = take_line(s, result);
    uint64_t now = now_ns();
    unsigned long id = line ? id_of(line) : 0;
    *ret_slot = CLIENTS_MAX;
    if (!line)
        return false;
    for (size_t slot = 0; id && slot < f->clients; slot++)
        if (f->id[slot] == id) {
            if (!is_good(line, f->expect, result))
                return false;
            if (++f->answered > f->skip)
                samples_add(result, now - f->began[slot]);
            f->id[slot] = 0;
            *ret_slot = slot;
            session_name(name, id);
            f->goodbyes++;
            return destroy(s, s->next_id++, name, result);
        }
    if (id) {
        f->goodbyes--;
        return strstr(line, "\"destroyed\":true") || samples_fail(result, "unexpected answer: %.300s", line);
    }
    return true;
}

static bool run_fresh(struct server *s, struct fresh *f, unsigned pause_ms, struct samples *result)
{
    size_t slot, total = f->skip + f->count;
    uint64_t began = now_ns();
    for (slot = 0; slot < f->clients && f->started < total; slot++)
        if (!start_one(s, f, slot, result))
            return false;
    while (f->answered < total) {
        if (!take_answer(s, f, &slot, result))
            return false;
        if (slot == CLIENTS_MAX)
            continue;
        if (f->answered == f->skip)
            began = now_ns();
        if (f->answered == total)
            result->wall_ns = now_ns() - began;
        if (pause_ms) {
            while (f->goodbyes > 0)
                if (!take_answer(s, f, &(size_t){0}, result))
                    return false;
            nanosleep(&(struct timespec){.tv_sec = pause_ms / 1000, .tv_nsec = (long)(pause_ms % 1000) * 1000000}, NULL);
        }
        if (f->started < total && !start_one(s, f, slot, result))
            return false;
    }
    while (f->goodbyes > 0)
        if (!take_answer(s, f, &slot, result))
            return false;
    return true;
}

bool server_fresh(struct server *s, char *const field[], struct samples *result)
{
    struct fresh f = {.policy = field[0], .count = strtoul(field[1], NULL, 10), .skip = strtoul(field[2], NULL, 10),
                      .clients = strtoul(field[4], NULL, 10), .code = field[5], .expect = field[6]};
    unsigned pause_ms = (unsigned)strtoul(field[3], NULL, 10);
    if (f.clients < 1 || f.clients > CLIENTS_MAX || (pause_ms && f.clients > 1))
        return samples_fail(result, "clients: 1 to %d, with a pause only 1", CLIENTS_MAX);
    return run_fresh(s, &f, pause_ms, result);
}

static bool one_call(struct server *s, const char *policy, const char *session, const char *code, const char *expect, struct samples *result)
{
    unsigned long id = s->next_id++;
    const char *line;
    uint64_t began = now_ns();
    if (!ask(s, id, policy, session, code, result))
        return false;
    do {
        if (!(line = take_line(s, result)))
            return false;
    } while (id_of(line) != id);
    uint64_t took = now_ns() - began;
    if (!is_good(line, expect, result))
        return false;
    samples_add(result, took);
    return true;
}

bool server_call(struct server *s, char *const field[], struct samples *result)
{
    size_t count = strtoul(field[1], NULL, 10);
    uint64_t began = now_ns();
    for (size_t i = 0; i < count; i++)
        if (!one_call(s, field[0], field[2], field[3], field[4], result))
            return false;
    result->wall_ns = now_ns() - began;
    return true;
}

bool server_open(struct server *s, char *const field[], struct samples *result)
{
    char name[32];
    size_t count = strtoul(field[1], NULL, 10);
    uint64_t began = now_ns();
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "kept%lu", s->opened);
        if (!one_call(s, field[0], name, field[2], field[3], result))
            return false;
        s->opened++;
    }
    result->wall_ns = now_ns() - began;
    return true;
}

bool server_shut(struct server *s, struct samples *result)
{
    char name[32];
    uint64_t began = now_ns();
    size_t asked = s->opened;
    for (unsigned long i = 0; i < asked; i++) {
        snprintf(name, sizeof name, "kept%lu", i);
        if (!destroy(s, s->next_id++, name, result))
            return false;
        const char *line = take_line(s, result);
        if (!line)
            return false;
        if (!strstr(line, "\"destroyed\":true"))
            return samples_fail(result, "unexpected answer: %.300s", line);
    }
    s->opened = 0;
    result->wall_ns = now_ns() - began;
    return true;
}
