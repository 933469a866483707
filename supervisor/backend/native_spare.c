#include "backend/native.h"

#include "backend/nursery.h"

#include <poll.h>

static bool is_spare(const struct backend_place *p, const struct nursery *n)
{
    return p->nursery == n && p->spare && !p->closing && p->end == END_NONE && !p->gone && p->stage != PLACE_FAILED;
}

unsigned native_spare_count(const struct nursery *n)
{
    unsigned count = 0, left = n->native->idle;
    for (const struct backend_place *p = TAILQ_LAST(&n->native->places, place_list); p && left > 0; p = TAILQ_PREV(p, place_list, link)) {
        left -= p->spare;
        count += is_spare(p, n);
    }
    return count;
}

int native_make_spare(struct nursery *n, struct error *err)
{
    if (!native_place_new(n, n->plant->policy->limits.memory_bytes, true, err))
        return -1;
    nursery_serve(n);
    return 0;
}

/* Its end may not have come round the loop yet. */
static bool has_ended(const struct backend_place *p)
{
    struct pollfd payload = {.fd = p->fds[WATCH_PAYLOAD], .events = POLLIN};
    return p->stage == PLACE_READY && poll(&payload, 1, 0) != 0;
}

/* The readiest one with these limits. */
struct backend_place *native_take_spare(struct nursery *n, uint64_t memory_bytes)
{
    struct backend_place *best = NULL;
    unsigned left = n->native->idle;
    for (struct backend_place *p = TAILQ_LAST(&n->native->places, place_list); p && left > 0; p = TAILQ_PREV(p, place_list, link)) {
        left -= p->spare;
        if (is_spare(p, n) && p->memory_bytes == memory_bytes && (!best || p->stage >= best->stage) && !has_ended(p))
            best = p; /* of two alike the older one */
    }
    if (best) {
        best->spare = false;
        n->native->idle--;
        n->short_of_spares = true;
        best->was_spare = best->stage == PLACE_READY;
        for (int i = 0; i < WATCH_COUNT; i++)
            if (best->watched[i])
                uv_ref((uv_handle_t *)&best->polls[i]);
    }
    return best;
}

void native_close_spares(struct nursery *n)
{
    for (struct backend_place *p = TAILQ_FIRST(&n->native->places), *next; p; p = next) {
        next = TAILQ_NEXT(p, link);
        if (is_spare(p, n))
            native_place_close(p, NULL, NULL);
    }
}
