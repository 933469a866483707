#include "configuration.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/wire.h"
#include "jail/protocol.h"

#include <errno.h>
#include <string.h>

#define CONFIGURATION_MAX (8u * 1024 * 1024)
#define VALUE_BYTES_DEFAULT (64u * 1024)
/* repr, JSON and the error's text share one reply of PAYLOAD_REPLY_MAX bytes */
#define VALUE_BYTES_MAX (PAYLOAD_REPLY_MAX / 3)

static int read_all(int fd, struct buf *b, struct error *err)
{
    b->max = CONFIGURATION_MAX;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_set(err, "config", errno, "the configuration's descriptor is not a memfd");
    for (;;) {
        if (buf_reserve(b, 64 * 1024) < 0 && (b->len >= CONFIGURATION_MAX || buf_reserve(b, 1) < 0))
            return error_set(err, "config", errno, "the configuration is longer than %u bytes", CONFIGURATION_MAX);
        size_t room = b->cap > b->len + 1 ? b->cap - b->len - 1 : 0;
        if (room > CONFIGURATION_MAX - b->len)
            room = CONFIGURATION_MAX - b->len;
        ssize_t n = read(fd, b->data + b->len, room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(err, "config", errno, "the configuration cannot be read");
        if (n == 0)
            return 0;
        b->len += (size_t)n;
        b->data[b->len] = 0;
    }
}

static int take_text(char **ret, const struct wire_field *field, struct error *err)
{
    char *text = wire_strdup(field);
    if (!text)
        return error_set(err, "config", 0, "field %u of the configuration is not a text", field->tag);
    free(*ret);
    *ret = text;
    return 0;
}

static int take_name(struct names *names, const struct wire_field *field, struct error *err)
{
    char **items = realloc(names->items, (names->count + 1) * sizeof(*items));
    if (!items)
        return error_set(err, "config", ENOMEM, "no memory for the configuration");
    names->items = items;
    items[names->count] = NULL;
    if (take_text(&items[names->count], field, err) < 0)
        return -1;
    names->count++;
    return 0;
}

static int take_number(uint64_t *ret, const struct wire_field *field, struct error *err)
{
    if (!wire_u64(field, ret))
        return error_set(err, "config", 0, "field %u of the configuration is not a number", field->tag);
    return 0;
}

static int take_flag(bool *ret, const struct wire_field *field, struct error *err)
{
    uint64_t value;
    if (take_number(&value, field, err) < 0)
        return -1;
    *ret = value != 0;
    return 0;
}

static int take_value_bytes(struct configuration *c, const struct wire_field *field, struct error *err)
{
    uint64_t value;
    if (take_number(&value, field, err) < 0)
        return -1;
    c->value_bytes = value > VALUE_BYTES_MAX ? VALUE_BYTES_MAX : (size_t)value;
    return 0;
}

static int take_field(struct configuration *c, const struct wire_field *field, struct error *err)
{
    int seal = seal_plan_take(&c->seal, field, err);
    if (seal != 0)
        return seal < 0 ? -1 : 0;
    switch (field->tag) {
    case ZT_POLICY_NAME: return take_text(&c->policy, field, err);
    case ZT_RESTRICTED: return take_flag(&c->restricted, field, err);
    case ZT_DENIED_NODE: return take_name(&c->denied_nodes, field, err);
    case ZT_DENIED_ATTRIBUTE: return take_name(&c->denied_attributes, field, err);
    case ZT_DENIED_BUILTIN: return take_name(&c->denied_builtins, field, err);
    case ZT_ALLOWED_NAME: return take_name(&c->allowed_names, field, err);
    case ZT_IMPORTS_ALLOW_LIST: return take_flag(&c->imports_allow_list, field, err);
    case ZT_IMPORT_NAME: return take_name(&c->imports, field, err);
    case ZT_LEAN: return take_flag(&c->lean, field, err);
    case ZT_PRELOAD: return take_name(&c->preload, field, err);
    case ZT_GUEST_PATH: return take_name(&c->guest_paths, field, err);
    case ZT_VALUE_BYTES: return take_value_bytes(c, field, err);
    case ZT_EXECUTABLE: return take_text(&c->executable, field, err);
    case ZT_CWD: return take_text(&c->cwd, field, err);
    default:
        return error_set(err, "config", 0, "unknown field %u in the configuration: supervisor and pyhost must be of one release", field->tag);
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_names(struct names *names)
{
    if (names->count > 1)
        qsort(names->items, names->count, sizeof(*names->items), compare_names);
}

static int default_text(char **text, const char *value, struct error *err)
{
    if (!*text && !(*text = strdup(value)))
        return error_set(err, "config", ENOMEM, "no memory for the configuration");
    return 0;
}

int configuration_read(int fd, struct configuration *ret, struct error *err)
{
    cleanup_buf struct buf b = {0};
    if (read_all(fd, &b, err) < 0)
        return -1;
    struct configuration c = {.value_bytes = VALUE_BYTES_DEFAULT};
    struct wire_cursor cursor = {.at = b.data, .end = b.data + b.len};
    struct wire_field field;
    int more;
    while ((more = wire_field_next(&cursor, &field)) > 0)
        if (take_field(&c, &field, err) < 0)
            return -1;
    if (more < 0)
        return error_set(err, "config", 0, "the configuration is cut: a field runs over its end");
    if (default_text(&c.policy, "unnamed", err) < 0 || default_text(&c.executable, "", err) < 0 ||
        default_text(&c.cwd, "/", err) < 0)
        return -1;
    sort_names(&c.denied_nodes);
    sort_names(&c.denied_attributes);
    sort_names(&c.denied_builtins);
    sort_names(&c.allowed_names);
    sort_names(&c.imports);
    *ret = c;
    return 0;
}

bool names_have(const struct names *names, const char *name)
{
    return names->count > 0 &&
           bsearch(&name, names->items, names->count, sizeof(*names->items), compare_names) != NULL;
}

bool configuration_guarded(const struct configuration *c)
{
    return c->restricted || c->denied_nodes.count || c->denied_attributes.count || c->denied_builtins.count;
}
