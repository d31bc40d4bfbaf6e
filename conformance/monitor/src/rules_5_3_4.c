/* 5.3.4: of two Peers whose requests cross just one accepts. */
#include "rules.h"

enum { PEERS = 2 }; /* CONN_MODE */

/* Port_Names of the sender and of the port that it answers, from their login or from the caller. */
static bool names(struct judged_frame *s, uint64_t *mine, uint64_t *theirs)
{
    const struct pair *p = mon_pair_here(s);
    if (p == NULL || s->s_id == s->d_id || s->m->veiled) /* a later login may have been cut off */
        return false;
    const struct name *n = &p->name[mon_pair_index(s->s_id, s->d_id)],
                      *o = &p->name[mon_pair_index(s->d_id, s->s_id)];
    *mine = n->port_name;
    *theirs = o->port_name;
    return n->frame > s->m->last_gap && o->frame > s->m->last_gap;
}

/* It broke no rule, the Peer's 05h apart, for which Table 2 has a row. */
static bool proper(const struct exchange *x)
{
    bool claim =
        x->setup.refused && x->setup.reason == FCVI_REASON_CONNECT_REJECT_CONCURRENT_MATCHING_PEER_REQUESTS;
    return (x->tainted & (claim ? 1u : 3u)) == 0;
}

/* The request that the accepting Endpoint has under way itself to the same port. One that was aborted leaves
 * the other to be answered as its port likes (E80), and so does a retry (E117). */
static const struct exchange *own_request(const struct judged_frame *s)
{
    const struct endpoint *e = mon_endpoint_find(s->m, s->in->network, s->s_id, s->x->setup.resp_handle);
    if (e == NULL || e->asked == 0 || e->asked_peer != s->d_id || e->asked_retry)
        return NULL;
    const struct setup *u =
        mon_pool_find(s->m, &s->m->setups, (uint64_t)s->in->network << 24 | s->s_id, e->asked_id);
    if (u == NULL || u->frame != e->asked)
        return NULL;
    const struct exchange *x = mon_exchange_find(s->m, s->in->network, s->s_id, s->d_id, u->ox_id);
    bool open = x != NULL && x->born == u->frame && x->aborted == 0 && proper(x);
    return open && x->group == G_SETUP && x->setup.mode != 1 && mon_exact(s->m, x) ? x : NULL;
}

/* The same of one that refuses, whose handle says nothing (E40): the only request of Peer-to-Peer that its
 * port has under way to the other, whose addresses match those of the one that is refused. */
static const struct exchange *only_request(struct judged_frame *s)
{
    const struct pair *p = mon_pair_here(s);
    unsigned me = mon_pair_index(s->s_id, s->d_id);
    FCVI_ASSERT(p != NULL); /* names() has found it */
    if (p->peer_asked[me] == 0 || p->crowded[0] || p->crowded[1] || p->voided > p->peer_asked[me])
        return NULL;
    const struct exchange *x = mon_exchange_find(s->m, s->in->network, s->s_id, s->d_id, p->peer_ox_id[me]);
    if (x == NULL || x->born != p->peer_asked[me] || x->group != G_SETUP || x->aborted != 0 || !proper(x) ||
        x->setup.mode == 1 || x->setup.retry || !mon_exact(s->m, x))
        return NULL;
    const struct offer *a = &s->x->setup.rqst_offer, *b = &x->setup.rqst_offer;
    bool known = mon_address_known(&a->local) && mon_address_known(&a->remote) &&
                 mon_address_known(&b->local) && mon_address_known(&b->remote);
    bool match = a->local.host == b->remote.host && a->remote.host == b->local.host &&
                 a->remote.discriminator == b->remote.discriminator &&
                 a->local.discriminator == b->local.discriminator;
    return known && match ? x : NULL;
}

/* The row of Table 2 for what the higher Port_Name answered. */
static const char *row(const struct setup_facts *own)
{
    if (!own->refused)
        return "FCVI-T02-1";
    switch (own->reason) {
    case FCVI_REASON_NO_DISCRIMINATOR_MATCH:
        return "FCVI-T02-2";
    case FCVI_REASON_NO_WAITING_REMOTE_CONNECTIONPOINT:
        return "FCVI-T02-3";
    case FCVI_REASON_CONNECT_REJECT_CONCURRENT_MATCHING_PEER_REQUESTS:
        return "FCVI-T02-4";
    case FCVI_REASON_CONNECT_REJECT_TRANSPORT_ERROR:
        return "FCVI-T02-5";
    case FCVI_REASON_CONNECT_REJECT_PROTOCOL_ERROR:
        return "FCVI-T02-6";
    default:
        return "FCVI-T02-7";
    }
}

static void refused_wrongly(struct judged_frame *s, uint8_t reason, const char *id, const char *words,
                            const char *wanted, uint64_t other)
{
    mon_report(s, DH(s, Reason_Code), reason, FCVI_BREACH_IN_WORDS(id, words, wanted), other);
}

/* Of a refusal. 05h is for the lower Port_Name alone, and only once its own request was accepted (b 2). When
 * that was accepted and confirmed, 04h and 21h are what other rows say; 01h and 03h are no breach that a
 * capture proves: a request that was overtaken finds the Endpoint connected (E141). */
