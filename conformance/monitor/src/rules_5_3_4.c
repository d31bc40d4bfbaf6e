/* 5.3.4: of two Peers whose requests cross just one accepts. */
#include "rules.h"

/* Port_Names of the sender and of the port that it answers, from their login or from the caller. */
static bool names(struct at_hand *s, uint64_t *mine, uint64_t *theirs)
{
    const struct pair *p = mon_pair_here(s);
    if (p == NULL || s->s_id == s->d_id)
        return false;
    const struct name *n = &p->name[mon_pair_index(s->s_id, s->d_id)],
                      *o = &p->name[mon_pair_index(s->d_id, s->s_id)];
    *mine = n->port_name;
    *theirs = o->port_name;
    return n->frame > s->m->last_gap && o->frame > s->m->last_gap;
}

/* The request that the accepting Endpoint has under way itself to the same port. One that was aborted leaves
 * the other to be answered as its port likes (E80), and so does a retry (E117). */
static const struct exchange *own_request(const struct at_hand *s)
{
    const struct endpoint *e = mon_endpoint_find(s->m, s->in->network, s->s_id, s->x->setup.resp_handle);
    if (e == NULL || e->asked == 0 || e->asked_peer != s->d_id || e->asked_retry)
        return NULL;
    const struct setup *u =
        mon_pool_find(s->m, &s->m->setups, (uint64_t)s->in->network << 24 | s->s_id, e->asked_id);
    if (u == NULL || u->frame != e->asked)
        return NULL;
    const struct exchange *x = mon_exchange_find(s->m, s->in->network, s->s_id, s->d_id, u->ox_id);
    bool open = x != NULL && x->born == u->frame && x->aborted == 0 && x->tainted == 0;
    return open && x->setup.mode != 1 && !x->setup.refused && mon_exact(s->m, x) ? x : NULL;
}

/* FCVI-5.3.4-b, -02, -c. The lower Port_Name waits for the answer to its own request and accepts only when
 * that was refused; with equal names nobody accepts. That it was refused shows, whatever was lost on the way.
 */
void mon_rules_5_3_4(struct at_hand *s)
{
    const struct setup_facts *u = &s->x->setup;
    uint64_t mine, theirs;
    if (s->iu != FCVI_IU_CONNECT_RESP1 || !s->end_sequence || !u->has_resp_handle || u->mode == 1 ||
        u->retry || fcvi_DH_CONN_STS(s->dh) || !mon_exact(s->m, s->x) || !names(s, &mine, &theirs) ||
        mine > theirs)
        return;
    const struct exchange *own = own_request(s);
    if (own == NULL || own == s->x)
        return;
    static const char wanted[] = "a refusal, or nothing before the answer to its own request";
    const char *id = mine == theirs ? "FCVI-5.3.4-c" : own->setup.resp1 ? "FCVI-5.3.4-02" : "FCVI-5.3.4-b";
    const char *words = mine == theirs ? "an accept between concurrent Peers of one Port_Name"
                        : own->setup.resp1
                            ? "an accept of the lower Port_Name, whose own request was accepted"
                            : "an accept of the lower Port_Name, whose own request was not answered";
    mon_report(s, DH(s, CONN_STS), 0, FCVI_BREACH_IN_WORDS(id, words, wanted),
               own->setup.resp1 ? own->setup.resp1 : own->born);
}
