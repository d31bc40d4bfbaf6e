/* Connections: Endpoints by the handle that their port gave them, and what setups make of them. */
#include "connections.h"

#include <fcvi/assembly.h>

static struct endpoint *begin(struct judged_frame *s, uint32_t owner, uint32_t handle)
{
    struct endpoint *e =
        mon_pool_add(s->m, &s->m->endpoints, mon_endpoint_key(s->in->network, owner), handle);
    e->born = s->in->number;
    e->owner = owner;
    e->handle = handle;
    return e;
}

struct endpoint *mon_endpoint_make(struct judged_frame *s, uint32_t owner, uint32_t handle)
{
    struct endpoint *e = mon_endpoint_find(s->m, s->in->network, owner, handle);
    if (e != NULL)
        return e; /* what is known of it may be of an earlier Connection */
    return begin(s, owner, handle);
}

struct endpoint *mon_endpoint_make_here(struct judged_frame *s)
{
    struct endpoint *e = mon_endpoint_here(s);
    if (e != NULL)
        return e; /* a frame to this handle does not show that its Connection is still the same */
    return begin(s, s->d_id, (uint32_t)fcvi_DH_FCVI_HANDLE(s->dh));
}

/* A frame with this handle goes to that Endpoint, which a setup bound to its sender. Only a whole view tells:
 * a logout frees the handle at once (8.4.2 g), and neither it nor the next setup need have been captured. */
bool mon_endpoint_ask(struct judged_frame *s)
{
    struct endpoint *e = mon_endpoint_here(s);
    s->target = e;
    return (s->m->config.trust & FCVI_TRUST_ALL) != 0 && e != NULL && e->bound != 0 &&
           e->bound > s->m->last_gap && !e->tainted && e->peer == s->s_id && !mon_endpoint_gone(s, e);
}

bool mon_endpoint_linked(struct judged_frame *s, uint64_t request, uint32_t handle)
{
    if (mon_exact(s->m, s->x))
        return request != 0;
    if (request == 0 || s->x->headless)
        return false;
    const struct endpoint *e = mon_endpoint_known(s);
    return e != NULL && e->peer_handle == handle;
}

/* ---- the connect payload, of which a frame holds all or a part (E44) ---- */

/* A field of the payload: the byte of the frame in which it begins, 0 when this frame lacks any of it. */
static uint16_t part(const struct judged_frame *s, uint32_t byte, uint32_t size, uint32_t *value)
{
    uint64_t start = fcvi_FC_Relative_Offset_Present(s->fc) ? fcvi_FC_Parameter(s->fc) : 0;
    const struct side *own = s->own;
    if (mon_exact(s->m, s->x) && own->payload)
        start = own->offset; /* as judged by 5.6 */
    else if (start != 0 && fcvi_FC_SEQ_CNT(s->fc) == 0)
        return 0; /* the first frame begins at 0: one of the two is wrong */
    const uint8_t *at = fcvi_assembly_part(s->f, start, byte, size);
    if (at == NULL)
        return 0;
    FCVI_ASSERT(at >= s->f->payload && at + size <= s->f->payload + s->f->payload_length);
    *value = (uint32_t)fcvi_load(at, size);
    return (uint16_t)(at - s->fc);
}

enum {
    HANDLE = FCVI_CONN_FCVI_RQST_HANDLE_BYTE,
    LEVEL = FCVI_CONN_FCVI_LOC_ATTRS_BYTE + FCVI_ATTRS_FCVI_RELIABILITY_LVL_BYTE,
    QOS = FCVI_CONN_FCVI_LOC_ATTRS_BYTE + FCVI_ATTRS_FCVI_QOS_BYTE,
    PREF = QOS + FCVI_QOS_FCVI_PREF_BYTE,
    DEPTH = QOS + FCVI_QOS_FCVI_PIPELINE_DEPTH_BYTE
};

enum {
    ALL_FOUR = 0xF,
    FLAGS = FCVI_CONN_FCVI_LOC_ATTRS_BYTE + FCVI_ATTRS_FCVI_ATTR_FLAGS_BYTE,
    MOST = FCVI_CONN_FCVI_LOC_ATTRS_BYTE + FCVI_ATTRS_FCVI_MAX_TRANS_SIZE_BYTE
};

