/* What the files of the explorer share: two reference ports, an application on each, the frames or the
 * streams between them, and the budget of what may still go wrong. All of it lies in one block, so that a
 * copy is a checkpoint. */
#ifndef FCVI_EXPLORE_H
#define FCVI_EXPLORE_H

#include <fcvi/monitor.h>
#include <fcvi/vitcp.h>
#include <fcvi/vitcp_monitor.h>

enum { PORTS = 2, FLIGHT = 16, FRAME = 512, R_A_TOV = 1000, E_D_TOV = 200, STEPS = 8 };
enum { MEMORY = 2560, SLOT = 512, TEXT = 256, CHOICES = 64 };
enum { LINKS = 6, UNITS = 12, SEGMENT = 128 }; /* TCP connections, what is under way on one, bytes of a PDU */

/* ---- scenarios ---- */

enum op {
    OP_END,
    OP_WAIT,      /* VipConnectWait */
    OP_ACCEPT,    /* VipConnectAccept of what the wait returned */
    OP_REJECT,    /* VipConnectReject of the same */
    OP_REQUEST,   /* VipConnectRequest */
    OP_PEER,      /* VipConnectPeerRequest and VipConnectPeerWait */
    OP_SEND,      /* once connected: post a Send */
    OP_WRITE,     /* an RDMA Write */
    OP_READ,      /* an RDMA Read */
    OP_RECEIVE,   /* post a receive Descriptor */
    OP_LEAVE,     /* VipDisconnect, once the setup has ended */
    OP_INTERRUPT, /* VipDisconnect at any time */
    OP_CLEAN_UP   /* VipDisconnect of a VI in Error; follows every script */
};

struct scenario {
    const char *name, *title;
    uint8_t script[PORTS][STEPS]; /* enum op */
    bool connected;               /* the setup is over before the exploration begins */
    bool peer;
    bool streams;      /* VI/TCP in place of FC-VI */
    bool flow_control; /* of VI/TCP: both ask for Descriptor Flow Control */
    bool small_frames; /* receive Data_Field of 256 bytes: Connect IUs and Messages take several frames;
                          on a stream Messages take several segments */
    uint8_t level;     /* enum fcvi_reliability */
    uint64_t timeout;  /* of VipConnectWait, VipConnectRequest, VipConnectPeerRequest */
};
extern const struct scenario fcvi_explore_scenarios[];
extern const unsigned fcvi_explore_scenario_count;

/* ---- what may go wrong ---- */

/* Of frames the first three, of streams RESET and CUT: TCP loses nothing, repeats nothing and keeps the
 * order. */
enum fault { LOSS, DUPLICATION, REORDERING, RACE, RESET, CUT, FAULTS };

struct options {
    uint8_t budget[FAULTS];
    bool out_of_order, reduce, monitor;
    uint8_t service_class;
    uint64_t memory, states; /* bounds of the search; bytes, number */
};

/* ---- the world ---- */

/** A frame on its way. */
struct flying {
    uint64_t sent;
    uint16_t length;
    uint8_t sof, eof;
    uint32_t number; /* of the frames that were sent, from 1; no part of the state */
    uint8_t bytes[FRAME];
};

/** Frames to one port, oldest first. */
struct channel {
    uint32_t count;
    struct flying frame[FLIGHT];
};

enum unit_kind { UNIT_OPEN, UNIT_OPENED, UNIT_REFUSED, UNIT_DATA, UNIT_FIN, UNIT_RESET, UNIT_KINDS };

/** What is under way on a TCP connection: a PDU, or something that happens to the connection. */
struct unit {
    uint8_t kind;           /* enum unit_kind */
    uint16_t length, taken; /* bytes of the PDU; those of them that have arrived */
    uint32_t number;        /* of the units that were sent, from 1; no part of the state */
    uint8_t bytes[SEGMENT];
};

/** One direction, oldest first. */
struct way {
    uint32_t count;
    struct unit unit[UNITS];
};

