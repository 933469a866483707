/* libFuzzer target: what json_check calls OK must be parsed by cJSON, printed, and be OK again, with the same print; what it
 * calls UNFIT or BAD must not get through json_parse. Raw members of good text are good text. */
#include "fuzz.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"

static const struct json_limits limits = {.max_bytes = 1 << 16};

static void check_print(const cJSON *tree, bool pretty) {
    cleanup_free char *first = pretty ? json_print_pretty(tree) : json_print(tree);

    require(first != NULL && utf8_valid(first, strlen(first)));
    cleanup_json cJSON *again = json_parse(first, strlen(first), (struct json_limits){0}, NULL);

    require(again != NULL);
    cleanup_free char *second = pretty ? json_print_pretty(again) : json_print(again);

    require(second != NULL && strcmp(first, second) == 0);
    if (!pretty)
        require(!strpbrk(first, "\r\n") && !strstr(first, "\xe2\x80\xa8") && !strstr(first, "\xe2\x80\xa9"));
}

/* cJSON and the raw walk must find the same member under the same name. */
static void check_members(const cJSON *tree, const char *text, size_t length) {
    const cJSON *item;

    if (!cJSON_IsObject(tree))
        return;
    cJSON_ArrayForEach(item, tree) {
        const char *raw;
        size_t raw_length;

        require(json_raw_member(text, length, item->string, &raw, &raw_length));
        require(raw >= text && raw + raw_length <= text + length);
        cleanup_json cJSON *value = json_parse(raw, raw_length, (struct json_limits){0}, NULL);
        cleanup_free char *one = json_print(value);
        cleanup_free char *other = json_print(json_get(tree, item->string));

        require(one != NULL && other != NULL && strcmp(one, other) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data, *raw;
    struct error err = {0};
    enum json_verdict verdict = json_check(text, size, limits, &err);
    cleanup_json cJSON *tree = json_parse(text, size, limits, NULL);
    size_t raw_length;

    require((tree != NULL) == (verdict == JSON_OK));
    require((err.message[0] != '\0') == (verdict != JSON_OK));
    if (verdict != JSON_BAD && json_raw_member(text, size, "id", &raw, &raw_length))
        require(json_check(raw, raw_length, limits, NULL) != JSON_BAD);
    if (verdict == JSON_BAD)
        json_raw_member(text, size, "id", &raw, &raw_length); /* promises nothing, but must not read astray */
    if (verdict != JSON_OK)
        return 0;
    check_print(tree, false);
    check_print(tree, true);
    check_members(tree, text, size);
    return 0;
}
