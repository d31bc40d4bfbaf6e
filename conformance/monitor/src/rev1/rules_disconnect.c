/* Rev 1.0, 5.3.5, 6.10 and 6.11: FCVI_DISCONNECT_RQST and FCVI_DISCONNECT_RESP. */
#include "rev1.h"

/* 6.10; after no Message it is 0 (R12). */
static void take_request(struct r1_judged_frame *r)
{
    struct judged_frame *s = r->s;
    struct r1_end *end = mon_rev1_target(r);
    if (end == NULL)
        return;
    mon_rev1_pref(r, end);
    if (end->counting && !s->in->broken && r->x->id != end->next)
        mon_rev1_report(r, DH1(r, VI_MSG_ID), r->x->id,
                        FCVI_BREACH("REV1-6.10-01",
                                    "VI_MSG_ID is not one more than that of the last Message sent",
                                    end->next),
                        end->last != 0 ? end->last : end->made);
    end->left = end->closed = end->unsure = true; /* no row says what it may send from now on */
    struct r1_end *back = mon_rev1_end(s, s->d_id, s->s_id, end->partner);
    if (back != NULL) /* the other port may have asked at the same time */
        back->closed = true;
}

static void take_answer(struct r1_judged_frame *r)
{
    struct judged_frame *s = r->s;
    const uint64_t id = fcvi_DH_REV1_VI_MSG_ID(s->dh);
    if (id != r->x->id && mon_rev1_far_good(r))
        mon_rev1_report(
            r, DH1(r, VI_MSG_ID), id,
            FCVI_BREACH("REV1-6.11-01", "the answer has another VI_MSG_ID than the request", r->x->id),
            r->x->born);
    struct r1_end *end = mon_rev1_target(r);
    if (end != NULL)
        mon_rev1_pref(r, end);
}

void mon_rev1_disconnect(struct r1_judged_frame *r)
{
    if (r->s->who == 1)
        take_answer(r);
    else if (r->own->frame == 0)
        take_request(r);
}