/** An end of a TCP connection. */
struct end {
    bool known; /* its port has a number for it: */
    bool open;  /* and knows that the connection is established */
    bool over;  /* the number stands for nothing any more */
    bool fin_sent, fin_seen;
    uint32_t stream;
    uint64_t sent, received; /* bytes; no part of the state */
};

/** A TCP connection. */
struct link {
    bool used;
    bool gone;     /* reset on its way: what is sent is lost */
    bool accepted; /* a Connect Accept was sent */
    uint8_t opener;
    struct end end[PORTS];
    struct way to[PORTS];
};

enum token { TOKEN_WAIT, TOKEN_ACCEPT, TOKEN_REQUEST, TOKEN_PEER, TOKEN_DISCONNECT, TOKENS };

/** What an application has done and knows. */
struct app {
    uint8_t step;
    uint8_t state;        /* of its VI: enum fcvi_vi_state */
    uint8_t pending;      /* bit for each call that has not returned: enum token */
    bool offered, set_up; /* a request was handed out; the setup has ended one way or the other */
    bool joined;          /* it ended well */
    bool lost, let_go;    /* told of a lost connection; has disconnected */
    uint8_t clean_ups;
    uint8_t result[TOKENS];              /* enum fcvi_vip of the last return */
    uint8_t posted[2], done[2], good[2]; /* Descriptors, by queue: send, receive */
    uint8_t sends;                       /* bit n: Descriptor n is a Send */
    uint8_t arrived;                     /* number of the last Message that was received well */
    uint32_t conn;
};

/** What has been on the wire, for rules on the order of things. */
struct past {
    bool accept_sent, accept_seen;       /* FCVI_CONNECT_RESP1 without a status */
    bool own_confirmed, other_confirmed; /* FCVI_CONNECT_RESP2 to such a one: sent, received */
    bool resp3_seen;
    uint16_t accepted;   /* OX_ID of the request that was accepted last */
    uint16_t aborted[4]; /* OX_IDs of its own Exchanges that it aborted last */
    uint8_t aborts;
};

struct world {
    uint64_t now;
    uint8_t left[FAULTS];
    uint32_t frames; /* or units that were sent; no part of the state */
    union {
        struct channel to[PORTS];
        struct link link[LINKS];
    };
    struct app app[PORTS];
    struct past past[PORTS];
};

/** One block: the world, both ports, the monitor (one for each TCP connection). */
struct system {
    const struct scenario *scenario;
    const struct options *options;
    size_t port_size, monitor_size, port_at[PORTS], monitor_at, size;
    uint32_t vi[PORTS], mem[PORTS], handle[PORTS];
    uint64_t va[PORTS];
    uint8_t *base; /* the state in which the exploration begins */
    bool telling;  /* what happens is told */
};

static inline struct world *world_of(uint8_t *block)
{
    return (struct world *)(void *)block;
}
static inline struct fcvi_port *port_of(const struct system *s, uint8_t *block, unsigned i)
{
    return (struct fcvi_port *)(void *)(block + s->port_at[i]);
}
static inline struct fcvi_monitor *monitor_of(const struct system *s, uint8_t *block)
{
    return (struct fcvi_monitor *)(void *)(block + s->monitor_at);
}
static inline struct fcvi_vitcp_monitor *stream_monitor_of(const struct system *s, uint8_t *block,
                                                           unsigned link)
{
    return (struct fcvi_vitcp_monitor *)(void *)(block + s->monitor_at + link * s->monitor_size);
}

/* ---- choices ---- */

enum kind { DELIVER, LOSE, DUPLICATE, OVERTAKE, CALL, EXPIRE, HASTEN, BREAK, DIVIDE, KINDS };

/** index: of a frame in its channel, or of a TCP connection; DIVIDE: twice that, and 1 for the later place.
 */
struct choice {
    uint8_t kind, port, index;
};

/** A rule that was broken: which, in words. Empty text: none. */
struct breach {
    const char *rule;
    char text[TEXT];
};

/* system.c */
bool fcvi_explore_system_make(struct system *s, const struct scenario *scenario,
                              const struct options *options);
