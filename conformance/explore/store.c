/* States seen, by a hash of 128 bits, and the snapshots of those to be looked at next.
 *
 * A state seen is 40 bytes: hash, how it was reached, its place in the table. Only the snapshots of the
 * depth being looked at and of the next one are kept, as what differs from the first state. */
#include "explore.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 32, CANONICAL = 1 << 17, FIRST_TABLE = 1 << 12 };

struct node {
    uint64_t hash[2];
    uint32_t parent;
    struct choice how;
    uint8_t spare;
};

struct arena {
    uint8_t *bytes;
    size_t length, room, at;
    uint32_t count;
};

struct store {
    const struct system *s;
    uint64_t memory, most;
    struct node *nodes;
    uint32_t count, room;
    uint32_t *table, mask;
    struct arena level[2];
    uint32_t next_number;
    unsigned current;
    uint8_t *canonical;
};

struct store *fcvi_explore_store_new(const struct system *s, const struct options *o)
{
    struct store *st = calloc(1, sizeof *st);
    if (st == NULL)
        return NULL;
    *st = (struct store){.s = s, .memory = o->memory, .most = o->states};
    st->canonical = malloc(CANONICAL);
    st->table = calloc(FIRST_TABLE, sizeof *st->table);
    st->mask = FIRST_TABLE - 1;
    if (st->canonical == NULL || st->table == NULL) {
        fcvi_explore_store_free(st);
        return NULL;
    }
    return st;
}

void fcvi_explore_store_free(struct store *st)
{
    free(st->nodes);
    free(st->table);
    free(st->level[0].bytes);
    free(st->level[1].bytes);
    free(st->canonical);
    free(st);
}

uint32_t fcvi_explore_store_count(const struct store *st)
{
    return st->count;
}

/* ---- hash ---- */

static uint64_t mix(uint64_t h, uint64_t value, uint64_t k)
{
    h = (h ^ value) * k;
    return h ^ h >> 29;
}

static void hash(const uint8_t *bytes, size_t n, uint64_t out[2])
{
    uint64_t a = 0x9E3779B97F4A7C15u ^ n, b = 0xC2B2AE3D27D4EB4Fu + n;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t value = 0;
        memcpy(&value, bytes + i, n - i < 8 ? n - i : 8);
        a = mix(a, value, 0xD6E8FEB86659FD93u);
        b = mix(b, value << 32 | value >> 32, 0xFF51AFD7ED558CCDu);
    }
    out[0] = mix(a, a >> 32, 0xC4CEB9FE1A85EC53u);
    out[1] = mix(b, b >> 32, 0x94D049BB133111EBu);
}

/* ---- memory ---- */

static uint64_t held(const struct store *st)
{
    return (uint64_t)st->room * sizeof(struct node) + ((uint64_t)st->mask + 1) * sizeof(uint32_t) +
           st->level[0].room + st->level[1].room;
}

/* Twice as much room, unless that is more than may be used. */
static bool grow(struct store *st, void **block, size_t *room, size_t size, size_t wanted)
{
    size_t more = *room == 0 ? 4096 : *room * 2;
    while (more < wanted)
        more *= 2;
    if (held(st) + (more - *room) * size > st->memory)
        return false;
    void *p = realloc(*block, more * size);
    if (p == NULL)
        return false;
    *block = p;
    *room = more;
    return true;
}

static bool grow_table(struct store *st)
{
    size_t size = ((size_t)st->mask + 1) * 2;
    if (held(st) + size / 2 * sizeof(uint32_t) > st->memory)
        return false;
    uint32_t *table = calloc(size, sizeof *table);
    if (table == NULL)
        return false;
    free(st->table);
    st->table = table;
    st->mask = (uint32_t)(size - 1);
    for (uint32_t i = 0; i < st->count; i++) {
        uint64_t at = st->nodes[i].hash[0] & st->mask;
        while (table[at] != 0)
            at = (at + 1) & st->mask;
        table[at] = i + 1;
    }
    return true;
}

/* ---- snapshots: number of the state, chunks that differ from the first state, their numbers ---- */

