/* What the monitor's files share: its block, what it knows of each thing, and the frame at hand. */
#ifndef FCVI_MONITOR_STATE_H
#define FCVI_MONITOR_STATE_H

#include <fcvi/monitor.h>
#include <fcvi/report.h>
#include <string.h>

/* Everything here is the monitor's own: calls need not go through the tables of a shared library. */
#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

#define NONE UINT32_MAX
#define NEVER UINT64_MAX

/* ---- tables ---- */

/** Every entry of a table begins with this. An entry is named by its place: bytes from the start of the
 * block.
 */
struct node {
    uint64_t k0, k1;
    uint32_t older, newer; /* by last use */
    uint32_t hash, place;
};

/** A hash table with its entries; offsets are bytes from the start of the block. A slot has the hash of an
 *  entry above its place, so that a search touches no other entry; place 0 is an empty slot. */
struct pool {
    uint64_t slots;
    uint64_t evicted;
    uint32_t items, end; /* of the entries */
    uint32_t size, mask;
    uint32_t fresh; /* entries from here on were never used */
    uint32_t oldest, newest;
};

struct fcvi_monitor {
    struct fcvi_monitor_config config;
    struct fcvi_monitor_count unjudged[FCVI_UNJUDGED_COUNT];
    uint64_t last_gap; /* number of the last frame before which frames are missing; 0: none are */
    uint64_t latest;   /* number of the latest frame */
    uint64_t resumed;  /* time of the first frame after that gap, or of the first of all */
    bool partial;      /* frames before it were not seen */
    bool knows_r_a_tov;
    bool whole; /* nothing is missing and nothing out of order, gaps apart */
    struct pool exchanges, ends, setups, sequences, pairs;
};

