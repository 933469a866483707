/* Artifacts: from jail/collect into the receipt. */
#include "backend/native.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

static int move_files(struct collection *from, struct receipt *r)
{
    if (from->count == 0)
        return 0;
    if (!(r->artifacts = calloc(from->count, sizeof *r->artifacts)))
        return -1;
    for (size_t i = 0; i < from->count; i++) {
        struct collect_file *f = &from->files[i];
        struct receipt_artifact *a = &r->artifacts[r->artifact_count++];
        *a = (struct receipt_artifact){.path = f->path, .bytes = f->bytes, .data = f->data};
        memcpy(a->digest, f->digest, sizeof a->digest);
        *f = (struct collect_file){0};
    }
    return 0;
}

static int move_left_out(struct collection *from, struct receipt *r)
{
    r->left_out_more = from->left_out_more;
    if (from->left_out_count == 0)
        return 0;
    if (!(r->left_out = calloc(from->left_out_count, sizeof *r->left_out)))
        return -1;
    for (size_t i = 0; i < from->left_out_count; i++) {
        struct collect_left_out *l = &from->left_out[i];
        r->left_out[r->left_out_count++] = (struct receipt_left_out){.path = l->path, .reason = collect_reason_name(l->reason)};
        l->path = NULL;
    }
    return 0;
}

void native_collect(struct backend_place *p, const struct policy *policy)
{
    const struct policy_limits *l = &policy->limits;
    struct receipt *r = &p->receipt;
    struct collection found;
    if (p->jail.output < 0 || l->artifact_files == 0)
        return;
    const struct collect_limits limits = {.files = l->artifact_files, .file_bytes = l->artifact_bytes, .total_bytes = l->artifact_total_bytes,
                                          .depth = l->artifact_depth, .wall_ms = p->keep_artifacts ? COLLECT_PATIENT_MS : COLLECT_WALL_MS, .keep_data = p->keep_artifacts};
    uint64_t began = clock_now();
    collect(p->jail.output, &limits, &p->artifacts_seen, &found);
    if (move_files(&found, r) < 0 || move_left_out(&found, r) < 0)
        found.end = COLLECT_NO_MEMORY;
    r->artifacts_incomplete = collect_end_name(found.end);
    collection_free(&found);
    r->collect_ms = clock_ms(clock_now() - began);
}