static void check_refusal(struct judged_frame *s, uint64_t mine, uint64_t theirs)
{
    enum { CONCURRENT = FCVI_REASON_CONNECT_REJECT_CONCURRENT_MATCHING_PEER_REQUESTS };
    uint8_t reason = (uint8_t)fcvi_DH_Reason_Code(s->dh);
    if (reason == CONCURRENT && mine >= theirs) {
        refused_wrongly(s, reason, mine == theirs ? "FCVI-5.3.4-c" : "FCVI-5.3.4-a",
                        "a refusal with 05h by a port that has not the lower Port_Name",
                        mine == theirs ? "21h" : "an accept", s->x->setup.rqst);
        return;
    }
    const struct exchange *own = only_request(s);
    if (own == NULL || own == s->x || mine >= theirs)
        return;
    const struct setup_facts *u = &own->setup;
    if (u->resp1 == 0 && reason == CONCURRENT)
        refused_wrongly(s, reason, "FCVI-5.3.4-b",
                        "the lower Port_Name refuses before its own request was answered",
                        "nothing before the answer to its own request", own->born);
    if (u->resp1 == 0)
        return;
    bool concurrent = u->resp1 > s->x->born && !u->gave_up && mon_far_good(s);
    bool other = reason == FCVI_REASON_CONNECT_REJECT_PROTOCOL_ERROR;
    bool wrong = u->refused && reason == CONCURRENT;
    if (concurrent && u->refused)
        wrong |= other && u->reason == FCVI_REASON_CONNECT_REJECT_TRANSPORT_ERROR;
    else if (concurrent && u->resp2 != 0)
        wrong = other || reason == FCVI_REASON_CONNECT_REJECT;
    if (wrong)
        refused_wrongly(s, reason, row(u), "the refusal is not what Table 2 has for the Peer's answer",
                        "the reply of Table 2", u->resp1);
}

/* An accept after a refusal, for which Table 2 has a refusal: rows 4 to 7. */
static bool row_refuses(const struct setup_facts *own)
{
    return own->refused && own->reason != FCVI_REASON_NO_DISCRIMINATOR_MATCH &&
           own->reason != FCVI_REASON_NO_WAITING_REMOTE_CONNECTIONPOINT;
}

/* A Peer may have requests for several of its Endpoints under way; which of them crosses which is not told.
 */
static void note_request(struct judged_frame *s)
{
    if (s->iu != FCVI_IU_CONNECT_RQST || s->x->setup.rqst != 0 || fcvi_DH_CONN_MODE(s->dh) == 1)
        return;
    struct pair *p = mon_pair_of(s->m, s->in->network, s->s_id, s->d_id, true);
    unsigned me = mon_pair_index(s->s_id, s->d_id);
    const struct exchange *x = mon_exchange_find(s->m, s->in->network, s->s_id, s->d_id, p->peer_ox_id[me]);
    if (p->voided > p->peer_asked[me])
        p->crowded[me] = false;
    else if (p->peer_asked[me] != 0)
        p->crowded[me] |= x == NULL || x->born != p->peer_asked[me] || x->over == 0;
    p->peer_asked[me] = s->x->born;
    p->peer_ox_id[me] = s->x->ox_id;
}

/* FCVI-5.3.4-b, -02, -c. The lower Port_Name waits for the answer to its own request and accepts only when
 * that was refused; with equal names nobody accepts. That it was refused shows, whatever was lost on the way.
 */
void mon_rules_5_3_4(struct judged_frame *s)
{
    const struct setup_facts *u = &s->x->setup;
    uint64_t mine, theirs;
    note_request(s);
    if (s->iu != FCVI_IU_CONNECT_RESP1 || !s->end_sequence || u->mode != PEERS || u->retry || u->rqst == 0 ||
        !mon_exact(s->m, s->x) || !names(s, &mine, &theirs))
        return;
    if (fcvi_DH_CONN_STS(s->dh)) {
        check_refusal(s, mine, theirs);
        return;
    }
    if (mine > theirs || !u->has_resp_handle)
        return;
    const struct exchange *own = own_request(s);
    if (own == NULL || own == s->x)
        return;
    if (own->setup.refused) {
        if (mine < theirs && row_refuses(&own->setup) && own->setup.resp1 > s->x->born)
            mon_report(s, DH(s, CONN_STS), 0,
                       FCVI_BREACH_IN_WORDS(row(&own->setup),
                                            "an accept of the lower Port_Name, whose own request was refused",
                                            "the refusal of Table 2"),
                       own->setup.resp1);
        return;
    }
    static const char wanted[] = "a refusal, or nothing before the answer to its own request";
    const char *id = mine == theirs ? "FCVI-5.3.4-c" : own->setup.resp1 ? "FCVI-5.3.4-02" : "FCVI-5.3.4-b";
    const char *words = mine == theirs ? "an accept between concurrent Peers of one Port_Name"
                        : own->setup.resp1
                            ? "an accept of the lower Port_Name, whose own request was accepted"
                            : "an accept of the lower Port_Name, whose own request was not answered";
    mon_report(s, DH(s, CONN_STS), 0, FCVI_BREACH_IN_WORDS(id, words, wanted),
               own->setup.resp1 ? own->setup.resp1 : own->born);
}
