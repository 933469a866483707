/* What doctor found, as a table and as JSON. */
#include "cli/doctor_checks.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

static const char *cgroup_name(enum cgroup_kind kind)
{
    static const char *const names[] = {"none", "v1", "v2", "hybrid"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "none";
}

static bool add_layers(cJSON *document, const struct doctor *d)
{
    cJSON *list = cJSON_AddArrayToObject(document, "layers");
    for (int l = 0; l < LAYER_COUNT; l++) {
        const struct host_layer *row = &d->host.layers[l];
        cJSON *entry = cJSON_CreateObject();
        if (!cJSON_AddItemToArray(list, entry))
            return false;
        cJSON_AddStringToObject(entry, "layer", layer_name(row->layer));
        cJSON_AddBoolToObject(entry, "there", row->there);
        cJSON_AddBoolToObject(entry, "required", doctor_required(d, row->layer));
        cJSON_AddItemToObject(entry, "evidence", json_text(row->evidence, strlen(row->evidence)));
        cJSON_AddItemToObject(entry, "remedy", *row->remedy ? json_text(row->remedy, strlen(row->remedy)) : cJSON_CreateNull());
    }
    return true;
}

static void add_parts(cJSON *document, const struct doctor *d)
{
    cJSON *notes = cJSON_AddArrayToObject(document, "notes");
    for (int i = 0; i < d->host.note_count; i++)
        cJSON_AddItemToArray(notes, json_text(d->host.notes[i], strlen(d->host.notes[i])));
    cJSON *pyhost = cJSON_AddObjectToObject(document, "pyhost");
    cJSON_AddItemToObject(pyhost, "path", d->pyhost_found ? json_text(d->pyhost, strlen(d->pyhost)) : cJSON_CreateNull());
    cJSON_AddItemToObject(pyhost, "python", *d->python ? json_text(d->python, strlen(d->python)) : cJSON_CreateNull());
    if (!d->pyhost_found)
        cJSON_AddItemToObject(pyhost, "error", json_text(d->pyhost_error.message, strlen(d->pyhost_error.message)));
    cJSON_AddItemToObject(document, "policies", d->policies ? cJSON_Duplicate(d->policies, true) : cJSON_CreateArray());
    cJSON *trial = cJSON_AddObjectToObject(document, "trial");
    cJSON_AddBoolToObject(trial, "ok", d->trial_ok);
    cJSON_AddItemToObject(trial, "error", d->trial_ok ? cJSON_CreateNull() : json_text(d->trial, strlen(d->trial)));
}

cJSON *doctor_json(const struct doctor *d)
{
    cJSON *document = cJSON_CreateObject();
    cJSON_AddBoolToObject(document, "ok", d->ok);
    cJSON_AddStringToObject(document, "rung", d->host.rung);
    cJSON_AddStringToObject(document, "rung_text", d->host.rung_text);
    cJSON_AddStringToObject(document, "kernel", d->host.kernel);
    cJSON_AddStringToObject(document, "cgroup", cgroup_name(d->host.cgroup));
    cJSON_AddNumberToObject(document, "landlock_abi", d->host.landlock_abi);
    if (!document || !add_layers(document, d)) {
        cJSON_Delete(document);
        return NULL;
    }
    add_parts(document, d);
    return document;
}

static void print_layers(const struct doctor *d)
{
    for (int l = 0; l < LAYER_COUNT; l++) {
        const struct host_layer *row = &d->host.layers[l];
        bool lacking = !row->there && doctor_required(d, row->layer);
        printf("  %-20s %-8s %s\n", layer_name(row->layer), row->there ? "yes" : lacking ? "MISSING" : "no", row->evidence);
        if (!row->there && *row->remedy)
            printf("  %-20s %-8s remedy: %s\n", "", "", row->remedy);
    }
}

static void print_policies(const struct doctor *d)
{
    const cJSON *entry;
    bool first = true;
    printf("policies: ");
    cJSON_ArrayForEach(entry, d->policies) {
        const char *name = json_get_string(entry, "name"), *error = json_get_string(entry, "error");
        printf("%s%s%s", first ? "" : ", ", name ? name : "?", error ? " (cannot be read)" : "");
        first = false;
    }
    printf("%s\n", first ? "none found" : "");
    if (!d->policy_loaded)
        printf("  the default policy cannot be loaded: %s\n", d->policy_error.message);
}

void doctor_print(const struct doctor *d)
{
    printf("host: %s, rung %s (%s), cgroup %s, Landlock ABI %d\n\nwalls (MISSING: the default policy requires it):\n",
           d->host.kernel, d->host.rung, d->host.rung_text, cgroup_name(d->host.cgroup), d->host.landlock_abi);
    print_layers(d);
    printf("\n");
    for (int i = 0; i < d->host.note_count; i++)
        printf("note: %s\n", d->host.notes[i]);
    print_policies(d);
    if (d->pyhost_found)
        printf("interpreter: %s%s%s\n", d->pyhost, *d->python ? ", Python " : "", d->python);
    else
        printf("interpreter: %s\n", d->pyhost_error.message);
    if (d->trial_ok)
        printf("trial: a snippet ran in a jail\n");
    else
        printf("trial: no snippet could run: %s\n", d->trial);
    printf("%s\n", d->ok ? "result: ok" : "result: code cannot run under the default policy until this is mended");
}
