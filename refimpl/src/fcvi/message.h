/* Messages: records, the originator stream and the responder stream (5.2, Annexes B, E and F). */
#ifndef FCVI_FCVI_MESSAGE_H
#define FCVI_FCVI_MESSAGE_H

#include "../fc2/fc2.h"
#include "../vi/vi.h"

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

enum message_phase {
    SENDING,   /* own request: frames are still to be sent */
    AWAIT_ACK, /* class 2: all sent, not all acknowledged */
    AWAIT_RESPONSE,
    RECEIVING, /* request of the other side: frames are still to come, or FCVI_CONNECT_RESP3 (C.5.10) */
    RECEIVED,  /* complete, but an earlier Message is not (Out-of-Order Fabric) */
    RESPONDING /* FCVI_READ_RESP is being sent */
};

enum message_fault { FAULT_NONE, FAULT_QUEUE_EMPTY, FAULT_DESCRIPTOR, FAULT_RDMA };

struct message {
    uint8_t phase;   /* enum message_phase */
    uint8_t op;      /* enum fcvi_op */
    uint8_t fault;   /* enum message_fault */
    bool bound;      /* received: it is settled which receive Descriptor it takes, if any */
    bool immediate;  /* IMM_DATA has been seen */
    bool ended;      /* received: the last frame has come */
    bool final_seen; /* the same of a frame that is held */
    uint32_t vi, id, entry;
    uint32_t total, offset;    /* bytes of the Message; how far sent or, in order, received */
    uint32_t iu_start, iu_end; /* of the Information Unit being sent; Rev 1.0: being received (R02) */
    uint32_t value;            /* Immediate Data */
    uint32_t rmt_va_handle;
    uint64_t rmt_va;
    uint64_t since;      /* when its first frame came: Messages before it were missing from then on */
    uint64_t last_frame; /* when its last frame came */
    uint32_t runs;       /* received, Out-of-Order Fabric: what has come, in order of offset */
    uint32_t next;       /* in the list of its VI */
};

/** Bytes of a Message that have come: [start, end). */
struct run {
    uint32_t start, end, next;
    uint64_t since; /* when it came first, and with it the gap before it */
};

/** A frame kept until it is known which Descriptor its Message takes. */
struct held {
    uint32_t next;
    uint16_t length;
    uint64_t since;
    uint8_t bytes[LONGEST];
};

static inline struct message *message_at(struct fcvi_port *p, uint32_t i)
{
    FCVI_ASSERT(i < p->limits.exchanges);
    return ARRAY(p, struct message, messages, i);
}

FCVI_BLOCK_ARRAY(run_at, struct run, runs, runs)
FCVI_BLOCK_ARRAY(held_at, struct held, held, held_frames)

/* IMM_DATA: bit 0, and bit 7 in Rev 1.0. */
static inline uint8_t fcvi_message_immediate_bit(enum fcvi_edition edition)
{
    static const uint8_t bits[FCVI_EDITION_COUNT] = {0x01, 0x80};
    return bits[edition];
}

static inline bool fcvi_message_immediate(const struct fcvi_frame *f)
{
    return fcvi_DH_FCVI_FLAGS(f->dh) & fcvi_message_immediate_bit((enum fcvi_edition)f->edition);
}

/* Where the data of an RDMA operation of the other side go or come from; NULL when that is not allowed. */
static inline uint8_t *fcvi_message_memory(struct fcvi_port *p, const struct vi *vi, const struct message *m,
                                           uint32_t offset, uint32_t length)
{
    const struct remote_range range = {m->rmt_va, m->rmt_va_handle, m->op == FCVI_RDMA_WRITE};
    return fcvi_vi_remote_memory(p, vi, &range, offset, length);
}

/* scheduler.c: whose turn it is */
void fcvi_schedule_wake(struct fcvi_port *p, struct vi *vi);
void fcvi_schedule_forget(struct fcvi_port *p, struct vi *vi);
void fcvi_schedule_wake_starved(struct fcvi_port *p);
void fcvi_schedule_starve(struct fcvi_port *p, struct vi *vi);
void fcvi_schedule_rest(struct fcvi_port *p, struct vi *vi);

/* message_tx.c: the originator of a Message (5.2, 6.2, 6.4, 6.6, Annex E) */
bool fcvi_message_withheld(const struct vi *vi, bool recv);
void fcvi_message_completed(struct fcvi_port *p, struct vi *vi, const struct entry *e);
size_t fcvi_schedule_frame(struct fcvi_port *p, uint8_t *out, struct fcvi_transmitted *meta);
void fcvi_message_sent(struct fcvi_port *p, struct vi *vi, struct exchange *x);
void fcvi_message_release_sent(struct fcvi_port *p, struct vi *vi);

