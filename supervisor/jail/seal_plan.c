#include "jail/seal.h"

#include <stdlib.h>
#include <string.h>

void seal_plan_free(struct seal_plan *plan)
{
    for (size_t i = 0; i < plan->path_count; i++)
        free(plan->paths[i].path);
    free(plan->filter);
    free(plan->filter_notify);
    memset(plan, 0, sizeof *plan);
}

static int put_path(const struct seal_path *path, struct buf *b)
{
    cleanup_buf struct buf body = {0};
    char flags[2] = {(char)path->write, (char)path->exec};
    if (buf_add(&body, flags, sizeof flags) < 0 || buf_adds(&body, path->path) < 0)
        return -1;
    return wire_put(b, SEAL_TAG_PATH, body.data, body.len);
}

static int put_program(struct buf *b, uint16_t tag, const struct sock_filter *code, size_t count)
{
    return count == 0 ? 0 : wire_put(b, tag, code, count * sizeof *code);
}

int seal_plan_put(const struct seal_plan *plan, struct buf *b)
{
    uint32_t ids[2] = {plan->uid, plan->gid};
    if (wire_put(b, SEAL_TAG_IDS, ids, sizeof ids) < 0)
        return -1;
    for (size_t i = 0; i < plan->rlimit_count; i++) {
        uint64_t pair[2] = {(uint64_t)plan->rlimits[i].resource, plan->rlimits[i].value};
        if (wire_put(b, SEAL_TAG_RLIMIT, pair, sizeof pair) < 0)
            return -1;
    }
    for (size_t i = 0; i < plan->path_count; i++)
        if (put_path(&plan->paths[i], b) < 0)
            return -1;
    if (wire_put_u64(b, SEAL_TAG_LANDLOCK, plan->landlock_network | (uint64_t)plan->landlock_optional << 1) < 0 ||
        put_program(b, SEAL_TAG_FILTER, plan->filter, plan->filter_count) < 0 ||
        put_program(b, SEAL_TAG_FILTER_NOTIFY, plan->filter_notify, plan->filter_notify_count) < 0)
        return -1;
    return 0;
}

static int malformed(struct error *err, const char *what)
{
    return error_set(err, "seal.plan", 0, "the plan's field %s is malformed", what);
}

static int take_program(const struct wire_field *field, struct sock_filter **ret, size_t *ret_count, struct error *err)
{
    size_t count = field->length / sizeof **ret;
    /* BPF_MAXINSNS: seccomp(2) refuses longer programs */
    if (count == 0 || count > BPF_MAXINSNS || field->length % sizeof **ret || *ret)
        return malformed(err, "seccomp program");
    *ret = malloc(field->length);
    if (!*ret)
        return error_set(err, "seal.plan", 0, "out of memory");
    memcpy(*ret, field->data, field->length);
    *ret_count = count;
    return 1;
}

static int take_path(struct seal_plan *plan, const struct wire_field *field, struct error *err)
{
    if (field->length < 3 || plan->path_count == SEAL_PATHS)
        return malformed(err, "path");
    struct wire_field text = {.data = field->data + 2, .length = field->length - 2};
    char *path = wire_strdup(&text);
    if (!path)
        return malformed(err, "path");
    plan->paths[plan->path_count++] = (struct seal_path){.path = path, .write = field->data[0], .exec = field->data[1]};
    return 1;
}

static int take_rlimit(struct seal_plan *plan, const struct wire_field *field, struct error *err)
{
    uint64_t pair[2];
    if (field->length != sizeof pair || plan->rlimit_count == SEAL_RLIMITS)
        return malformed(err, "rlimit");
    memcpy(pair, field->data, sizeof pair);
    plan->rlimits[plan->rlimit_count].resource = (int)pair[0];
    plan->rlimits[plan->rlimit_count++].value = pair[1];
    return 1;
}

int seal_plan_take(struct seal_plan *plan, const struct wire_field *field, struct error *err)
{
    uint32_t ids[2];
    uint64_t flag;
    switch (field->tag) {
    case SEAL_TAG_IDS:
        if (field->length != sizeof ids)
            return malformed(err, "ids");
        memcpy(ids, field->data, sizeof ids);
        plan->uid = ids[0];
        plan->gid = ids[1];
        return 1;
    case SEAL_TAG_RLIMIT:
        return take_rlimit(plan, field, err);
    case SEAL_TAG_PATH:
        return take_path(plan, field, err);
    case SEAL_TAG_LANDLOCK:
        if (!wire_u64(field, &flag))
            return malformed(err, "landlock");
        plan->landlock_network = flag & 1;
        plan->landlock_optional = flag & 2;
        return 1;
    case SEAL_TAG_FILTER:
        return take_program(field, &plan->filter, &plan->filter_count, err);
    case SEAL_TAG_FILTER_NOTIFY:
        return take_program(field, &plan->filter_notify, &plan->filter_notify_count, err);
    default:
        return 0;
    }
}
