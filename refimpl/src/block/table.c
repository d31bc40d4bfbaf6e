/* Hash tables of chained indices: an object is found in time that does not depend on how many there are. */
#include "table.h"

uint32_t fcvi_table_hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
    return (uint32_t)(h * 0xD6E8FEB86659FD93u >> 32);
}

static uint32_t *bucket(struct fcvi_port *p, const struct table *t, uint32_t hash)
{
    FCVI_ASSERT((t->mask & (t->mask + 1)) == 0);
    return (uint32_t *)(void *)((uint8_t *)p + t->buckets) + (hash & t->mask);
}

static uint32_t *link_of(struct fcvi_port *p, const struct table *t, uint32_t index)
{
    return (uint32_t *)(void *)((uint8_t *)p + t->links) + index;
}

uint32_t fcvi_table_first(struct fcvi_port *p, const struct table *t, uint32_t hash)
{
    return *bucket(p, t, hash);
}

uint32_t fcvi_table_next(struct fcvi_port *p, const struct table *t, uint32_t index)
{
    return *link_of(p, t, index);
}

/* At the end of its chain: among equals the oldest is found first (VI-DG 6.7). */
void fcvi_table_add(struct fcvi_port *p, const struct table *t, uint32_t hash, uint32_t index)
{
    FCVI_ASSERT(index != NONE);
    uint32_t *at = bucket(p, t, hash);
    while (*at != NONE)
        at = link_of(p, t, *at);
    *at = index;
    *link_of(p, t, index) = NONE;
}

void fcvi_table_remove(struct fcvi_port *p, const struct table *t, uint32_t hash, uint32_t index)
{
    uint32_t *at = bucket(p, t, hash);
    while (*at != index) {
        FCVI_ASSERT(*at != NONE); /* it stands in its chain */
        at = link_of(p, t, *at);
    }
    *at = *link_of(p, t, index);
}
