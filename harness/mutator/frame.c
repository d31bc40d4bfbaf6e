/* One frame: a few changes, most of them to fields. */
#include "mutator_internal.h"

enum { FC = 24, MOST_STEPS = 6 };

static void turn_bytes(struct buffer *b, uint64_t *random)
{
    for (size_t n = 1 + below(random, 4); n > 0 && b->size > 0; n--)
        b->bytes[below(random, b->size)] ^= (uint8_t)(1u << below(random, 8));
}

static void step(struct buffer *b, uint64_t *random)
{
    switch (below(random, 16)) {
    case 0:
        fcvi_mutator_retype(b, random);
        break;
    case 1:
    case 2:
        fcvi_mutator_resize_payload(b, random);
        break;
    case 3:
        turn_bytes(b, random);
        break;
    case 4:
        fcvi_mutator_answer_to(b, random);
        break;
    case 5:
        if (one_in(random, 4))
            fcvi_mutator_build_frame(b, random);
        break;
    default:
        fcvi_mutator_mutate_field(b, random);
        break;
    }
}

void fcvi_mutator_mutate_frame(struct buffer *b, uint64_t *random)
{
    if (b->size < FC)
        fcvi_mutator_build_frame(b, random);
    size_t steps = 1 + below(random, one_in(random, 4) ? MOST_STEPS : 2);
    for (; steps > 0; steps--)
        step(b, random);
    if (b->size == 0)
        fcvi_mutator_build_frame(b, random);
}

/* ---- the format "one frame" ---- */

static size_t tail_of(const struct fcvi_mutator_format *format)
{
    return format->trailer + (format->crc && !format->pdus ? 4u : 0u);
}

static void put_crc(uint8_t *data, size_t frame, const struct fcvi_mutator_format *format, uint64_t *random)
{
    uint32_t crc = fcvi_crc32(data, frame) ^ (one_in(random, 16) ? 1u : 0u);
    uint8_t *at = data + frame + format->trailer;
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(crc >> 8 * i);
}

/* Room for the tail is kept behind the frame; its bytes are the old ones, sometimes changed. */
static size_t with_tail(struct buffer *b, const uint8_t *tail, const struct fcvi_mutator_format *format,
                        uint64_t *random)
{
    memcpy(b->bytes + b->size, tail, format->trailer);
    if (format->trailer > 0 && one_in(random, 8))
        b->bytes[b->size + below(random, format->trailer)] = (uint8_t)draw(random);
    if (format->crc && !format->pdus)
        put_crc(b->bytes, b->size, format, random);
    return b->size + tail_of(format);
}

size_t fcvi_mutate(uint8_t *data, size_t size, size_t max_size, uint64_t seed,
                   const struct fcvi_mutator_format *format)
{
    uint64_t random = seed;
    if (format->frames)
        return fcvi_mutator_mutate_records(data, size, max_size, format->rev1, &random);
    size_t tail = tail_of(format);
    uint8_t kept[UINT8_MAX + 4] = {0};
    if (max_size <= tail)
        return size < max_size ? size : max_size;
    size_t frame = size > tail ? size - tail : 0;
    if (frame > 0)
        memcpy(kept, data + frame, tail);
    struct buffer b = {data, frame < max_size - tail ? frame : max_size - tail, max_size - tail,
                       format->rev1};
    if (format->pdus)
        fcvi_mutator_mutate_pdus(&b, &random);
    else
        fcvi_mutator_mutate_frame(&b, &random);
    return with_tail(&b, kept, format, &random);
}

size_t fcvi_crossover(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                      size_t max_size, uint64_t seed, const struct fcvi_mutator_format *format)
{
    uint64_t random = seed;
    struct buffer made = {out, 0, max_size, format->rev1};
    if (format->frames)
        return fcvi_mutator_cross_records(a, a_size, b, b_size, &made, &random);
    size_t tail = tail_of(format);
    if (a_size <= tail || b_size <= tail || a_size > max_size)
        return 0;
    made = (struct buffer){out, a_size - tail, max_size - tail, format->rev1};
    memcpy(out, a, a_size - tail);
    if (format->pdus)
        fcvi_mutator_cross_pdus(&made, b, b_size - tail, &random);
    else
        fcvi_mutator_copy_fields(&made, b, b_size - tail, &random);
    return with_tail(&made, a + a_size - tail, format, &random);
}
