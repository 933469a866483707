#include "backend/native.h"

#include "backend/claims.h"
#include "backend/nursery.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mutant.h"
#include "jail/host.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Without a cgroup: the payload's own accounts, in ticks, children that it waited for included (proc_pid_stat(5)). */
static bool process_times(pid_t pid, double *ret_user_ms, double *ret_system_ms)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    cleanup_file FILE *f = fopen(path, "re");
    if (!f || !fgets(text, sizeof text, f))
        return false;
    char *after_name = strrchr(text, ')');
    unsigned long user, system, child_user, child_system;
    if (!after_name || sscanf(after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &user, &system, &child_user, &child_system) != 4)
        return false;
    double tick = 1000.0 / (double)sysconf(_SC_CLK_TCK);
    *ret_user_ms = (double)(user + child_user) * tick;
    *ret_system_ms = (double)(system + child_system) * tick;
    return true;
}

static double process_peak(pid_t pid)
{
    char path[64], line[256];
    unsigned long kb;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    cleanup_file FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lu kB", &kb) == 1)
            return (double)kb * 1024;
    return RECEIPT_NO_METRIC;
}

static void usage_now(const struct backend_place *p, unsigned what, struct cgroup_usage *ret)
{
    cgroup_usage(&p->jail.cgroup, what, ret);
    if (ret->cpu_user_ms < 0)
        process_times(p->payload, &ret->cpu_user_ms, &ret->cpu_system_ms);
}

void native_facts_begin(struct backend_place *p)
{
    struct denials ignored;
    cgroup_reset_peak(&p->jail.cgroup);
    usage_now(p, CGROUP_CPU | CGROUP_KILLS, &p->usage_before);
    if (mutant(35))
        p->usage_before.oom_kills = 0;
    denials_since(p->jail.denials, &p->jail.seen, &ignored); /* what background threads were denied between calls is nobody's */
}

static void add_denials(struct backend_place *p)
{
    struct denials now;
    if (!p->jail.denials)
        return;
    denials_since(p->jail.denials, &p->jail.seen, &now);
    for (int i = 0; i < DENIALS_KINDS; i++) {
        if (now.kinds[i].count == 0)
            continue;
        char text[96];
        char *name = seccomp_call_name((int)now.kinds[i].number);
        denials_text(&now.kinds[i], name, text, sizeof text);
        receipt_add_denied(&p->receipt, "seccomp", text, now.kinds[i].count);
        free(name);
    }
    p->receipt.denied_more += now.more;
}

static void missing(const struct native *n, const struct plant *plant, layer_set there, struct receipt *r)
{
    layer_set lacking = (plant->required | plant->optional) & ~there;
    for (int l = 0; l < LAYER_COUNT; l++) {
        if (!(lacking & LAYER_BIT(l)))
            continue;
        const char *cgroup = cgroup_host_reason(&n->yard.cgroups, (enum layer)l);
        const char *reason = cgroup ? cgroup
                           : l == LAYER_DISTINCT_UID ? "only one host id could be mapped, our own"
                           : "this host does not give it";
        receipt_add_missing(r, layer_name((enum layer)l), reason, host_remedy((enum layer)l));
    }
}

static void describe(struct backend_place *p)
{
    struct receipt *r = &p->receipt;
    const struct policy_limits *limits = &p->nursery->plant->policy->limits;
    const char *text;
    r->backend = "native";
    r->rung = host_rung(p->layers, &text);
    for (int l = 0; l < LAYER_COUNT; l++)
        if (p->layers & LAYER_BIT(l))
            receipt_add_layer(r, layer_name((enum layer)l));
    missing(p->native, p->nursery->plant, p->layers, r);
    r->cpus = limits->cpus;
    r->memory_bytes = p->memory_bytes;
    r->pids = limits->pids;
    r->disk_bytes = p->nursery->plant->disk_bytes;
    r->output_bytes = limits->output_bytes;
    memcpy(r->digest_policy, p->nursery->plant->policy->digest, sizeof r->digest_policy);
}

/* Told once, in the receipt of the call that waited for it. */
static void add_setup(struct backend_place *p)
{
    struct receipt *r = &p->receipt;
    r->setup_ms = 0;
    if (!p->asked)
        return;
    const struct jail_times *jail = &p->jail.times;
    r->setup_ms = p->ready_at > p->asked ? clock_ms(p->ready_at - p->asked) : 0;
    r->setup = (struct receipt_setup){
        .present = true, .spare = p->was_spare, .cgroup_us = jail->cgroup, .clone_us = jail->clone, .maps_us = jail->maps,
        .mounts_us = jail->mounts, .init_seal_us = jail->init_seal, .fork_us = p->times.fork, .join_us = p->times.join,
        .seal_us = p->times.seal, .inspect_us = p->times.inspect, .total_us = (p->ready_at - p->begun) / 1000};
    p->asked = 0;
}