static bool push(struct store *st, uint32_t number, const uint8_t *block)
{
    struct arena *a = &st->level[!st->current];
    size_t chunks = st->s->size / CHUNK, worst = a->length + 8 + chunks * (CHUNK + 2);
    if (worst > a->room) {
        void *bytes = a->bytes;
        if (!grow(st, &bytes, &a->room, 1, worst))
            return false;
        a->bytes = bytes;
    }
    uint8_t *head = a->bytes + a->length, *out = head + 8;
    uint32_t count = 0;
    for (size_t i = 0; i < chunks; i++) {
        const uint8_t *chunk = block + i * CHUNK;
        if (memcmp(chunk, st->s->base + i * CHUNK, CHUNK) == 0)
            continue;
        uint16_t at = (uint16_t)i;
        memcpy(out, &at, 2);
        memcpy(out + 2, chunk, CHUNK);
        out += CHUNK + 2;
        count++;
    }
    memcpy(head, &number, 4);
    memcpy(head + 4, &count, 4);
    a->length = (size_t)(out - a->bytes);
    a->count++;
    return true;
}

/* The next state of this depth; false when there is none left. */
bool fcvi_explore_store_next(struct store *st, uint8_t *block, uint32_t *number)
{
    struct arena *a = &st->level[st->current];
    uint32_t count;
    if (a->at == a->length)
        return false;
    memcpy(number, a->bytes + a->at, 4);
    memcpy(&count, a->bytes + a->at + 4, 4);
    a->at += 8;
    memcpy(block, st->s->base, st->s->size);
    for (uint32_t n = 0; n < count; n++, a->at += CHUNK + 2) {
        uint16_t i;
        memcpy(&i, a->bytes + a->at, 2);
        memcpy(block + (size_t)i * CHUNK, a->bytes + a->at + 2, CHUNK);
    }
    return true;
}

/* On to the next depth; false when it is empty. */
bool fcvi_explore_store_level(struct store *st)
{
    struct arena *a = &st->level[st->current];
    a->length = a->at = a->count = 0;
    st->current = !st->current;
    return st->level[st->current].count > 0;
}

/* ---- states ---- */

static bool add_node(struct store *st, const uint64_t h[2], uint32_t parent, const struct choice *c,
                     uint64_t at)
{
    if (st->count == st->room) {
        size_t room = st->room;
        void *nodes = st->nodes;
        if (!grow(st, &nodes, &room, sizeof *st->nodes, 0))
            return false;
        st->nodes = nodes;
        st->room = (uint32_t)room;
    }
    st->nodes[st->count] = (struct node){{h[0], h[1]}, parent, c != NULL ? *c : (struct choice){0, 0, 0}, 0};
    st->table[at] = ++st->count;
    return true;
}

enum stored fcvi_explore_store_add(struct store *st, uint8_t *block, uint32_t parent, const struct choice *c)
{
    uint64_t h[2];
    size_t n = fcvi_explore_system_canonical(st->s, block, st->canonical, CANONICAL);
    if (n > CANONICAL)
        return STORED_FULL;
    hash(st->canonical, n, h);
    uint64_t at = h[0] & st->mask;
    for (; st->table[at] != 0; at = (at + 1) & st->mask) {
        const struct node *node = &st->nodes[st->table[at] - 1];
        if (node->hash[0] == h[0] && node->hash[1] == h[1])
            return STORED_OLD;
    }
    bool room = st->count < st->most && push(st, st->count, block) && add_node(st, h, parent, c, at);
    if (!room || (st->count > st->mask / 2 && !grow_table(st)))
        return STORED_FULL;
    return STORED_NEW;
}

/* The choices that led to a state, in order. Returns how many, or 0 when there is no room for them. */
unsigned fcvi_explore_store_path(const struct store *st, uint32_t number, struct choice *out,
                                 unsigned capacity)
{
    unsigned n = 0;
    for (uint32_t i = number; i != 0; i = st->nodes[i].parent)
        n++;
    if (n > capacity)
        return 0;
    for (uint32_t i = number, at = n; i != 0; i = st->nodes[i].parent)
        out[--at] = st->nodes[i].how;
    return n;
}
