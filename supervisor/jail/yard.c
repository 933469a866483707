#include "jail/jail.h"

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/mutant.h"
#include "base/wire.h"
#include "jail/maker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

int yard_open(struct yard *ret, struct error *err)
{
    struct yard y = {.user_namespace = -1};
    if (outer_namespace(&y.user_namespace, err) < 0)
        return -1;
    *ret = y;
    return 0;
}

int yard_find_cgroups(struct yard *y, struct error *err)
{
    if (y->has_looked)
        return 0;
    if (cgroup_host_probe(&y->cgroups, err) < 0)
        return -1;
    y->has_looked = true;
    cgroup_host_sweep(&y->cgroups);
    return 0;
}

void yard_close(struct yard *y)
{
    close_fd(&y->user_namespace);
    cgroup_host_free(&y->cgroups);
}

int jail_maker_start(struct yard *y, struct jail_maker *ret, struct error *err)
{
    static const char *const ARGV[] = {"snipara-sandbox", MAKER_ARGUMENT, NULL};
    const char *const env[] = {mutant_setting(), NULL};
    struct jail_maker m = {.process = {.pid = -1, .pidfd = -1, .control = -1}};
    cleanup_fd int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (self < 0)
        return error_set(err, "yard", errno, "our own program cannot be opened");
    struct outer_program program = {.program = self, .argv = ARGV, .env = env, .user_namespace = y->user_namespace};
    if (outer_start(&program, &m.process, err) < 0)
        return -1;
    if (fcntl(m.process.control, F_SETFL, O_NONBLOCK) < 0) {
        outer_stop(&m.process);
        return error_set(err, "yard", errno, "the maker's socket cannot be made non-blocking");
    }
    *ret = m;
    return 0;
}

int jail_maker_plan(struct jail_maker *m, const struct jail_plan *plan, struct error *err)
{
    cleanup_buf struct buf request = {0};
    size_t start;
    if (wire_begin(&request, MAKER_PLAN, 0, &start) < 0 || jail_plan_put(plan, &request) < 0)
        return error_set(err, "jail", errno, "the plan cannot be written");
    wire_end(&request, start);
    if (fdpass_send(m->process.control, request.data, request.len, NULL, 0, err) < 0)
        return error_wrap(err, "the jail maker cannot be asked");
    return 0;
}

void jail_maker_stop(struct jail_maker *m)
{
    outer_stop(&m->process);
    m->ready = false;
}

bool jail_maker_ended(const struct jail_maker *m)
{
    struct pollfd p = {.fd = m->process.pidfd, .events = POLLIN};
    return m->process.pid <= 0 || poll(&p, 1, 0) != 0;
}

static int take_made(const struct wire_frame *frame, struct maker_word *ret, struct error *err)
{
    struct wire_cursor c = wire_fields(frame);
    struct wire_field f;
    int64_t pid = 0;
    while (wire_field_next(&c, &f) > 0) {
        if (f.tag == MAKER_PID)
            wire_i64(&f, &pid);
        if (f.tag == MAKER_CLONE_US)
            wire_u64(&f, &ret->clone_us);
    }
    if (pid <= 0)
        return error_set(err, "jail", 0, "the jail maker's answer is malformed");
    ret->made = true;
    ret->init = (pid_t)pid;
    return 1;
}

int jail_maker_hear(struct jail_maker *m, struct maker_word *ret, struct error *err)
{
    char message[2048];
    struct wire_frame frame;
    size_t count = 0, used;
    ssize_t n = fdpass_recv(m->process.control, message, sizeof message, NULL, 0, &count, err);
    if (n < 0 && err->code == EAGAIN)
        return 0;
    if (n < 0)
        return error_wrap(err, "the jail maker");
    if (n == 0)
        return error_set(err, "jail.maker", 0, "the jail maker ended without an answer");
    if (wire_next(message, (size_t)n, sizeof message, &frame, &used, err) != 1)
        return error_wrap(err, "the jail maker");
    memset(ret, 0, sizeof *ret);
    ret->request = frame.nonce;
    switch (frame.type) {
    case MAKER_READY:
        m->ready = true;
        return 0;
    case MAKER_MADE:
        return take_made(&frame, ret, err);
    case MAKER_FAILED:
        wire_take_error(&frame, MAKER_STEP, "maker", &ret->failure);
        if (frame.nonce == 0) { /* the plan: no jail will come of it */
            *err = ret->failure;
            return -1;
        }
        return 1;
    default:
        return error_set(err, "jail.maker", 0, "the jail maker's answer is not understood");
    }
}
