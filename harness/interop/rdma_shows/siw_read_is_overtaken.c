/* siw, VERBS-8.2.2-02: WRs of a send queue have to complete in their order. A Write and a Send complete ahead
 * of a Read that was posted before them, when the peer's answer is not at once there: most of twenty. */
#include "show.h"

enum { LENGTH = 1 << 20, ROUNDS = 20 };

static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_SEND};
static char sink[LENGTH], source[LENGTH];

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    struct ibv_send_wr wrs[3], *bad;
    int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, overtaken = 0;
    connected(&left, &right, argv[1]);
    struct ibv_mr *into = ibv_reg_mr(left.pd, sink, LENGTH, rights);
    struct ibv_mr *from = ibv_reg_mr(right.pd, source, LENGTH, rights);
    MUST(into != NULL && from != NULL);
    struct ibv_sge sges[2] = {{(uintptr_t)sink, LENGTH, into->lkey},
                              {(uintptr_t)left.bytes, 16, left.mr->lkey}};
    for (int i = 0; i < 3; i++) {
        wrs[i] = (struct ibv_send_wr){.wr_id = (uint64_t)i + 1,
                                      .next = i < 2 ? &wrs[i + 1] : NULL,
                                      .sg_list = &sges[i > 0],
                                      .num_sge = 1,
                                      .opcode = opcodes[i],
                                      .send_flags = IBV_SEND_SIGNALED};
        wrs[i].wr.rdma.remote_addr = (uintptr_t)source;
        wrs[i].wr.rdma.rkey = from->rkey;
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct ibv_wc wc[3], got;
        MUST(post_recv(&right, 10) == 0 && ibv_post_send(left.id->qp, wrs, &bad) == 0);
        for (int have = 0; have < 3;)
            have += ibv_poll_cq(left.scq, 3 - have, wc + have);
        for (int i = 0; i < 3; i++)
            MUST(wc[i].status == IBV_WC_SUCCESS);
        while (ibv_poll_cq(right.rcq, 1, &got) == 0)
            ;
        if (wc[0].wr_id != 1 && overtaken++ == 0)
            printf("completed: WR %d, WR %d, WR %d\n", (int)wc[0].wr_id, (int)wc[1].wr_id, (int)wc[2].wr_id);
    }
    printf("in %d of %d rounds WR 1, a Read, was overtaken\n", overtaken, ROUNDS);
    return shown("VERBS-8.2.2-02", overtaken > 0);
}
