/* Three of four changes that libFuzzer tries are made here, on whole words, numbers first: a changed byte of a JSON text is mostly no JSON. A number
 * becomes another near it or at a border, a string becomes another string of the same texts. AFL++ has no use for it. */
#include "fuzz.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
/* libFuzzer's own; weak, because AFL's driver need not have it. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

enum { WORDS = 512 };

struct word {
    size_t at, length;
    bool number;
};

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static size_t find_words(const uint8_t *data, size_t size, struct word words[WORDS])
{
    size_t count = 0;
    for (size_t i = 0; i < size && count < WORDS; i++) {
        if (data[i] == '"' && i + 1 < size && is_digit(data[i + 1]))
            i++; /* "64MiB" */
        size_t start = i;
        bool number = is_digit(data[i]);
        if (number)
            while (i + 1 < size && is_digit(data[i + 1]))
                i++;
        else if (data[i] == '"')
            while (++i < size && data[i] != '"')
                ;
        else
            continue;
        if (i < size)
            words[count++] = (struct word){start, i + 1 - start, number};
    }
    return count;
}

static size_t other_number(const uint8_t *at, size_t length, unsigned int seed, char ret[32])
{
    char text[20] = "";
    memcpy(text, at, length < 18 ? length : 18);
    unsigned long long value = strtoull(text, NULL, 10);
    const unsigned long long others[] = {value + 1, value ? value - 1 : 1, value * 2, value / 2, value * 10, 0, 65536, 1ull << 32};
    return (size_t)snprintf(ret, 32, "%llu", others[seed % (sizeof others / sizeof *others)]);
}

static size_t replace(uint8_t *data, size_t size, size_t max_size, struct word old, const void *with, size_t length)
{
    if (size - old.length + length > max_size)
        return size;
    memmove(data + old.at + length, data + old.at + old.length, size - old.at - old.length);
    memcpy(data + old.at, with, length);
    return size - old.length + length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    static struct word words[WORDS];
    size_t count = seed & 3 ? find_words(data, size, words) : 0;
    char text[256];
    if (count == 0)
        return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, max_size) : size;
    size_t chosen = (seed >> 3) % count;
    for (size_t i = 0; seed & 4 && i < count && !words[chosen].number; i++)
        chosen = (chosen + 1) % count;
    struct word old = words[chosen], other = words[(seed >> 10) % count];
    if (old.number)
        return replace(data, size, max_size, old, text, other_number(data + old.at, old.length, seed >> 20, text));
    if (other.length > sizeof text)
        return size;
    memcpy(text, data + other.at, other.length);
    return replace(data, size, max_size, old, text, other.length);
}
