/* 7.3 with 4.2 and 5.8.2: what the attributes exchanged in a setup demand. */
#include "rules.h"

/* FCVI-4.2-39, E77: Endpoints of different Reliability Levels are not connected. The responder has the
 * request that it accepts. */
static void check_levels(struct judged_frame *s)
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

/* The requester asked for one address and named its own; who accepts has matched them (4.2-33) and says them
 * the other way round. Only the address's content counts: not how long its padding is. Peers compare the
 * Discriminators of their remote addresses, and each names its own as it likes (VI-DG 6.7, E140). */
static void check_exchanged(struct judged_frame *s, const char *id, uint32_t byte, const char *words,
                            const struct address *mine, const struct address *asked)
{
    bool host = mine->host != asked->host, peers = s->x->setup.mode != 1;
    if (!mon_address_known(mine) || !mon_address_known(asked) ||
        (!host && (peers || mine->discriminator == asked->discriminator)))
        return;
    struct fcvi_place place = DH(s, FCVI_OPCODE);
    uint64_t seen = fcvi_DH_FCVI_OPCODE(s->dh);
    if (s->own->frame == 0) {
        uint16_t at = (uint16_t)(s->f->payload - s->fc + byte +
                                 (host ? FCVI_ADDR_HOST_ADD_BYTE : FCVI_ADDR_DISCRIM_BYTE));
        place = (struct fcvi_place){host ? "HOST_ADD" : "DISCRIM", at, 8, 63, 0};
        seen = fcvi_load(s->fc + at, 8);
    }
    mon_report(s, place, seen, FCVI_BREACH_IN_WORDS(id, words, "the address of the CONNECT_RQST"),
               s->x->setup.rqst);
}

/* FCVI-6.9.3-04, -05 */
static void check_addresses(struct judged_frame *s)
{
    const struct setup_facts *u = &s->x->setup;
    if (s->iu != FCVI_IU_CONNECT_RESP1 || fcvi_DH_CONN_STS(s->dh) || !s->end_sequence || u->rqst == 0 ||
        !mon_exact(s->m, s->x) || !mon_far_good(s))
        return;
    check_exchanged(s, "FCVI-6.9.3-04", FCVI_CONN_FCVI_LOC_ADDR_BYTE,
                    "FCVI_LOC_ADDR is not the FCVI_REM_ADDR of the request", &u->resp_offer.local,
                    &u->rqst_offer.remote);
    check_exchanged(s, "FCVI-6.9.3-05", FCVI_CONN_FCVI_REM_ADDR_BYTE,
                    "FCVI_REM_ADDR is not the FCVI_LOC_ADDR of the request", &u->resp_offer.remote,
                    &u->rqst_offer.local);
}

void mon_rules_7_3(struct judged_frame *s)
{
    check_levels(s);
    check_addresses(s);
}

/* The Endpoint of the sender, in the Connection of the Message at hand; NULL: not known. */
static inline const struct endpoint *sender_of(struct judged_frame *s)
{
    struct endpoint *e = mon_endpoint_known(s);
    const struct endpoint *mine = e == NULL ? NULL : mon_endpoint_beside(s->m, s->in->network, s->s_id, e);
    bool here = mine != NULL && mine->peer_handle == e->handle && mine->peer == s->d_id && mine->level != 0;
    return here ? mine : NULL;
}

/* FCVI-7.3-04: no Message is longer than the sender's own VI allows. */
static void check_most(struct judged_frame *s)
{
    const struct endpoint *e = mon_endpoint_known(s);
    uint64_t total = fcvi_DH_FCVI_TOT_LEN(s->dh);
    if (e != NULL && e->peer_most != 0 && total > e->peer_most)
        mon_report(s, DH(s, FCVI_TOT_LEN), total,
                   FCVI_BREACH_IN_WORDS("FCVI-7.3-04",
                                        "the Message is longer than the FCVI_MAX_TRANS_SIZE of its sender",
                                        "at most what the sender's setup said"),
                   e->bound);
}

/* FCVI-T17-0, -1: a VI that is not enabled for it serves no RDMA; who moves no byte touches no memory. */
static void check_rights(struct judged_frame *s)
{
    bool write = s->iu == FCVI_IU_WRITE_RESP;
    uint64_t bytes = write ? s->x->message.total : s->f->payload_length;
    uint8_t right = (uint8_t)(1u << (write ? FCVI_ATTRS_EnRdmaWr_LO : FCVI_ATTRS_EnRdmaRd_LO));
    const struct endpoint *e = mon_endpoint_known(s);
    if (e == NULL || (e->peer_flags & right) != 0 || bytes == 0 || fcvi_DH_RESP_ERR(s->dh))
        return;
    if (e->peer_handle == s->x->message.handle && mon_message_linked(s) && mon_far_good(s))
        mon_report(s, DH(s, RESP_ERR), 0,
                   FCVI_BREACH(write ? "FCVI-T17-1" : "FCVI-T17-0",
                               "an RDMA is served by a VI that is not enabled for it", 1),
                   e->bound);
}

void mon_rules_7_3_rights(struct judged_frame *s)
{
    if (s->own->frame == 0 && (s->iu == FCVI_IU_WRITE_RESP || s->iu == FCVI_IU_READ_RESP))
        check_rights(s);
}

/* FCVI-5.8.2-03, -04 with 7.3-06: the frames of requests use Preference as the sender's Endpoint said in its
 * setup (E34: each end for itself, responses either way). With Priority Enable the byte is not CS_CTL. */
void mon_rules_5_8_2(struct judged_frame *s)
{
    const struct endpoint *mine = mon_is(s->iu, FCVI_IUS_MSG_RQST) ? sender_of(s) : NULL;
    if (mine == NULL)
        return;
    if (s->own->frame == 0)
        check_most(s);
    if (fcvi_FC_Priority_Enable(s->fc))
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
    FCVI_ASSERT(x->group == G_MESSAGE && x->waits);
    struct endpoint *e = mon_endpoint_find(m, x->network, x->responder, x->message.handle);
    if (e != NULL && e->unconfirmed > 0 && e->peer == x->originator && e->made <= x->born)
        e->unconfirmed--;
}

/* With this frame the Message is confirmed, be its End_Sequence and Last_Sequence right or not. */
static bool answers_all(const struct judged_frame *s)
{
    uint64_t bytes = s->own->payload ? (uint64_t)s->own->offset + s->own->length : 0;
    bool data = s->iu == FCVI_IU_READ_RESP && bytes < fcvi_DH_FCVI_TOT_LEN(s->dh);
    return (s->end_sequence && s->last) || !data;
}

/* FCVI-7.3-14, E33: in Reliable Reception at most N + 1 Messages wait for their responses, N the larger of
 * what the two ends said. A response is counted when it is seen, which is before its receiver has it: the
 * sender has at least as many open as are counted here. */
void mon_rules_7_3_depth(struct judged_frame *s)
{
    uint32_t network = s->in->network;
    bool request = s->who == 0 && s->own->frame == 0, response = !request;
    /* what was counted waits until its response, even if that seemed to begin twice and nothing else is
     * judged */
    if (request ? !mon_exact(s->m, s->x) : !s->x->waits || s->who == 0 || !answers_all(s))
        return;
    uint32_t handle = request ? (uint32_t)fcvi_DH_FCVI_HANDLE(s->dh) : s->x->message.handle;
    struct endpoint *e = mon_endpoint_find(s->m, network, s->x->responder, handle);
    if (e == NULL || e->bound == 0 || e->peer != s->x->originator || e->made > s->x->born)
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
