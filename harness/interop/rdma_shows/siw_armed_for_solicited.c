/* siw, VERBS-8.2.5-06, VERBS-8.2.5-07 and VERBS-8.2.5-10: a CQ that is armed for solicited makes no event of
 * a solicited Send, none of an error, and, armed for the next before, none of a plain Send. */
#include "show.h"

static void message(struct end *left, struct end *right, unsigned flags)
{
    struct ibv_sge sge = {(uintptr_t)left->bytes, 16, left->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = flags}, *bad;
    MUST(post_recv(right, 1) == 0 && ibv_post_send(left->id->qp, &wr, &bad) == 0);
}

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    struct sockaddr_in at;
    alone(&left, &at, argv[1]);
    struct ibv_comp_channel *made;
    MUST((made = ibv_create_comp_channel(left.id->verbs)) != NULL);
    fcntl(made->fd, F_SETFL, O_NONBLOCK);
    heard = made; /* the CQ of the other end is on it */
    join(&left, &right, &at);
    MUST(ibv_req_notify_cq(right.rcq, 0) == 0);
    message(&left, &right, 0);
    int plain = heard_on(made, "armed for the next, a plain Send");
    completions("the Receive", right.rcq, 1);
    MUST(ibv_req_notify_cq(right.rcq, 1) == 0);
    message(&left, &right, IBV_SEND_SOLICITED);
    int solicited = heard_on(made, "armed for solicited, a solicited Send");
    completions("the Receive", right.rcq, 1);
    MUST(ibv_req_notify_cq(right.rcq, 0) == 0 && ibv_req_notify_cq(right.rcq, 1) == 0);
    message(&left, &right, 0);
    int both = heard_on(made, "armed for the next and for solicited, a plain Send");
    completions("the Receive", right.rcq, 1);
    MUST(ibv_req_notify_cq(right.rcq, 1) == 0 && post_recv(&right, 2) == 0 && move(&right, IBV_QPS_ERR) == 0);
    int error = heard_on(made, "armed for solicited, a Receive that is flushed");
    completions("the Receive", right.rcq, 1);
    return shown("VERBS-8.2.5-06 VERBS-8.2.5-07 VERBS-8.2.5-10", plain && !solicited && !both && !error);
}
