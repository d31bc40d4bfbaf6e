/* FC-VI Rev 1.0 (1999): its Exchanges and Connections. No rule of 2007 is asked of them, and none of these of
 * a frame of 2007. R.. is an entry in the draft's register of errata. */
#ifndef FCVI_MONITOR_REV1_H
#define FCVI_MONITOR_REV1_H

#include "../judged_frame.h"

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

enum { R1_DH_MOST = 32, R1_HOST = FCVI_ADDR_REV1_HOST_IP_ADDR_SIZE };

/** What one side of an Exchange sent. */
struct r1_side {
    uint64_t frame;          /* number of its last frame; 0: none seen */
    uint32_t offset, length; /* of its last payload */
    uint16_t cnt;            /* SEQ_CNT of its last frame */
    uint16_t most;           /* its furthest SEQ_CNT */
    uint16_t sent;           /* how many frames it has sent */
    bool open;               /* its Sequence goes on */
    bool payload;            /* it has sent one */
    bool strays;             /* its frames were not seen in the order of their SEQ_CNTs */
    bool unplaced;           /* and one without an RLTV_OFF */
    bool passed;             /* it has passed the Sequence Initiative on */
    uint8_t seq_id;          /* of its last frame */
    uint8_t dh_length;
    uint8_t dh[R1_DH_MOST]; /* of its last frame */
};

/** An Exchange. */
struct r1_exchange {
    struct node node;
    uint64_t born; /* its first frame */
    uint32_t originator, responder, network;
    uint8_t group;
    uint8_t tainted; /* bit of each side that broke a rule here */
    uint8_t iu;      /* its request */
    uint8_t level;   /* of the Connection of its Message; 0: not known */
    bool over;       /* ended, or aborted */
    bool aborted;
    bool unsure;       /* another Exchange of its OX_ID may be meant */
    bool headless;     /* its first frame was not seen: all that is kept is `most` of its originator */
    bool answered;     /* CONNECT_RESP1 was seen, */
    bool accepted;     /* and gave a handle */
    bool acknowledged; /* CONNECT_RESP2 was seen */
    bool has_payload;
    bool pref, has_pref; /* of the first frame; with Priority it has none */
    uint32_t handle, rqst_handle, resp_handle;
    uint32_t most;  /* MAX_TRANS_SIZE of the request */
    uint32_t id;    /* VI_MSG_ID of the request */
    uint32_t rx_id; /* that the responder named, or FFFFh, and 1; 0: it has sent nothing */
    uint8_t rqst_level, mode;
    uint8_t local[R1_HOST], remote[R1_HOST]; /* host addresses of the CONNECT_RQST */
    struct r1_side side[2];                  /* 0: of the originator */
};

/** One direction of a Connection: what one port sends to the handle that the other gave. */
struct r1_end {
    struct node node;
    uint64_t made;    /* frame of the CONNECT_RESP1 */
    uint64_t last;    /* frame that began the last Message; 0: none did */
    uint32_t partner; /* the handle of the other direction */
    uint32_t next;    /* VI_MSG_ID of the next Message */
    uint8_t level;    /* 0: not known */
    bool counting;    /* next is known */
    bool open;        /* FCVI_CONNECT_RESP2 was seen */
    bool left;        /* its sender has disconnected */
    bool closed;      /* a Disconnect or an abort came: the handle may be given again */
    bool unsure;      /* what it names is not certain */
    bool pref, has_pref;
    bool of_setup; /* pref is that of an IU of the setup (R26) */
};

/** The frame at hand, with what belongs to it. */
struct r1_judged_frame {
    struct judged_frame *s;
    struct r1_exchange *x;
    struct r1_side *own, *far;
    bool starts; /* it is the first frame of its Exchange, */
    bool begins; /* and of its Sequence */
};

#define DH1(r, F) FCVI_AT((r)->s->base, DH_REV1, F)

/** An IU that was taken apart by the tables of Rev 1.0. */
void mon_rev1_iu(struct judged_frame *s);
/** ABTS: the Exchange is over. */
void mon_rev1_abort(struct judged_frame *s);

/** The direction from one port to a handle of another; NULL: no setup of it was seen. */
struct r1_end *mon_rev1_end(struct judged_frame *s, uint32_t from, uint32_t to, uint32_t handle);
/** The one that the frame at hand names, when what it does may be judged; else NULL, and it is counted. */
struct r1_end *mon_rev1_target(struct r1_judged_frame *r);
/** The Exchange of the frame was seen from its beginning, and so were all others: nothing is missing. */
bool mon_rev1_knows_all(const struct judged_frame *s);
/** No frame of its class comes twice: class 2 sends one again that was refused, and a Fabric may deliver it
 * twice. */
bool mon_rev1_once(const struct judged_frame *s);
/** The other side broke no rule in this Exchange. */
bool mon_rev1_far_good(const struct r1_judged_frame *r);

/** As mon_report; the sender is not judged by what follows from it. */
void mon_rev1_report(struct r1_judged_frame *r, struct fcvi_place place, uint64_t seen, struct fcvi_rule rule,
                     uint64_t other);

/* ---- the rules, by clause of the draft ---- */

/** 5.6.5, 5.6.6 and clause 6: SEQ_CNT, RLTV_OFF, and the Device_Header within an IU. False: it came before.
 */
bool mon_rev1_counts(struct r1_judged_frame *r);
/** 4.2, 5.4, 5.6: Sequences, and what FC-PH has for them. */
void mon_rev1_sequence(struct r1_judged_frame *r);
/** The frame begins an Exchange by the OX_ID of one that is open. */
void mon_rev1_reuse(struct r1_judged_frame *r);
void mon_rev1_setup(struct r1_judged_frame *r);      /* 5.3, 6.7 to 6.9 */
void mon_rev1_message(struct r1_judged_frame *r);    /* 5.2, 5.7.5, 6.1 to 6.6 */
void mon_rev1_disconnect(struct r1_judged_frame *r); /* 5.3.5, 6.10, 6.11 */
/** 5.6.2: PREF in every frame that a port sends for a Connection, or in none. */
void mon_rev1_pref(struct r1_judged_frame *r, struct r1_end *end);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