/* A field of four bytes, of which a frame may hold some only. Returns as part(). */
static uint16_t gather(const struct judged_frame *s, uint32_t byte, uint32_t *value, uint8_t *seen)
{
    uint16_t at = part(s, byte, 4, value);
    if (at != 0) {
        *seen = ALL_FOUR;
        return at;
    }
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t one;
        if (!part(s, byte + i, 1, &one))
            continue;
        uint32_t shift = 8 * (3 - i);
        *value = (*value & ~(0xFFu << shift)) | one << shift;
        *seen |= (uint8_t)(1u << i);
    }
    return 0;
}

/* What a byte, or a word of eight, adds to a sum over words that tells what stands where. Zeros add nothing,
 * and the bytes of a word as much as the word, whatever the cuts between frames are. */
static uint64_t weigh(uint32_t place, uint64_t word)
{
    return word * (0x9E3779B97F4A7C15u + 0xD6E8FEB86659FD92u * (place / 8));
}

static uint64_t weigh_byte(uint32_t place, uint64_t byte)
{
    return weigh(place, byte << 8 * (7 - place % 8));
}

static uint64_t sum(const uint8_t *bytes, uint32_t length)
{
    uint64_t all = 0;
    uint32_t i = 0;
    for (; i + 8 <= length; i += 8)
        all += weigh(i, fcvi_load(bytes + i, 8));
    for (; i < length; i++)
        all += weigh_byte(i, bytes[i]);
    return all;
}

/* What there is of these bytes; returns how many. */
static uint8_t gather_sum(const struct judged_frame *s, uint32_t byte, uint32_t length, uint64_t *all)
{
    uint8_t seen = 0;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t one;
        if (!part(s, byte + i, 1, &one))
            continue;
        *all += weigh_byte(i, one);
        seen++;
    }
    return seen;
}

/* Zeros behind the Discriminator are padding; anything else there is the codec's to report (E31). */
static void gather_address(const struct judged_frame *s, uint32_t byte, struct address *a)
{
    uint32_t ignored, length = 0;
    uint16_t at = part(s, byte + FCVI_ADDR_HOST_ADD_BYTE, 4, &ignored);
    bool last = part(s, byte + FCVI_ADDR_LENGTH - 4, 4, &ignored),
         known = part(s, byte + FCVI_ADDR_DISCRIM_LEN_BYTE, 1, &length);
    if (known)
        a->length = (uint8_t)(length < FCVI_ADDR_DISCRIM_SIZE ? length : FCVI_ADDR_DISCRIM_SIZE);
    if (at != 0 && last && known) {
        a->host = sum(s->fc + at, FCVI_ADDR_HOST_ADD_SIZE);
        a->discriminator = sum(s->fc + at + FCVI_ADDR_HOST_ADD_SIZE, a->length);
        a->seen = FCVI_ADDR_HOST_ADD_SIZE;
        a->rest = a->length;
        return;
    }
    FCVI_ASSERT(a->length <= FCVI_ADDR_DISCRIM_SIZE);
    a->seen += gather_sum(s, byte + FCVI_ADDR_HOST_ADD_BYTE, FCVI_ADDR_HOST_ADD_SIZE, &a->host);
    a->rest += gather_sum(s, byte + FCVI_ADDR_DISCRIM_BYTE, a->length, &a->discriminator);
}

static void gather_offer(struct judged_frame *s, struct offer *o, uint32_t *handle, uint32_t *depth)
{
    uint32_t flags;
    s->handle_at = gather(s, HANDLE, handle, &o->handle_bytes);
    gather(s, DEPTH, depth, &o->depth_bytes);
    gather(s, MOST, &o->most, &o->most_bytes);
    if (part(s, FLAGS, 1, &flags)) {
        o->flags = (uint8_t)flags;
        o->has_flags = true;
    }
    gather_address(s, FCVI_CONN_FCVI_LOC_ADDR_BYTE, &o->local);
    gather_address(s, FCVI_CONN_FCVI_REM_ADDR_BYTE, &o->remote);
}

