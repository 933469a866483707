/* The bench's client: small, so that what it measures is the other side. It reads commands from bench.py on stdin, one a line, fields
 * parted by tabs, and answers each with one line of JSON. Its own CPU time stands in every answer.
 *
 *   server ARG...            start a program that speaks MCP on stdio, and initialize it
 *   fresh POLICY COUNT SKIP PAUSE_MS CLIENTS CODE EXPECT
 *                            COUNT calls, each in a session of its own that is destroyed after its answer, CLIENTS of them at a time;
 *                            SKIP more are made before and not counted; a pause comes after each call and its goodbye
 *   call POLICY COUNT SESSION CODE EXPECT
 *                            COUNT calls of one session
 *   open POLICY COUNT CODE EXPECT
 *                            COUNT sessions, one after the other, that stay
 *   shut                     destroy all that `open` opened
 *   spawn COUNT EXPECT ARG...
 *                            start a program, read its output to the end, reap it; COUNT times
 *   quit                     close the server's input and reap it
 *
 * CODE is written into a JSON string as it is: no quotes, backslashes or tabs. EXPECT is what it prints, without the newline.
 */
#ifndef SNIPARA_BENCH_H
#define SNIPARA_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a command found: times in nanoseconds, and the first thing that went wrong. */
struct samples {
    uint64_t *at;
    size_t count, room;
    uint64_t wall_ns;      /* of the counted part of the command */
    bool has_answer;       /* the server's last answer is this command's own */
    char problem[400];     /* "": none */
};

struct server {
    pid_t pid;
    int in, out;           /* our ends of its stdin and stdout */
    char *line;            /* bytes read and not yet taken */
    size_t length, room, taken;
    unsigned long next_id;
    unsigned long opened;  /* sessions that `open` left */
};

uint64_t now_ns(void);
void samples_add(struct samples *s, uint64_t ns);
bool samples_fail(struct samples *s, const char *format, ...) __attribute__((format(printf, 2, 3))); /* always false */

/* client_server.c: MCP, as raw lines */
bool server_start(struct server *s, char *const argv[], struct samples *result);
void server_stop(struct server *s);
bool server_fresh(struct server *s, char *const field[], struct samples *result);
bool server_call(struct server *s, char *const field[], struct samples *result);
bool server_open(struct server *s, char *const field[], struct samples *result);
bool server_shut(struct server *s, struct samples *result);
/* The last answer's line, NUL-terminated, or NULL; valid until the next command. */
const char *server_last(const struct server *s);

/* client_spawn.c: other programs */
bool spawn_piped(char *const argv[], int *ret_in, int *ret_out, pid_t *ret_pid, struct samples *result);
bool spawn_times(size_t count, const char *expect, char *const argv[], struct samples *result);

#endif