void mon_pool_clear(struct fcvi_monitor *m, struct pool *p);
static inline uint32_t mon_hash(const struct fcvi_monitor *m, uint64_t k0, uint64_t k1)
{
    uint64_t h = (k0 ^ m->config.seed ^ k1 * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    return (uint32_t)(h >> 32);
}
/** The entry of a key with this hash, now the one used last; NULL when there is none. */
void *mon_pool_look(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1, uint32_t hash);
/** The same, for who does not have the hash. */
void *mon_pool_search(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1);
/** The entry that makes room for the next; NULL: there is room. */
static inline void *mon_pool_oldest(struct fcvi_monitor *m, const struct pool *p)
{
    return p->fresh < p->end ? NULL : (uint8_t *)m + p->oldest;
}
/** A zeroed entry for a key with this hash that the table does not have. The one idle longest makes room. */
void *mon_pool_begin(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1, uint32_t hash);
/** The same, for who does not have the hash. */
static inline void *mon_pool_add(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1)
{
    return mon_pool_begin(m, p, k0, k1, mon_hash(m, k0, k1));
}

/** The entry of a key with this hash will be looked for soon. */
static inline void mon_pool_expect(const struct fcvi_monitor *m, const struct pool *p, uint32_t hash)
{
    const uint64_t *slots = (const uint64_t *)(const void *)((const uint8_t *)m + p->slots);
    __builtin_prefetch(slots + (hash & p->mask), 1);
}

static inline struct node *mon_pool_at(struct fcvi_monitor *m, uint32_t place)
{
    return (struct node *)(void *)((uint8_t *)m + place);
}

/** The entry is the one used last. */
static inline void mon_pool_touch(struct fcvi_monitor *m, struct pool *p, struct node *n)
{
    if (n->newer == NONE)
        return;
    mon_pool_at(m, n->newer)->older = n->older;
    if (n->older != NONE)
        mon_pool_at(m, n->older)->newer = n->newer;
    else
        p->oldest = n->newer;
    mon_pool_at(m, p->newest)->newer = n->place;
    n->older = p->newest;
    n->newer = NONE;
    p->newest = n->place;
}

/** The entry used last, when it is that of the key. */
static inline void *mon_pool_newest(struct fcvi_monitor *m, const struct pool *p, uint64_t k0, uint64_t k1)
{
    struct node *n = p->newest != NONE ? mon_pool_at(m, p->newest) : NULL;
    return n != NULL && n->k0 == k0 && n->k1 == k1 ? n : NULL;
}

/** As mon_pool_search; quick when it is the one used last, as it mostly is. */
static inline void *mon_pool_find(struct fcvi_monitor *m, struct pool *p, uint64_t k0, uint64_t k1)
{
    void *n = mon_pool_newest(m, p, k0, k1);
    return n != NULL ? n : mon_pool_search(m, p, k0, k1);
}

/** An N_Port Identifier of a Frame_Header, with one load: a byte of the header stands before each. */
static inline uint32_t mon_port_at(const uint8_t *field)
{
    return (uint32_t)fcvi_load(field - 1, 4) & 0xFFFFFFu;
}

/* ---- what is known ---- */

enum group { G_NONE, G_MESSAGE, G_SETUP, G_DISCONNECT };

/** What one side of an Exchange sent. */
struct side {
    uint64_t frame;          /* number of its last frame; 0: none seen */
    uint64_t id;             /* what names its Message or setup */
    uint32_t offset, length; /* of its last payload */
    uint32_t sequences;      /* begun */
    uint16_t cnt;            /* SEQ_CNT of its last frame */
    uint16_t payload_cnt;    /* SEQ_CNT of its last payload */
    uint16_t refused;        /* frames that busy or reject sent back and that did not come again */
    uint8_t seq_id;
    bool open;    /* its Sequence goes on */
    bool payload; /* it has sent one */
};

struct setup_facts {
    uint64_t rqst, resp1, resp2, resp3; /* frame numbers, 0: not seen */
    uint32_t connection_id, rqst_handle, resp_handle, rqst_depth, resp_depth;
    uint8_t rqst_level, resp_level, rqst_pref, resp_pref;
    uint8_t mode, retry, refused, gave_up; /* gave_up: RESP2 with a status */
    bool has_rqst_handle, has_resp_handle, has_rqst_attributes, has_resp_attributes, bound;
};

struct message_facts {
    uint64_t request; /* frame number of the latest, 0: not seen */
    uint64_t va;
    uint32_t handle, id, total, va_handle, immediate;
    uint32_t resp_handle, resp_id, resp_total, resp_va_handle;
    uint64_t resp_va;
    uint8_t iu, resp_iu;
    bool has_immediate;
};

struct disconnect_facts {
    uint64_t rqst;
    uint32_t handle, connection_id;
    uint8_t abort, by_application;
};

struct exchange {
    struct node node;
    uint64_t born, touched;
    struct side side[2]; /* 0: of the originator */
    uint64_t over;       /* frame that ended it */
    uint64_t aborted;    /* ABTS; of either side */
    uint32_t originator, responder, network;
    uint16_t ox_id, rx_id, over_cnt;
    uint8_t over_side;
    uint8_t group;
    uint8_t tainted; /* bit of each side that broke a rule here */
    uint8_t turn;    /* side that has the Sequence Initiative */
    uint8_t aborter;
    bool reused;      /* its OX_ID was another Exchange's before, of which ACKs may still come */
    bool headless;    /* its beginning was not seen */
    bool two_answers; /* the responder answered twice: whose RX_ID holds is not known */
    bool has_rx_id;
    bool waits;        /* its request is counted among those that wait for their responses (7.3) */
    bool shared_count; /* the responder goes on from the originator's SEQ_CNT (E18) */
    union {
        struct setup_facts setup;
        struct message_facts message;
        struct disconnect_facts disconnect;
    };
};

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
    TAINT_UNSEEN = 4  /* the same, but of the other nothing was seen */
};

