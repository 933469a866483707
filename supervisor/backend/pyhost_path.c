#include "config.h"

#include "backend/pyhost_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "snipara-pyhost"

int pyhost_path(char *ret, size_t size, struct error *err)
{
    const char *named = getenv("SNIPARA_SANDBOX_PYHOST");
    char self[4096], beside[4200] = "";
    if (named && *named) {
        if (access(named, X_OK) < 0)
            return error_set(err, "pyhost", errno, "SNIPARA_SANDBOX_PYHOST names %s, which cannot be run", named);
        snprintf(ret, size, "%s", named);
        return 0;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = '\0';
        snprintf(beside, sizeof beside, "%.*s/" PROGRAM, (int)(strrchr(self, '/') - self), self);
        if (access(beside, X_OK) == 0) {
            snprintf(ret, size, "%s", beside);
            return 0;
        }
    }
    if (access(PKGLIBEXECDIR "/" PROGRAM, X_OK) < 0)
        return error_set(err, "pyhost", errno, "%s is neither at %s nor in %s: install it (make install) or name it in SNIPARA_SANDBOX_PYHOST",
                         PROGRAM, beside, PKGLIBEXECDIR);
    snprintf(ret, size, "%s", PKGLIBEXECDIR "/" PROGRAM);
    return 0;
}
