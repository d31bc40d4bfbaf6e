/* Fields: found by the table, changed to values that are apt to matter. */
#include "mutator_internal.h"

enum { FC = 24, MOST_SPOTS = 16, MOST_TRIES = 12 };

/* Where the structures of the table stand in a frame. */
struct map {
    struct {
        uint16_t structure, base;
    } list[MOST_SPOTS];
    size_t count, length;
    uint8_t iu;
};

/* One field of a frame. */
struct leaf {
    const struct fcvi_field *field;
    uint16_t structure, base;
};

static void add(struct map *map, enum fcvi_structure structure, size_t base)
{
    if (map->count < MOST_SPOTS && base <= UINT16_MAX) {
        map->list[map->count].structure = (uint16_t)structure;
        map->list[map->count++].base = (uint16_t)base;
    }
}

static void add_connect(struct map *map, size_t base, enum fcvi_edition edition)
{
    if (edition == FCVI_EDITION_REV1) {
        add(map, FCVI_S_CONN_REV1, base);
        add(map, FCVI_S_ADDR_REV1, base + FCVI_CONN_REV1_VI_LOC_ADDR_BYTE);
        add(map, FCVI_S_ADDR_REV1, base + FCVI_CONN_REV1_VI_REM_ADDR_BYTE);
        add(map, FCVI_S_ATTRS_REV1, base + FCVI_CONN_REV1_VI_LOC_ATTRS_BYTE);
        add(map, FCVI_S_QOS_REV1, base + FCVI_CONN_REV1_VI_LOC_ATTRS_BYTE + FCVI_ATTRS_REV1_VIP_QOS_BYTE);
        return;
    }
    size_t attributes = base + FCVI_CONN_FCVI_LOC_ATTRS_BYTE;
    add(map, FCVI_S_CONN, base);
    add(map, FCVI_S_ADDR, base + FCVI_CONN_FCVI_LOC_ADDR_BYTE);
    add(map, FCVI_S_ADDR, base + FCVI_CONN_FCVI_REM_ADDR_BYTE);
    add(map, FCVI_S_ATTRS, attributes);
    add(map, FCVI_S_QOS, attributes + FCVI_ATTRS_FCVI_QOS_BYTE);
}

/* Link services: whatever the codec finds in them. */
static void add_values(struct map *map, const struct fcvi_frame *view)
{
    struct fcvi_values v;
    size_t fields;
    const struct fcvi_field *table = fcvi_field_table(&fields);
    if (fcvi_values_of(view, &v) != 0)
        return;
    for (size_t i = 0; i < v.count; i++) {
        const struct fcvi_value *at = &v.list[i];
        uint16_t structure = table[at->field].structure;
        size_t last = map->count - 1;
        if (map->list[last].structure != structure || map->list[last].base != at->base)
            add(map, (enum fcvi_structure)structure, at->base);
    }
}

/* False when not even a Frame_Header is there. */
static bool map_of(const uint8_t *bytes, size_t size, bool rev1, struct map *map)
{
    struct fcvi_frame view;
    struct fcvi_input in = {bytes, size, FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_ABSENT};
    const enum fcvi_edition edition = fcvi_mutator_edition(bytes, size, rev1);
    fcvi_decode_edition(&in, edition, &view, NULL);
    map->count = 0;
    map->length = size;
    map->iu = view.iu;
    if (view.kind == FCVI_KIND_MALFORMED)
        return false;
    add(map, FCVI_S_FC, 0);
    if (view.iu == FCVI_IU_NONE) {
        if (view.kind != FCVI_KIND_LINK_CONTROL && view.kind != FCVI_KIND_IU)
            add_values(map, &view);
        return true;
    }
    const bool old = edition == FCVI_EDITION_REV1;
    const size_t payload = old ? FCVI_CONN_REV1_LENGTH : FCVI_CONN_LENGTH;
    size_t end = (size_t)(view.dh - bytes) + fcvi_edition_iu(edition, (enum fcvi_iu)view.iu)->dh_size;
    if (end > size)
        return true;
    add(map, old ? FCVI_S_DH_REV1 : FCVI_S_DH, (size_t)(view.dh - bytes));
    if ((FCVI_IUS_CONNECT_RQST | FCVI_IUS_CONNECT_RESP1) >> view.iu & 1u && size - end >= payload)
        add_connect(map, end, edition);
    return true;
}