/* message_data.c: frames with Message Data (5.8, 5.9) */
size_t fcvi_message_data_frame(struct fcvi_port *p, struct vi *vi, struct exchange *x, uint8_t *out,
                               struct fcvi_transmitted *meta);
size_t fcvi_message_data_again(struct fcvi_port *p, struct vi *vi, struct exchange *x, uint8_t *out,
                               struct fcvi_transmitted *meta);

/* message_response.c: Message Responses at the originator, and their absence (8.4.1 a, Annex B rule 9) */
void fcvi_message_response_receive(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f);
void fcvi_message_response_missing(struct fcvi_port *p, struct exchange *x);

/* message_over.c */
void fcvi_message_closed(struct fcvi_port *p, struct vi *vi, struct exchange *x);
void fcvi_message_error(struct fcvi_port *p, struct vi *vi, struct exchange *x, uint8_t reason, bool notify);

/* message_rx.c: the responder of a Message, on an In-Order Fabric (Annex B rules 1 to 7) */
bool fcvi_message_in_order(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f);
void fcvi_message_lost(struct fcvi_port *p, struct vi *vi, struct exchange *x);
void fcvi_message_missing(struct fcvi_port *p, struct vi *vi);
void fcvi_message_aborted(struct fcvi_port *p, struct exchange *x);

/* message_place.c: where the data of a received Message go, and how it completes (5.9.7.3, VI-ARCH 2.5) */
struct exchange *fcvi_message_rx_begin(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f);
void fcvi_message_rx_bind(struct fcvi_port *p, struct vi *vi, struct message *m);
bool fcvi_message_rx_fits(const struct message *m, const struct fcvi_frame *f);
void fcvi_message_rx_place(struct fcvi_port *p, struct vi *vi, struct message *m, uint32_t offset,
                           const uint8_t *bytes, uint32_t length);
bool fcvi_message_rx_final(const struct fcvi_frame *f);
void fcvi_message_rx_note(struct message *m, const struct fcvi_frame *f);
void fcvi_message_rx_done(struct fcvi_port *p, struct vi *vi, struct exchange *x);
void fcvi_message_rx_confirmed(struct fcvi_port *p, struct vi *vi);

/* message_order.c, message_runs.c: Messages and frames on an Out-of-Order Fabric (Annex B rules 4c, 5b, 6e,
 * 7) */
void fcvi_message_hold(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f);
bool fcvi_message_order_receive(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f);
void fcvi_message_order_timeout(struct fcvi_port *p, struct vi *vi);
bool fcvi_message_run_add(struct fcvi_port *p, struct message *m, uint32_t start, uint32_t end);
bool fcvi_message_run_whole(struct fcvi_port *p, const struct message *m);
uint64_t fcvi_message_run_gap(struct fcvi_port *p, const struct message *m);
void fcvi_message_run_drop(struct fcvi_port *p, struct message *m);

/* message_list.c: lists of Exchanges, linked through their Messages; frames that are held */
void fcvi_message_list_insert(struct fcvi_port *p, struct list *list, uint32_t after, uint32_t exchange);
void fcvi_message_list_append(struct fcvi_port *p, struct list *list, uint32_t exchange);
void fcvi_message_list_remove(struct fcvi_port *p, struct list *list, uint32_t exchange);
void fcvi_message_held_frame(const struct fcvi_port *p, const struct held *h, struct fcvi_frame *f);
void fcvi_message_held_free(struct fcvi_port *p, uint32_t i);
void fcvi_message_drop_all(struct fcvi_port *p, struct vi *vi);

/* message_read.c: FCVI_READ_RQST at the responder (6.6, 6.7) */
void fcvi_message_read_start(struct fcvi_port *p, struct vi *vi, struct exchange *x);
void fcvi_message_read_sent(struct fcvi_port *p, struct vi *vi, struct exchange *x);
void fcvi_message_read_refused(struct fcvi_port *p, struct vi *vi, struct exchange *x);

/* message_tx.c: class 2 (Annex B rules 8) */
void fcvi_message_class2_failed(struct fcvi_port *p, struct exchange *x);
void fcvi_message_acknowledged(struct fcvi_port *p, struct exchange *x);

/* rev1_message.c: Rev 1.0, a received Message whose length nobody has told (its 5.6.6, R02, R09) */
bool fcvi_rev1_message_fits(struct message *m, const struct fcvi_frame *f);
bool fcvi_rev1_message_next(struct message *m, const struct fcvi_frame *f);
void fcvi_rev1_message_grown(struct fcvi_port *p, const struct vi *vi, struct message *m);

/* message_answer.c */
void fcvi_message_send_response(struct fcvi_port *p, struct exchange *x, const struct message *m,
                                uint32_t handle, uint8_t flags);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
