/* From a name to a policy: read, check, extend, believe or not. */
#include "policy/policy.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "policy/build.h"
#include "policy/document.h"
#include "policy/load.h"
#include "policy/search.h"
#include "policy/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEP "policy"
#define EXTENDS_MAX 8

/* A file of the chain of `extends`; `below` is the one that extends it. */
struct link {
    const struct link *below;
    const char *name;
    int depth;
};

void policy_source_free(struct policy_source *s) {
    free(s->path);
    cJSON_Delete(s->json);
}

const char *policy_origin_name(enum policy_origin origin) {
    static const char *const names[] = {"installed", "operator", "project", "project (trusted)"};
    return names[origin];
}

/* The name is the file's: what a list shows, a receipt names and a caller asks for is one word. */
static int check_name(const char *name, const char *path, struct error *err) {
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t length = strlen(base);
    if (length < 6 || strcmp(base + length - 5, ".json") != 0)
        return error_set(err, STEP, 0, "a policy file is called NAME.json");
    if (strlen(name) != length - 5 || strncmp(name, base, length - 5) != 0)
        return error_set(err, STEP, 0, "name: \"%s\" must be \"%.*s\", as the file is called", name, (int)(length - 5), base);
    return 0;
}

static int check_widen(const cJSON *json, struct error *err) {
    bool widen = false;
    const char *reason = json_get_string(json, "widen_reason");
    json_get_bool(json, "widen", &widen);
    if (widen && !json_get(json, "extends"))
        return error_set(err, STEP, 0, "widen: goes only with \"extends\"");
    if (widen && !(reason && *reason))
        return error_set(err, STEP, 0, "widen_reason: \"widen\": true needs a reason in words");
    if (!widen && reason)
        return error_set(err, STEP, 0, "widen_reason: is there without \"widen\": true");
    return 0;
}

int policy_source_read(struct policy_source *s, bool trusting, struct error *err) {
    cleanup_buf struct buf text = {0};
    if (search_read(s->path, s->origin, &text, err) < 0)
        return -1;
    s->json = document_parse(text.data ? text.data : "", text.len, err);
    if (!s->json || check_name(json_get_string(s->json, "name"), s->path, err) < 0 || check_widen(s->json, err) < 0)
        return error_wrap(err, "%s", s->path);
    digest_of(text.data ? text.data : "", text.len, s->digest);
    if (s->origin != POLICY_PROJECT)
        return 0;
    bool trusted = trusting;
    cleanup_free char *real = realpath(s->path, NULL);
    if (!trusted && real && trust_check(s->digest, real, &trusted, err) < 0)
        return -1;
    if (trusted)
        s->origin = POLICY_PROJECT_TRUSTED;
    return 0;
}

static int narrow_or_widen(const struct policy_source *s, const struct policy *parent, const struct policy *child, struct error *err) {
    bool widen = false, project = s->origin == POLICY_PROJECT;
    json_get_bool(s->json, "widen", &widen);
    if (widen && !project)
        return 0;
    if (widen)
        return error_set(err, STEP, 0, "%s: widen: a project's policy may only narrow; read it, then run 'snipara-sandbox policy trust %s'", s->path, s->path);
    if (policy_narrower(parent, child, project, err) == 0)
        return 0;
    char why[sizeof err->message];
    snprintf(why, sizeof why, "%s", err ? err->message : "");
    if (project)
        return error_set(err, STEP, 0, "%.160s: %.200s; \"%s\" does not allow that and a project's policy may only narrow it: take it out, or read "
                         "the file and run 'snipara-sandbox policy trust %.120s'", s->path, why, parent->name, s->path);
    return error_set(err, STEP, 0, "%.200s: %.240s; \"%s\" does not allow that and \"extends\" may only narrow: take it out, or say \"widen\": true "
                     "with a \"widen_reason\"", s->path, why, parent->name);
}

static int resolve(struct policy_source *s, const struct link *below, cJSON **ret_merged, struct policy **ret, struct error *err);

