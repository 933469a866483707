/* The receipt's artifacts: what the call wrote for its caller, and what was found and not taken. */
#include "receipt/receipt.h"

#include "base/json.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_SHOWN 10u
#define NAME_SHOWN 200u
#define DIGEST_PREFIX 7 /* "sha256:" */

void receipt_free_artifacts(struct receipt *r)
{
    for (size_t i = 0; i < r->artifact_count; i++) {
        free(r->artifacts[i].path);
        buf_free(&r->artifacts[i].data);
    }
    for (size_t i = 0; i < r->left_out_count; i++)
        free(r->left_out[i].path);
    free(r->artifacts);
    free(r->left_out);
}

static bool add_text(cJSON *object, const char *name, const char *text)
{
    cJSON *made = json_text(text, strlen(text));
    if (made && cJSON_AddItemToObject(object, name, made))
        return true;
    cJSON_Delete(made);
    return false;
}

static cJSON *add_row(cJSON *list)
{
    cJSON *row = list ? cJSON_CreateObject() : NULL;
    if (row && cJSON_AddItemToArray(list, row))
        return row;
    cJSON_Delete(row);
    return NULL;
}

void receipt_put_artifacts(cJSON *top, const struct receipt *r, bool *ok)
{
    cJSON *list = cJSON_AddArrayToObject(top, "artifacts");
    *ok = *ok && list;
    for (size_t i = 0; *ok && i < r->artifact_count; i++) {
        const struct receipt_artifact *a = &r->artifacts[i];
        cJSON *row = add_row(list);
        *ok = row && add_text(row, "path", a->path) && cJSON_AddNumberToObject(row, "bytes", (double)a->bytes) &&
              add_text(row, "sha256", a->digest + DIGEST_PREFIX);
    }
    if (r->left_out_count > 0)
        *ok = (list = cJSON_AddArrayToObject(top, "artifacts_left_out")) && *ok;
    for (size_t i = 0; *ok && i < r->left_out_count; i++) {
        cJSON *row = add_row(list);
        *ok = row && add_text(row, "path", r->left_out[i].path) && add_text(row, "reason", r->left_out[i].reason);
    }
    if (r->left_out_more > 0)
        *ok = cJSON_AddNumberToObject(top, "artifacts_left_out_more", (double)r->left_out_more) && *ok;
    if (r->artifacts_incomplete)
        *ok = add_text(top, "artifacts_incomplete", r->artifacts_incomplete) && *ok;
}

static int add_name(struct buf *b, const char *before, const char *path)
{
    size_t n = strlen(path);
    return buf_addf(b, "%s%.*s", before, (int)(n > NAME_SHOWN ? utf8_cut(path, NAME_SHOWN) : n), path);
}

int receipt_artifact_words(struct buf *b, const struct receipt *r)
{
    size_t shown = r->artifact_count < WORDS_SHOWN ? r->artifact_count : WORDS_SHOWN;
    for (size_t i = 0; i < shown; i++)
        if (add_name(b, i == 0 ? "artifacts: " : "; ", r->artifacts[i].path) < 0 || buf_addf(b, " (%" PRIu64 " bytes)", r->artifacts[i].bytes) < 0)
            return -1;
    if (r->artifact_count > shown && buf_addf(b, "; %zu more", r->artifact_count - shown) < 0)
        return -1;
    if (shown > 0 && buf_adds(b, "\n") < 0)
        return -1;
    size_t told = r->left_out_count < WORDS_SHOWN ? r->left_out_count : WORDS_SHOWN;
    for (size_t i = 0; i < told; i++)
        if (add_name(b, i == 0 ? "left out of the artifacts: " : "; ", r->left_out[i].path) < 0 || buf_addf(b, " (%s)", r->left_out[i].reason) < 0)
            return -1;
    uint64_t more = r->left_out_more + (r->left_out_count - told);
    if (more > 0 && buf_addf(b, "; %" PRIu64 " more", more) < 0)
        return -1;
    if (told > 0 && buf_adds(b, "\n") < 0)
        return -1;
    return r->artifacts_incomplete ? buf_addf(b, "artifacts: not everything was looked at (%s)\n", r->artifacts_incomplete) : 0;
}
