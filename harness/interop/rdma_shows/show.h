/* What the programs share that show a deviation with libibverbs alone: two connected Queue Pairs on the one
 * device of the guest. */
#ifndef RDMA_SHOW_H
#define RDMA_SHOW_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOW_BYTES = 8192, SHOW_WRS = 16 };

struct end {
    struct rdma_cm_id *id;
    struct ibv_pd *pd;
    struct ibv_cq *scq, *rcq;
    struct ibv_mr *mr;
    char *bytes;
};

#define MUST(what)                                                                                           \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            printf("not shown: %s: %s\n", #what, strerror(errno));                                           \
            exit(2);                                                                                         \
        }                                                                                                    \
    } while (0)

static struct rdma_event_channel *channel;
static struct ibv_comp_channel *heard; /* of the receive CQs made from here on; none at first */
static uint16_t port = 7471;           /* of the next listener */

static inline void end_make(struct end *e, int rights)
{
    struct ibv_context *c = e->id->verbs;
    MUST((e->pd = ibv_alloc_pd(c)) != NULL);
    MUST((e->scq = ibv_create_cq(c, 64, NULL, NULL, 0)) != NULL);
    MUST((e->rcq = ibv_create_cq(c, 64, NULL, heard, 0)) != NULL);
    MUST((e->bytes = aligned_alloc(4096, SHOW_BYTES)) != NULL);
    memset(e->bytes, 0xee, SHOW_BYTES);
    MUST((e->mr = ibv_reg_mr(e->pd, e->bytes, SHOW_BYTES, (unsigned)rights)) != NULL);
    struct ibv_qp_init_attr q = {
        .send_cq = e->scq, .recv_cq = e->rcq, .qp_type = IBV_QPT_RC, .cap = {SHOW_WRS, SHOW_WRS, 2, 2, 0}};
    MUST(rdma_create_qp(e->id, e->pd, &q) == 0);
    printf("granted: %u send and %u receive WRs\n", q.cap.max_send_wr, q.cap.max_recv_wr);
    fcntl(c->async_fd, F_SETFL, O_NONBLOCK);
}

static inline struct rdma_cm_event *event(enum rdma_cm_event_type wanted)
{
    struct rdma_cm_event *e;
    MUST(rdma_get_cm_event(channel, &e) == 0);
    MUST(e->event == wanted);
    return e;
}

/* The active end with its QP; the address is the guest's own. */
static inline void alone(struct end *left, struct sockaddr_in *at, const char *address)
{
    MUST((channel = rdma_create_event_channel()) != NULL);
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port++)};
    MUST(inet_pton(AF_INET, address, &at->sin_addr) == 1);
    MUST(rdma_create_id(channel, &left->id, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_resolve_addr(left->id, NULL, (struct sockaddr *)at, 2000) == 0);
    rdma_ack_cm_event(event(RDMA_CM_EVENT_ADDR_RESOLVED));
    MUST(rdma_resolve_route(left->id, 2000) == 0);
    rdma_ack_cm_event(event(RDMA_CM_EVENT_ROUTE_RESOLVED));
    end_make(left, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

/* The passive end, and a connection of both. */
static inline void join(struct end *left, struct end *right, struct sockaddr_in *at)
{
    struct rdma_conn_param p = {
        .responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 1};
    struct rdma_cm_id *listener;
    MUST(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(listener, (struct sockaddr *)at) == 0 && rdma_listen(listener, 4) == 0);
    MUST(rdma_connect(left->id, &p) == 0);
    struct rdma_cm_event *e = event(RDMA_CM_EVENT_CONNECT_REQUEST);
    right->id = e->id;
    rdma_ack_cm_event(e);
    end_make(right, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    MUST(rdma_accept(right->id, &p) == 0);
    for (int i = 0; i < 2; i++)
        rdma_ack_cm_event(event(RDMA_CM_EVENT_ESTABLISHED));
}

static inline void connected(struct end *left, struct end *right, const char *address)
{
    struct sockaddr_in at;
    alone(left, &at, address);
    join(left, right, &at);
}

static inline int post_send(struct end *e, uint64_t id, enum ibv_wr_opcode opcode, uint32_t lkey,
                            uint64_t remote, uint32_t rkey)
{
    struct ibv_sge sge = {(uintptr_t)e->bytes, 16, lkey};
    struct ibv_send_wr wr = {.wr_id = id,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = opcode,
                             .send_flags = IBV_SEND_SIGNALED},
                       *bad = NULL;
    wr.wr.rdma.remote_addr = remote;
    wr.wr.rdma.rkey = rkey;
    return ibv_post_send(e->id->qp, &wr, &bad);
}

static inline int post_recv(struct end *e, uint64_t id)
{
    struct ibv_sge sge = {(uintptr_t)e->bytes + 4096, 64, e->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
    return ibv_post_recv(e->id->qp, &wr, &bad);
}

static inline int move(struct end *e, enum ibv_qp_state state)
{
    struct ibv_qp_attr a = {.qp_state = state};
    return ibv_modify_qp(e->id->qp, &a, IBV_QP_STATE);
}

/* Says each WC; returns how many. */
static inline int completions(const char *what, struct ibv_cq *cq, unsigned ms)
{
    struct ibv_wc wc;
    int count = 0;
    usleep(ms * 1000);
    for (; ibv_poll_cq(cq, 1, &wc) > 0; count++)
        printf("%s: WR %llu: %s\n", what, (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
    if (count == 0)
        printf("%s: no WC within %u ms\n", what, ms);
    return count;
}

/* Whether an event comes within a second on a channel that does not block. */
static inline int heard_on(struct ibv_comp_channel *of, const char *what)
{
    struct ibv_cq *cq;
    void *context;
    usleep(1000 * 1000);
    int came = ibv_get_cq_event(of, &cq, &context) == 0;
    if (came)
        ibv_ack_cq_events(cq, 1);
    printf("%s: %s\n", what, came ? "an event" : "no event");
    return came;
}

static inline int async_events(struct end *e)
{
    struct ibv_async_event a;
    int count = 0;
    for (; ibv_get_async_event(e->id->verbs, &a) == 0; count++) {
        printf("asynchronous event: %s\n", ibv_event_type_str(a.event_type));
        ibv_ack_async_event(&a);
    }
    if (count == 0)
        printf("no asynchronous event\n");
    return count;
}

/* The last line, and the status: 0 when the deviation is there. */
static inline int shown(const char *row, int is)
{
    printf("%s: %s\n", row, is ? "deviates" : "as the text has it");
    fflush(stdout);
    _exit(is ? 0 : 1);
}

#endif
