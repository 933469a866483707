/* What the maker and the zygote read of a plan: mounts, rlimits, paths and programs in nested lengths. A plan that is taken is
 * within its tables, and written and taken again it is the same plan, byte for byte. */
#include "fuzz.h"

#include "base/wire.h"
#include "jail/plan.h"
#include "jail/seal.h"

#include <linux/filter.h>

static void check_plan(const struct wire_frame *frame)
{
    static struct jail_plan plan, again; /* large */
    cleanup_buf struct buf once = {0}, twice = {0};
    struct error err = {0};
    memset(&plan, 0, sizeof plan);
    memset(&again, 0, sizeof again);
    int r = jail_plan_take(&plan, wire_fields(frame), &err);
    require((r < 0) == (err.message[0] != '\0') && plan.mount_count <= PLAN_MOUNTS);
    for (size_t i = 0; i < plan.mount_count; i++)
        require(plan.mounts[i].source && plan.mounts[i].target);
    if (r == 0) {
        require(jail_plan_put(&plan, &once) == 0);
        struct wire_frame written = {.body = once.data, .length = once.len};
        require(jail_plan_take(&again, wire_fields(&written), &err) == 0 && jail_plan_put(&again, &twice) == 0);
        require(once.len == twice.len && !memcmp(once.data, twice.data, once.len));
    }
    jail_plan_free(&plan);
    jail_plan_free(&again);
}

/* 0: the frame is whole and each of its fields was taken or is nobody's; -1: something was malformed. */
static int take_seal(struct seal_plan *plan, const struct wire_frame *frame)
{
    struct wire_cursor cursor = wire_fields(frame);
    struct wire_field field;
    int r;
    while ((r = wire_field_next(&cursor, &field)) > 0) {
        struct error err = {0};
        int taken = seal_plan_take(plan, &field, &err);
        bool ours = field.tag >= SEAL_TAG_FIRST && field.tag <= SEAL_TAG_LAST;
        require((taken != 0) == ours && (taken < 0) == (err.message[0] != '\0'));
        if (taken < 0)
            return -1;
    }
    return r;
}

static void check_seal(const struct wire_frame *frame)
{
    struct seal_plan plan = {0}, again = {0};
    cleanup_buf struct buf once = {0}, twice = {0};
    int r = take_seal(&plan, frame);
    require(plan.rlimit_count <= SEAL_RLIMITS && plan.path_count <= SEAL_PATHS);
    require(plan.filter_count <= BPF_MAXINSNS && plan.filter_notify_count <= BPF_MAXINSNS);
    for (size_t i = 0; i < plan.path_count; i++)
        require(plan.paths[i].path && plan.paths[i].path[0]);
    if (r == 0) {
        require(seal_plan_put(&plan, &once) == 0);
        struct wire_frame written = {.body = once.data, .length = once.len};
        require(take_seal(&again, &written) == 0 && seal_plan_put(&again, &twice) == 0);
        require(once.len == twice.len && !memcmp(once.data, twice.data, once.len));
    }
    seal_plan_free(&plan);
    seal_plan_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct wire_frame frame = {.body = (const char *)data + 1, .length = size - 1};
    if (data[0] & 1)
        check_plan(&frame);
    else
        check_seal(&frame);
    return 0;
}
