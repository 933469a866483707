/* Commands from bench.py (bench.h lists them), one line of JSON for each. */
#include "bench.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define FIELDS_MAX 64

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void samples_add(struct samples *s, uint64_t ns)
{
    if (s->count == s->room) {
        s->room = s->room ? s->room * 2 : 1024;
        if (!(s->at = realloc(s->at, s->room * sizeof *s->at)))
            abort();
    }
    s->at[s->count++] = ns;
}

bool samples_fail(struct samples *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!*s->problem)
        vsnprintf(s->problem, sizeof s->problem, format, arguments);
    va_end(arguments);
    return false;
}

static uint64_t own_cpu_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u + (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void print_text(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == '"' || *c == '\\' || *c >= 0x7f)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    putchar('"');
}

static void print_result(const struct samples *s, const struct server *server, uint64_t cpu_us)
{
    printf("{\"ns\":[");
    for (size_t i = 0; i < s->count; i++)
        printf("%s%" PRIu64, i ? "," : "", s->at[i]);
    printf("],\"wall_ns\":%" PRIu64 ",\"client_cpu_us\":%" PRIu64 ",\"server\":%d", s->wall_ns, cpu_us, (int)server->pid);
    if (*s->problem) {
        printf(",\"problem\":");
        print_text(s->problem);
    } else if (s->has_answer && server_last(server)) {
        printf(",\"last\":%s", server_last(server));
    }
    puts("}");
    fflush(stdout);
}

/* Fields of a command after its name; NULL-terminated. */
static size_t split(char *line, char *field[FIELDS_MAX + 1])
{
    size_t n = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at && n < FIELDS_MAX; n++) {
        char *tab = strchr(at, '\t');
        if (tab)
            *tab++ = '\0';
        field[n] = at;
        at = tab;
    }
    field[n] = NULL;
    return n;
}

static bool run(struct server *server, char *const field[], size_t n, struct samples *result)
{
    const char *name = field[0];
    bool is_calling = strcmp(name, "fresh") == 0 || strcmp(name, "call") == 0 || strcmp(name, "open") == 0 || strcmp(name, "shut") == 0;
    if (is_calling && server->pid <= 0)
        return samples_fail(result, "%s: no server", name);
    result->has_answer = strcmp(name, "call") == 0 || strcmp(name, "open") == 0;
    if (strcmp(name, "server") == 0 && n >= 2)
        return server_start(server, field + 1, result);
    if (strcmp(name, "fresh") == 0 && n == 8)
        return server_fresh(server, field + 1, result);
    if (strcmp(name, "call") == 0 && n == 6)
        return server_call(server, field + 1, result);
    if (strcmp(name, "open") == 0 && n == 5)
        return server_open(server, field + 1, result);
    if (strcmp(name, "shut") == 0 && n == 1)
        return server_shut(server, result);
    if (strcmp(name, "spawn") == 0 && n >= 4)
        return spawn_times(strtoul(field[1], NULL, 10), field[2], field + 3, result);
    if (strcmp(name, "quit") == 0 && n == 1)
        return server_stop(server), true;
    return samples_fail(result, "no such command, or a wrong number of fields: %s", name);
}

int main(void)
{
    struct server server = {0};
    struct samples result = {0};
    char *line = NULL, *field[FIELDS_MAX + 1];
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        size_t n = split(line, field);
        uint64_t cpu = own_cpu_us();
        result.count = result.wall_ns = 0;
        *result.problem = '\0';
        run(&server, field, n, &result);
        print_result(&result, &server, own_cpu_us() - cpu);
    }
    server_stop(&server);
    free(server.line);
    free(result.at);
    free(line);
    return 0;
}