/* The headers decide most: a quarter of the choices each, when there is more. */
static size_t choose_spot(const struct map *map, uint64_t *random)
{
    size_t i = below(random, 4);
    return i < 2 && i < map->count ? i : below(random, map->count);
}

static bool is_leaf_of(const struct fcvi_field *field, uint8_t iu)
{
    return field->kind != FCVI_F_GROUP && field->kind != FCVI_F_NEST && field->ius >> iu & 1u;
}

/* Any field that the frame has. */
static bool choose(const struct map *map, struct leaf *leaf, uint64_t *random)
{
    size_t fields, structures;
    const struct fcvi_field *table = fcvi_field_table(&fields);
    const struct fcvi_structure_info *info = fcvi_structure_table(&structures);
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        size_t i = choose_spot(map, random), s = map->list[i].structure;
        size_t end = s + 1 < structures ? info[s + 1].first : fields;
        const struct fcvi_field *field = &table[info[s].first + below(random, end - info[s].first)];
        if (!is_leaf_of(field, map->iu))
            continue;
        *leaf = (struct leaf){field, (uint16_t)s, map->list[i].base};
        return true;
    }
    return false;
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

static uint64_t number_at(const uint8_t *bytes, const struct leaf *at)
{
    const struct fcvi_field *f = at->field;
    return fcvi_load(bytes + at->base + f->byte, f->size) >> f->lo & most(f);
}

/* What another field of the frame holds. */
static uint64_t neighbour(const uint8_t *bytes, const struct map *map, uint64_t *random)
{
    struct leaf other;
    return choose(map, &other, random) && other.field->kind != FCVI_F_BLOB ? number_at(bytes, &other) : 0;
}

static uint64_t another(const uint8_t *bytes, const struct map *map, const struct leaf *at, uint64_t *random)
{
    const struct fcvi_field *f = at->field;
    uint64_t old = number_at(bytes, at);
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
        return old ^ 1ULL << below(random, f->hi - f->lo + 1u);
    case 6:
        return map->length - below(random, 2) - (one_in(random, 2) ? FC : FC + 32);
    case 7:
        return neighbour(bytes, map, random);
    case 8:
        return 1ULL << below(random, 33);
    case 9:
        return draw(random);
    default:
        return named(f, random);
    }
}

static void write_number(uint8_t *bytes, const struct leaf *at, uint64_t value)
{
    const struct fcvi_field *f = at->field;
    uint8_t *container = bytes + at->base + f->byte;
    uint64_t mask = most(f) << f->lo;
    fcvi_store(container, f->size, (fcvi_load(container, f->size) & ~mask) | (value << f->lo & mask));
}

static void write_bytes(struct buffer *b, const struct leaf *at, uint64_t *random)
{
    const struct fcvi_field *f = at->field;
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

void fcvi_mutator_mutate_field(struct buffer *b, uint64_t *random)
{
    struct map map;
    struct leaf at;
    if (!map_of(b->bytes, b->size, b->rev1, &map) || !choose(&map, &at, random))
        return;
    if (at.field->kind == FCVI_F_BLOB)
        write_bytes(b, &at, random);
    else
        write_number(b->bytes, &at, another(b->bytes, &map, &at, random));
}

/* The same field in another frame. */
static bool find(const struct map *map, const struct leaf *wanted, struct leaf *out)
{
    for (size_t i = 0; i < map->count && is_leaf_of(wanted->field, map->iu); i++) {
        if (map->list[i].structure != wanted->structure)
            continue;
        *out = (struct leaf){wanted->field, wanted->structure, map->list[i].base};
        return true;
    }
    return false;
}

void fcvi_mutator_copy_fields(struct buffer *b, const uint8_t *from, size_t size, uint64_t *random)
{
    struct map mine, theirs;
    struct leaf source, at;
    if (!map_of(b->bytes, b->size, b->rev1, &mine) || !map_of(from, size, b->rev1, &theirs))
        return;
    for (size_t n = 1 + below(random, 4); n > 0; n--) {
        if (!choose(&theirs, &source, random) || !find(&mine, &source, &at))
            continue;
        if (at.field->kind == FCVI_F_BLOB)
            memcpy(b->bytes + at.base + at.field->byte, from + source.base + source.field->byte,
                   at.field->size);
        else
            write_number(b->bytes, &at, number_at(from, &source));
    }
}
