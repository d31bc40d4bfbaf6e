/* What the programs share that bind a window of type 2. */
#ifndef RDMA_SHOW_WINDOW_H
#define RDMA_SHOW_WINDOW_H

#include "show.h"

enum { SHOW_WINDOW_RIGHTS = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

/* A region that windows may be bound to. */
static inline struct ibv_mr *windowed(struct ibv_pd *pd, char *bytes)
{
    struct ibv_mr *mr =
        ibv_reg_mr(pd, bytes, SHOW_BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | SHOW_WINDOW_RIGHTS);
    MUST(mr != NULL);
    return mr;
}

/* Bind a new window of the QP's PD; says and returns the status of its WC. The rkey is the window's. */
static inline enum ibv_wc_status bound(struct end *e, struct ibv_mr *mr, uint64_t addr, uint64_t length,
                                       uint32_t *rkey)
{
    struct ibv_mw *mw = ibv_alloc_mw(e->pd, IBV_MW_TYPE_2);
    struct ibv_wc wc;
    MUST(mw != NULL);
    *rkey = ibv_inc_rkey(mw->rkey);
    struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED}, *bad;
    wr.bind_mw.mw = mw;
    wr.bind_mw.rkey = *rkey;
    wr.bind_mw.bind_info = (struct ibv_mw_bind_info){mr, addr, length, SHOW_WINDOW_RIGHTS};
    MUST(ibv_post_send(e->id->qp, &wr, &bad) == 0);
    usleep(500 * 1000);
    MUST(ibv_poll_cq(e->scq, 1, &wc) == 1);
    printf("bind of %llu bytes at %llx: %s\n", (unsigned long long)length, (unsigned long long)addr,
           ibv_wc_status_str(wc.status));
    return wc.status;
}

#endif
