/* exec: one call in a session that is thrown away. */
#include "cli/commands.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/exec_artifacts.h"
#include "cli/exec_options.h"
#include "cli/exec_output.h"
#include "cli/exec_report.h"
#include "cli/usage.h"
#include "receipt/receipt.h"
#include "receipt/refusal.h"
#include "session/session.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define EXIT_PIPE (128 + SIGPIPE) /* as programs end that the reader of `| head` leaves */

struct exec {
    uv_loop_t loop;
    uv_signal_t signals[4];
    uv_timer_t soon;
    const struct exec_options *options;
    struct session_call *call;
    struct exec_stream out, err;
    int signal;      /* that asked us to end, 0: none */
    bool pipe_gone;  /* nobody reads stdout */
    bool done;
    int exit_code;
};

static void stop_call(struct exec *e)
{
    struct session_call *call = e->call;
    e->call = NULL;
    if (call)
        session_cancel(call);
    uv_stop(&e->loop); /* the waits below look again at what has changed */
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct exec *e = handle->data;
    if (number == SIGPIPE)
        return; /* write(2) says EPIPE */
    if (e->signal == 0)
        e->signal = number;
    stop_call(e);
}

static void on_soon(uv_timer_t *timer)
{
    stop_call(timer->data);
}

/* Comes in the middle of the session's output, where a call should not be cancelled: the next turn of the loop does it. */
static void on_stdout_gone(void *context, int code)
{
    struct exec *e = context;
    (void)code;
    e->pipe_gone = true;
    uv_timer_start(&e->soon, on_soon, 0, 0);
}

static void on_output(void *context, int stream, const char *data, size_t length)
{
    struct exec *e = context;
    if (!e->options->json)
        exec_stream_guest(stream == SESSION_STDOUT ? &e->out : &e->err, data, length);
}

static void print_json(struct exec *e, const cJSON *document)
{
    cleanup_free char *text = !document ? NULL : e->out.terminal ? json_print_pretty(document) : json_print(document);
    if (!text) {
        exec_stream_words(&e->err, "snipara-sandbox exec: out of memory for the receipt\n");
        e->exit_code = 1;
        return;
    }
    /* Through the guest's way: JSON may hold U+0080 to U+009F as they are, and on a terminal they are orders. */
    exec_stream_guest(&e->out, text, strlen(text));
    exec_stream_words(&e->out, "\n");
}

static void on_done(void *context, const struct receipt *r, cJSON **document)
{
    struct exec *e = context;
    e->call = NULL;
    e->done = true;
    e->exit_code = receipt_exit_code(r);
    if (e->options->json)
        print_json(e, *document);
    else
        exec_report(r, e->options->output_dir_fd >= 0, &e->out, &e->err);
    if (exec_artifacts_write(r, e->options->output_dir_fd, e->options->output_dir, &e->err) < 0 && e->exit_code == 0)
        e->exit_code = 1;
    uv_stop(&e->loop);
}

/* SIGPIPE gets a handler rather than SIG_IGN: an ignored signal would be inherited across exec by the interpreters. */
static void watch_signals(struct exec *e)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uv_signal_init(&e->loop, &e->signals[i]);
        e->signals[i].data = e;
        uv_signal_start(&e->signals[i], on_signal, numbers[i]);
        uv_unref((uv_handle_t *)&e->signals[i]);
    }
}

static void refuse(struct exec *e, const struct error *why)
{
    struct receipt r;
    const struct exec_options *o = e->options;
    if (receipt_of_refusal(&r, "exec", o->policy, o->source.data, o->source.len, why) < 0) {
        e->exit_code = usage_error("exec", "%s", why->message);
    } else {
        cleanup_json cJSON *document = receipt_json(&r);
        on_done(e, &r, &document);
    }
    receipt_free(&r);
}

static void run_call(struct exec *e, struct sessions *sessions)
{
    const struct exec_options *o = e->options;
    struct error err = {0};
    const struct session_request request = {
        .session_id = "exec", .policy = o->policy, .code = o->source.data, .code_length = o->source.len, .filename = o->filename,
        .timeout_seconds = o->timeout_seconds, .memory_bytes = o->memory_bytes, .files = o->file_count ? o->files : NULL,
        .file_count = o->file_count, .keep_artifacts = o->output_dir_fd >= 0};
    const struct session_observer observer = {.output = on_output, .done = on_done, .context = e};
    if (session_call(sessions, &request, &observer, &e->call, &err) < 0) {
        e->call = NULL;
        e->exit_code = usage_error("exec", "%s", err.message);
        return;
    }
    while (!e->done && uv_run(&e->loop, UV_RUN_DEFAULT) != 0)
        continue;
}

/* A slow reader gets the rest as long as nobody asks us to end. */
static void drain(struct exec *e)
{
    while (e->signal == 0 && !e->pipe_gone && outlet_queued(e->out.outlet) + outlet_queued(e->err.outlet) > 0)
        uv_run(&e->loop, UV_RUN_ONCE);
}

static void run(struct exec *e)
{
    struct sessions *sessions = NULL;
    struct error err = {0};
    if (sessions_new(&e->loop, &sessions, &err) < 0) {
        refuse(e, &err);
    } else {
        run_call(e, sessions);
        sessions_free(sessions);
    }
    drain(e);
    if (e->signal != 0)
        e->exit_code = 128 + e->signal;
    else if (e->pipe_gone)
        e->exit_code = EXIT_PIPE;
}

int cli_exec(int argc, char **argv)
{
    static struct exec_options options; /* large, and one per process */
    struct exec e = {.options = &options, .exit_code = 1};
    struct error err = {0};
    int code;
    if (!exec_options_read(argc, argv, &options, &code)) {
        exec_options_free(&options);
        return code;
    }
    uv_loop_init(&e.loop);
    watch_signals(&e);
    uv_timer_init(&e.loop, &e.soon);
    e.soon.data = &e;
    const struct outlet_events out_events = {.gone = on_stdout_gone, .context = &e}, err_events = {0};
    if (exec_stream_open(&e.out, &e.loop, STDOUT_FILENO, &out_events, &err) < 0 ||
        exec_stream_open(&e.err, &e.loop, STDERR_FILENO, &err_events, &err) < 0)
        e.exit_code = usage_error("exec", "%s", err.message);
    else
        run(&e);
    exec_stream_close(&e.out);
    exec_stream_close(&e.err);
    for (size_t i = 0; i < sizeof e.signals / sizeof *e.signals; i++)
        uv_close((uv_handle_t *)&e.signals[i], NULL);
    uv_close((uv_handle_t *)&e.soon, NULL);
    for (int i = 0; i < 8 && uv_run(&e.loop, UV_RUN_NOWAIT) != 0; i++)
        continue;
    uv_loop_close(&e.loop);
    exec_options_free(&options);
    return e.exit_code;
}
