#include "jail/plan.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_MOUNT = 1, TAG_ROOTFS, TAG_FLAGS, TAG_ERRNO };
enum { FLAG_LOOPBACK = 1, FLAG_TIME = 2, FLAG_CGROUP = 4, FLAG_SINGLE = 8 };

struct mount_head { /* in front of "source NUL target" */
    uint8_t kind, optional, exec, zero[5];
    uint64_t bytes, inodes;
};

int jail_plan_add(struct jail_plan *plan, struct plan_mount mount, struct error *err)
{
    if (plan->mount_count == PLAN_MOUNTS)
        return error_set(err, "plan", 0, "more than %d mounts", PLAN_MOUNTS);
    mount.source = strdup(mount.source ? mount.source : "");
    mount.target = strdup(mount.target);
    if (!mount.source || !mount.target) {
        free(mount.source);
        free(mount.target);
        return error_set(err, "plan", 0, "out of memory");
    }
    plan->mounts[plan->mount_count++] = mount;
    return 0;
}

void jail_plan_free(struct jail_plan *plan)
{
    for (size_t i = 0; i < plan->mount_count; i++) {
        free(plan->mounts[i].source);
        free(plan->mounts[i].target);
    }
    free(plan->rootfs);
    memset(plan, 0, sizeof *plan);
}

static int put_mount(const struct plan_mount *m, struct buf *b)
{
    cleanup_buf struct buf body = {0};
    struct mount_head head = {.kind = m->kind, .optional = m->optional, .exec = m->exec, .bytes = m->bytes, .inodes = m->inodes};
    if (buf_add(&body, &head, sizeof head) < 0 || buf_add(&body, m->source, strlen(m->source) + 1) < 0 ||
        buf_adds(&body, m->target) < 0)
        return -1;
    return wire_put(b, TAG_MOUNT, body.data, body.len);
}

int jail_plan_put(const struct jail_plan *plan, struct buf *b)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (put_mount(&plan->mounts[i], b) < 0)
            return -1;
    uint64_t flags = (plan->loopback ? FLAG_LOOPBACK : 0) | (plan->need_time_namespace ? FLAG_TIME : 0) |
                     (plan->need_cgroup_namespace ? FLAG_CGROUP : 0) | (plan->single ? FLAG_SINGLE : 0);
    if ((plan->rootfs && wire_puts(b, TAG_ROOTFS, plan->rootfs) < 0) || wire_put_u64(b, TAG_FLAGS, flags) < 0)
        return -1;
    return wire_put(b, TAG_ERRNO, plan->errno_of, sizeof plan->errno_of);
}

static int take_mount(struct jail_plan *plan, const struct wire_field *f, struct error *err)
{
    struct mount_head head;
    if (f->length <= sizeof head)
        return error_set(err, "plan", 0, "a mount is malformed");
    memcpy(&head, f->data, sizeof head);
    const char *source = f->data + sizeof head, *end = f->data + f->length;
    const char *nul = memchr(source, '\0', (size_t)(end - source));
    if (!nul)
        return error_set(err, "plan", 0, "a mount has no target");
    struct wire_field text = {.data = nul + 1, .length = (size_t)(end - nul - 1)};
    char *target = wire_strdup(&text);
    if (!target)
        return error_set(err, "plan", 0, "a mount's target is malformed");
    int r = jail_plan_add(plan, (struct plan_mount){.kind = head.kind, .optional = head.optional, .exec = head.exec, .bytes = head.bytes,
                                                    .inodes = head.inodes, .source = (char *)source, .target = target}, err);
    free(target);
    return r;
}

int jail_plan_take(struct jail_plan *plan, struct wire_cursor fields, struct error *err)
{
    struct wire_field f;
    uint64_t flags;
    int more;
    while ((more = wire_field_next(&fields, &f)) > 0) {
        switch (f.tag) {
        case TAG_MOUNT:
            if (take_mount(plan, &f, err) < 0)
                return -1;
            break;
        case TAG_ROOTFS:
            /* a root that cannot be read must not become no root, which is the host's */
            if (plan->rootfs || !(plan->rootfs = wire_strdup(&f)))
                return error_set(err, "plan", 0, "the root is malformed or stands twice");
            break;
        case TAG_FLAGS:
            if (!wire_u64(&f, &flags))
                return error_set(err, "plan", 0, "the flags are malformed");
            plan->loopback = flags & FLAG_LOOPBACK;
            plan->single = flags & FLAG_SINGLE;
            plan->need_time_namespace = flags & FLAG_TIME;
            plan->need_cgroup_namespace = flags & FLAG_CGROUP;
            break;
        case TAG_ERRNO:
            if (f.length != sizeof plan->errno_of)
                return error_set(err, "plan", 0, "the errno table is malformed");
            memcpy(plan->errno_of, f.data, f.length);
            break;
        default:
            return error_set(err, "plan", 0, "field %u is unknown", f.tag);
        }
    }
    return more < 0 ? error_set(err, "plan", 0, "the plan is malformed") : 0;
}
