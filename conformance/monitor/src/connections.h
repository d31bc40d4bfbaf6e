/* Connections: Endpoints by the handle that their port gave them, and setups under way (mon_connection.c). */
#ifndef FCVI_MONITOR_CONNECTIONS_H
#define FCVI_MONITOR_CONNECTIONS_H

#include "judged_frame.h"

/* Everything here is the monitor's own: calls need not go through the tables of a shared library. */
#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/** A Message that arrived at an Endpoint not long ago. */
struct recent {
    uint64_t time, frame; /* frame 0: none */
    uint32_t sender;
    uint16_t ox_id;
};
enum { RECENT = 8 };

enum taint {
    TAINT_BREACH = 1, /* its setup broke a rule */
    TAINT_PEERS = 2,  /* it may be in another setup, too, and only one of them completes */
    TAINT_UNSEEN = 4, /* as TAINT_PEERS, but no frame of the other setup was seen */
    TAINT_LATE = 8    /* a Disconnect came that may be of an earlier Connection of its handle */
};

/** One Endpoint by the handle that its port gave it. What every Message needs stands first. */
struct endpoint {
    struct node node;
    uint64_t bound; /* frame of the accepting RESP1 that made the Connection; 0: its setup was not seen */
    uint32_t owner, handle, peer, peer_handle;
    uint32_t beside;     /* place of what was its peer's entry when last looked for; 0: it was not */
    uint8_t level, pref; /* of its attributes; level 0: not known */
    uint8_t slot;
    bool firm;           /* RESP2 or RESP3 confirmed it: the handle stays bound until a Disconnect */
    uint8_t tainted;     /* bits of enum taint: what this Connection does is not judged */
    bool counting;       /* next is known */
    bool stray;          /* a login ended the one before it, of which Messages may come yet */
    bool left;           /* a DISCONNECT_RQST of its peer was answered */
    bool owed;           /* the peer's DISCONNECT_RQST for an earlier Connection of the two may still come */
    uint8_t asked_retry; /* RETRY of the last CONNECT_RQST with this handle */
    uint32_t recent_id[RECENT]; /* FCVI_MSG_IDs, apart from the rest: looked through for each Message */
    uint32_t depth;             /* FCVI_PIPELINE_DEPTH of its attributes */
    uint32_t peer_most;         /* FCVI_MAX_TRANS_SIZE of its peer's; 0: not known */
    uint8_t peer_flags;         /* FCVI_ATTR_FLAGS of its peer's; all set: not known */
    uint32_t unconfirmed;       /* Messages to it that were not answered yet */
    uint32_t next;              /* FCVI_MSG_ID of the next Message to it */
    uint32_t highest;           /* of those to it */
    struct recent recent[RECENT];
    uint64_t born;
    uint64_t made;     /* as bound, but of a Connection that was set up again while it was open the first */
    uint64_t asked;    /* frame of the last CONNECT_RQST with this handle */
    uint64_t speaks;   /* frame from which on its port may send Messages: RESP2 or RESP3 */
    uint64_t closed;   /* frame in which its port sent a Disconnect IU */
    uint64_t last;     /* frame of the last new Message to it */
    uint64_t last_at;  /* and when */
    uint64_t spoke_at; /* when its port finished the setup */
    uint64_t failed;   /* frame in which its port aborted a Message for want of a response, or told of an
                        * error at Reliable Reception (8.4.2 a, e) */
    uint64_t answered; /* frame that completed a Disconnect of its Connection */
    uint32_t asked_peer, asked_id;
    uint32_t failed_id; /* FCVI_MSG_ID of the Message to it that the error was in */
};

/** An FCVI_CONNECTION_ID by its originator. */
struct setup {
    struct node node;
    uint64_t frame, touched;
    uint32_t peer;
    uint16_t ox_id;
};