void mon_connection_payload(struct judged_frame *s)
{
    struct setup_facts *u = &s->x->setup;
    bool request = s->iu == FCVI_IU_CONNECT_RQST;
    FCVI_ASSERT(s->x->group == G_SETUP);
    uint32_t value;
    if (!request && s->iu != FCVI_IU_CONNECT_RESP1)
        return;
    struct offer *o = request ? &u->rqst_offer : &u->resp_offer;
    gather_offer(s, o, request ? &u->rqst_handle : &u->resp_handle,
                 request ? &u->rqst_depth : &u->resp_depth);
    if (o->handle_bytes == ALL_FOUR)
        *(request ? &u->has_rqst_handle : &u->has_resp_handle) = true;
    if (part(s, PREF, 1, &value)) {
        *(request ? &u->rqst_pref : &u->resp_pref) = (uint8_t)value;
        *(request ? &u->has_rqst_pref : &u->has_resp_pref) = true;
    }
    s->level_at = part(s, LEVEL, 1, &value);
    if (s->level_at != 0) {
        *(request ? &u->rqst_level : &u->resp_level) = (uint8_t)value;
        *(request ? &u->has_rqst_attributes : &u->has_resp_attributes) = true;
    }
}

/* ---- what a setup makes ---- */

static bool alive(struct judged_frame *s, const struct endpoint *e)
{
    return e->bound != 0 && e->closed == 0 && !mon_endpoint_gone(s, e);
}

/* Peers: the Endpoint's own request and one that it accepted may lead to two ends (5.3.4: one of them fails).
 */
static bool elsewhere(struct judged_frame *s, const struct endpoint *e, uint32_t peer, uint32_t peer_handle)
{
    return s->x->setup.mode != 1 && alive(s, e) && (e->peer != peer || e->peer_handle != peer_handle);
}

static void bind_endpoint(struct judged_frame *s, struct endpoint *e, uint32_t peer, uint32_t peer_handle,
                          uint8_t level, uint8_t pref)
{
    bool same = alive(s, e) && e->firm && e->peer == peer && e->peer_handle == peer_handle;
    bool crosses = elsewhere(s, e, peer, peer_handle);
    e->counting = !same; /* a Connection that is set up again while it is open: how it counts is not said */
    if (!same) {
        e->owed |= e->bound != 0 && e->peer == peer && !e->left && !mon_endpoint_gone(s, e);
        e->stray = e->bound != 0 && mon_endpoint_gone(s, e);
        e->left = false;
        e->made = s->in->number;
        e->speaks = e->closed = e->last = 0;
        e->last_at = e->spoke_at = e->answered = e->failed = 0;
        e->failed_id = 0;
        e->next = 1;
        e->highest = e->unconfirmed = 0;
        e->firm = false;
        memset(e->recent, 0, sizeof e->recent);
    }
    e->bound = s->in->number;
    e->peer = peer;
    e->peer_handle = peer_handle;
    e->level = level;
    e->pref = pref;
    e->tainted = s->x->tainted != 0 || s->in->broken ? TAINT_BREACH : 0;
    if (crosses)
        e->tainted |= TAINT_PEERS;
}

static void take_offers(struct endpoint *e, const struct offer *own, uint32_t depth, const struct offer *peer)
{
    e->depth = own->depth_bytes == ALL_FOUR ? depth : UINT32_MAX;
    e->peer_most = peer->most_bytes == ALL_FOUR ? peer->most : 0;
    e->peer_flags = peer->has_flags ? peer->flags : UINT8_MAX;
}

/* It stands for an FCVI_PREF that no frame showed (E44), of which nothing is demanded: no value of the
 * field equals it. */
enum { PREF_UNKNOWN = 0xFF };

static uint8_t pref_of(const struct setup_facts *u, bool request)
{
    if (!(request ? u->has_rqst_pref : u->has_resp_pref))
        return PREF_UNKNOWN;
    return request ? u->rqst_pref : u->resp_pref;
}

