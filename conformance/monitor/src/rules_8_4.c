/* 8.4.2 f with 4.2: a handle that is in use, or was not long ago, is not given to another Connection. */
#include "rules.h"

static void report(struct judged_frame *s, struct fcvi_rule rule, uint64_t other)
{
    bool request = s->iu == FCVI_IU_CONNECT_RQST;
    struct fcvi_place place =
        request ? FCVI_AT(s->handle_at - FCVI_CONN_FCVI_RQST_HANDLE_BYTE, CONN, FCVI_RQST_HANDLE)
                : FCVI_AT(s->handle_at - FCVI_CONN_FCVI_RESP_HANDLE_BYTE, CONN, FCVI_RESP_HANDLE);
    mon_report(s, place, request ? s->x->setup.rqst_handle : s->x->setup.resp_handle, rule, other);
}

/* FCVI-4.2-09. The port knows its own Connections: it sent RESP2 or RESP3 for this one, and no Disconnect IU
 * since. The two requests of Peer-to-Peer (5.3.3) use the handle of the same Endpoint. */
static void in_use(struct judged_frame *s, const struct endpoint *e)
{
    bool request = s->iu == FCVI_IU_CONNECT_RQST;
    bool peers = request ? fcvi_DH_CONN_MODE(s->dh) != 1 : s->x->setup.mode != 1;
    if (e->peer == s->d_id && peers)
        return;
    report(s,
           FCVI_BREACH_IN_WORDS("FCVI-4.2-09", "the handle is that of another open Connection of the port",
                                "a handle that is not in use"),
           e->speaks);
}

/* When the Endpoint certainly was not in Error yet: its port finished the setup, or began a Message. */
static uint64_t alive_at(const struct judged_frame *s, const struct endpoint *e)
{
    const struct endpoint *far = mon_endpoint_find(s->m, s->in->network, e->peer, e->peer_handle);
    bool paired = far != NULL && far->peer == e->owner && far->peer_handle == e->handle;
    return paired && far->last_at > e->spoke_at ? far->last_at : e->spoke_at;
}

/* FCVI-8.4.2-f2 (E57). R_A_TOV runs from the Error state at the earliest, which nobody sees; so it is counted
 * from what the Endpoint did before. A Disconnect that was completed was answered in one direction. */
static void too_soon(struct judged_frame *s, const struct endpoint *e)
{
    uint64_t alive = alive_at(s, e), now = s->in->time_us;
    if (s->m->knows_r_a_tov && now >= alive && now - alive < s->m->config.r_a_tov_us)
        report(s,
               FCVI_BREACH_IN_WORDS("FCVI-8.4.2-f2",
                                    "R_A_TOV has not passed since the handle's last Connection",
                                    "another handle"),
               e->closed);
    else if (e->answered == 0)
        report(s,
               FCVI_BREACH_IN_WORDS("FCVI-8.4.2-f2",
                                    "the Disconnect of the handle's last Connection was not answered",
                                    "another handle"),
               e->closed);
}

/* A retry (8.5.4) has the handle of the first try. In any other order than that of sending a request may be
 * older than the Connection, and a logout that was not captured has freed the handle (8.4.2 g). */
void mon_rules_8_4(struct judged_frame *s)
{
    const struct setup_facts *u = &s->x->setup;
    bool request = s->iu == FCVI_IU_CONNECT_RQST, accept = s->iu == FCVI_IU_CONNECT_RESP1 && !u->refused;
    if (accept && fcvi_DH_CONN_STS(s->dh))
        return;
    if ((!request && !accept) || s->handle_at == 0)
        return;
    const struct endpoint *e =
        mon_endpoint_find(s->m, s->in->network, s->s_id, request ? u->rqst_handle : u->resp_handle);
    if (e == NULL || e->speaks == 0 || e->bound >= s->x->born || mon_endpoint_gone(s, e) ||
        e->bound <= s->m->last_gap || !s->m->whole)
        return;
    if (e->peer == s->d_id && (request ? fcvi_DH_RQST_RETRY(s->dh) : fcvi_DH_RESP_RETRY(s->dh)))
        return;
    if (e->closed == 0)
        in_use(s, e);
    else
        too_soon(s, e);
}

/* FCVI-8.4.2-a, -e: a response that is due has not come within FCVI_ULP_TIMEOUT, which is R_A_TOV (8.3), and
 * the originator gives the Message up: its Endpoint is in Error. In class 2, or earlier, an abort may have
 * other reasons. Who is given up waits for nothing more (7.3). */
void mon_rules_8_4_abort(struct judged_frame *s)
{
    struct exchange *x = s->x;
    FCVI_ASSERT(x->group == G_MESSAGE);
    bool timed_out = s->m->knows_r_a_tov && s->in->time_us >= x->touched &&
                     s->in->time_us - x->touched >= s->m->config.r_a_tov_us && x->side[0].cls == 3;
    if (x->waits)
        mon_depth_lost(s->m, x);
    x->waits = false;
    struct endpoint *e = mon_endpoint_find(s->m, x->network, x->responder, x->message.handle);
    if (e == NULL || s->who != 0 || x->over != 0 || x->side[1].frame != 0 || !timed_out ||
        !mon_exact(s->m, x) || e->peer != x->originator || e->bound == 0 || e->bound > x->born || e->tainted)
        return;
    bool due = x->message.iu == FCVI_IU_READ_RQST ? e->level > 1 : e->level == 3 && !x->side[0].open;
    struct endpoint *mine = mon_endpoint_find(s->m, x->network, x->originator, e->peer_handle);
    if (due && mine != NULL && mine->peer == x->responder && mine->peer_handle == e->handle)
        mine->failed = s->in->number;
}
