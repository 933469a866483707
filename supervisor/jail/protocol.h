/* Message types and field tags between the supervisor, the zygote and the payload. Format: base/wire.h.
 *
 * Zygote: `snipara-pyhost --zygote`, control socket (SOCK_SEQPACKET) on descriptor 3, one message = one frame.
 *   <- ZYGOTE_CONFIG  policy part of the plan (fields below and SEAL_TAG_*); no descriptors. It may be larger than one
 *                     packet, so its body is read from the memfd that is its only descriptor; the packet itself has no fields.
 *   -> ZYGOTE_READY   ZT_VERSION "3.11.2", ZT_THREADS; or ZYGOTE_FAILED with ZT_STEP, ZT_ERRNO, ZT_MESSAGE, then it exits.
 *   <- ZYGOTE_SPAWN   nonce = spawn id. Descriptors in this order: pidfd of init, payload channel, stdout, stderr, notify socket,
 *                     then any number of cgroup `tasks`/`cgroup.procs` files into which the child writes "0".
 *                     ZT_RLIMIT_DATA u64 (0: none); ZT_WARM u64 bool. The child joins the namespaces when init says so on
 *                     the notify socket (struct init_word).
 *   -> ZYGOTE_SPAWNED nonce = spawn id, ZT_PID (in the zygote's pid namespace), descriptor: pidfd of the payload.
 *      or ZYGOTE_FAILED with the same nonce.
 *   -> ZYGOTE_EXITED  ZT_PID, ZT_STATUS (wait status), ZT_UTIME_US, ZT_STIME_US, ZT_MAXRSS_KB: from wait4(2).
 *   The zygote ends at end of file on its control socket and has PR_SET_PDEATHSIG SIGKILL.
 *
 * Payload: a stream socket, the channel. Body bound for what the supervisor sends: the policy's source limit + 64 KiB.
 *   -> PAYLOAD_READY  PT_LAYERS u64 (layer_set of seal_self), once, before guest code; or PAYLOAD_FAILED with ZT_STEP,
 *                     ZT_ERRNO, ZT_MESSAGE, then it exits with 70.
 *   <- PAYLOAD_CALL   nonce; PT_CODE (UTF-8, no NUL), PT_CALL u64 (1, 2, ... in the session), PT_FILENAME ("<call 7>" or the
 *                     script's name, shown in tracebacks)
 *   -> PAYLOAD_DONE   the same nonce; PT_STATUS u64 and the optional fields below. Everything in it is the guest's claim.
 *   End of file on the channel: the payload exits with _exit(0).
 */
#ifndef SNIPARA_JAIL_PROTOCOL_H
#define SNIPARA_JAIL_PROTOCOL_H

#include "jail/layers.h"

/* Init to the payload, over the notify socket: join now. */
struct init_word {
    char ready;             /* 'R' */
    layer_set layers;       /* which namespaces there are to join */
};

enum message_type {
    ZYGOTE_CONFIG = 1,
    ZYGOTE_READY,
    ZYGOTE_FAILED,
    ZYGOTE_SPAWN,
    ZYGOTE_SPAWNED,
    ZYGOTE_EXITED,
    PAYLOAD_READY = 32,
    PAYLOAD_FAILED,
    PAYLOAD_CALL,
    PAYLOAD_DONE
};

enum zygote_tag {
    ZT_VERSION = 1,
    ZT_THREADS,
    ZT_STEP, /* to ZT_MESSAGE as in wire_put_error */
    ZT_ERRNO,
    ZT_MESSAGE,
    ZT_WARM,
    ZT_RLIMIT_DATA,
    ZT_PID,
    ZT_STATUS,
    ZT_UTIME_US,
    ZT_STIME_US,
    ZT_MAXRSS_KB,
    /* configuration */
    ZT_POLICY_NAME = 32,
    ZT_RESTRICTED,         /* u64 bool: the guard refuses what the policy denies */
    ZT_DENIED_NODE,        /* repeated: ast class name */
    ZT_DENIED_ATTRIBUTE,   /* repeated: attribute name */
    ZT_DENIED_BUILTIN,     /* repeated: name */
    ZT_ALLOWED_NAME,       /* repeated: underscore name that is allowed all the same */
    ZT_IMPORTS_ALLOW_LIST, /* u64 bool: mode allow; 0 = mode deny */
    ZT_IMPORT_NAME,        /* repeated: module, "pkg" covers "pkg.sub" */
    ZT_PRELOAD,            /* repeated: module */
    ZT_VALUE_BYTES,        /* u64: bound of PT_VALUE_REPR and of PT_VALUE_JSON */
    ZT_GUEST_PATH,         /* repeated: directories appended to sys.path (at its end) */
    ZT_EXECUTABLE,         /* value of sys.executable in the jail, "" for none */
    ZT_CWD,                /* working directory in the jail */
    ZT_LEAN                /* u64 bool: start as quickly as possible, no warm-up */
};

enum payload_tag {
    PT_LAYERS = 64,
    PT_CODE,
    PT_CALL,
    PT_FILENAME,
    PT_STATUS,          /* u64: enum payload_status */
    PT_VALUE_REPR,      /* UTF-8; absent when there is no value */
    PT_VALUE_TYPE,      /* bare class name */
    PT_VALUE_JSON,      /* JSON text, only for values that are JSON (exact builtin types, bounded depth and size) */
    PT_VALUE_TRUNCATED, /* u64 bool: the repr was cut at ZT_VALUE_BYTES */
    PT_ERROR_TYPE,      /* bare class name, "SyntaxError" */
    PT_ERROR_MESSAGE,   /* str(exception), or the guard's findings, one a line */
    PT_ERROR_TRACEBACK, /* as the interpreter prints it, bounded to 64 KiB (head and tail) */
    PT_ERROR_LINE,      /* i64: line in the submitted code, innermost frame that belongs to it */
    PT_ERROR_COLUMN,    /* i64: 1-based, rejected and SyntaxError only */
    PT_EXIT_CODE,       /* i64: SystemExit only, as the interpreter's exit status would be */
    PT_RULE,            /* rejected: stable name of the rule */
    PT_REMEDY,          /* rejected: what to do instead */
    PT_DENIED,          /* repeated: u64 count, layer name, NUL, what: "import\0ctypes" */
    PT_OBSERVED,        /* repeated: u64 count, audit event name (detection only) */
    PT_FILE_PATH,       /* PAYLOAD_CALL, repeated before PT_CODE: path relative to /session; the next field is its content */
    PT_FORK_US,         /* u64, PAYLOAD_READY: from the spawn request to the child's first instruction, */
    PT_JOIN_US,         /* from there until it stood in the jail's namespaces, the wait for init included, */
    PT_SEAL_US,         /* from there until it was sealed */
    PT_FILE_DATA        /* bytes; the payload writes the file beneath /session before the code runs, an OSError ends the call */
};

enum payload_status { PAYLOAD_OK, PAYLOAD_ERROR, PAYLOAD_REJECTED };

#define PAYLOAD_REPLY_MAX (4u * 1024 * 1024) /* longest body of a PAYLOAD_DONE */
#define PAYLOAD_CHANNEL_FD 3

#endif