static void bind_client(struct judged_frame *s, struct endpoint *client)
{
    const struct setup_facts *u = &s->x->setup;
    bind_endpoint(s, client, s->x->responder, u->resp_handle, u->rqst_level, pref_of(u, true));
    take_offers(client, &u->rqst_offer, u->rqst_depth, &u->resp_offer);
}

/* Whom it accepts was not seen. A Connection that was confirmed is set up again (8.4.2 f, C rule 9). */
static void bind_unseen(struct judged_frame *s, struct endpoint *server)
{
    const struct setup_facts *u = &s->x->setup;
    if (server->firm && alive(s, server))
        return;
    bind_endpoint(s, server, s->x->originator, FCVI_UNASSIGNED, u->resp_level, pref_of(u, false));
    server->tainted |= TAINT_UNSEEN;
}

/* What a Peer has accepted stands until it completes its own request. It may have accepted one in frames that
 * are missing since it asked: that is, when this is a retry, since it asked first. */
static void bind_own_request(struct judged_frame *s, struct endpoint *client)
{
    const struct exchange *x = s->x;
    if (elsewhere(s, client, x->responder, x->setup.resp_handle)) {
        client->tainted |= TAINT_PEERS;
        return;
    }
    bind_client(s, client);
    if (x->setup.mode != 1 && (x->born <= s->m->last_gap || (x->setup.retry && !mon_knows_all(s->m))))
        client->tainted |= TAINT_UNSEEN;
}

/* RESP1 without status binds two Endpoints to each other, if the peer goes along (5.3.2, 4.2-31). */
static void bind(struct judged_frame *s)
{
    struct exchange *x = s->x;
    struct setup_facts *u = &x->setup;
    if (u->refused || !u->has_resp_handle || u->resp_handle == FCVI_UNASSIGNED ||
        (u->has_rqst_handle && u->rqst_handle == FCVI_UNASSIGNED))
        return;
    struct endpoint *server = mon_endpoint_make(s, x->responder, u->resp_handle);
    if (!u->has_rqst_handle) {
        bind_unseen(s, server);
        return;
    }
    bind_endpoint(s, server, x->originator, u->rqst_handle, u->resp_level, pref_of(u, false));
    take_offers(server, &u->resp_offer, u->resp_depth, &u->rqst_offer);
    bind_own_request(s, mon_endpoint_make(s, x->originator, u->rqst_handle));
    u->bound = true;
}

/* Who answers an RESP1 that did not end its Sequence took it for whole. That is no fault of the other side's,
 * so what they do with the Connection is not judged. */
static void bind_unended(struct judged_frame *s)
{
    const struct setup_facts *u = &s->x->setup;
    bind(s);
    if (!u->bound)
        return;
    mon_endpoint_make(s, s->x->responder, u->resp_handle)->tainted |= TAINT_BREACH;
    mon_endpoint_make(s, s->x->originator, u->rqst_handle)->tainted |= TAINT_BREACH;
}

void mon_connection_lost(struct fcvi_monitor *m, const struct exchange *x)
{
    const struct setup_facts *u = &x->setup;
    FCVI_ASSERT(x->group == G_SETUP);
    if (!u->bound)
        return;
    struct endpoint *client = mon_endpoint_find(m, x->network, x->originator, u->rqst_handle);
    struct endpoint *server = mon_endpoint_find(m, x->network, x->responder, u->resp_handle);
    if (client != NULL && client->peer == x->responder && client->peer_handle == u->resp_handle)
        client->tainted |= TAINT_UNSEEN;
    if (server != NULL && server->peer == x->originator && server->peer_handle == u->rqst_handle)
        server->tainted |= TAINT_UNSEEN;
}

/* RESP2 tells which of two setups a Peer completes. Over the one that it accepted Messages may have come
 * before. */
