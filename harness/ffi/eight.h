/** Eight characters looked at together, for texts in which nearly none is out of the ordinary. Each function
 * gives a number that is not zero when one of the eight is; for characters above 7Eh use eight_above_ascii
 * first, since the others may miss what is beside one. */
#ifndef FCVI_HARNESS_EIGHT_H
#define FCVI_HARNESS_EIGHT_H

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

/** One has to be escaped in HTML: & < > " or '. Two pairs of them differ in one bit. */
static inline uint64_t eight_markup(uint64_t eight)
{
    return eight_has(eight & ~EIGHT_TIMES('<' ^ '>'), '<' & '>') |
           eight_has(eight & ~EIGHT_TIMES('&' ^ '"'), '&' & '"') | eight_has(eight, '\'');
}

/** What stands for a character in HTML; NULL when it stands for itself. */
static inline const char *eight_escape(char c)
{
    static const char *const escapes[128] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&#34;", ['\''] = "&#39;"};
    return (unsigned char)c < 128 ? escapes[(unsigned char)c] : NULL;
}

#endif
