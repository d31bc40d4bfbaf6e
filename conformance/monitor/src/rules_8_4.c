/* 8.4.2 f with 4.2: a handle that is in use is not given to another Connection. */
#include "state.h"

/* FCVI-4.2-09. The port that gives the handle knows its own Connections: it is one that it sent RESP2 or
 * RESP3 for, and it has sent no Disconnect IU since. A retry (8.5.4) and the two requests of Peer-to-Peer
 * (5.3.3) use the handle of the same Endpoint. Without a whole view a Disconnect may have been missed, yet
 * within R_A_TOV of the last frame of the Connection the handle may not be used again either. In any other
 * order than that of sending a request may be older than the Connection. */
void mon_rules_8_4(struct seen *s)
{
    const struct setup_facts *u = &s->x->setup;
    bool request = s->iu == FCVI_IU_CONNECT_RQST, accept = s->iu == FCVI_IU_CONNECT_RESP1 && !u->refused;
    if (accept && fcvi_DH_CONN_STS(s->dh))
        return;
    if ((!request && !accept) || !(request ? u->has_rqst_handle : u->has_resp_handle))
        return;
    uint32_t handle = request ? u->rqst_handle : u->resp_handle;
    const struct end *e = mon_end_find(s->m, s->in->network, s->s_id, handle);
    if (e == NULL || e->speaks == 0 || e->closed != 0 || e->bound >= s->x->born ||
        mon_end_gone(s->m, s->in->network, e))
        return;
    if (mon_stale(s->m, e->touched, s->in->time_us) || e->bound <= s->m->last_gap ||
        (s->m->config.trust & FCVI_TRUST_ORDER) == 0)
        return;
    bool retry = request ? fcvi_DH_RQST_RETRY(s->dh) : fcvi_DH_RESP_RETRY(s->dh);
    bool peers = request ? fcvi_DH_CONN_MODE(s->dh) != 1 : u->mode != 1;
    if (e->peer == s->d_id && (retry || peers))
        return;
    struct fcvi_place place = request ? CONN(s, FCVI_RQST_HANDLE) : CONN(s, FCVI_RESP_HANDLE);
    mon_report(s, place, handle,
               FCVI_BREACH_IN_WORDS("FCVI-4.2-09",
                                    "the handle is that of another open Connection of the port",
                                    "a handle that is not in use"),
               e->speaks);
}
