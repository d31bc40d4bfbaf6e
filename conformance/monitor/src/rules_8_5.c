/* 8.5.4 and 5.9.10: FCVI_CONNECTION_IDs, and what a retry repeats. */
#include "rules.h"

static struct setup *setup_find(struct judged_frame *s, uint32_t originator, uint32_t id)
{
    return mon_pool_find(s->m, &s->m->setups, (uint64_t)s->in->network << 24 | originator, id);
}

static bool still_open(struct judged_frame *s, const struct setup *u)
{
    const struct exchange *x = mon_exchange_find(s->m, s->in->network, s->s_id, u->peer, u->ox_id);
    const struct pair *p = mon_pair_of(s->m, s->in->network, s->s_id, u->peer, false);
    bool freed = p == NULL || p->disconnected > u->frame || p->voided > u->frame;
    return x != NULL && x->born == u->frame && x->over == 0 && x->aborted == 0 && !freed;
}

/* FCVI-5.9.10-03: unique among the setups that the originator has open. It knows its own; only a whole view
 * shows that none ended. */
static void check_unique(struct judged_frame *s, uint32_t id)
{
    const struct setup *old = setup_find(s, s->s_id, id);
    if (old == NULL || old->frame <= s->m->last_gap || old->frame >= s->x->born || !still_open(s, old))
        return;
    mon_report(s, DH(s, FCVI_CONNECTION_ID), id,
               FCVI_BREACH_IN_WORDS("FCVI-5.9.10-03", "the FCVI_CONNECTION_ID is that of another open setup",
                                    "an ID that is not in use"),
               old->frame);
}

/* FCVI-8.5.3-b: the ID of a setup that its originator gave up is not used again before a Disconnect and
 * R_A_TOV. */
static void check_failed(struct judged_frame *s, uint32_t id)
{
    const struct setup *old = setup_find(s, s->s_id, id);
    if (old == NULL || old->frame <= s->m->last_gap || old->frame >= s->x->born)
        return;
    const struct exchange *x = mon_exchange_find(s->m, s->in->network, s->s_id, old->peer, old->ox_id);
    const struct pair *p = mon_pair_of(s->m, s->in->network, s->s_id, old->peer, false);
    if (x == NULL || p == NULL || x->born != old->frame || x->aborted == 0 || x->aborter != 0 ||
        p->voided > old->frame)
        return;
    uint64_t now = s->in->time_us;
    bool early = s->m->knows_r_a_tov && now >= old->touched && now - old->touched < s->m->config.r_a_tov_us;
    if (early || p->disconnected <= old->frame)
        mon_report(s, DH(s, FCVI_CONNECTION_ID), id,
                   FCVI_BREACH_IN_WORDS("FCVI-8.5.3-b",
                                        early ? "R_A_TOV has not passed since a setup with this ID failed"
                                              : "no Disconnect followed the setup with this ID that failed",
                                        "another FCVI_CONNECTION_ID"),
                   old->frame);
}

/* A CONNECT_RQST that was aborted in its first frames never sent its handle (E44, 8.5.2 a). */
static bool untold(struct judged_frame *s)
{
    const struct pair *p = mon_pair_here(s);
    return p == NULL || p->untold[mon_pair_index(s->s_id, s->d_id)] != 0;
}

static void note_untold(struct judged_frame *s)
{
    struct pair *p = mon_pair_of(s->m, s->in->network, s->s_id, s->d_id, true);
    uint64_t *one = &p->untold[mon_pair_index(s->s_id, s->d_id)];
    if (!s->x->setup.has_rqst_handle && *one == 0)
        *one = s->x->born;
    else if (s->x->setup.has_rqst_handle && *one == s->x->born)
        *one = 0;
}

/* FCVI-8.5.4-a1: a retry has the handle of a request made before to the same port, and a new ID (E37). */
static void check_retry(struct judged_frame *s, uint32_t id, const struct endpoint *e)
{
    bool known = e != NULL && e->asked != 0 && e->asked_peer == s->d_id;
    if (!known && mon_knows_all(s->m) && !untold(s))
        mon_report(s, DH(s, RQST_RETRY), 1,
                   FCVI_BREACH_IN_WORDS("FCVI-8.5.4-a1", "a retry of a setup that was not tried",
                                        "a CONNECT_RQST before with this FCVI_RQST_HANDLE"),
                   0);
    else if (!known)
        mon_unjudged(s->m, FCVI_UNJUDGED_SETUP, s->in->number);
    else if (e->asked_id == id && e->asked < s->x->born && e->asked > s->m->last_gap && mon_exact(s->m, s->x))
        mon_report(s, DH(s, FCVI_CONNECTION_ID), id,
                   FCVI_BREACH_IN_WORDS("FCVI-8.5.4-a1",
                                        "a retry has the FCVI_CONNECTION_ID of the first try",
                                        "a new FCVI_CONNECTION_ID"),
                   e->asked);
}

/* FCVI-8.5.4-01: once and only once. Both tries are the sender's own; one in between may be missing
 * elsewhere. */
static void check_once(struct judged_frame *s, const struct endpoint *e)
{
    if (e != NULL && e->asked > s->m->last_gap && e->asked_retry && e->asked_peer == s->d_id &&
        mon_exact(s->m, s->x))
        mon_report(
            s, DH(s, RQST_RETRY), 1,
            FCVI_BREACH_IN_WORDS("FCVI-8.5.4-01", "a Connection Setup is retried a second time", "one retry"),
            e->asked);
}

