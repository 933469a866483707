/* Sizes and seconds that a person types (CVE-2026-30892: "-1" that was read as an id of 0). What is accepted is a number without a
 * sign, and it is the number that the text says, worked out here in another way, in wider arithmetic. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "cli/numbers.h"
#include "policy/document.h"

#include <math.h>
#include <strings.h>

__extension__ typedef unsigned __int128 wide;
#define WIDE_MAX ((wide)1 << 100)

/* Digits at the start of `text` as a number that cannot wrap; NULL when there are none. */
static const char *digits(const char *text, wide *ret)
{
    const char *at = text;
    for (*ret = 0; *at >= '0' && *at <= '9'; at++)
        *ret = *ret >= WIDE_MAX ? *ret : *ret * 10 + (unsigned)(*at - '0');
    return at > text ? at : NULL;
}

/* bits of the unit behind a number, -1: no such unit */
static int unit_bits(const char *unit, bool loose)
{
    static const char letters[] = "kmgt";
    if (!*unit || !strcmp(unit, "B") || (loose && !strcasecmp(unit, "b")))
        return 0;
    const char *letter = strchr(letters, *unit | 0x20);
    if (!letter)
        return -1;
    int bits = 10 * (int)(letter - letters + 1);
    if (!loose)
        return *unit < 'a' && !strcmp(unit + 1, "iB") ? bits : -1;
    return bits <= 30 && (!unit[1] || !strcasecmp(unit + 1, "b") || !strcasecmp(unit + 1, "ib")) ? bits : -1;
}

static void check_command_line(const char *text)
{
    uint64_t got = 77;
    wide value = 0;
    const char *unit = digits(text, &value);
    int bits = unit ? unit_bits(unit, true) : -1;
    bool right = bits >= 0 && value > 0 && value < WIDE_MAX && (value << bits) <= UINT64_MAX;
    require(number_size(text, &got) == right);
    require(got == (right ? (uint64_t)(value << bits) : 77));
}

static void check_policy(const char *text)
{
    uint64_t got = 77, again;
    char printed[SIZE_TEXT];
    wide value = 0;
    const char *unit = digits(text, &value);
    if (unit && unit[0] == ' ' && unit[1])
        unit++;
    int bits = unit ? unit_bits(unit, false) : -1;
    bool right = bits >= 0 && value < WIDE_MAX && (value << bits) <= (wide)1 << 53;
    require(size_parse(text, &got) == right);
    require(got == (right ? (uint64_t)(value << bits) : 77));
    if (!right)
        return;
    size_text(got, printed);
    char *word = strstr(printed, " bytes"); /* for people; the form that is read has no such word */
    if (word)
        *word = '\0';
    require(size_parse(printed, &again) && again == got);
}

static void check_seconds(const char *text)
{
    double got = -77;
    size_t plain = strspn(text, "0123456789."), count = 0, points = 0;
    for (const char *at = text; *at; at++) {
        count += *at != '.';
        points += *at == '.';
    }
    bool right = !text[plain] && points <= 1 && count >= 1 && count <= 15;
    require(number_seconds(text, &got) == right);
    if (!right)
        require(got == -77);
    else
        require(fabs(got - strtod(text, NULL)) <= 1e-15 * got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = malloc(size + 1);
    require(text != NULL);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    check_command_line(text);
    check_policy(text);
    check_seconds(text);
    return 0;
}
