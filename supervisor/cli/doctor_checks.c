/* The checks of doctor: the host, the default policy, the interpreter, and one snippet through all of it. */
#include "cli/doctor_checks.h"

#include "backend/pyhost_path.h"
#include "policy/policy.h"
#include "session/session.h"

#include <stdio.h>
#include <string.h>
#include <uv.h>

#define TRIAL_SECONDS 20.0

static void check_policies(struct doctor *d)
{
    cleanup_policy struct policy *policy = NULL;
    policy_list(&d->policies, NULL);
    if (policy_load("default", &policy, &d->policy_error) < 0)
        return;
    d->policy_loaded = true;
    for (size_t i = 0; i < policy->layers_required.count; i++) {
        int layer = layer_by_name(policy->layers_required.items[i]);
        if (layer >= 0)
            d->required |= LAYER_BIT(layer);
    }
}

struct trial {
    struct doctor *doctor;
    uv_loop_t loop;
    bool done;
};

static void on_done(void *context, const struct receipt *r, cJSON **document)
{
    (void)document;
    struct trial *t = context;
    struct doctor *d = t->doctor;
    t->done = true;
    d->trial_ok = r->status == RECEIPT_OK;
    if (d->trial_ok && cJSON_IsString(r->value_json))
        snprintf(d->python, sizeof d->python, "%s", r->value_json->valuestring);
    if (!d->trial_ok)
        snprintf(d->trial, sizeof d->trial, "%s: %s", receipt_status_name(r->status), r->error_message ? r->error_message : "no message");
    uv_stop(&t->loop);
}

/* The only proof that the parts work together is to use them. */
static void check_trial(struct doctor *d)
{
    static const char code[] = "import sys\nsys.version.split()[0]";
    struct trial t = {.doctor = d};
    struct sessions *sessions = NULL;
    struct session_call *call;
    struct error err = {0};
    const struct session_request request = {
        .session_id = "doctor", .code = code, .code_length = sizeof code - 1, .timeout_seconds = TRIAL_SECONDS};
    const struct session_observer observer = {.done = on_done, .context = &t};
    uv_loop_init(&t.loop);
    if (sessions_new(&t.loop, &sessions, &err) == 0) {
        if (session_call(sessions, &request, &observer, &call, &err) == 0)
            while (!t.done && uv_run(&t.loop, UV_RUN_DEFAULT) != 0)
                continue;
        sessions_free(sessions);
    }
    if (!t.done)
        snprintf(d->trial, sizeof d->trial, "%s", *err.message ? err.message : "the call was not answered");
    for (int i = 0; i < 8 && uv_run(&t.loop, UV_RUN_NOWAIT) != 0; i++)
        continue;
    uv_loop_close(&t.loop);
}

int doctor_check(struct doctor *ret, struct error *err)
{
    memset(ret, 0, sizeof *ret);
    if (host_probe(&ret->host, err) < 0)
        return -1;
    check_policies(ret);
    ret->pyhost_found = pyhost_path(ret->pyhost, sizeof ret->pyhost, &ret->pyhost_error) == 0;
    check_trial(ret);
    ret->ok = ret->policy_loaded && ret->pyhost_found && ret->trial_ok && (ret->required & ~ret->host.there) == 0;
    return 0;
}

void doctor_free(struct doctor *d)
{
    cJSON_Delete(d->policies);
    d->policies = NULL;
}
