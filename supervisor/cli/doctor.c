/* doctor: what this host can build. */
#include "cli/commands.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/doctor_checks.h"
#include "cli/usage.h"

#include <stdio.h>

int cli_doctor(int argc, char **argv)
{
    static struct doctor d; /* large, and one per process */
    struct error err = {0};
    bool json = false;
    int code;
    if (!usage_json_only("doctor", argc, argv, &json, &code))
        return code;
    if (doctor_check(&d, &err) < 0) {
        fprintf(stderr, "snipara-sandbox doctor: this host cannot be probed: %s\n", err.message);
        return 1;
    }
    code = d.ok ? 0 : 1;
    if (json) {
        cleanup_json cJSON *document = doctor_json(&d);
        cleanup_free char *text = document ? json_print_pretty(document) : NULL;
        if (!text || puts(text) < 0)
            code = 1;
    } else {
        doctor_print(&d);
    }
    doctor_free(&d);
    return fflush(stdout) == 0 ? code : 1;
}
