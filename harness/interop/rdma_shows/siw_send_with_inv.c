/* siw, VERBS-6.2.4-04: libsiw gives a Send with Invalidate the STag zero, whatever the WR names, and the
 * peer's Receive fails. The stream goes on, so that the next one fails with an error of its own. */
#include "show.h"

static int send_with_inv(struct end *e, uint64_t id, uint32_t stag)
{
    struct ibv_sge sge = {(uintptr_t)e->bytes, 16, e->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = id,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND_WITH_INV,
                             .send_flags = IBV_SEND_SIGNALED},
                       *bad = NULL;
    wr.invalidate_rkey = stag;
    return ibv_post_send(e->id->qp, &wr, &bad);
}

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    int errors = 0;
    for (uint64_t id = 1; id <= 2; id++) {
        struct ibv_wc wc;
        MUST(post_recv(&right, id) == 0 && send_with_inv(&left, id, right.mr->rkey) == 0);
        usleep(1000 * 1000);
        MUST(ibv_poll_cq(right.rcq, 1, &wc) == 1);
        printf("Receive %llu of a Send that invalidates %08x: %s\n", (unsigned long long)id, right.mr->rkey,
               ibv_wc_status_str(wc.status));
        errors += wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR;
    }
    return shown("VERBS-6.2.4-04", errors == 2);
}
