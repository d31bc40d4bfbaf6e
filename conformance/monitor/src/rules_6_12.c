/* 6.12, 6.13: Disconnect IUs. */
#include "rules.h"

/* FCVI-6.12.2-02, -14: what is to be disconnected was set up, or its setup was tried, by one of the two. */
static void check_subject(struct judged_frame *s, const struct endpoint *e)
{
    uint64_t network = (uint64_t)s->in->network << 24, id = fcvi_DH_FCVI_CONNECTION_ID(s->dh);
    bool known = mon_knows_all(s->m) && !mon_far_unfollowed(s);
    if (!fcvi_DH_CONN_SETUP_ABORT(s->dh)) {
        bool asked = e != NULL && e->asked != 0 && e->asked_peer == s->s_id; /* its CONNECT_RQST named it */
        if (known && !asked && (e == NULL || e->bound == 0))
            mon_report(s, DH(s, FCVI_HANDLE), fcvi_DH_FCVI_HANDLE(s->dh),
                       FCVI_BREACH_IN_WORDS("FCVI-6.12.2-02", "the receiver gave no such handle in a setup",
                                            "the handle of the Remote Endpoint"),
                       0);
        return;
    }
    bool tried = mon_pool_find(s->m, &s->m->setups, network | s->s_id, id) != NULL ||
                 mon_pool_find(s->m, &s->m->setups, network | s->d_id, id) != NULL;
    if (known && !tried)
        mon_report(s, DH(s, FCVI_CONNECTION_ID), id,
                   FCVI_BREACH_IN_WORDS("FCVI-6.12.2-14", "no CONNECT_RQST had this FCVI_CONNECTION_ID",
                                        "the ID of the setup to be aborted"),
                   0);
}

/* The setup that is aborted, of which everything was seen, and whether the sender originated it; NULL: not
 * certain. Each side has its own FCVI_CONNECTION_IDs, so one ID may name two setups; and a Peer, or a retry,
 * may know the handle from elsewhere. */
static const struct exchange *aborted_setup(struct judged_frame *s, bool *own)
{
    uint64_t network = (uint64_t)s->in->network << 24, id = fcvi_DH_FCVI_CONNECTION_ID(s->dh);
    const struct setup *mine = mon_pool_find(s->m, &s->m->setups, network | s->s_id, id);
    const struct setup *far = mon_pool_find(s->m, &s->m->setups, network | s->d_id, id);
    *own = mine != NULL;
    const struct setup *u = mine != NULL ? mine : far;
    if (u == NULL || (mine != NULL && far != NULL) || u->peer != (*own ? s->d_id : s->s_id))
        return NULL;
    const struct exchange *x =
        mon_exchange_find(s->m, s->in->network, *own ? s->s_id : s->d_id, u->peer, u->ox_id);
    bool seen = x != NULL && x->born == u->frame && x->group == G_SETUP && x->tainted == 0 &&
                mon_exact(s->m, x) && mon_exact(s->m, s->x) && mon_knows_all(s->m);
    return seen && x->setup.mode == 1 && !x->setup.retry && !x->two_answers ? x : NULL;
}

/* FCVI-6.12.2-02, -03, E04: the handle that the other side gave, when the sender has it: it has answered the
 * IU with the handle. FFFFFFFFh when nobody gave it one; its own is tolerated. Who has answered a Disconnect
 * of the other side since may have forgotten the handle with the setup. So may a server whose T2 ran out
 * (C.5.2): a RESP2 came and no RESP3 followed, or its RESP1 may be long ago, as T2 is not known. */
static void check_setup_handle(struct judged_frame *s)
{
    bool own;
    const struct exchange *x = aborted_setup(s, &own);
    if (x == NULL)
        return;
    const struct setup_facts *u = &x->setup;
    uint64_t seen = fcvi_DH_FCVI_HANDLE(s->dh);
    uint32_t given = own ? u->resp_handle : u->rqst_handle;
    bool has = own ? u->resp2 != 0 && u->has_resp_handle && !u->refused : u->resp1 != 0 && u->has_rqst_handle;
    bool never = own && u->resp1 == 0;
    const struct endpoint *mine =
        mon_endpoint_find(s->m, s->in->network, s->s_id, own ? u->rqst_handle : u->resp_handle);
    bool soon = s->m->knows_r_a_tov && s->in->time_us - x->touched < s->m->config.r_a_tov_us;
    bool timed_out = !own && u->resp3 == 0 && (u->resp2 != 0 || !soon);
    bool forgotten = timed_out || (mine != NULL && (mine->left || mine->closed != 0));
    if (has && !forgotten && seen == FCVI_UNASSIGNED && given != FCVI_UNASSIGNED && !(!own && u->refused))
        mon_report(s, DH(s, FCVI_HANDLE), seen,
                   FCVI_BREACH("FCVI-6.12.2-02", "the other side's handle is known, and not named", given),
                   own ? u->resp1 : u->rqst);
    if (never && seen != FCVI_UNASSIGNED && u->has_rqst_handle)
        mon_report(
            s, DH(s, FCVI_HANDLE), seen,
            seen == u->rqst_handle
                ? FCVI_TOLERATED("FCVI-6.12.2-03", "E04", "the sender's own handle", FCVI_UNASSIGNED)
                : FCVI_BREACH("FCVI-6.12.2-03", "a handle that nobody gave the sender", FCVI_UNASSIGNED),
            u->rqst);
}

