/* 7.3 with 4.2 and 5.8.2: what the attributes exchanged in a setup demand. */
#include "rules.h"

/* FCVI-4.2-39, E77: Endpoints of different Reliability Levels are not connected. The responder has the
 * request that it accepts. */
void mon_rules_7_3(struct at_hand *s)
{
    const struct setup_facts *u = &s->x->setup;
    bool accept = s->iu == FCVI_IU_CONNECT_RESP1 && !fcvi_DH_CONN_STS(s->dh);
    if (!accept || s->level_at == 0 || !u->has_rqst_attributes || !mon_far_good(s))
        return;
    if (u->rqst_level != u->resp_level)
        mon_report(
            s, FCVI_AT(s->level_at - FCVI_ATTRS_FCVI_RELIABILITY_LVL_BYTE, ATTRS, FCVI_RELIABILITY_LVL),
            u->resp_level,
            FCVI_BREACH("FCVI-4.2-39", "an Endpoint of another Reliability Level is accepted", u->rqst_level),
            u->rqst);
}

/* FCVI-5.8.2-03, -04 with 7.3-06: the frames of requests use Preference as the sender's Endpoint said in its
 * setup (E34: each end for itself, responses either way). With Priority Enable the byte is not CS_CTL. */
void mon_rules_5_8_2(struct at_hand *s)
{
    if (!mon_is(s->iu, FCVI_IUS_MSG_RQST) || fcvi_FC_Priority_Enable(s->fc))
        return;
    struct endpoint *e = mon_endpoint_known(s);
    const struct endpoint *mine = e == NULL ? NULL : mon_endpoint_beside(s->m, s->in->network, s->s_id, e);
    if (mine == NULL || mine->peer_handle != e->handle || mine->peer != s->d_id || mine->level == 0)
        return;
    uint64_t seen = fcvi_FC_PREF(s->fc);
    bool wanted = mine->pref == FCVI_PREF_PREFERENCE_USED;
    if (seen != wanted &&
        (mine->pref == FCVI_PREF_PREFERENCE_USED || mine->pref == FCVI_PREF_PREFERENCE_NOT_USED))
        mon_report(s, FC(PREF), seen,
                   FCVI_BREACH(wanted ? "FCVI-5.8.2-03" : "FCVI-5.8.2-04",
                               "PREF is not what the sender's FCVI_PREF said in the setup", wanted),
                   mine->bound);
}

void mon_depth_lost(struct fcvi_monitor *m, const struct exchange *x)
{
    struct endpoint *e = mon_endpoint_find(m, x->network, x->responder, x->message.handle);
    if (e != NULL && e->unconfirmed > 0 && e->peer == x->originator && e->bound <= x->born)
        e->unconfirmed--;
}

/* FCVI-7.3-14, E33: in Reliable Reception at most N + 1 Messages wait for their responses, N the larger of
 * what the two ends said. A response is counted when it is seen, which is before its receiver has it: the
 * sender has at least as many open as are counted here. */
void mon_rules_7_3_depth(struct at_hand *s)
{
    uint32_t network = s->in->network;
    bool response = s->who == 1 && s->end_sequence && s->last, request = s->who == 0 && s->own->frame == 0;
    /* what was counted waits until its response, even if that seemed to begin twice and nothing else is
     * judged */
    if (request ? !mon_exact(s->m, s->x) : !response || !s->x->waits)
        return;
    uint32_t handle = request ? (uint32_t)fcvi_DH_FCVI_HANDLE(s->dh) : s->x->message.handle;
    struct endpoint *e = mon_endpoint_find(s->m, network, s->x->responder, handle);
    if (e == NULL || e->bound == 0 || e->peer != s->x->originator || e->bound > s->x->born)
        return;
    s->x->waits = request;
    if (response) {
        e->unconfirmed -= e->unconfirmed > 0;
        return;
    }
    const struct endpoint *far = mon_endpoint_beside(s->m, network, e->peer, e);
    e->unconfirmed++;
    bool whole = e->counting && e->bound > s->m->last_gap; /* else a response may be missing */
    if (e->level != 3 || e->tainted || far == NULL || !whole || mon_endpoint_gone(s, e))
        return;
    uint64_t most = (uint64_t)(e->depth > far->depth ? e->depth : far->depth) + 1;
    if (e->unconfirmed > most)
        mon_report(s, DH(s, FCVI_MSG_ID), fcvi_DH_FCVI_MSG_ID(s->dh),
                   FCVI_BREACH_IN_WORDS("FCVI-7.3-14",
                                        "more Messages wait for responses than FCVI_PIPELINE_DEPTH allows",
                                        "at most FCVI_PIPELINE_DEPTH and one"),
                   e->bound);
}