/** One Endpoint by the handle that its port gave it. What every Message needs stands first. */
struct end {
    struct node node;
    uint64_t touched;
    uint64_t bound; /* frame of the accepting RESP1 that made the Connection; 0: its setup was not seen */
    uint32_t owner, handle, peer, peer_handle;
    uint32_t beside;     /* place of what was its peer's entry when last looked for; 0: it was not */
    uint8_t level, pref; /* of its attributes; level 0: not known */
    uint8_t slot;
    bool firm;                  /* RESP2 or RESP3 confirmed it: the handle stays bound until a Disconnect */
    uint8_t tainted;            /* bits of enum taint: what this Connection does is not judged */
    bool counting;              /* next is known */
    uint8_t asked_retry;        /* RETRY of the last CONNECT_RQST with this handle */
    uint32_t recent_id[RECENT]; /* FCVI_MSG_IDs, apart from the rest: looked through for each Message */
    uint32_t depth;             /* FCVI_PIPELINE_DEPTH of its attributes */
    uint32_t unconfirmed;       /* Messages to it that were not answered yet */
    uint32_t next;              /* FCVI_MSG_ID of the next Message to it */
    uint32_t highest;           /* of those to it */
    struct recent recent[RECENT];
    uint64_t born;
    uint64_t asked;     /* frame of the last CONNECT_RQST with this handle */
    uint64_t speaks;    /* frame from which on its port may send Messages: RESP2 or RESP3 */
    uint64_t closed;    /* frame in which its port sent a Disconnect IU */
    uint64_t closed_at; /* and when */
    uint64_t last;      /* frame of the last new Message to it */
    uint64_t last_at;   /* and when */
    uint64_t spoke_at;  /* when its port finished the setup */
    uint64_t answered;  /* frame that completed a Disconnect of its Connection */
    uint32_t asked_peer, asked_id;
};

/** An FCVI_CONNECTION_ID by its originator. */
struct setup {
    struct node node;
    uint64_t frame, touched;
    uint32_t peer, handle;
    uint16_t ox_id;
    bool open;
};

struct sequence {
    struct node node;
    uint64_t x0, x1; /* key of its Exchange */
    uint64_t frame;
    uint32_t unacknowledged;
    bool open; /* its last frame was not sent */
    bool class2;
};

/** What a port said of itself in a PLOGI or its ACC. */
struct login {
    uint64_t frame; /* 0: not known */
    uint16_t size;  /* largest Data_Field that it takes; 0: not known */
    uint8_t lacks;  /* 1: S, 2: C (5.6) */
};

/** The Port_Name of a port. */
struct name {
    uint64_t port_name;
    uint64_t frame; /* that said so; 0: not known */
};

/** Two ports that talk to each other; index 0 is the lower N_Port Identifier. */
struct pair {
    struct node node;
    uint64_t logged_out[2];  /* frame in which that port ended the login */
    uint64_t plogi_time;     /* of the latest PLOGI or ACC of either */
    uint64_t disconnected;   /* frame of the last Disconnect IU between them */
    uint64_t voided;         /* frame of the last PLOGI or LOGO: it ended all Connections before it */
    uint64_t epoch;          /* frame of the last IU or ELS that sets up or ends anything */
    struct login offered[2]; /* by a PLOGI that was not accepted yet */
    struct login login[2];   /* both sides know it */
    struct name name[2];
    uint32_t connections;
    uint16_t els_ox_id[2];
    uint8_t els[2]; /* command that waits for an answer */
};

/* ---- the frame at hand ---- */

struct seen {
    struct fcvi_monitor *m;
    const struct fcvi_monitor_frame *in;
    struct fcvi_monitor_hint hint;
    const struct fcvi_frame *f;
    struct fcvi_monitor_findings *out;
    const uint8_t *fc, *dh;
    struct exchange *x;
    struct side *own, *far;
    struct end *target;   /* what mon_end_known found */
    struct pair *between; /* the two ports; NULL: not looked for, or not there */
    uint64_t id;          /* what names the Message or setup; the low half is the same on both sides */
    uint32_t s_id, d_id;
    uint16_t base;                /* of the Device_Header in the frame */
    uint16_t handle_at, level_at; /* in it, of a connect payload; 0: not in this frame (E44) */
    uint8_t iu, who, group;
    bool end, last, starts; /* End_Sequence, Last_Sequence, begins an Exchange */
    bool misplaced;         /* 5.6 found its SEQ_CNT or Relative Offset wrong */
    bool part;              /* of a Sequence that was open before this frame */
    bool asked, certain;    /* mon_end_known has been asked; it is the sender's peer */
};

/** Report a breach of the frame at hand; other: the frame it contradicts. */
void mon_report(struct seen *s, struct fcvi_place place, uint64_t seen, struct fcvi_rule rule,
                uint64_t other);
static inline void mon_unjudged(struct fcvi_monitor *m, enum fcvi_monitor_unjudged reason, uint64_t frame)
{
    struct fcvi_monitor_count *c = &m->unjudged[reason];
    if (c->frames++ == 0)
        c->first = frame;
}

