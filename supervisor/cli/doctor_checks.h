/* What `doctor` finds out. */
#ifndef SNIPARA_CLI_DOCTOR_CHECKS_H
#define SNIPARA_CLI_DOCTOR_CHECKS_H

#include "base/error.h"
#include "jail/host.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdbool.h>

struct doctor {
    struct host host;
    layer_set required;        /* by the default policy */
    bool policy_loaded;
    struct error policy_error;
    cJSON *policies;           /* as policy_list gives them, or NULL */
    bool pyhost_found;
    char pyhost[PATH_MAX];
    struct error pyhost_error;
    bool trial_ok;             /* a snippet ran */
    char python[64];           /* its version, "" when nothing ran */
    char trial[800];           /* how the trial ended, when not well */
    bool ok;
};

/* -1 only when the host cannot be probed at all. */
int doctor_check(struct doctor *ret, struct error *err);
void doctor_free(struct doctor *d);

static inline bool doctor_required(const struct doctor *d, enum layer l) { return (d->required & LAYER_BIT(l)) != 0; }

/* The document of --json; NULL when out of memory. */
cJSON *doctor_json(const struct doctor *d);
/* The table for people, on stdout. */
void doctor_print(const struct doctor *d);

#endif