void fcvi_explore_system_free(struct system *s);
size_t fcvi_explore_system_canonical(const struct system *s, uint8_t *block, uint8_t *out, size_t capacity);

/* wire.c */
void fcvi_explore_collect(const struct system *s, uint8_t *block, unsigned port, struct breach *b);
void fcvi_explore_deliver(const struct system *s, uint8_t *block, unsigned port, uint32_t index, uint64_t at);
void fcvi_explore_drop(struct channel *c, uint32_t index);

/* streams.c: the same for TCP connections; length: bytes of a PDU that arrive, 0 for all that is left of it
 */
void fcvi_explore_streams_collect(const struct system *s, uint8_t *block, unsigned port, struct breach *b);
void fcvi_explore_streams_deliver(const struct system *s, uint8_t *block, unsigned port, unsigned link,
                                  uint32_t length, uint64_t at);
void fcvi_explore_streams_break(const struct system *s, uint8_t *block, unsigned link);
uint32_t fcvi_explore_streams_division(const struct unit *u, unsigned place);

/* app.c */
void fcvi_explore_app_events(const struct system *s, uint8_t *block, unsigned port, struct breach *b);
enum op fcvi_explore_app_next(const struct system *s, const struct world *w, unsigned port);
void fcvi_explore_app_call(const struct system *s, uint8_t *block, unsigned port, enum op op,
                           struct breach *b);
bool fcvi_explore_app_post(const struct system *s, uint8_t *block, unsigned port, enum op op);
void fcvi_explore_app_target(const struct system *s, uint8_t *block, unsigned port);
extern const char *const fcvi_explore_op_names[];

/* choices.c */
unsigned fcvi_explore_choices(const struct system *s, uint8_t *block, struct choice *out);
void fcvi_explore_apply(const struct system *s, uint8_t *block, const struct choice *c, struct breach *b);
extern const char *const fcvi_explore_kind_names[];

/* breach.c */
void fcvi_explore_breach(struct breach *b, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* rules.c */
void fcvi_explore_rule_frame(const struct system *s, uint8_t *block, unsigned from,
                             const struct fcvi_frame *f, struct breach *b);
void fcvi_explore_rule_pdu(const struct system *s, uint8_t *block, unsigned from, struct link *link,
                           const struct fcvi_pdu *pdu, struct breach *b);

/* rest.c */
void fcvi_explore_rule_end(const struct system *s, uint8_t *block, uint8_t *scratch, struct breach *b);

/* store.c: states seen, and those whose successors are still to be looked at */
struct store;
struct store *fcvi_explore_store_new(const struct system *s, const struct options *o);
void fcvi_explore_store_free(struct store *st);
enum stored { STORED_NEW, STORED_OLD, STORED_FULL };
enum stored fcvi_explore_store_add(struct store *st, uint8_t *block, uint32_t parent, const struct choice *c);
bool fcvi_explore_store_next(struct store *st, uint8_t *block, uint32_t *number);
bool fcvi_explore_store_level(struct store *st);
uint32_t fcvi_explore_store_count(const struct store *st);
unsigned fcvi_explore_store_path(const struct store *st, uint32_t number, struct choice *out,
                                 unsigned capacity);

/* search.c */
struct result {
    uint64_t states, transitions, ends;
    uint32_t depth, level; /* level: most states of one depth */
    bool complete;
    double seconds;
    struct breach breach;
    struct choice path[1024];
    unsigned steps;
};
void fcvi_explore_search(const struct system *s, struct result *r);

/* path.c: what the search has found */
void fcvi_explore_path_result(const struct system *s, const struct result *r);
void fcvi_explore_path_replay(struct system *s, const struct result *r);

/* trace.c: what happens on the way there */
void fcvi_explore_trace_sent(const struct system *s, uint64_t now, unsigned from, const struct flying *f);
void fcvi_explore_trace_unit(const struct system *s, uint64_t now, unsigned from, unsigned link,
                             uint64_t begin, const struct unit *u);
void fcvi_explore_trace_event(const struct system *s, uint64_t now, unsigned port,
                              const struct fcvi_event *e);

#endif
