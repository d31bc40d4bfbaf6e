/* The active side of a setup (4.2). */
#include "../block/timers.h"
#include "../vi/events.h"
#include "stream.h"

bool fcvi_vitcp_prepare(struct fcvi_port *p, struct vi *vi, const struct wire_request *r)
{
    const struct fcvi_address *local = r->local, *remote = r->remote;
    struct stream *s = fcvi_vitcp_new(p);
    if (s == NULL)
        return false;
    s->state = STREAM_WAITING;
    s->vi = vi_index(p, vi);
    s->peer_mode = r->peer_mode;
    memcpy(s->local.host, local->host, sizeof s->local.host);
    memcpy(s->remote.host, remote->host, sizeof s->remote.host);
    s->calling_length = local->discriminator_length;
    s->called_length = remote->discriminator_length;
    memcpy(s->calling, local->discriminator, local->discriminator_length);
    memcpy(s->called, remote->discriminator, remote->discriminator_length);
    vi->stream = stream_index(p, s);
    return true;
}

void fcvi_vitcp_connect(struct fcvi_port *p, struct vi *vi)
{
    fcvi_vi_set_state(p, vi, FCVI_STATE_PENDING_CONNECT);
    fcvi_vitcp_open(p, stream_at(p, vi->stream));
}

/* Set up TCP. An earlier connection that the other side has not closed meanwhile is cut off. */
void fcvi_vitcp_open(struct fcvi_port *p, struct stream *s)
{
    s->state = STREAM_CONNECTING;
    s->ask_reset = s->tcp != TCP_NONE;
    s->ask_open = true;
    s->local.port = s->remote.port = 0;
    fcvi_vitcp_talk(p, s);
}

/* The attempt has failed, the request has not: another one comes (4.2, V32, V33). */
void fcvi_vitcp_again(struct fcvi_port *p, struct stream *s)
{
    s->state = STREAM_WAITING;
    s->tx.notice = FCVI_PDU_NONE;
    s->fin = s->tcp == TCP_OPEN;
    fcvi_vitcp_talk(p, s);
    fcvi_timer_start(p, TIMER_STREAM, stream_index(p, s), p->config.vitcp.retry_us);
}

/* The request is over without a connection. */
void fcvi_vitcp_give_up(struct fcvi_port *p, struct stream *s, int vip)
{
    struct vi *vi = vi_at(p, s->vi);
    vi->stream = NONE;
    fcvi_timer_stop(p, TIMER_T1, vi_index(p, vi));
    fcvi_vitcp_close(p, s);
    fcvi_vi_set_state(p, vi, FCVI_STATE_IDLE);
    fcvi_vi_connect_done(p, vi, vip, NULL);
}

/* TCP setup has failed (V57). A Peer that is not there yet may come (V63). A RST is an answer: the other side
 * is there and does not wait (VI-DG 3.3.4). */
void fcvi_vitcp_refused(struct fcvi_port *p, struct stream *s, bool answered)
{
    if (s->peer_mode)
        fcvi_vitcp_again(p, s);
    else
        fcvi_vitcp_give_up(p, s, answered ? VIP_NO_MATCH : VIP_NOT_REACHABLE);
}

void fcvi_vitcp_established(struct fcvi_port *p, struct stream *s)
{
    s->state = STREAM_REQUESTED;
    s->tx.notice = FCVI_PDU_CONNECT_REQUEST;
    fcvi_vitcp_count_posted(p, s, vi_at(p, s->vi));
    fcvi_vitcp_talk(p, s);
}

static void accepted(struct fcvi_port *p, struct stream *s)
{
    struct vi *vi = vi_at(p, s->vi);
    fcvi_vitcp_take_ce(p, s, s->rx.header);
    if (fcvi_vitcp_match(vi, &s->attributes) != VIP_SUCCESS) { /* it may not accept that (V36) */
        fcvi_vitcp_give_up(p, s, VIP_INVALID_RELIABILITY_LEVEL);
        return;
    }
    s->attributes.reliability = vi->attributes.reliability; /* as far as can be seen (V68) */
    uint32_t own = vi->attributes.max_transfer_size, agreed = s->attributes.max_transfer_size;
    s->mtu = agreed < own ? agreed : own; /* more than was proposed is not used (V26) */
    fcvi_timer_stop(p, TIMER_T1, vi_index(p, vi));
    fcvi_vitcp_connected(p, s, vi);
}

/* VI-DG 6.7: a Peer is told what differs, as far as the refusal says it. */
static int refusal_of(const struct fcvi_port *p, const struct stream *s, const struct vi *vi)
{
    if (!s->peer_mode)
        return VIP_REJECT;
    bool other = s->rx.headers == CE_HEADERS &&
                 (segment_get(p, s->rx.header + SEGMENT_HEADER, FCVI_P_CE_Reliable) != 0) != reliable(vi);
    return other ? VIP_INVALID_RELIABILITY_LEVEL : VIP_ERROR_RESOURCE;
}

/* A PDU has come in Pending Accept. */
void fcvi_vitcp_answer(struct fcvi_port *p, struct stream *s)
{
    enum fcvi_pdu_type pdu = (enum fcvi_pdu_type)s->rx.pdu;
    if (pdu == FCVI_PDU_CONNECT_ACCEPT && s->rx.headers == CE_HEADERS)
        accepted(p, s);
    else if (pdu == FCVI_PDU_CONNECT_REJECT)
        fcvi_vitcp_give_up(p, s, refusal_of(p, s, vi_at(p, s->vi)));
    else if (pdu == FCVI_PDU_CONNECT_NO_MATCH && s->peer_mode)
        fcvi_vitcp_again(p, s); /* 4 */
    else
        fcvi_vitcp_give_up(p, s, pdu == FCVI_PDU_CONNECT_NO_MATCH ? VIP_NO_MATCH : VIP_NOT_REACHABLE);
}

/* T1 */
void fcvi_vitcp_t1(struct fcvi_port *p, struct vi *vi)
{
    FCVI_ASSERT(vi->stream != NONE);
    fcvi_vitcp_give_up(p, stream_at(p, vi->stream), VIP_TIMEOUT);
}