/* FCVI-6.12.2-07: who has sent Messages over a Connection has it established (E74), and aborts no setup. */
static void check_established(struct judged_frame *s, const struct endpoint *e, const struct endpoint *mine)
{
    if (e == NULL || mine == NULL || e->tainted || mine->tainted || e->last == 0 || e->last < e->bound ||
        mine->speaks == 0 || mine->closed != 0 || e->closed != 0 || e->bound <= s->m->last_gap ||
        mine->peer != s->d_id || mine->peer_handle != e->handle || !mon_exact(s->m, s->x) ||
        mon_endpoint_gone(s, e))
        return;
    mon_report(s, DH(s, CONN_SETUP_ABORT), 1,
               FCVI_BREACH("FCVI-6.12.2-07", "a setup is aborted that has completed and carried Messages", 0),
               e->last);
}

/* FCVI-6.12.2-11, 6.13.2-08: no Message completed that was not sent, in either direction (E28). After a login
 * a handle may be used again at once (8.4.2 g), and a Message from before the login may still arrive. */
static void check_completed(struct judged_frame *s, const struct endpoint *a, const char *id)
{
    uint64_t seen = fcvi_DH_FCVI_MSG_ID(s->dh);
    if (seen == 0 || fcvi_DH_CONN_SETUP_ABORT(s->dh) || a == NULL || !mon_exact(s->m, s->x))
        return;
    const struct endpoint *b = mon_endpoint_find(s->m, s->in->network, a->peer, a->peer_handle);
    bool whole = b != NULL && b->peer == a->owner && b->peer_handle == a->handle && a->bound != 0 &&
                 b->bound != 0 && a->counting && b->counting && !a->stray && !b->stray && !a->tainted &&
                 !b->tainted && a->bound > s->m->last_gap && !mon_endpoint_gone(s, a);
    if (!whole || a->highest > UINT32_MAX / 2 || b->highest > UINT32_MAX / 2)
        return;
    uint32_t most = a->highest > b->highest ? a->highest : b->highest;
    if (seen <= most)
        return;
    static const char words[] = "FCVI_MSG_ID is that of no Message of the Connection";
    struct fcvi_rule rule = most == 0 ? FCVI_TOLERATED(id, "E28", words, 0)
                                      : FCVI_BREACH_IN_WORDS(id, words, "one that was sent, or 0");
    mon_report(s, DH(s, FCVI_MSG_ID), seen, rule, a->bound);
}

/* D.2: a port that has answered a Disconnect sends its own one when its application wants it. By then the
 * handle may serve another Connection of the same two ports (8.4.2 f, E68). Nobody can tell which one this
 * ends. */
static bool may_be_late(struct endpoint *e, struct endpoint *mine)
{
    if (e == NULL || mine == NULL)
        return false;
    if (!e->owed)
        return false;
    e->tainted |= TAINT_LATE;
    mine->tainted |= TAINT_LATE;
    return true;
}

static void request(struct judged_frame *s)
{
    struct disconnect_facts *d = &s->x->disconnect;
    uint32_t handle = (uint32_t)fcvi_DH_FCVI_HANDLE(s->dh);
    struct endpoint *e = mon_endpoint_find(s->m, s->in->network, s->d_id, handle), *mine = NULL;
    d->rqst = s->in->number;
    d->handle = handle;
    d->connection_id = (uint32_t)fcvi_DH_FCVI_CONNECTION_ID(s->dh);
    d->abort = (uint8_t)fcvi_DH_CONN_SETUP_ABORT(s->dh);
    d->by_application = (uint8_t)fcvi_DH_VI_APP_DISCON(s->dh);
    if (e != NULL && e->bound != 0 && e->peer == s->s_id)
        mine = mon_endpoint_find(s->m, s->in->network, s->s_id, e->peer_handle);
    check_subject(s, e);
    if (may_be_late(e, mine)) {
        mon_unjudged(s->m, FCVI_UNJUDGED_SETUP, s->in->number);
    } else {
        if (d->abort) {
            check_setup_handle(s);
            check_established(s, e, mine);
        }
        check_completed(s, mine, "FCVI-6.12.2-11");
    }
    mon_connection_closed(s, mine);
}

