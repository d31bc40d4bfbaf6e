/* 5.9.2, 5.9.3, 5.9.6 with 4.2 and 8.1: a new Message goes over an open Connection, to the handle of its far
 * end, with the next FCVI_MSG_ID. */
#include "rules.h"

static void breach(struct judged_frame *s, const char *id, const char *words, const char *wanted,
                   uint64_t other)
{
    mon_report(s, DH(s, FCVI_HANDLE), fcvi_DH_FCVI_HANDLE(s->dh), FCVI_BREACH_IN_WORDS(id, words, wanted),
               other);
}

/* FCVI-4.2-01, 5.9.2-01: no setup gave the sender this handle. Only who saw everything can say so. */
static void unknown_handle(struct judged_frame *s)
{
    const struct pair *p = mon_pair_here(s);
    if (!mon_knows_all(s->m))
        mon_unjudged(s->m, FCVI_UNJUDGED_SETUP, s->in->number);
    else if (mon_far_unfollowed(s))
        return;
    else if (p == NULL || p->connections == 0)
        breach(s, "FCVI-4.2-01", "a Message without a Connection between the ports",
               "a Connection Setup before", 0);
    else
        breach(s, "FCVI-5.9.2-01", "the receiver gave no such handle in a setup",
               "the handle of the Remote Endpoint", 0);
}

/* FCVI-8.4.2-a: after FCVI_ULP_TIMEOUT, R_A_TOV (8.3), what waits is aborted. How soon is not said; who sends
 * a new Message instead, R_A_TOV later still, has not done it. Every Message of the Endpoint is older than
 * its last one. */
static bool overdue(struct judged_frame *s, const struct endpoint *e)
{
    return s->m->knows_r_a_tov && e->level == 3 && e->counting && e->unconfirmed > 0 && e->last != 0 &&
           s->in->time_us >= e->last_at && s->in->time_us - e->last_at > 2 * s->m->config.r_a_tov_us;
}

/* FCVI-5.9.3-03 (E74): the client has sent RESP2, the server RESP3, before its first Message; FCVI-8.1-01:
 * not after it has sent a Disconnect IU. Both are the sender's own frames, in its own order. A Peer that went
 * into another setup (5.3.4) has finished none with an Endpoint that it did not confirm; of two answers to a
 * request that came twice it may have taken either. */
static void check_own_end(struct judged_frame *s, struct endpoint *e)
{
    const struct endpoint *mine = mon_endpoint_beside(s->m, s->in->network, s->s_id, e);
    if (mine == NULL || mine->bound == 0)
        return;
    bool here = mine->peer == s->d_id && mine->peer_handle == e->handle;
    bool once = (s->m->config.trust & FCVI_TRUST_ONCE) != 0;
    if (here && mine->closed != 0)
        breach(s, "FCVI-8.1-01", "a new Message after the sender's Disconnect IU", "none", mine->closed);
    else if (here && mine->failed > mine->bound)
        breach(s, "FCVI-8.4.2-e", "a new Message after the sender gave one up, or answered one with an error",
               "none: the Endpoint is in Error", mine->failed);
    else if (here && overdue(s, e))
        breach(s, "FCVI-8.4.2-a", "a new Message while one waits for its response far too long",
               "ABTS, and none", e->last);
    else if (here ? mine->speaks == 0 : once && !e->firm)
        breach(s, "FCVI-5.9.3-03", "a Message before the sender has finished the setup",
               "CONNECT_RESP2 of a client, CONNECT_RESP3 of a server before", e->bound);
}

/* FCVI-7.7.1-05: the sender has itself sent or accepted a LOGO after the Connection was made; that they
 * logged in again brings none back. */
static bool left_behind(struct judged_frame *s, const struct endpoint *e)
{
    const struct pair *p = mon_pair_here(s);
    uint64_t left = p == NULL ? 0 : p->left[mon_pair_index(s->s_id, s->d_id)];
    if (left == 0 || p->logged_out[mon_pair_index(s->s_id, s->d_id)] != 0 || e->bound > left || e->tainted ||
        e->peer != s->s_id || !mon_knows_all(s->m))
        return false;
    breach(s, "FCVI-7.7.1-05", "a Message over a Connection that a logout has ended",
           "a Connection Setup after the login", left);
    return true;
}

