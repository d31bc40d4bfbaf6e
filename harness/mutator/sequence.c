/* Frames one after the other: records are repeated, lost, moved, answered, and given each other's fields. */
#include "mutator_internal.h"

enum { MOST_RECORDS = 64, LONGEST = 2136 };

struct records {
    size_t at[MOST_RECORDS], length[MOST_RECORDS]; /* of the frames, behind their heads */
    size_t count, end;
};

static void find(const uint8_t *data, size_t size, struct records *r)
{
    r->count = r->end = 0;
    while (r->count < MOST_RECORDS && size - r->end >= FCVI_RECORD_HEAD) {
        size_t length = (size_t)data[r->end] << 8 | data[r->end + 1];
        if (length > size - r->end - FCVI_RECORD_HEAD)
            break;
        r->at[r->count] = r->end + FCVI_RECORD_HEAD;
        r->length[r->count++] = length;
        r->end += FCVI_RECORD_HEAD + length;
    }
}

/* Put a record of `size` bytes, head included, in before the byte `at`. False when there is no room. */
static bool insert(struct buffer *b, size_t at, const uint8_t *record, size_t size)
{
    if (size > b->room - b->size)
        return false;
    memmove(b->bytes + at + size, b->bytes + at, b->size - at);
    memcpy(b->bytes + at, record, size);
    b->size += size;
    return true;
}

static void take_out(struct buffer *b, size_t at, size_t size)
{
    memmove(b->bytes + at, b->bytes + at + size, b->size - at - size);
    b->size -= size;
}

static size_t record_of(const struct records *r, size_t i, size_t *size)
{
    *size = r->length[i] + FCVI_RECORD_HEAD;
    return r->at[i] - FCVI_RECORD_HEAD;
}

static void put_head(uint8_t *head, size_t length, uint64_t *random)
{
    static const uint8_t sofs[] = {FCVI_SOF_I3, FCVI_SOF_I3, FCVI_SOF_N3, FCVI_SOF_I2, FCVI_SOF_N2};
    head[0] = (uint8_t)(length >> 8);
    head[1] = (uint8_t)length;
    head[2] = sofs[below(random, sizeof sofs)];
    head[3] = one_in(random, 2) ? FCVI_EOF_T : FCVI_EOF_N;
    head[4] = one_in(random, 16) ? (uint8_t)below(random, 64) : 0;
    head[5] = one_in(random, 4) ? (uint8_t)draw(random) : 0;
}

/* Record i again, with its frame changed by `change`, before byte `at`. */
static void again(struct buffer *b, const struct records *r, size_t i, size_t at,
                  void (*change)(struct buffer *, uint64_t *), uint64_t *random)
{
    uint8_t record[FCVI_RECORD_HEAD + LONGEST];
    struct buffer frame = {record + FCVI_RECORD_HEAD, r->length[i] < LONGEST ? r->length[i] : LONGEST,
                           LONGEST, b->rev1};
    memcpy(record, b->bytes + r->at[i] - FCVI_RECORD_HEAD, FCVI_RECORD_HEAD + frame.size);
    change(&frame, random);
    record[0] = (uint8_t)(frame.size >> 8);
    record[1] = (uint8_t)frame.size;
    insert(b, at, record, FCVI_RECORD_HEAD + frame.size);
}

static void nothing(struct buffer *b, uint64_t *random)
{
    (void)b;
    (void)random;
}

static void add_fresh(struct buffer *b, size_t at, uint64_t *random)
{
    uint8_t record[FCVI_RECORD_HEAD + LONGEST];
    struct buffer frame = {record + FCVI_RECORD_HEAD, 0, LONGEST, b->rev1};
    fcvi_mutator_build_frame(&frame, random);
    if (b->size == 0 && b->room >= FCVI_RECORD_HEAD && frame.size > b->room - FCVI_RECORD_HEAD)
        frame.size = b->room - FCVI_RECORD_HEAD; /* better a part than nothing */
    put_head(record, frame.size, random);
    insert(b, at, record, FCVI_RECORD_HEAD + frame.size);
}

static void step(struct buffer *b, uint64_t *random)
{
    struct records r;
    find(b->bytes, b->size, &r);
    b->size = r.end;
    if (r.count == 0) {
        add_fresh(b, 0, random);
        return;
    }
    size_t i = below(random, r.count), j = below(random, r.count), size;
    size_t at = record_of(&r, i, &size), other = r.at[j] - FCVI_RECORD_HEAD;
    struct buffer frame = {b->bytes + r.at[i], r.length[i], r.length[i], b->rev1};
    switch (below(random, 12)) {
    case 0:
        take_out(b, at, size);
        break;
    case 1:
        again(b, &r, i, other, nothing, random); /* repeated or overtaken */
        break;
    case 2:
        again(b, &r, i, r.end, fcvi_mutator_answer_to, random);
        break;
    case 3:
        again(b, &r, i, at + size, fcvi_mutator_mutate_frame, random);
        take_out(b, at, size);
        break;
    case 4:
        add_fresh(b, other, random);
        break;
    case 5:
        put_head(b->bytes + at, r.length[i], random);
        break;
    case 6:
    case 7:
        fcvi_mutator_copy_fields(&frame, b->bytes + r.at[j], r.length[j],
                                 random); /* its Exchange, its handle, its numbers */
        break;
    default:
        fcvi_mutator_mutate_field(&frame, random);
        break;
    }
}

size_t fcvi_mutator_mutate_records(uint8_t *data, size_t size, size_t room, bool rev1, uint64_t *random)
{
    struct buffer b = {data, size < room ? size : room, room, rev1};
    for (size_t steps = 1 + below(random, 4); steps > 0; steps--)
        step(&b, random);
    if (b.size == 0)
        add_fresh(&b, 0, random);
    return b.size;
}

size_t fcvi_mutator_cross_records(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                  struct buffer *out, uint64_t *random)
{
    struct records r[2];
    const uint8_t *data[2] = {a, b};
    find(a, a_size, &r[0]);
    find(b, b_size, &r[1]);
    size_t next[2] = {0, 0}, side = below(random, 2);
    while (next[0] < r[0].count || next[1] < r[1].count) {
        if (next[side] >= r[side].count || one_in(random, 3))
            side = !side;
        if (next[side] >= r[side].count)
            continue;
        size_t size, at = record_of(&r[side], next[side]++, &size);
        if (!one_in(random, 8))
            insert(out, out->size, data[side] + at, size);
    }
    return out->size;
}