static inline uint64_t mon_endpoint_key(uint32_t network, uint32_t owner)
{
    return (uint64_t)network << 24 | owner;
}
static inline struct endpoint *mon_endpoint_find(struct fcvi_monitor *m, uint32_t network, uint32_t owner,
                                                 uint32_t handle)
{
    return mon_pool_find(m, &m->endpoints, mon_endpoint_key(network, owner), handle);
}
struct endpoint *mon_endpoint_make(struct judged_frame *s, uint32_t owner, uint32_t handle);
/** The Endpoint whose handle the frame at hand, of a Message, has; NULL: not known. */
static inline struct endpoint *mon_endpoint_here(struct judged_frame *s)
{
    return mon_endpoint_find(s->m, s->in->network, s->d_id, (uint32_t)fcvi_DH_FCVI_HANDLE(s->dh));
}
/** The same; from now on it is known. */
struct endpoint *mon_endpoint_make_here(struct judged_frame *s);
/** The other Endpoint of its Connection: that of `port` with the handle e->peer_handle. */
static inline struct endpoint *mon_endpoint_beside(struct fcvi_monitor *m, uint32_t network, uint32_t port,
                                                   struct endpoint *e)
{
    struct node *n = mon_pool_at(m, e->beside != 0 ? e->beside : e->node.place);
    if (n->k0 != mon_endpoint_key(network, port) || n->k1 != e->peer_handle)
        n = mon_pool_find(m, &m->endpoints, mon_endpoint_key(network, port), e->peer_handle);
    if (n == NULL)
        return NULL;
    mon_pool_touch(m, &m->endpoints, n);
    e->beside = n->place;
    return (struct endpoint *)(void *)n;
}
/** The Endpoint that an IU of a Message or a Disconnect is for, when the setup tells for certain that it is
 *  the sender's peer. Looked for once in a frame. */
bool mon_endpoint_ask(struct judged_frame *s);
static inline struct endpoint *mon_endpoint_known(struct judged_frame *s)
{
    if (!s->asked)
        s->certain = mon_endpoint_ask(s);
    s->asked = true;
    if (s->certain)
        return s->target;
    mon_unjudged(s->m, FCVI_UNJUDGED_SETUP, s->in->number);
    return NULL;
}
/** An answer belongs to the request seen (number of its frame, 0: none): by the Exchange where that is
 * certain, else because a setup tells that its handle and the request's are the two of one Connection. */
bool mon_endpoint_linked(struct judged_frame *s, uint64_t request, uint32_t handle);
/** A setup under way makes room for another Exchange: how it ends will not be known. */
void mon_connection_lost(struct fcvi_monitor *m, const struct exchange *x);
/** Take handles and attributes out of the parts of a connect payload. */
void mon_connection_payload(struct judged_frame *s);
/** All bytes of the address were seen. */
static inline bool mon_address_known(const struct address *a)
{
    return a->seen == FCVI_ADDR_HOST_ADD_SIZE && a->length >= FCVI_ADDR_HOST_ADD_SIZE && a->rest == a->length;
}
/** What a setup IU makes of the Connection. */
void mon_connection_note(struct judged_frame *s);
void mon_connection_closed(struct judged_frame *s, struct endpoint *mine);
/** A login or logout ended its Connection (7.7.1, E86); what is sent before both sides know cannot be told
 *  from what is sent after. */
static inline bool mon_endpoint_gone(struct judged_frame *s, const struct endpoint *e)
{
    bool here = (e->owner == s->d_id && e->peer == s->s_id) || (e->owner == s->s_id && e->peer == s->d_id);
    const struct pair *p =
        here ? mon_pair_here(s) : mon_pair_of(s->m, s->in->network, e->owner, e->peer, false);
    return p == NULL || p->voided > e->bound; /* NULL: it made room for others */
}
/** The other port has sent the sender a setup IU that was not followed: it may have given any handle and any
 *  FCVI_CONNECTION_ID. */
static inline bool mon_far_unfollowed(struct judged_frame *s)
{
    const struct pair *p = mon_pair_here(s);
    bool far = p != NULL && p->unfollowed[mon_pair_index(s->d_id, s->s_id)] != 0;
    if (far)
        mon_unjudged(s->m, FCVI_UNJUDGED_BREACH, s->in->number);
    return far;
}
/** The response at hand answers the request that was seen. */
bool mon_message_linked(struct judged_frame *s);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
