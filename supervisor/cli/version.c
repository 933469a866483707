/* version: what this program is made of. */
#include "cli/commands.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/mutant.h"
#include "cli/usage.h"
#include "config.h"

#include <netlink/version.h>
#include <seccomp.h>
#include <nettle/version.h>
#include <sodium.h>
#include <stdio.h>
#include <uv.h>

static void seccomp_text(char *text, size_t size)
{
    const struct scmp_version *v = seccomp_version();
    snprintf(text, size, "%u.%u.%u", v ? v->major : 0, v ? v->minor : 0, v ? v->micro : 0);
}

int cli_version(int argc, char **argv)
{
    bool json = false;
    int code;
    char seccomp[48], nettle[24];
    if (!usage_json_only("version", argc, argv, &json, &code))
        return code;
    seccomp_text(seccomp, sizeof seccomp);
    snprintf(nettle, sizeof nettle, "%d.%d", nettle_version_major(), nettle_version_minor());
    const struct { const char *name, *version; } libraries[] = {
        {"cjson", cJSON_Version()}, {"libuv", uv_version_string()}, {"libseccomp", seccomp}, {"libnl", LIBNL_VERSION},
        {"libsodium", sodium_version_string()}, {"nettle", nettle}};
    const size_t count = sizeof libraries / sizeof *libraries;
    if (!json) {
        printf("%s %s\npython %s (embedded)\n", PACKAGE, PACKAGE_VERSION, PYTHON_BUILD_VERSION);
        if (mutant_build())
            puts(mutant_build());
        for (size_t i = 0; i < count; i++)
            printf("%s %s\n", libraries[i].name, libraries[i].version);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    cleanup_json cJSON *document = cJSON_CreateObject();
    cJSON_AddStringToObject(document, "name", PACKAGE);
    cJSON_AddStringToObject(document, "version", PACKAGE_VERSION);
    cJSON_AddStringToObject(document, "python", PYTHON_BUILD_VERSION);
    if (mutant_build())
        cJSON_AddStringToObject(document, "mutants", mutant_build());
    cJSON *list = cJSON_AddObjectToObject(document, "libraries");
    for (size_t i = 0; i < count; i++)
        cJSON_AddStringToObject(list, libraries[i].name, libraries[i].version);
    cleanup_free char *text = json_print_pretty(document);
    return text && puts(text) >= 0 && fflush(stdout) == 0 ? 0 : 1;
}
