/* Breadth first: the first breach that is found is one of the shortest. */
#include "explore.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_STEPS = sizeof((struct result *)0)->path / sizeof(struct choice) };

struct hunt {
    const struct system *s;
    struct store *store;
    struct result *r;
    uint8_t *here, *there;
};

static void found(struct hunt *h, uint32_t number, const struct choice *last)
{
    struct result *r = h->r;
    r->complete = false;
    r->steps = fcvi_explore_store_path(h->store, number, r->path, MOST_STEPS - 1);
    if (last != NULL)
        r->path[r->steps++] = *last;
}

/* Nothing goes on by itself: all that could happen is that a TCP connection is reset. */
static bool at_rest(const struct choice *list, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i].kind != BREAK)
            return false;
    return true;
}

/* All successors of one state; false when a rule is broken or there is no more room. */
static bool expand(struct hunt *h, uint32_t number)
{
    struct choice list[CHOICES];
    struct result *r = h->r;
    unsigned n = fcvi_explore_choices(h->s, h->here, list);
    if (at_rest(list, n)) {
        r->ends++;
        fcvi_explore_rule_end(h->s, h->here, h->there, &r->breach);
        if (r->breach.rule != NULL) {
            found(h, number, NULL);
            return false;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        memcpy(h->there, h->here, h->s->size);
        r->transitions++;
        fcvi_explore_apply(h->s, h->there, &list[i], &r->breach);
        if (r->breach.rule != NULL) {
            found(h, number, &list[i]);
            return false;
        }
        if (fcvi_explore_store_add(h->store, h->there, number, &list[i]) == STORED_FULL) {
            r->complete = false;
            return false;
        }
    }
    return true;
}

static void levels(struct hunt *h)
{
    struct result *r = h->r;
    uint32_t number;
    if (fcvi_explore_store_add(h->store, h->s->base, 0, NULL) != STORED_NEW) {
        r->complete = false;
        return;
    }
    while (fcvi_explore_store_level(h->store)) {
        uint32_t size = 0;
        while (fcvi_explore_store_next(h->store, h->here, &number)) {
            size++;
            if (!expand(h, number))
                return;
        }
        r->level = size > r->level ? size : r->level;
        r->depth++;
    }
}

void fcvi_explore_search(const struct system *s, struct result *r)
{
    struct timespec a, b;
    struct hunt h = {s, fcvi_explore_store_new(s, s->options), r, malloc(s->size), malloc(s->size)};
    memset(r, 0, sizeof *r);
    r->complete = h.store != NULL && h.here != NULL && h.there != NULL;
    clock_gettime(CLOCK_MONOTONIC, &a);
    if (r->complete)
        levels(&h);
    clock_gettime(CLOCK_MONOTONIC, &b);
    r->seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    r->states = h.store != NULL ? fcvi_explore_store_count(h.store) : 0;
    if (h.store != NULL)
        fcvi_explore_store_free(h.store);
    free(h.here);
    free(h.there);
}