static void settle(struct judged_frame *s)
{
    const struct exchange *x = s->x;
    const struct setup_facts *u = &x->setup;
    struct endpoint *e = mon_endpoint_find(s->m, x->network, x->originator, u->rqst_handle);
    if (!u->bound || u->mode == 1 || e == NULL)
        return;
    bool here = e->peer == x->responder && e->peer_handle == u->resp_handle;
    if (!u->gave_up && here) {
        e->tainted &= (uint8_t)~TAINT_UNSEEN;
    } else if (!u->gave_up) {
        bind_client(s, e);
        e->tainted |= TAINT_PEERS;
    } else if (!here && (e->tainted & TAINT_PEERS)) {
        e->tainted &= (uint8_t)~TAINT_PEERS;
        e->counting = false;
    }
}

/* E74: the client may send once it has sent RESP2, the server once it has sent RESP3. */
static void confirm(struct judged_frame *s, uint32_t owner, uint32_t handle)
{
    struct exchange *x = s->x;
    const struct setup_facts *u = &x->setup;
    uint32_t far_port = owner == x->originator && handle == u->rqst_handle ? x->responder : x->originator;
    uint32_t far_handle =
        handle == u->rqst_handle && owner == x->originator ? u->resp_handle : u->rqst_handle;
    struct endpoint *e = mon_endpoint_find(s->m, x->network, owner, handle);
    struct endpoint *far = mon_endpoint_find(s->m, x->network, far_port, far_handle);
    if (e == NULL || far == NULL || e->bound < x->born || far->bound < x->born ||
        far->peer_handle != handle || e->peer_handle != far_handle)
        return;
    struct pair *p = mon_pair_of(s->m, x->network, x->originator, x->responder, true);
    if (e->speaks == 0 && far->speaks == 0)
        p->connections++;
    if (owner == x->responder)
        p->confirmed = s->in->number; /* each has an answer of the other by now, or sent the last */
    if (e->speaks == 0) {
        e->speaks = s->in->number;
        e->spoke_at = s->in->time_us;
    }
    e->firm = far->firm = true;
}

void mon_connection_note(struct judged_frame *s)
{
    struct exchange *x = s->x;
    struct setup_facts *u = &x->setup;
    FCVI_ASSERT(x->group == G_SETUP);
    bool status = s->iu != FCVI_IU_CONNECT_RQST && fcvi_DH_CONN_STS(s->dh);
    mon_pair_of(s->m, x->network, x->originator, x->responder, true)->epoch = s->in->number;
    if (s->iu == FCVI_IU_CONNECT_RQST) {
        u->rqst = s->in->number;
        u->connection_id = (uint32_t)fcvi_DH_FCVI_CONNECTION_ID(s->dh);
        u->retry = (uint8_t)fcvi_DH_RQST_RETRY(s->dh);
        u->mode = (uint8_t)fcvi_DH_CONN_MODE(s->dh);
    } else if (s->iu == FCVI_IU_CONNECT_RESP1) {
        u->resp1 = s->in->number;
        u->refused = status;
        u->reason = status ? (uint8_t)fcvi_DH_Reason_Code(s->dh) : 0;
        if (s->end_sequence)
            bind(s);
    } else if (s->iu == FCVI_IU_CONNECT_RESP2) {
        u->resp2 = s->in->number;
        u->gave_up = status;
        u->later_reason = status ? (uint8_t)fcvi_DH_Reason_Code(s->dh) : 0;
        if (u->resp1 != 0 && !u->bound && !status)
            bind_unended(s);
        settle(s);
        if (u->bound && !status)
            confirm(s, x->originator, u->rqst_handle);
    } else {
        u->resp3 = s->in->number;
        bool accepted = u->resp2 != 0 && !u->gave_up; /* a RESP2 that was not seen may have had a status */
        if (u->bound && accepted && !status)
            confirm(s, x->responder, u->resp_handle);
    }
}

/* ---- their end ---- */

void mon_connection_closed(struct judged_frame *s, struct endpoint *mine)
{
    struct pair *p = mon_pair_of(s->m, s->in->network, s->s_id, s->d_id, true);
    p->disconnected = p->epoch = s->in->number;
    if (mine == NULL || mine->closed != 0)
        return;
    mine->closed = s->in->number;
}