/* FCVI-5.9.4.6-04, -06, 6.13.2-11: the responder repeats what it received. */
static void repeat(struct judged_frame *s)
{
    const struct disconnect_facts *d = &s->x->disconnect;
    uint64_t seen = fcvi_DH_VI_APP_DISCON(s->dh);
    if (seen != d->by_application)
        mon_report(s, DH(s, VI_APP_DISCON), seen,
                   FCVI_BREACH("FCVI-5.9.4.6-04", "VI_APP_DISCON is not that of the DISCONNECT_RQST",
                               d->by_application),
                   d->rqst);
    seen = fcvi_DH_CONN_SETUP_ABORT(s->dh);
    if (seen != d->abort)
        mon_report(
            s, DH(s, CONN_SETUP_ABORT), seen,
            FCVI_BREACH("FCVI-5.9.4.6-06", "CONN_SETUP_ABORT is not that of the DISCONNECT_RQST", d->abort),
            d->rqst);
    seen = fcvi_DH_FCVI_CONNECTION_ID(s->dh);
    /* D rule 3, with whatever reason code (E170), or with none (E68) and the handle of nobody (E06) */
    bool unknown = seen == FCVI_UNASSIGNED &&
                   (fcvi_DH_DISC_CONN_STS(s->dh) || fcvi_DH_FCVI_HANDLE(s->dh) == FCVI_UNASSIGNED);
    static const char words[] = "FCVI_CONNECTION_ID is not that of the DISCONNECT_RQST";
    if (seen != d->connection_id)
        mon_report(s, DH(s, FCVI_CONNECTION_ID), seen,
                   unknown ? FCVI_TOLERATED("FCVI-6.13.2-11", "E05", words, d->connection_id)
                           : FCVI_BREACH("FCVI-6.13.2-11", words, d->connection_id),
                   d->rqst);
}

/* FCVI-6.13.2-02: the handle that the requester gave for the Connection; FFFFFFFFh where the responder no
 * longer knows it (E06). */
static void check_handle(struct judged_frame *s, const struct endpoint *mine)
{
    uint64_t seen = fcvi_DH_FCVI_HANDLE(s->dh);
    bool known = mine != NULL && mine->closed == 0 && mine->bound > s->m->last_gap && !mine->tainted &&
                 mon_exact(s->m, s->x) && !fcvi_DH_CONN_SETUP_ABORT(s->dh) && !fcvi_DH_DISC_CONN_STS(s->dh) &&
                 !mon_endpoint_gone(s, mine);
    if (known && seen != mine->peer_handle && seen != FCVI_UNASSIGNED)
        mon_report(s, DH(s, FCVI_HANDLE), seen,
                   FCVI_BREACH("FCVI-6.13.2-02", "FCVI_HANDLE is not that of the requesting Endpoint",
                               mine->peer_handle),
                   s->x->disconnect.rqst);
}

static void response(struct judged_frame *s)
{
    struct disconnect_facts *d = &s->x->disconnect;
    struct endpoint *mine = mon_endpoint_find(s->m, s->in->network, s->s_id, d->handle);
    if (d->rqst == 0 && mon_exact(s->m, s->x)) {
        mon_report(s, DH(s, FCVI_OPCODE), fcvi_DH_FCVI_OPCODE(s->dh),
                   FCVI_BREACH_IN_WORDS("FCVI-6.13.1-01", "a DISCONNECT_RESP answers no DISCONNECT_RQST",
                                        "a request before"),
                   0);
        return;
    }
    if (!mon_endpoint_linked(s, s->x->disconnect.rqst, s->x->disconnect.handle)) {
        mon_unjudged(s->m, FCVI_UNJUDGED_REQUEST, s->in->number);
        return;
    }
    /* within R_A_TOV of the request the handle may have come to serve another Connection (8.4.2 f) */
    if (mine != NULL && (mine->bound == 0 || mine->peer != s->d_id || mine->bound > d->rqst))
        mine = NULL;
    if (mon_far_good(s)) {
        repeat(s);
        check_handle(s, mine);
        check_completed(s, mine, "FCVI-6.13.2-08");
    }
    mon_connection_closed(s, mine);
    struct endpoint *far =
        mine == NULL ? NULL : mon_endpoint_find(s->m, s->in->network, mine->peer, mine->peer_handle);
    if (mine != NULL) {
        mine->answered = s->in->number;
        mine->left = true;
    }
    if (far != NULL && far->peer == mine->owner && far->peer_handle == mine->handle)
        far->answered = s->in->number;
}

void mon_rules_6_12(struct judged_frame *s)
{
    FCVI_ASSERT(s->x->group == G_DISCONNECT && mon_is(s->iu, FCVI_IUS_DISCONNECT));
    if (s->iu == FCVI_IU_DISCONNECT_RQST)
        request(s);
    else
        response(s);
}