/* The FCVI_CONNECTION_ID is used from the first frame of the request on. */
static void take_id(struct judged_frame *s, uint32_t id)
{
    if ((s->m->config.trust & FCVI_TRUST_ALL) != 0 && mon_exact(s->m, s->x)) {
        check_unique(s, id);
        if (!fcvi_DH_RQST_RETRY(s->dh))
            check_failed(s, id);
    }
    struct setup *new = setup_find(s, s->s_id, id);
    if (new == NULL)
        new = mon_pool_add(s->m, &s->m->setups, (uint64_t)s->in->network << 24 | s->s_id, id);
    new->frame = s->x->born;
    new->touched = s->in->time_us;
    new->peer = s->d_id;
    new->ox_id = s->x->ox_id;
}

/* The Exchange of the first try; NULL: not known. */
static const struct exchange *first_try(struct judged_frame *s)
{
    const struct setup_facts *u = &s->x->setup;
    const struct exchange *x = mon_exchange_find(s->m, s->in->network, s->s_id, s->d_id, u->first_ox_id);
    const struct pair *p = mon_pair_here(s);
    bool same = u->first != 0 && x != NULL && x->born == u->first && x->group == G_SETUP;
    bool out = p == NULL || p->voided > u->first || p->disconnected > u->first;
    return same && !out && mon_exact(s->m, x) && mon_exact(s->m, s->x) && mon_knows_all(s->m) ? x : NULL;
}

/* FCVI-8.5.4-a1: who has sent a Message over the Connection is connected, and no longer in Pending Connect.
 * One that has sent RESP2 only may still be (NOTE of 8.5.3 a, C.4.1 rules 9 and 10, E142); and what Peers do
 * is another matter (E51). */
static void check_pending(struct judged_frame *s)
{
    const struct exchange *x = first_try(s);
    if (x == NULL || x->setup.mode != 1 || !x->setup.bound || x->tainted != 0)
        return;
    const struct endpoint *far = mon_endpoint_find(s->m, s->in->network, s->d_id, x->setup.resp_handle);
    if (far != NULL && far->peer == s->s_id && far->peer_handle == x->setup.rqst_handle && !far->tainted &&
        far->bound == x->setup.resp1 && far->last > x->setup.resp1)
        mon_report(s, DH(s, RQST_RETRY), 1,
                   FCVI_BREACH_IN_WORDS("FCVI-8.5.4-a1", "a retry of a setup whose originator is connected",
                                        "a retry from Pending Connect only"),
                   far->last);
}

/* FCVI-8.5.3-a: by the time that the retry is answered and goes on, the first try was aborted. */
static void check_aborted(struct judged_frame *s)
{
    const struct exchange *x = first_try(s);
    if (x != NULL && x->aborted == 0 && x->over == 0 && x->setup.resp2 == 0)
        mon_report(s, DH(s, RESP_RETRY), 1,
                   FCVI_BREACH_IN_WORDS("FCVI-8.5.3-a", "a setup is retried whose first try was not aborted",
                                        "ABTS of the first try's Exchange"),
                   x->born);
}

static void note_first(struct judged_frame *s, const struct endpoint *e)
{
    const struct setup *u =
        e != NULL && e->asked_peer == s->d_id ? setup_find(s, s->s_id, e->asked_id) : NULL;
    if (u == NULL || u->frame != e->asked || e->asked_retry)
        return;
    s->x->setup.first = u->frame;
    s->x->setup.first_ox_id = u->ox_id;
}

/* The handle is known from the frame on that has the last of its bytes (E44). */
static void take_handle(struct judged_frame *s, uint32_t id)
{
    struct endpoint *e = mon_endpoint_find(s->m, s->in->network, s->s_id, s->x->setup.rqst_handle);
    if (fcvi_DH_RQST_RETRY(s->dh)) {
        check_retry(s, id, e);
        check_once(s, e);
        note_first(s, e);
        check_pending(s);
    }
    e = mon_endpoint_make(s, s->s_id, s->x->setup.rqst_handle);
    if ((s->m->config.trust & FCVI_TRUST_ALL) == 0 && !fcvi_DH_RQST_RETRY(s->dh))
        e->firm = false; /* the answer that was not captured may have bound it to another Endpoint */
    e->asked = s->x->born;
    e->asked_peer = s->d_id;
    e->asked_id = id;
    e->asked_retry = (uint8_t)fcvi_DH_RQST_RETRY(s->dh);
}

void mon_rules_8_5(struct judged_frame *s)
{
    struct setup_facts *u = &s->x->setup;
    if (s->iu == FCVI_IU_CONNECT_RESP2 && u->retry && fcvi_DH_RESP_RETRY(s->dh))
        check_aborted(s);
    if (s->iu != FCVI_IU_CONNECT_RQST)
        return;
    uint32_t id = (uint32_t)fcvi_DH_FCVI_CONNECTION_ID(s->dh);
    if (u->rqst == 0)
        take_id(s, id);
    note_untold(s);
    if (u->has_rqst_handle && !u->registered) {
        u->registered = true;
        take_handle(s, id);
    }
}
