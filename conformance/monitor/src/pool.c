/* Hash tables whose entries are lined up by their last use, so that the one idle longest can make room. */
#include "pools.h"

static uint64_t *slots_of(struct fcvi_monitor *m, const struct pool *p)
{
    return (uint64_t *)(void *)((uint8_t *)m + p->slots);
}

/* ---- by last use ---- */

static void unline(struct fcvi_monitor *m, struct pool *p, struct node *n)
{
    if (n->older != NONE)
        mon_pool_at(m, n->older)->newer = n->newer;
    else
        p->oldest = n->newer;
    if (n->newer != NONE)
        mon_pool_at(m, n->newer)->older = n->older;
    else
        p->newest = n->older;
}

static void line_up(struct fcvi_monitor *m, struct pool *p, struct node *n)
{
    n->older = p->newest;
    n->newer = NONE;
    if (p->newest != NONE)
        mon_pool_at(m, p->newest)->newer = n->place;
    else
        p->oldest = n->place;
    p->newest = n->place;
}

/* ---- by key ---- */

static void *look(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1)
{
    const uint32_t hash = mon_hash(m, k0, k1);
    const uint64_t *slots = slots_of(m, p);
    for (uint32_t i = hash & p->mask; slots[i] != 0; i = (i + 1) & p->mask) {
        if ((uint32_t)(slots[i] >> 32) != hash)
            continue;
        struct node *n = mon_pool_at(m, (uint32_t)slots[i]);
        if (n->k0 != k0 || n->k1 != k1)
            continue;
        mon_pool_touch(m, p, n);
        return n;
    }
    return NULL;
}

static void put(struct fcvi_monitor *m, const struct pool *p, const struct node *n)
{
    FCVI_ASSERT(n->place >= p->items && n->place < p->bound);
    uint64_t *slots = slots_of(m, p);
    uint32_t i = n->hash & p->mask;
    while (slots[i] != 0)
        i = (i + 1) & p->mask;
    slots[i] = (uint64_t)n->hash << 32 | n->place;
}

/* What stands behind the slot moves up, where it may stand. */
static void take_out(struct fcvi_monitor *m, const struct pool *p, const struct node *n)
{
    uint64_t *slots = slots_of(m, p);
    uint32_t gap = n->hash & p->mask;
    while ((uint32_t)slots[gap] != n->place)
        gap = (gap + 1) & p->mask;
    for (uint32_t i = (gap + 1) & p->mask; slots[i] != 0; i = (i + 1) & p->mask) {
        uint32_t home = (uint32_t)(slots[i] >> 32) & p->mask;
        if (((i - home) & p->mask) < ((i - gap) & p->mask))
            continue;
        slots[gap] = slots[i];
        gap = i;
    }
    slots[gap] = 0;
}

/* ---- entries ---- */

void mon_pool_clear(struct fcvi_monitor *m, struct pool *p)
{
    FCVI_ASSERT(p->mask != 0 && (p->mask & (p->mask + 1)) == 0);
    memset(slots_of(m, p), 0, ((size_t)p->mask + 1) * sizeof(uint64_t));
    p->fresh = p->items;
    p->oldest = p->newest = NONE;
}

void *mon_pool_search(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1)
{
    /* a stream goes back and forth between few things: the one used before the last is looked at first */
    struct node *n = p->newest != NONE && mon_pool_at(m, p->newest)->older != NONE
                         ? mon_pool_at(m, mon_pool_at(m, p->newest)->older)
                         : NULL;
    if (n == NULL || n->k0 != k0 || n->k1 != k1)
        return look(m, p, k0, k1);
    mon_pool_touch(m, p, n);
    return n;
}

static struct node *make_room(struct fcvi_monitor *m, struct pool *p)
{
    FCVI_ASSERT(p->oldest != NONE && p->newest != NONE);
    struct node *n = mon_pool_at(m, p->oldest);
    take_out(m, p, n);
    unline(m, p, n);
    p->evicted++;
    return n;
}

void *mon_pool_add(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1)
{
    bool fresh = p->fresh < p->bound;
    struct node *n = fresh ? mon_pool_at(m, p->fresh) : make_room(m, p);
    uint32_t place = fresh ? p->fresh : n->place;
    p->fresh += fresh ? p->size : 0;
    memset(n, 0, p->size);
    n->k0 = k0;
    n->k1 = k1;
    n->hash = mon_hash(m, k0, k1);
    n->place = place;
    put(m, p, n);
    line_up(m, p, n);
    return n;
}
