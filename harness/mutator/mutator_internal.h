/* Parts of the mutator. A buffer has room for `room` bytes of which the first `size` are a frame. */
#ifndef FCVI_MUTATOR_INTERNAL_H
#define FCVI_MUTATOR_INTERNAL_H

#include "fcvi_mutator.h"

#include <fcvi/codec.h>
#include <fcvi/table.h>
#include <string.h>

struct buffer {
    uint8_t *bytes;
    size_t size, room;
    bool rev1; /* IUs are made by the tables of 1999 */
};

/* splitmix64 */
static inline uint64_t draw(uint64_t *random)
{
    uint64_t z = *random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* 0 <= result < n; n shall not be 0 */
static inline size_t below(uint64_t *random, size_t n)
{
    return (size_t)(draw(random) % n);
}

static inline bool one_in(uint64_t *random, size_t n)
{
    return below(random, n) == 0;
}

/* edition.c: the edition whose IU these bytes are, or are made into */
enum fcvi_edition fcvi_mutator_edition(const uint8_t *bytes, size_t size, bool rev1);

/* fields.c: change the fields of a frame, or copy some of `from` */
void fcvi_mutator_mutate_field(struct buffer *b, uint64_t *random);
void fcvi_mutator_copy_fields(struct buffer *b, const uint8_t *from, size_t size, uint64_t *random);

/* build.c: frames made from nothing, and what a frame claims to be */
void fcvi_mutator_build_frame(struct buffer *b, uint64_t *random);
void fcvi_mutator_retype(struct buffer *b, uint64_t *random);
void fcvi_mutator_resize_payload(struct buffer *b, uint64_t *random);
void fcvi_mutator_answer_to(struct buffer *b, uint64_t *random);

/* frame.c: some of all that */
void fcvi_mutator_mutate_frame(struct buffer *b, uint64_t *random);

/* pdus.c: the format "pdus" */
void fcvi_mutator_mutate_pdus(struct buffer *b, uint64_t *random);
void fcvi_mutator_cross_pdus(struct buffer *b, const uint8_t *from, size_t size, uint64_t *random);

/* sequence.c: the format "frames" */
size_t fcvi_mutator_mutate_records(uint8_t *data, size_t size, size_t room, bool rev1, uint64_t *random);
size_t fcvi_mutator_cross_records(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                  struct buffer *out, uint64_t *random);

#endif