#define DH(s, F) FCVI_AT((s)->base, DH, F)
#define FC(F) FCVI_AT(0, FC, F)

/** Nothing is missing and nothing out of order since the Exchange began. */
static inline bool mon_exact(const struct fcvi_monitor *m, const struct exchange *x)
{
    return m->whole && !x->headless && x->born > m->last_gap;
}
/** Whatever goes on was seen from its beginning. */
bool mon_knows_all(const struct fcvi_monitor *m);
/** What this side does may be compared with what the other side sent: it broke no rule before. */
bool mon_far_good(struct seen *s);
/** Too long ago to be compared with the present: identifiers may have got another meaning. */
static inline bool mon_stale(const struct fcvi_monitor *m, uint64_t touched, uint64_t now)
{
    return (m->config.trust & FCVI_TRUST_ALL) == 0 && now - touched >= m->config.r_a_tov_us;
}

static inline bool mon_is(uint8_t iu, unsigned ius)
{
    return ius >> iu & 1u;
}
static inline enum group mon_group(uint8_t iu)
{
    if (mon_is(iu, FCVI_IUS_MSG_RQST | FCVI_IUS_MSG_RESP))
        return G_MESSAGE;
    return mon_is(iu, FCVI_IUS_DISCONNECT) ? G_DISCONNECT : G_SETUP;
}

/* ---- Exchanges (mon_exchange.c) ---- */

struct exchange *mon_exchange_find(struct fcvi_monitor *m, uint32_t network, uint32_t originator,
                                   uint32_t responder, uint16_t ox_id);
/** The Exchange of an IU: found, begun, or taken up in its middle. False: the frame says nothing more. */
bool mon_exchange_of(struct seen *s);
/** After all rules: what the frame leaves behind. */
void mon_exchange_note(struct seen *s);

/* ---- Connections (mon_connection.c) ---- */

static inline uint64_t mon_end_key(uint32_t network, uint32_t owner)
{
    return (uint64_t)network << 24 | owner;
}
static inline struct end *mon_end_find(struct fcvi_monitor *m, uint32_t network, uint32_t owner,
                                       uint32_t handle)
{
    return mon_pool_find(m, &m->ends, mon_end_key(network, owner), handle);
}
struct end *mon_end_make(struct seen *s, uint32_t owner, uint32_t handle);
/** The Endpoint whose handle the frame at hand, of a Message, has; NULL: not known. */
static inline struct end *mon_end_here(struct seen *s)
{
    uint64_t port = mon_end_key(s->in->network, s->d_id), handle = fcvi_DH_FCVI_HANDLE(s->dh);
    void *n = mon_pool_newest(s->m, &s->m->ends, port, handle);
    return n != NULL ? n : mon_pool_look(s->m, &s->m->ends, port, handle, s->hint.endpoint);
}
/** The same; from now on it is known. */
struct end *mon_end_make_here(struct seen *s);
/** The other Endpoint of its Connection: that of `port` with the handle e->peer_handle. */
static inline struct end *mon_end_beside(struct fcvi_monitor *m, uint32_t network, uint32_t port,
                                         struct end *e)
{
    struct node *n = mon_pool_at(m, e->beside != 0 ? e->beside : e->node.place);
    if (n->k0 != mon_end_key(network, port) || n->k1 != e->peer_handle)
        n = mon_pool_find(m, &m->ends, mon_end_key(network, port), e->peer_handle);
    if (n == NULL)
        return NULL;
    mon_pool_touch(m, &m->ends, n);
    e->beside = n->place;
    return (struct end *)(void *)n;
}
/** The Endpoint that an IU of a Message or a Disconnect is for, when the setup tells for certain that it is
 *  the sender's peer. Looked for once in a frame. */