static struct endpoint *check_handle(struct judged_frame *s)
{
    struct endpoint *e = mon_endpoint_here(s);
    if (e == NULL || e->bound == 0) {
        unknown_handle(s);
        return NULL;
    }
    if (left_behind(s, e))
        return NULL;
    if (e->tainted || mon_endpoint_gone(s, e) || e->bound <= s->m->last_gap) {
        mon_unjudged(s->m, FCVI_UNJUDGED_SETUP, s->in->number);
        return NULL;
    }
    if (e->peer != s->s_id) {
        if (!mon_far_unfollowed(s))
            breach(s, "FCVI-5.9.2-01", "the handle is that of a Connection with another port",
                   "the handle of the Remote Endpoint", e->bound);
        return NULL;
    }
    check_own_end(s, e);
    return e;
}

/* FCVI-5.9.6-03, -04, -05: each side counts the Messages of a Connection from 1, and back to 0 after
 * FFFFFFFFh. The sender gives the numbers in the order in which it begins its Messages. */
static void check_next(struct judged_frame *s, struct endpoint *e, uint32_t id)
{
    if (e->counting && id != e->next)
        mon_report(s, DH(s, FCVI_MSG_ID), id,
                   FCVI_BREACH(e->last == 0   ? "FCVI-5.9.6-03"
                               : e->next == 0 ? "FCVI-5.9.6-05"
                                              : "FCVI-5.9.6-04",
                               "FCVI_MSG_ID is not the next of the Connection", e->next),
                   e->last);
    e->counting = true;
    e->next = id + 1;
    e->last = s->in->number;
    e->last_at = s->in->time_us;
    if (id > e->highest)
        e->highest = id;
}

/* FCVI-4.2-12 in any order: no value comes twice within R_A_TOV (5.9.6-07), and the Message of a value has
 * one Exchange (4.2-02). A setup or a login in between may have begun a new count, and so nothing may be
 * missing. */
static void check_twice(struct judged_frame *s, uint32_t id)
{
    struct endpoint *e = mon_endpoint_make_here(s);
    const struct pair *p = mon_pair_here(s);
    uint64_t epoch = p != NULL ? p->epoch : s->m->pairs.evicted != 0 ? s->in->number : 0;
    unsigned same = 0; /* whether any is the same: compilers compare several at once */
    for (unsigned i = 0; i < RECENT; i++)
        same |= e->recent_id[i] == id;
    for (unsigned i = 0; i < RECENT && same != 0; i++) {
        const struct recent *r = &e->recent[i];
        if (e->recent_id[i] != id || r->frame == 0 || r->sender != s->s_id || epoch > r->frame)
            continue;
        if (r->ox_id == s->x->ox_id || s->in->time_us - r->time >= s->m->config.r_a_tov_us)
            return;
        mon_report(s, DH(s, FCVI_MSG_ID), id,
                   FCVI_BREACH_IN_WORDS("FCVI-4.2-12",
                                        "two Messages of the Connection have the same FCVI_MSG_ID",
                                        "each one more than the last"),
                   r->frame);
        return;
    }
    FCVI_ASSERT(e->slot < RECENT);
    e->recent_id[e->slot % RECENT] = id;
    e->recent[e->slot % RECENT] = (struct recent){s->in->time_us, s->in->number, s->s_id, s->x->ox_id};
    e->slot = (uint8_t)((e->slot + 1) % RECENT);
}

/* A Message whose beginning is not known: what its Endpoint's next FCVI_MSG_ID is, and which was the highest,
 * is not known either. */
static void lose_count(struct judged_frame *s)
{
    struct endpoint *e = mon_endpoint_here(s);
    if (e != NULL && e->peer == s->s_id)
        e->counting = false;
}

void mon_rules_5_9(struct judged_frame *s)
{
    uint32_t id = (uint32_t)fcvi_DH_FCVI_MSG_ID(s->dh);
    if (!mon_is(s->iu, FCVI_IUS_MSG_RQST) || s->own->frame != 0)
        return;
    if (!mon_exact(s->m, s->x)) {
        lose_count(s);
        if ((s->m->config.trust & FCVI_TRUST_ALL) != 0)
            check_twice(s, id);
        return;
    }
    struct endpoint *e = check_handle(s);
    if (e != NULL)
        check_next(s, e, id);
}
