/* A cache of port pairs by the edition that they speak. What was idle longest makes room: such a pair starts
 * anew. */
#include "editions.h"

#include <stdlib.h>
#include <string.h>

enum { SETS = 1024, WAYS = 8 }; /* hundreds of pairs that talk at once hardly ever meet in a set */

struct pair {
    uint64_t ports; /* the lower N_Port Identifier above the higher */
    uint32_t network;
    uint8_t edition; /* FCVI_EDITION_COUNT: not known */
    bool used, fixed;
    bool leans;           /* nothing is known, and a frame would be a breach of 2007 alone */
    uint16_t rev1, other; /* frames that showed one */
};

struct editions {
    enum editions_mode mode;
    uint64_t seed;
    struct pair pair[SETS][WAYS]; /* of a set, the one used last comes first */
};

struct editions *fcvi_editions_open(enum editions_mode mode, uint64_t seed)
{
    struct editions *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->mode = mode;
    t->seed = seed;
    return t;
}

void fcvi_editions_close(struct editions *editions)
{
    free(editions);
}

enum { ADDRESS = 24, WRITE_HEADER = 32 };

static struct pair *find(struct editions *t, uint64_t s_id, uint64_t d_id, uint32_t network)
{
    const uint64_t ports = s_id < d_id ? s_id << ADDRESS | d_id : d_id << ADDRESS | s_id;
    uint64_t h = (ports ^ t->seed ^ (uint64_t)network * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    struct pair *set = t->pair[(h >> 32) % SETS];
    if (set[0].used && set[0].ports == ports && set[0].network == network)
        return &set[0];
    size_t i = 1;
    while (i < WAYS - 1 && !(set[i].used && set[i].ports == ports && set[i].network == network))
        i++;
    struct pair found = set[i];
    if (!found.used || found.ports != ports || found.network != network) /* it takes the last one's place */
        found =
            (struct pair){.ports = ports, .network = network, .edition = FCVI_EDITION_COUNT, .used = true};
    memmove(&set[1], &set[0], i * sizeof set[0]);
    set[0] = found;
    return &set[0];
}

static void count(uint16_t *n)
{
    *n = (uint16_t)(*n + (*n < UINT16_MAX));
}

/* A frame of the pair can only be of this edition. */
static void take(struct pair *p, enum fcvi_edition shown, bool connects)
{
    if (connects) {
        p->edition = (uint8_t)shown;
        p->fixed = true;
        return;
    }
    count(shown == FCVI_EDITION_REV1 ? &p->rev1 : &p->other);
    if (p->edition == FCVI_EDITION_COUNT)
        p->edition = (uint8_t)shown;
    else if (p->edition == FCVI_EDITION_REV1 && !p->fixed && p->other > p->rev1)
        p->edition = FCVI_EDITION_2007;
}

static bool is_rqst(const struct fcvi_frame *frame)
{
    return frame->dh_length >= 16 && fcvi_DH_FCVI_OPCODE(frame->dh) == FCVI_OP_CONNECT_RQST;
}

/* A Write whose length is zero though it has data: so are all of 1999, and of 2007 none may be. Either
 * edition has the IU, so that this is no proof. */
static bool leans_to_rev1(const struct fcvi_frame *frame)
{
    return frame->kind == FCVI_KIND_IU && frame->dh_length == WRITE_HEADER && frame->payload_length != 0 &&
           fcvi_DH_FCVI_OPCODE(frame->dh) == FCVI_OP_WRITE_RQST && fcvi_DH_FCVI_TOT_LEN(frame->dh) == 0;
}

static enum fcvi_edition edition_of(struct editions *t, const struct fcvi_frame *frame, uint32_t network,
                                    bool *known)
{
    *known = true;
    if (t->mode != EDITIONS_AUTO)
        return t->mode == EDITIONS_REV1 ? FCVI_EDITION_REV1 : FCVI_EDITION_2007;
    struct pair *p = find(t, fcvi_FC_S_ID(frame->fc), fcvi_FC_D_ID(frame->fc), network);
    const enum fcvi_edition shown = fcvi_edition_shown(frame);
    if (shown != FCVI_EDITION_COUNT)
        take(p, shown, is_rqst(frame));
    *known = p->edition != FCVI_EDITION_COUNT;
    if (*known)
        return (enum fcvi_edition)p->edition;
    p->leans |= leans_to_rev1(frame);
    return p->leans ? FCVI_EDITION_REV1 : FCVI_EDITION_2007;
}

enum fcvi_edition fcvi_editions_of(struct editions *t, const struct editions_frame *frame, bool *known)
{
    if (!frame->cut)
        return edition_of(t, frame->view, frame->network, known);
    struct fcvi_frame f = *frame->view; /* its payload_length is of what is there */
    const size_t headers = f.payload != NULL ? (size_t)(f.payload - f.fc) : frame->whole;
    if (frame->whole > headers)
        f.payload_length = (uint32_t)(frame->whole - headers);
    const enum fcvi_edition edition = edition_of(t, &f, frame->network, known);
    const bool connects = f.iu == FCVI_IU_CONNECT_RQST || f.iu == FCVI_IU_CONNECT_RESP1;
    return !*known && connects && f.dh_length == 16 ? FCVI_EDITION_REV1 : edition;
}
