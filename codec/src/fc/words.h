/* What bytes of a frame say in words: addresses, Discriminators, and where a nested structure belongs. */
#ifndef FCVI_CODEC_WORDS_H
#define FCVI_CODEC_WORDS_H

#include <fcvi/codec.h>
#include <fcvi/table.h>

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

enum { FCVI_WORDS_MAX = 128 }; /* a Discriminator (7.2) is the longest */

/** An IP address as IPv6 text, a Discriminator as text where all of it is printable. Returns the length of
 * the words in out, which no NUL ends; 0 when the bytes are no words. */
size_t fcvi_words_of_bytes(const struct fcvi_value *value, char out[FCVI_WORDS_MAX]);

/* Where the structures of a frame that were met so far begin: one that lies in another comes after its
 * beginning. */
struct fcvi_places {
    uint16_t base[FCVI_S_COUNT];
};

/** Note that a structure begins here; returns the field of another structure that it is, as FCVI_LOC_ADDR is
 * one of the two FCVI_NET_ADDRESS of a connect payload, or NULL when it stands for itself. */
const char *fcvi_place_of(struct fcvi_places *places, unsigned structure, uint16_t base);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
