/* The monitor's block and its tables: entries by key, of which the one idle longest makes room. */
#ifndef FCVI_MONITOR_POOLS_H
#define FCVI_MONITOR_POOLS_H

#include <fcvi/assert.h>
#include <fcvi/monitor.h>
#include <string.h>

/* Everything here is the monitor's own: calls need not go through the tables of a shared library. */
#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

#define NONE UINT32_MAX
#define NEVER UINT64_MAX

/* ---- tables ---- */

/** Every entry of a table begins with this. An entry is named by its place: bytes from the start of the
 * block.
 */
struct node {
    uint64_t k0, k1;
    uint32_t older, newer; /* by last use */
    uint32_t hash, place;
};

/** A hash table with its entries; offsets are bytes from the start of the block. A slot has the hash of an
 *  entry above its place, so that a search touches no other entry; place 0 is an empty slot. */
struct pool {
    uint64_t slots;
    uint64_t evicted;
    uint32_t items, bound; /* of the entries: the first, and what stands behind the last */
    uint32_t size, mask;
    uint32_t fresh; /* entries from here on were never used */
    uint32_t oldest, newest;
};

enum { MON_FARPS = 16 }; /* ports whose FARP-REQs are remembered; those of further ones are not judged */

/** The FARP-REQs of a port. */
struct farp {
    uint64_t frame, name; /* of the first FARP-REQ: its frame, its Requesting N_Port Port_Name */
    uint32_t network, port;
    uint8_t codes, action;
    bool several; /* a later FARP-REQ had other values */
};

enum {
    MON_ENOUGH_ANSWERS = 2
}; /* of which one may have come behind a hole, long after what it seems to answer */

/** The latest frame that may be answered. */
struct asked {
    uint64_t time;
    uint32_t network, from, to;
    uint16_t ox_id;
    uint8_t who;
};

struct fcvi_monitor {
    struct fcvi_monitor_config config;
    struct fcvi_monitor_count unjudged[FCVI_UNJUDGED_COUNT];
    uint64_t last_gap; /* number of the last frame before which frames are missing; 0: none are */
    uint64_t latest;   /* number of the latest frame */
    uint64_t voided;   /* number of the last frame that ended a login, of any two ports */
    uint64_t resumed;  /* time of the first frame after that gap, or of the first of all */
    struct asked asked;
    uint64_t answer_us; /* the shortest time in which a frame was seen to be answered */
    uint32_t answers;   /* that were seen, up to MON_ENOUGH_ANSWERS */
    bool partial;       /* frames before it were not seen */
    bool veiled;        /* of some setups or logins only the headers were seen */
    bool knows_r_a_tov;
    bool whole;          /* nothing is missing and nothing out of order, gaps apart */
    bool rev1_blind;     /* a setup of Rev 1.0 was not understood: what handles it gave is not known */
    uint64_t rev1_first; /* number of the first IU of Rev 1.0; 0: none came */
    struct pool exchanges, endpoints, setups, sequences, pairs;
    struct pool rev1_exchanges, rev1_ends; /* of FC-VI Rev 1.0 (1999) */
    struct farp farp[MON_FARPS];
};

void mon_pool_clear(struct fcvi_monitor *m, struct pool *p);
static inline uint32_t mon_hash(const struct fcvi_monitor *m, uint64_t k0, uint64_t k1)
{
    uint64_t h = (k0 ^ m->config.seed ^ k1 * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    return (uint32_t)(h >> 32);
}
/** The entry of a key, now the one used last; NULL when there is none. */
void *mon_pool_search(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1);
/** The entry that makes room for the next; NULL: there is room. */
static inline void *mon_pool_oldest(struct fcvi_monitor *m, const struct pool *p)
{
    return p->fresh < p->bound ? NULL : (uint8_t *)m + p->oldest;
}
/** A zeroed entry for a key that the table does not have. The one idle longest makes room. */
void *mon_pool_add(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1);

static inline struct node *mon_pool_at(struct fcvi_monitor *m, uint32_t place)
{
    FCVI_ASSERT(place != NONE && place >= sizeof *m);
    return (struct node *)(void *)((uint8_t *)m + place);
}

/** The entry is the one used last. */
static inline void mon_pool_touch(struct fcvi_monitor *m, struct pool *p, struct node *n)
{
    FCVI_ASSERT(n->place >= p->items && n->place < p->bound);
    if (n->newer == NONE)
        return;
    mon_pool_at(m, n->newer)->older = n->older;
    if (n->older != NONE)
        mon_pool_at(m, n->older)->newer = n->newer;
    else
        p->oldest = n->newer;
    mon_pool_at(m, p->newest)->newer = n->place;
    n->older = p->newest;
    n->newer = NONE;
    p->newest = n->place;
}

/** As mon_pool_search; quick when it is the one used last, as it mostly is. */
static inline void *mon_pool_find(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1)
{
    struct node *n = p->newest != NONE ? mon_pool_at(m, p->newest) : NULL;
    return n != NULL && n->k0 == k0 && n->k1 == k1 ? n : mon_pool_search(m, p, k0, k1);
}

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
