/* Fields: taken from the table, changed to values that are apt to matter. */
#include "mutator_internal.h"

static void view_of(const uint8_t *bytes, size_t size, struct fcvi_frame *view, struct fcvi_values *values)
{
    struct fcvi_input in = {bytes, size, FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_ABSENT};
    fcvi_decode(&in, view, NULL);
    if (fcvi_values_of(view, values) != 0)
        values->count = 0;
}

static uint64_t most(const struct fcvi_field *f)
{
    return f->hi - f->lo == 63 ? UINT64_MAX : (1ULL << (f->hi - f->lo + 1)) - 1;
}

/* A value that has a name, now and then the one after it. */
static uint64_t named(const struct fcvi_field *f, uint64_t *random)
{
    size_t count = 0;
    while (f->codes != NULL && f->codes[count].name != NULL)
        count++;
    return count == 0 ? draw(random) : f->codes[below(random, count)].value + one_in(random, 8);
}

static uint64_t another(const struct fcvi_field *f, uint64_t old, const struct fcvi_values *v,
                        uint64_t *random)
{
    switch (below(random, 11)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return most(f) >> 1;
    case 3:
        return old + 1;
    case 4:
        return old - 1;
    case 5:
        return old ^ 1ULL << below(random, 64);
    case 6:
        return v->length - below(random, 2) - (one_in(random, 2) ? 24 : 56);
    case 7:
        return v->list[below(random, v->count)].u; /* another field's */
    case 8:
        return 1ULL << below(random, 33);
    case 9:
        return draw(random);
    default:
        return named(f, random);
    }
}

static void write_number(uint8_t *bytes, const struct fcvi_value *at, const struct fcvi_field *f,
                         uint64_t value)
{
    uint8_t *container = bytes + at->base + f->byte;
    uint64_t mask = most(f) << f->lo;
    fcvi_store(container, f->size, (fcvi_load(container, f->size) & ~mask) | (value << f->lo & mask));
}

static void write_bytes(struct buffer *b, const struct fcvi_value *at, const struct fcvi_field *f,
                        uint64_t *random)
{
    uint8_t *blob = b->bytes + at->base + f->byte;
    switch (below(random, 4)) {
    case 0:
        memset(blob, one_in(random, 2) ? 0 : 0xFF, f->size);
        break;
    case 1: /* like another part of the frame */
        memmove(blob, b->bytes + below(random, b->size - f->size + 1), f->size);
        break;
    default:
        blob[below(random, f->size)] = (uint8_t)draw(random);
        break;
    }
}

void mutate_field(struct buffer *b, uint64_t *random)
{
    struct fcvi_frame view;
    struct fcvi_values v;
    size_t fields;
    view_of(b->bytes, b->size, &view, &v);
    if (v.count == 0)
        return;
    /* the header has a third of the fields that a connect IU has, and as much is decided by it */
    size_t first = one_in(random, 3) ? 0 : v.count / 4;
    const struct fcvi_value *at = &v.list[first + below(random, v.count - first)];
    const struct fcvi_field *f = &fcvi_field_table(&fields)[at->field];
    if (f->kind == FCVI_F_BLOB)
        write_bytes(b, at, f, random);
    else
        write_number(b->bytes, at, f, another(f, at->u, &v, random));
}

void copy_fields(struct buffer *b, const uint8_t *from, size_t size, uint64_t *random)
{
    struct fcvi_frame view;
    struct fcvi_values mine, theirs;
    size_t fields;
    const struct fcvi_field *table = fcvi_field_table(&fields);
    view_of(b->bytes, b->size, &view, &mine);
    view_of(from, size, &view, &theirs);
    if (theirs.count == 0)
        return;
    for (size_t n = 1 + below(random, 4); n > 0; n--) {
        const struct fcvi_value *source = &theirs.list[below(random, theirs.count)];
        const struct fcvi_field *f = &table[source->field];
        for (size_t i = 0; i < mine.count; i++) {
            if (mine.list[i].field != source->field)
                continue;
            if (f->kind == FCVI_F_BLOB)
                memcpy(b->bytes + mine.list[i].base + f->byte, source->bytes, f->size);
            else
                write_number(b->bytes, &mine.list[i], f, source->u);
            break;
        }
    }
}
