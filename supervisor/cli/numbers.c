/* Numbers on the command line. */
#include "cli/numbers.h"

#include <string.h>
#include <strings.h>

bool number_size(const char *text, uint64_t *ret)
{
    static const struct { const char *unit; unsigned shift; } units[] = {
        {"", 0}, {"b", 0}, {"k", 10}, {"kb", 10}, {"kib", 10}, {"m", 20}, {"mb", 20}, {"mib", 20}, {"g", 30}, {"gb", 30}, {"gib", 30}};
    uint64_t value = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0)
        return false;
    for (size_t i = 0; i < digits; i++)
        if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
            return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(text + digits, units[i].unit) == 0) {
            if (value == 0 || value > UINT64_MAX >> units[i].shift)
                return false;
            *ret = value << units[i].shift;
            return true;
        }
    return false;
}

/* By hand: strtod follows the locale's decimal point and takes "inf", "0x1p3" and blanks. */
bool number_seconds(const char *text, double *ret)
{
    double value = 0, unit = 1;
    size_t digits = 0;
    bool point = false;
    for (; *text; text++) {
        if (*text == '.' && !point) {
            point = true;
        } else if (*text >= '0' && *text <= '9' && ++digits <= 15) {
            value = value * 10 + (*text - '0');
            if (point)
                unit *= 10;
        } else {
            return false;
        }
    }
    if (digits == 0)
        return false;
    *ret = value / unit;
    return true;
}

bool number_count(const char *text, unsigned max, unsigned *ret)
{
    unsigned value = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || text[digits] != '\0')
        return false;
    for (size_t i = 0; i < digits; i++)
        if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (unsigned)(text[i] - '0'), &value) || value > max)
            return false;
    *ret = value;
    return true;
}
