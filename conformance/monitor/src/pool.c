/* Hash tables whose entries are lined up by their last use, so that the one idle longest can make room. */
#include "state.h"

static struct node *at(struct fcvi_monitor *m, const struct pool *p, uint32_t index)
{
    return (struct node *)(void *)((uint8_t *)m + p->items + (uint64_t)index * p->size);
}

static uint32_t *bucket(struct fcvi_monitor *m, const struct pool *p, uint64_t k0, uint64_t k1)
{
    uint64_t h = (k0 ^ m->config.seed ^ k1 * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    return (uint32_t *)(void *)((uint8_t *)m + p->buckets) + (h >> 32 & p->mask);
}

static uint32_t index_of(struct fcvi_monitor *m, const struct pool *p, const struct node *n)
{
    return (uint32_t)((uint64_t)((const uint8_t *)n - ((const uint8_t *)m + p->items)) / p->size);
}

static void unline(struct fcvi_monitor *m, struct pool *p, struct node *n)
{
    if (n->older != NONE)
        at(m, p, n->older)->newer = n->newer;
    else
        p->oldest = n->newer;
    if (n->newer != NONE)
        at(m, p, n->newer)->older = n->older;
    else
        p->newest = n->older;
}

static void line_up(struct fcvi_monitor *m, struct pool *p, struct node *n)
{
    uint32_t i = index_of(m, p, n);
    n->older = p->newest;
    n->newer = NONE;
    if (p->newest != NONE)
        at(m, p, p->newest)->newer = i;
    else
        p->oldest = i;
    p->newest = i;
}

static void unchain(struct fcvi_monitor *m, struct pool *p, const struct node *n)
{
    uint32_t i = index_of(m, p, n);
    uint32_t *link = bucket(m, p, n->k0, n->k1);
    while (*link != i)
        link = &at(m, p, *link)->chain;
    *link = n->chain;
}

void mon_pool_clear(struct fcvi_monitor *m, struct pool *p)
{
    memset((uint8_t *)m + p->buckets, 0xFF, ((size_t)p->mask + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < p->count; i++) {
        at(m, p, i)->used = 0;
        at(m, p, i)->chain = i + 1 < p->count ? i + 1 : NONE;
    }
    p->free = 0;
    p->oldest = p->newest = NONE;
}

void *mon_pool_find(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1)
{
    for (uint32_t i = *bucket(m, p, k0, k1); i != NONE; i = at(m, p, i)->chain) {
        struct node *n = at(m, p, i);
        if (n->k0 != k0 || n->k1 != k1)
            continue;
        if (p->newest != i) {
            unline(m, p, n);
            line_up(m, p, n);
        }
        return n;
    }
    return NULL;
}

static struct node *take(struct fcvi_monitor *m, struct pool *p)
{
    uint32_t i = p->free;
    if (i != NONE) {
        p->free = at(m, p, i)->chain;
        return at(m, p, i);
    }
    struct node *n = at(m, p, p->oldest);
    unchain(m, p, n);
    unline(m, p, n);
    p->evicted++;
    return n;
}

void *mon_pool_add(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1)
{
    struct node *n = take(m, p);
    memset(n, 0, p->size);
    n->k0 = k0;
    n->k1 = k1;
    n->used = 1;
    uint32_t *first = bucket(m, p, k0, k1);
    n->chain = *first;
    *first = index_of(m, p, n);
    line_up(m, p, n);
    return n;
}