bool mon_end_ask(struct seen *s);
static inline struct end *mon_end_known(struct seen *s)
{
    if (!s->asked)
        s->certain = mon_end_ask(s);
    s->asked = true;
    if (s->certain)
        return s->target;
    mon_unjudged(s->m, FCVI_UNJUDGED_SETUP, s->in->number);
    return NULL;
}
static inline struct pair *mon_pair_of(struct fcvi_monitor *m, uint32_t network, uint32_t a, uint32_t b,
                                       bool make)
{
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    struct pair *p = mon_pool_find(m, &m->pairs, network, low << 24 | high);
    if (p != NULL || !make)
        return p;
    p = mon_pool_add(m, &m->pairs, network, low << 24 | high);
    if (m->pairs.evicted != 0) /* what is known no more may have ended all that was before */
        p->disconnected = p->voided = p->epoch = m->latest;
    return p;
}
/** The two ports of the frame at hand. */
static inline struct pair *mon_pair_here(struct seen *s)
{
    if (s->between == NULL)
        s->between = mon_pair_of(s->m, s->in->network, s->s_id, s->d_id, false);
    return s->between;
}
static inline unsigned mon_pair_index(uint32_t port, uint32_t other)
{
    return port > other;
}
/** A setup under way makes room for another Exchange: how it ends will not be known. */
void mon_connection_lost(struct fcvi_monitor *m, const struct exchange *x);
/** Take handles and attributes out of the parts of a connect payload. */
void mon_connection_payload(struct seen *s);
/** What a setup IU makes of the Connection. */
void mon_connection_note(struct seen *s);
void mon_connection_closed(struct seen *s, struct end *mine);
/** A login or logout ended its Connection (7.7.1, E86); what is sent before both sides know cannot be told
 *  from what is sent after. */
static inline bool mon_end_gone(struct seen *s, const struct end *e)
{
    bool here = (e->owner == s->d_id && e->peer == s->s_id) || (e->owner == s->s_id && e->peer == s->d_id);
    const struct pair *p =
        here ? mon_pair_here(s) : mon_pair_of(s->m, s->in->network, e->owner, e->peer, false);
    return p == NULL || p->voided > e->bound; /* NULL: it made room for others */
}
/** The response at hand answers the request that was seen. */
bool mon_message_linked(struct seen *s);

/* ---- the rules, by clause; those that return false end the judgement of the frame ---- */

bool mon_rules_5_2(struct seen *s);   /* requests and responses of a Message */
bool mon_rules_5_3(struct seen *s);   /* order and handles of a setup */
void mon_rules_5_3_4(struct seen *s); /* arbitration between Peers */
void mon_rules_5_4_reuse(struct seen *s);
bool mon_rules_5_4(struct seen *s); /* Exchanges begin once and end */
void mon_rules_5_5(struct seen *s); /* Sequences and SEQ_IDs */
bool mon_rules_5_6(struct seen *s); /* SEQ_CNT and Relative Offset; false: the frame came before */
void mon_rules_5_6_login(struct seen *s);
void mon_rules_5_8(struct seen *s);  /* RX_ID, Sequence Initiative, PREF */
void mon_rules_5_9(struct seen *s);  /* handles and FCVI_MSG_ID of requests */
void mon_rules_6_2(struct seen *s);  /* fields of Message IUs, 6.2 to 6.7 */
void mon_rules_6_8(struct seen *s);  /* fields of setup IUs, 6.8 to 6.11 */
void mon_rules_6_12(struct seen *s); /* Disconnect IUs, 6.12 and 6.13 */
void mon_rules_5_8_rx_id(struct seen *s);
void mon_rules_7_3(struct seen *s);       /* attributes */
void mon_rules_5_8_2(struct seen *s);     /* Preference */
void mon_rules_7_3_depth(struct seen *s); /* Messages without confirmation */
/** A Message that waits makes room for another Exchange: its response will not be known for one. */
void mon_depth_lost(struct fcvi_monitor *m, const struct exchange *x);
void mon_rules_7_7(struct seen *s); /* no FC-VI after a logout */
void mon_rules_8_4(struct seen *s); /* handles in use */
void mon_rules_8_5(struct seen *s); /* retries and FCVI_CONNECTION_IDs */

void mon_link_services(struct seen *s); /* ABTS, BA_ACC */
void mon_link_control(struct seen *s);  /* ACK, busy, reject */
void mon_login_services(struct seen *s);

/** An acknowledgement or refusal of a frame of a Sequence. */
void mon_sequence_acknowledged(struct seen *s, struct exchange *x, unsigned whose, bool all);
void mon_sequences_end(struct fcvi_monitor *m, const struct exchange *x);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
