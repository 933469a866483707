/* The one error type of the project.
 *
 * A function that can fail returns a negative number and fills *err; every other return value leaves *err alone.
 * `step` names what was being done in the words of the documentation ("mount.proc", "seccomp.load"): it crosses process
 * boundaries and appears in receipts, so it is stable; `message` is for a person and names the remedy where there is one.
 * A NULL err is allowed everywhere: the caller then wants only the fact. Ownership: the struct is a plain value.
 */
#ifndef SNIPARA_BASE_ERROR_H
#define SNIPARA_BASE_ERROR_H

struct error {
    int code;          /* errno of the failing call, 0 when there is none (bad input) */
    char step[48];     /* stable name of the step */
    char message[720]; /* one line, no trailing newline */
};

/* Fill *err and return -1. `code` is an errno value or 0; its text is appended to the message when it is not 0. */
int error_set(struct error *err, const char *step, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Put "context: " in front of the message; step and code stay. Returns -1, so that `return error_wrap(...)` reads well. */
int error_wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
