/* Connect IUs under way, by Sequence. */
#include "connects.h"

#include <fcvi/assembly.h>
#include <stdlib.h>

enum { MOST = 256 /* at once: the one begun first was never finished */, DH = 32 };

/* Each side has OX_IDs of its own, so that a request and an answer may share all four. A SPAN port repeats
 * frames late, and of an earlier setup with these identifiers the end may be missing. */
struct name {
    uint32_t network, s_id, d_id, connection_id;
    uint16_t ox_id;
    uint8_t seq_id, iu;
};

struct under_way {
    struct name name;
    uint64_t begun; /* rising; 0: free */
    struct fcvi_assembly assembly;
};

struct connects {
    uint64_t begun;
    struct under_way list[MOST];
};

struct connects *fcvi_connects_open(void)
{
    return calloc(1, sizeof(struct connects));
}

void fcvi_connects_close(struct connects *connects)
{
    free(connects);
}

bool fcvi_connects_is_part(const struct fcvi_frame *f)
{
    return (f->iu == FCVI_IU_CONNECT_RQST || f->iu == FCVI_IU_CONNECT_RESP1) &&
           f->edition == FCVI_EDITION_2007 && (!fcvi_FC_End_Sequence(f->fc) || fcvi_FC_Parameter(f->fc) != 0);
}

static struct name name_of(uint32_t network, const struct fcvi_frame *f)
{
    return (struct name){
        network,
        (uint32_t)fcvi_FC_S_ID(f->fc),
        (uint32_t)fcvi_FC_D_ID(f->fc),
        f->dh_length < DH ? 0 : (uint32_t)fcvi_DH_FCVI_CONNECTION_ID(f->dh),
        (uint16_t)fcvi_FC_OX_ID(f->fc),
        (uint8_t)fcvi_FC_SEQ_ID(f->fc),
        f->iu,
    };
}

static bool same(const struct name *a, const struct name *b)
{
    return a->network == b->network && a->s_id == b->s_id && a->d_id == b->d_id && a->iu == b->iu &&
           a->ox_id == b->ox_id && a->seq_id == b->seq_id && a->connection_id == b->connection_id;
}

/* The one of this name; NULL: it has not begun, and this part does not begin it. */
static struct under_way *find(struct connects *c, const struct name *name, bool begins)
{
    struct under_way *oldest = &c->list[0];
    for (unsigned i = 0; i < MOST; i++) {
        struct under_way *u = &c->list[i];
        if (u->begun != 0 && same(&u->name, name))
            return u;
        if (u->begun < oldest->begun)
            oldest = u;
    }
    if (!begins)
        return NULL;
    oldest->name = *name;
    oldest->begun = ++c->begun;
    return oldest;
}

void fcvi_connects_take(struct connects *c, const struct capture_record *record,
                        const struct fcvi_frame *frame, struct fcvi_findings *findings)
{
    const struct name name = name_of(record->network, frame);
    struct under_way *u = find(c, &name, fcvi_FC_Parameter(frame->fc) == 0);
    if (u == NULL || !fcvi_assembly_add(&u->assembly, frame))
        return;
    fcvi_assembly_check(&u->assembly, findings);
    u->begun = 0;
}
