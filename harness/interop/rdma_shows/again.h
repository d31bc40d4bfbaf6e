/* What the programs share that connect a QP more than once: by its number, with an id of librdmacm of its own
 * each time, so that librdmacm itself moves the QP nowhere. */
#ifndef RDMA_AGAIN_H
#define RDMA_AGAIN_H

#include "show.h"

/* The next event, whichever it is. */
static inline struct rdma_cm_event *any_event(const char *what)
{
    struct rdma_cm_event *e;
    MUST(rdma_get_cm_event(channel, &e) == 0);
    printf("%s: %s (%d)\n", what, rdma_event_str(e->event), e->status);
    return e;
}

/* An id that knows the way to the address. */
static inline struct rdma_cm_id *way_to(struct sockaddr_in *at)
{
    struct rdma_cm_id *id;
    MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)at, 2000) == 0);
    rdma_ack_cm_event(event(RDMA_CM_EVENT_ADDR_RESOLVED));
    MUST(rdma_resolve_route(id, 2000) == 0);
    rdma_ack_cm_event(event(RDMA_CM_EVENT_ROUTE_RESOLVED));
    return id;
}

/* A QP with the CQs of the end, which no id of librdmacm has. */
static inline void apart(struct end *e, struct ibv_qp **qp)
{
    struct ibv_qp_init_attr q = {
        .send_cq = e->scq, .recv_cq = e->rcq, .qp_type = IBV_QPT_RC, .cap = {SHOW_WRS, SHOW_WRS, 2, 2, 0}};
    MUST((*qp = ibv_create_qp(e->pd, &q)) != NULL);
}

#endif
