/* The passive side of a setup (4.3). */
#include "../block/timers.h"
#include "../vi/events.h"
#include "stream.h"

enum { CONN_BITS = 20, CONN_GENERATIONS = 0x7FF }; /* of a conn: the stream, and how often it was used */

static uint32_t conn_of(struct fcvi_port *p, const struct stream *s)
{
    return (uint32_t)(s->generation & CONN_GENERATIONS) << CONN_BITS | stream_index(p, s);
}

static struct stream *find(struct fcvi_port *p, uint32_t conn)
{
    uint32_t index = conn & ((1u << CONN_BITS) - 1);
    struct stream *s = index < p->limits.streams ? stream_at(p, index) : NULL;
    return s != NULL && s->state == STREAM_OFFERED && conn_of(p, s) == conn ? s : NULL;
}

static void offer(struct fcvi_port *p, struct stream *s, struct point *point)
{
    uint64_t token = point->token;
    fcvi_point_free(p, (uint32_t)(point - point_at(p, 0)));
    fcvi_timer_stop(p, TIMER_STREAM, stream_index(p, s));
    s->state = STREAM_OFFERED;
    struct fcvi_event *e = fcvi_event_new(p, FCVI_EVENT_CALL);
    e->token = token;
    e->vip = VIP_SUCCESS;
    e->conn = conn_of(p, s);
    e->remote_attributes = s->attributes;
    fcvi_vitcp_take_address(&e->remote_address, &s->remote, s->calling, s->calling_length);
}

/* Reject or No Match, and the end of TCP. */
void fcvi_vitcp_say(struct fcvi_port *p, struct stream *s, enum fcvi_pdu_type refusal)
{
    s->tx.notice = (uint8_t)refusal;
    fcvi_vitcp_close(p, s);
}

/* A Connect Request has come: Matching. */
void fcvi_vitcp_request(struct fcvi_port *p, struct stream *s)
{
    struct fcvi_address called;
    const uint8_t *ce = s->rx.header + SEGMENT_HEADER;
    fcvi_vitcp_take_ce(p, s, s->rx.header);
    s->peer_mode = segment_get(p, ce, FCVI_P_CE_Peer_to_Peer) != 0;
    if (!fcvi_vitcp_take_addresses(s, s->rx.header)) {
        fcvi_vitcp_say(p, s, FCVI_PDU_CONNECT_NO_MATCH); /* V46 */
        return;
    }
    if (s->peer_mode) {
        fcvi_vitcp_peer_request(p, s);
        return;
    }
    fcvi_vitcp_take_address(&called, &s->local, s->called, s->called_length);
    struct point *point = fcvi_point_match(p, &called);
    if (point != NULL)
        offer(p, s, point);
    else
        fcvi_vitcp_say(p, s, FCVI_PDU_CONNECT_NO_MATCH);
}

/* ---- what the application says to an offer ---- */

const struct fcvi_attributes *fcvi_vitcp_offered(struct fcvi_port *p, uint32_t conn)
{
    const struct stream *s = find(p, conn);
    return s != NULL ? &s->attributes : NULL;
}

/* 3.2: the smaller one of what both ends have. */
uint32_t fcvi_vitcp_transfer_size(struct fcvi_port *p, const struct vi *vi)
{
    if (vi->state != FCVI_STATE_CONNECTED || vi->stream == NONE)
        return vi->attributes.max_transfer_size;
    return stream_at(p, vi->stream)->mtu;
}

/* The TCP connection of an offer is over: what is left is its record (V59). */
static bool over(struct fcvi_port *p, struct stream *s)
{
    bool ended = s->tcp == TCP_NONE || s->fin;
    if (ended)
        fcvi_vitcp_close(p, s);
    return ended;
}

void fcvi_vitcp_accept_for(struct fcvi_port *p, struct stream *s, struct vi *vi)
{
    uint32_t own = vi->attributes.max_transfer_size, proposed = s->attributes.max_transfer_size;
    s->vi = vi_index(p, vi);
    vi->stream = stream_index(p, s);
    s->mtu = proposed < own ? proposed : own; /* 3.2 */
    s->tx.notice = FCVI_PDU_CONNECT_ACCEPT;
    fcvi_vitcp_count_posted(p, s, vi);
    fcvi_vitcp_connected(p, s, vi);
}

int fcvi_vitcp_accept(struct fcvi_port *p, uint32_t conn, struct vi *vi)
{
    struct stream *s = find(p, conn);
    FCVI_ASSERT(s != NULL);
    if (over(p, s))
        return VIP_TIMEOUT; /* the client has given up (VI-DG 3.3.2) */
    fcvi_vitcp_accept_for(p, s, vi);
    return FCVI_VIP_PENDING;
}

bool fcvi_vitcp_refuse(struct fcvi_port *p, uint32_t conn)
{
    struct stream *s = find(p, conn);
    if (s == NULL)
        return false;
    if (!over(p, s))
        fcvi_vitcp_say(p, s, FCVI_PDU_CONNECT_REJECT);
    return true;
}
