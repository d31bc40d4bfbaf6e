/** Eight characters looked at together, or sixteen, for texts in which nearly none is out of the ordinary. A
 * function of eight gives a number that is not zero when one of them is; for characters above 7Eh use
 * eight_above_ascii first, since the others may miss what is beside one. */
#ifndef FCVI_HARNESS_EIGHT_H
#define FCVI_HARNESS_EIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EIGHT_TIMES(c) (UINT64_C(0x0101010101010101) * (c))

static inline uint64_t eight_at(const char *text)
{
    uint64_t eight;
    memcpy(&eight, text, sizeof eight);
    return eight;
}

/** One is 7Fh or above. */
static inline uint64_t eight_above_ascii(uint64_t eight)
{
    return (eight | (eight + EIGHT_TIMES(1))) & EIGHT_TIMES(0x80);
}

/** One is below c, which is 80h at most. */
static inline uint64_t eight_below(uint64_t eight, unsigned char c)
{
    return (eight - EIGHT_TIMES(c)) & ~eight & EIGHT_TIMES(0x80);
}

/** One is c. */
static inline uint64_t eight_has(uint64_t eight, unsigned char c)
{
    return eight_below(eight ^ EIGHT_TIMES(c), 1);
}

/** What stands for a character in HTML; NULL when it stands for itself. */
static inline const char *eight_escape(char c)
{
    static const char *const escapes[128] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&#34;", ['\''] = "&#39;"};
    return (unsigned char)c < 128 ? escapes[(unsigned char)c] : NULL;
}

/** Sixteen characters, which the processor compares together. */
typedef unsigned char eight_two __attribute__((vector_size(16)));

/** Whether one of sixteen has to be escaped in HTML: & < > " or '. Two pairs of them differ in one bit. */
static inline bool eight_two_markup(const char *text)
{
    eight_two all;
    uint64_t halves[2];
    memcpy(&all, text, sizeof all);
    const eight_two found = (eight_two)((all & (unsigned char)~('<' ^ '>')) == ('<' & '>')) |
                            (eight_two)((all & (unsigned char)~('&' ^ '"')) == ('&' & '"')) |
                            (eight_two)(all == '\'');
    memcpy(halves, &found, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

/** How many characters at the beginning stand for themselves in HTML, whatever the others are: nearly all of
 * a text, as a rule. */
static inline size_t eight_unescaped(const char *text, size_t length)
{
    size_t at = 0;
    while (at + sizeof(eight_two) <= length && !eight_two_markup(text + at))
        at += sizeof(eight_two);
    while (at < length && eight_escape(text[at]) == NULL)
        at++;
    return at;
}

#endif
