/* What the programs share that look at an access of the peer: one access, and what came of it. */
#ifndef RDMA_ACCESS_H
#define RDMA_ACCESS_H

#include "show.h"

struct outcome {
    int status;            /* of the WC of the access; -1: there is none */
    int moved;             /* the bytes were read or written */
    int mine, theirs;      /* how many of the two Receives of each end have a WC */
    int told_me, told_him; /* asynchronous events of the QP of each end */
    int left_me, left_him; /* DISCONNECTED, at each end */
};

/* The events of librdmacm that are there; which ends were told that they are disconnected. */
static inline void closes(struct end *left, struct end *right, struct outcome *o)
{
    struct rdma_cm_event *e;
    fcntl(channel->fd, F_SETFL, O_NONBLOCK);
    while (rdma_get_cm_event(channel, &e) == 0) {
        printf("%s: %s\n", e->id == left->id ? "initiator" : "target", rdma_event_str(e->event));
        o->left_me += e->event == RDMA_CM_EVENT_DISCONNECTED && e->id == left->id;
        o->left_him += e->event == RDMA_CM_EVENT_DISCONNECTED && e->id == right->id;
        rdma_ack_cm_event(e);
    }
}

static inline void asynchronous(struct end *left, struct end *right, struct outcome *o)
{
    struct ibv_async_event a;
    while (ibv_get_async_event(left->id->verbs, &a) == 0) {
        int mine = a.element.qp == left->id->qp, his = a.element.qp == right->id->qp;
        printf("%s: asynchronous event: %s\n",
               mine  ? "initiator"
               : his ? "target"
                     : "another",
               ibv_event_type_str(a.event_type));
        o->told_me += mine;
        o->told_him += his;
        ibv_ack_async_event(&a);
    }
    if (o->told_me == 0)
        printf("initiator: no asynchronous event\n");
    if (o->told_him == 0)
        printf("target: no asynchronous event\n");
}

/* A Read or Write of 16 bytes by the left end, with two Receives at each end. Then a second. */
static inline struct outcome access_of(struct end *left, struct end *right, enum ibv_wr_opcode opcode,
                                       uint64_t remote, uint32_t rkey)
{
    struct outcome o = {.status = -1};
    struct ibv_wc wc;
    const char *what = opcode == IBV_WR_RDMA_READ ? "Read" : "Write";
    memset(left->bytes, 0x11, 16);
    memset(right->bytes, 0x22, 16);
    for (int i = 0; i < 2; i++)
        MUST(post_recv(left, 20) == 0 && post_recv(right, 30) == 0);
    MUST(post_send(left, 1, opcode, left->mr->lkey, remote, rkey) == 0);
    usleep(1000 * 1000);
    if (ibv_poll_cq(left->scq, 1, &wc) == 1)
        o.status = wc.status;
    printf("%s: %s\n", what, o.status < 0 ? "no WC" : ibv_wc_status_str((enum ibv_wc_status)o.status));
    o.moved = memcmp(left->bytes, right->bytes, 16) == 0;
    printf("%s: %s\n", what, o.moved ? "the bytes were moved" : "no byte was moved");
    o.mine = completions("initiator's Receives", left->rcq, 1);
    o.theirs = completions("target's Receives", right->rcq, 1);
    asynchronous(left, right, &o);
    closes(left, right, &o);
    return o;
}

/* Whether a Send of the left end is done at both ends; a Receive for it is there. */
static inline int goes_on(struct end *left, struct end *right)
{
    int posted = post_send(left, 2, IBV_WR_SEND, left->mr->lkey, 0, 0) == 0;
    int sent = completions("a Send behind it", left->scq, 500);
    return posted && sent == 1 && completions("its Receive", right->rcq, 1) == 1;
}

#endif
