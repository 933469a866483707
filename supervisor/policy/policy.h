/* Policies: what is allowed. A JSON file (policies/policy.schema.json), resolved along `extends`, as plain data.
 * This module reads, checks, explains and compiles; it builds no wall (jail/ does) and knows no host.
 *
 * Where policies come from decides how far they are believed: installed ones and the operator's configuration
 * ($XDG_CONFIG_HOME/snipara-sandbox/policies, /etc/snipara-sandbox/policies) are trusted; a project's
 * ./.snipara-sandbox/policies is not and may only narrow an installed one, without preload, mounts or network, until
 * `policy trust FILE` recorded its digest.
 */
#ifndef SNIPARA_POLICY_POLICY_H
#define SNIPARA_POLICY_POLICY_H

#include "base/digest.h"
#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strings { /* a list of owned strings */
    char **items;
    size_t count;
};

enum policy_origin { POLICY_INSTALLED, POLICY_OPERATOR, POLICY_PROJECT, POLICY_PROJECT_TRUSTED };

enum mount_kind { MOUNT_RO, MOUNT_RW, MOUNT_TMPFS };
struct policy_mount {
    enum mount_kind kind;
    char *source;      /* host path; NULL for tmpfs */
    char *target;      /* path in the jail */
    uint64_t bytes;    /* tmpfs: size */
    uint64_t inodes;   /* tmpfs: number of inodes */
    bool optional;     /* a missing source is left out silently */
    bool exec;         /* false: noexec */
};

enum network_mode { NETWORK_NONE, NETWORK_LOOPBACK, NETWORK_ALLOW };

struct policy_limits {
    double timeout_seconds;     /* default of a call */
    double timeout_max_seconds; /* largest that a caller may ask for */
    uint64_t memory_bytes;
    uint64_t memory_max_bytes;
    uint64_t pids;
    double cpus;
    uint64_t output_bytes;      /* kept of stdout and of stderr, each */
    uint64_t value_bytes;       /* of the result's repr, and of its JSON */
    uint64_t source_bytes;      /* longest source text */
    uint64_t open_files;
    uint64_t file_bytes;        /* RLIMIT_FSIZE */
    uint64_t stack_bytes;
    uint64_t artifact_files;    /* taken from /session/output after one call; 0: none are looked for */
    uint64_t artifact_bytes, artifact_total_bytes; /* of one, of all of a call */
    uint64_t artifact_depth;    /* directories below /session/output, itself included */
};

struct policy {
    char *name;
    char *path;                /* file it was read from */
    char *description;
    char *extends;             /* name of the policy that it extends, or NULL */
    char *widen_reason;        /* why it may allow more than that one, or NULL: it only narrows */
    enum policy_origin origin;
    char digest[DIGEST_TEXT];  /* of the resolved policy's canonical JSON (sorted keys, compact) */

    bool restricted;           /* language.mode == "restricted": the AST guard refuses */
    struct strings denied_nodes, denied_attributes, denied_builtins, allowed_names;
    bool imports_allow_list;   /* imports.mode == "allow": only `import_names`; else everything but `import_names` */
    struct strings import_names;
    struct strings preload;    /* modules that the zygote imports before the first jail */

    struct policy_mount *mounts;
    size_t mount_count;
    uint64_t session_bytes, session_inodes, tmp_bytes, tmp_inodes, shm_bytes; /* the jail's own tmpfs */
    char *rootfs;              /* a directory used as root instead of the host's /usr, or NULL */

    enum network_mode network;
    struct strings hosts;
    struct policy_limits limits;
    struct strings layers_required, layers_optional; /* names as in receipts, see jail/layers.h */
    struct strings environment; /* NAME=value set in the jail, or NAME passed through from the supervisor */
    char *seccomp_profile;     /* name of the profile file */
    cJSON *seccomp_add;        /* additions to it, of the whole extends chain, the oldest first */
    cJSON *seccomp;            /* resolved OCI runtime-spec seccomp object */
    cJSON *resolved;           /* the resolved policy as JSON, for `policy show --json` */
};

/* Load `name` (never a path: letters, digits, '-', '_', '.') along the search path, resolve `extends`, check against the
 * schema rules and the trust rules. An unknown name lists the known ones; errors name file, key and remedy. */
int policy_load(const char *name, struct policy **ret, struct error *err);
/* The same for a file named on the command line by the operator (`policy check FILE`). */
int policy_load_file(const char *path, struct policy **ret, struct error *err);
void policy_free(struct policy *p);
static inline void cleanup_policy_(struct policy **p) { policy_free(*p); }
#define cleanup_policy __attribute__((cleanup(cleanup_policy_)))

/* "installed", "operator", "project", "project (trusted)" */
const char *policy_origin_name(enum policy_origin origin);

/* Every policy on the search path, sorted by name: JSON array of {name, origin, path, description}. A file that cannot be
 * read has "error" instead of a description; one whose name an earlier directory has already taken has "shadowed": true and
 * is never loaded by name. */
int policy_list(cJSON **ret, struct error *err);

/* Findings that are not errors: a dangerous call allowed without a comment, a mount of /etc, preload in deny mode ...
 * JSON array of {severity:"error"|"warning"|"note", where, message}. */
int policy_lint(const struct policy *p, cJSON **ret, struct error *err);

/* `policy show --explain`: each rule in words, one paragraph per section. The caller frees. */
char *policy_explain(const struct policy *p);

/* Record the digest of a policy file in $XDG_STATE_HOME/snipara-sandbox/trusted-policies (the operator has read it). The
 * record holds for this text at this place: an edited or a copied file needs trust of its own. A file that would not load even
 * when trusted is refused. */
int policy_trust(const char *path, struct error *err);

/* The directory of installed policies: SNIPARA_SANDBOX_POLICY_DIR if it is set (build tree, tests), else the configured
 * PKGDATADIR/policies. */
const char *policy_directory(void);

#endif
