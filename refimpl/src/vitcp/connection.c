/* A VI's connection on a stream, from its beginning to its end (2.2.2.2.2, 4.2, 4.3). */
#include "../block/timers.h"
#include "../vi/events.h"
#include "stream.h"

/* A VI that has had no connection yet. */
void fcvi_vitcp_none(struct vi *vi)
{
    vi->stream = vi->setup = vi->inbound = NONE;
}

/* VI-DG 3.3.2, V36: the levels, as far as the wire has them. The MTU is agreed on and never differs (2.2.1).
 */
int fcvi_vitcp_match(const struct vi *vi, const struct fcvi_attributes *remote)
{
    bool same = reliable(vi) == (remote->reliability != FCVI_UNRELIABLE);
    return same ? VIP_SUCCESS : VIP_INVALID_RELIABILITY_LEVEL;
}

/* What waits in the queue when the connection begins counts as posted on it (V55). */
void fcvi_vitcp_count_posted(struct fcvi_port *p, struct stream *s, const struct vi *vi)
{
    s->tx.posted = 0;
    for (uint32_t i = vi->recv.fresh; i != NONE; i = entry_at(p, i)->next)
        s->tx.posted++;
}

void fcvi_vitcp_connected(struct fcvi_port *p, struct stream *s, struct vi *vi)
{
    s->state = STREAM_CONNECTED;
    s->reliable = reliable(vi);
    s->tx.threshold = s->tx.posted > 1 ? s->tx.posted / 2 : 1; /* V21 */
    fcvi_timer_stop(p, TIMER_STREAM, stream_index(p, s));
    fcvi_vi_set_state(p, vi, FCVI_STATE_CONNECTED);
    fcvi_vi_connect_done(p, vi, VIP_SUCCESS, &s->attributes);
    fcvi_vitcp_talk(p, s);
}

/* A Descriptor was posted. Receives count also while the request for the connection is out. */
void fcvi_vitcp_posted(struct fcvi_port *p, struct vi *vi, bool recv)
{
    if (vi->stream == NONE)
        return;
    struct stream *s = stream_at(p, vi->stream);
    s->tx.posted += recv;
    if (s->state == STREAM_CONNECTED)
        fcvi_vitcp_talk(p, s);
}

/* The connection is over: Error, and TCP is closed (2.2.2.2.2). The application hears of it. */
void fcvi_vitcp_fail(struct fcvi_port *p, struct stream *s, bool notify)
{
    FCVI_ASSERT(s->state == STREAM_CONNECTED && s->vi != NONE);
    struct vi *vi = vi_at(p, s->vi);
    vi->stream = NONE;
    fcvi_vitcp_close(p, s);
    fcvi_vi_set_state(p, vi, FCVI_STATE_ERROR);
    if (notify)
        fcvi_event_error(p, vi_index(p, vi), VIP_ERROR_CONN_LOST);
    fcvi_vi_flush(p, vi);
}

/* VipDisconnect. No PDU asks for it, so no answer is awaited. */
int fcvi_vitcp_disconnect(struct fcvi_port *p, struct vi *vi)
{
    fcvi_timer_stop(p, TIMER_T1, vi_index(p, vi));
    fcvi_vi_connect_undone(p, vi);
    if (vi->stream != NONE) {
        struct stream *s = stream_at(p, vi->stream);
        vi->stream = NONE;
        fcvi_vitcp_close(p, s);
    }
    fcvi_vi_set_state(p, vi, FCVI_STATE_IDLE);
    fcvi_vi_flush(p, vi);
    return VIP_SUCCESS;
}