/* Load the parent that `s` names and lay `s` over it. */
static int resolve_parent(const struct policy_source *s, const struct link *self, const char *extends, cJSON **ret_merged, struct policy **ret, struct error *err) {
    cleanup_policy_source struct policy_source parent = {0};
    cleanup_json cJSON *base = NULL;
    /* what the operator installed must not rest on what a project brings */
    bool trusted_only = s->origin != POLICY_PROJECT && s->origin != POLICY_PROJECT_TRUSTED;
    if (search_policy(extends, trusted_only, &parent.path, &parent.origin, err) < 0)
        return error_wrap(err, "%s: extends", s->path);
    if (policy_source_read(&parent, false, err) < 0 || resolve(&parent, self, &base, ret, err) < 0)
        return -1;
    if (!(*ret_merged = document_merge(base, s->json)))
        return error_set(err, STEP, ENOMEM, "%s", s->path);
    return 0;
}

/* A list of denials must never be read as a list of permissions because the mode alone was changed. */
static int check_import_mode(const struct policy_source *s, const struct policy *parent, const struct policy *child, struct error *err) {
    if (parent->imports_allow_list == child->imports_allow_list || json_get(json_get(s->json, "imports"), "names"))
        return 0;
    return error_set(err, STEP, 0, "%s: imports.names: must be given where imports.mode differs from that of \"%s\"", s->path, parent->name);
}

static int check_chain(const struct link *self, struct error *err) {
    char chain[400] = "";
    bool cycle = false;
    for (const struct link *l = self; l; l = l->below) {
        char longer[sizeof chain];
        cycle = cycle || (l != self && !strcmp(l->name, self->name));
        snprintf(longer, sizeof longer, "%.64s%s%.320s", l->name, *chain ? " -> " : "", chain);
        memcpy(chain, longer, sizeof chain);
    }
    if (cycle)
        return error_set(err, STEP, 0, "extends runs in a circle: %s", chain);
    if (self->depth > EXTENDS_MAX)
        return error_set(err, STEP, 0, "extends is more than %d deep: %s", EXTENDS_MAX, chain);
    return 0;
}

static int resolve(struct policy_source *s, const struct link *below, cJSON **ret_merged, struct policy **ret, struct error *err) {
    const char *extends = json_get_string(s->json, "extends");
    struct link self = {below, json_get_string(s->json, "name"), below ? below->depth + 1 : 0};
    cleanup_policy struct policy *parent = NULL, *made = NULL;
    cleanup_json cJSON *merged = NULL;
    if (check_chain(&self, err) < 0)
        return -1;
    if (!extends && s->origin == POLICY_PROJECT)
        return error_set(err, STEP, 0, "%s: a project's policy must extend an installed one; add \"extends\": \"default\", or read it and run "
                         "'snipara-sandbox policy trust %s'", s->path, s->path);
    if (extends) {
        if (resolve_parent(s, &self, extends, &merged, &parent, err) < 0)
            return -1;
    } else {
        if (document_complete(s->json, err) < 0)
            return error_wrap(err, "%s", s->path);
        if (!(merged = cJSON_Duplicate(s->json, true)))
            return error_set(err, STEP, ENOMEM, "%s", s->path);
    }
    if (policy_build(merged, &made, err) < 0)
        return error_wrap(err, "%s", s->path);
    if (parent && (check_import_mode(s, parent, made, err) < 0 || narrow_or_widen(s, parent, made, err) < 0))
        return -1;
    made->origin = s->origin;
    if (!(made->path = strdup(s->path)))
        return error_set(err, STEP, ENOMEM, "%s", s->path);
    *ret_merged = steal_ptr(&merged);
    *ret = steal_ptr(&made);
    return 0;
}

static int load(struct policy_source *s, bool trusting, struct policy **ret, struct error *err) {
    cleanup_json cJSON *merged = NULL;
    if (policy_source_read(s, trusting, err) < 0)
        return -1;
    return resolve(s, NULL, &merged, ret, err);
}

int policy_load(const char *name, struct policy **ret, struct error *err) {
    cleanup_policy_source struct policy_source s = {0};
    if (search_policy(name, false, &s.path, &s.origin, err) < 0)
        return -1;
    return load(&s, false, ret, err);
}

int policy_load_file(const char *path, struct policy **ret, struct error *err) {
    cleanup_policy_source struct policy_source s = {0};
    if (search_origin(path, &s.path, &s.origin, err) < 0)
        return -1;
    return load(&s, false, ret, err);
}

int policy_trust(const char *path, struct error *err) {
    cleanup_policy_source struct policy_source s = {0};
    cleanup_policy struct policy *policy = NULL;
    if (search_origin(path, &s.path, &s.origin, err) < 0 || load(&s, true, &policy, err) < 0)
        return -1;
    return trust_record(s.digest, s.path, err);
}
