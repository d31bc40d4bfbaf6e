/* Peer-to-Peer: matching, and who concedes (4, VI-DG 6.7). */
#include "../block/table.h"
#include "../block/timers.h"
#include "../vi/events.h"
#include "stream.h"

static bool same_host(const uint8_t *a, const uint8_t *b)
{
    return memcmp(a, b, sizeof((struct fcvi_endpoint *)NULL)->host) == 0;
}

/* The stream that the VI's own request has made has just come back to it. */
static bool itself(struct fcvi_port *p, const struct stream *s, const struct vi *vi)
{
    const struct stream *own = stream_at(p, vi->stream);
    return own->tcp == TCP_OPEN && same_host(own->local.host, s->remote.host) &&
           own->local.port == s->remote.port;
}

/* The oldest request whose remote Discriminator is `remote` and, unless that is NULL, whose own is `local`.
 */
static struct vi *find(struct fcvi_port *p, const struct stream *s, const struct fcvi_address *remote,
                       const struct fcvi_address *local)
{
    const struct table *t = &p->by_point;
    for (uint32_t i = fcvi_table_first(p, t, fcvi_point_hash(remote)); i != NONE;
         i = fcvi_table_next(p, t, i)) {
        if (i < fcvi_point_count(p))
            continue;
        struct vi *vi = vi_at(p, i - fcvi_point_count(p));
        if (fcvi_point_same_discriminator(&vi->remote, remote) &&
            (local == NULL || fcvi_point_same_discriminator(&vi->local, local)) && !itself(p, s, vi) &&
            same_host(vi->remote.host, s->remote.host) && same_host(vi->local.host, s->local.host))
            return vi;
    }
    return NULL;
}

/* Both Peers name the same Discriminator in their remote addresses (VI-DG 6.7), or each that of the other as
 * the fields of the CE Header have it: either is taken (V62). */
static struct vi *match(struct fcvi_port *p, const struct stream *s)
{
    struct fcvi_address called, calling;
    fcvi_vitcp_take_address(&called, &s->local, s->called, s->called_length);
    fcvi_vitcp_take_address(&calling, &s->remote, s->calling, s->calling_length);
    struct vi *vi = find(p, s, &called, NULL);
    return vi != NULL ? vi : find(p, s, &calling, &called);
}

/* Of two requests that cross, that of the host with the higher address is served: unsigned bytes, the first
 * one most significant (V28). Ends on one host go by their ports (V29). */
static bool concedes(const struct stream *own, const struct stream *theirs)
{
    bool crossing = own->state == STREAM_CONNECTING || own->state == STREAM_REQUESTED;
    int order = memcmp(theirs->local.host, theirs->remote.host, sizeof theirs->local.host);
    if (order == 0)
        order = own->local.port == 0 ? 1 : (int)own->local.port - (int)theirs->remote.port;
    return !crossing || order < 0;
}

/* A Connect Request of a Peer. What concedes on the wire is the lower one's own connection (V30). */
void fcvi_vitcp_peer_request(struct fcvi_port *p, struct stream *s)
{
    struct vi *vi = match(p, s);
    struct stream *own = vi != NULL ? stream_at(p, vi->stream) : NULL;
    if (own == NULL || !concedes(own, s)) {
        fcvi_vitcp_say(p, s, FCVI_PDU_CONNECT_NO_MATCH);
        return;
    }
    if (reliable(vi) != (s->attributes.reliability != FCVI_UNRELIABLE)) {
        s->attributes = vi->attributes; /* so that the other Peer sees why */
        fcvi_vitcp_say(p, s, FCVI_PDU_CONNECT_REJECT);
        fcvi_vitcp_give_up(p, own, VIP_INVALID_RELIABILITY_LEVEL);
        return;
    }
    fcvi_timer_stop(p, TIMER_T1, vi_index(p, vi));
    fcvi_vitcp_close(p, own);
    if (s->attributes.reliability != FCVI_UNRELIABLE)
        s->attributes.reliability = vi->attributes.reliability; /* V68 */
    fcvi_vitcp_accept_for(p, s, vi);
}