void native_facts_end(struct backend_place *p)
{
    struct receipt *r = &p->receipt;
    struct cgroup_usage now;
    usage_now(p, CGROUP_CPU | CGROUP_PEAKS, &now);
    describe(p);
    add_denials(p);
    r->wall_ms = clock_ms(clock_now() - p->started);
    add_setup(p);
    if (now.cpu_user_ms >= 0 && p->usage_before.cpu_user_ms >= 0) {
        r->cpu_user_ms = now.cpu_user_ms - p->usage_before.cpu_user_ms;
        r->cpu_system_ms = now.cpu_system_ms - p->usage_before.cpu_system_ms;
    } else {
        receipt_add_missing(r, "metrics.cpu", "no cpuacct cgroup, and the process is gone", NULL);
    }
    if (now.memory_peak >= 0) {
        r->memory_peak_bytes = now.memory_peak;
        r->memory_counts = "cgroup";
    } else if ((r->memory_peak_bytes = process_peak(p->payload)) >= 0) {
        r->memory_counts = "payload";
    } else {
        receipt_add_missing(r, "metrics.memory_peak_bytes", "no memory cgroup, and the process is gone", host_remedy(LAYER_CGROUP_MEMORY));
    }
    r->pids_peak = now.pids_peak;
    if (now.pids_peak < 0)
        receipt_add_missing(r, "metrics.pids_peak", "this kernel's pids controller has no peak", NULL);
}

/* The interpreter is gone: why, from the kernel's mouth. Our own reason for killing comes first, then the OOM killer, then the wait
 * status. Called before native_facts_end. */
void native_facts_of_death(struct backend_place *p)
{
    struct receipt *r = &p->receipt;
    struct cgroup_usage now;
    char text[240];
    cgroup_usage(&p->jail.cgroup, CGROUP_KILLS, &now);
    int signal_number = p->exited && WIFSIGNALED(p->exit_status) ? WTERMSIG(p->exit_status) : 0;
    /* Of the payload itself: a child that the OOM killer took does not make the interpreter's own exit one. */
    bool oom = now.oom_kills > p->usage_before.oom_kills && (signal_number == SIGKILL || !p->exited);
    const char *type = "Crashed";
    if (mutant(18)) {
        oom = false;
        signal_number = 0;
    }
    claims_drop(r);
    if (p->end == END_TIMEOUT) {
        r->status = RECEIPT_TIMEOUT;
        r->limit_hit = "timeout";
        type = "Timeout";
        snprintf(text, sizeof text, "the call ran longer than its limit of %g s and was killed", r->timeout_seconds);
    } else if (p->end == END_CANCEL || p->end == END_CLOSE) {
        r->status = RECEIPT_CANCELLED;
        type = "Cancelled";
        snprintf(text, sizeof text, "the call was cancelled by the caller");
    } else if (oom) {
        r->status = RECEIPT_OUT_OF_MEMORY;
        r->limit_hit = "memory";
        type = "OutOfMemory";
        snprintf(text, sizeof text, "the call used more than its %llu MiB of memory and was killed by the kernel", (unsigned long long)(p->memory_bytes >> 20));
    } else {
        r->status = RECEIPT_CRASHED;
        if (p->exited && WIFEXITED(p->exit_status) && !mutant(18)) {
            r->has_exit_code = true;
            r->exit_code = WEXITSTATUS(p->exit_status);
            snprintf(text, sizeof text, "the interpreter ended with exit status %d in the middle of the call", WEXITSTATUS(p->exit_status));
        } else if (signal_number == SIGKILL && p->end == END_BROKEN && p->broken[0]) {
            snprintf(text, sizeof text, "%s", p->broken);
        } else if (signal_number) {
            r->signal = signal_number;
            snprintf(text, sizeof text, "the interpreter was ended by signal %d (%s)", signal_number, strsignal(signal_number));
        } else {
            snprintf(text, sizeof text, "the interpreter is gone");
        }
    }
    r->error_type = strdup(type);
    r->error_message = strdup(text);
    r->session_lost = true;
}
