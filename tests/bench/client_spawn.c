/* Start a program, read what it prints, reap it: what a caller of bwrap, runc or `exec` has to do for one snippet. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ret_in NULL: stdin is /dev/null. All our ends are close-on-exec, so that no child holds another's pipe open. */
bool spawn_piped(char *const argv[], int *ret_in, int *ret_out, pid_t *ret_pid, struct samples *result)
{
    int in[2] = {-1, -1}, out[2];
    if ((ret_in && pipe2(in, O_CLOEXEC) < 0) || pipe2(out, O_CLOEXEC) < 0)
        return samples_fail(result, "pipe2: %s", strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (ret_in)
        posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    int failed = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    if (ret_in)
        close(in[0]);
    if (failed) {
        close(out[0]);
        if (ret_in)
            close(in[1]);
        return samples_fail(result, "%s: %s", argv[0], strerror(failed));
    }
    *ret_out = out[0];
    if (ret_in)
        *ret_in = in[1];
    return true;
}

static bool once(const char *expect, char *const argv[], struct samples *result)
{
    char text[4096];
    size_t length = 0;
    ssize_t n;
    int out, status;
    pid_t pid;
    uint64_t began = now_ns();
    if (!spawn_piped(argv, NULL, &out, &pid, result))
        return false;
    while ((n = read(out, text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)n;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    samples_add(result, now_ns() - began);
    close(out);
    text[length] = '\0';
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return samples_fail(result, "%s: wait status 0x%x", argv[0], (unsigned)status);
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    return strcmp(text, expect) == 0 || samples_fail(result, "%s printed '%.100s', not '%s'", argv[0], text, expect);
}

bool spawn_times(size_t count, const char *expect, char *const argv[], struct samples *result)
{
    uint64_t began = now_ns();
    for (size_t i = 0; i < count; i++)
        if (!once(expect, argv, result))
            return false;
    result->wall_ns = now_ns() - began;
    return true;
}
