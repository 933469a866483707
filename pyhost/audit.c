#include "python.h"

#include "audit.h"

#include "tally.h"

#include <string.h>

static bool watching;

/* Called for every event of the interpreter, most of which are imports, opens and attribute look-ups: the first character
 * decides nearly always. */
static bool is_observed(const char *event)
{
    static const char *const events[] = {
        "ctypes.dlopen", "ctypes.dlsym", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.posix_spawn",
        "os.system", "pty.spawn", "socket.bind", "socket.connect", "socket.getaddrinfo", "socket.sendto", "subprocess.Popen",
        "sys.addaudithook", "sys.setprofile", "sys.settrace", "syslog.openlog",
    };
    if (!strchr("cops", event[0]))
        return false;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i][0] == event[0] && strcmp(events[i], event) == 0)
            return true;
    return false;
}

static int hook(const char *event, PyObject *args, void *data)
{
    if (watching && is_observed(event))
        tally_add(TALLY_OBSERVED, NULL, event);
    return 0;
}

int audit_install(struct error *err)
{
    if (PySys_AddAuditHook(hook, NULL) < 0)
        return error_set(err, "interpreter", 0, "the audit hook cannot be set");
    return 0;
}

void audit_watch(bool on)
{
    watching = on;
}
