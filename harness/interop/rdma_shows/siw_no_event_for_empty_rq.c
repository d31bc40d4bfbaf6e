/* siw, VERBS-8.3.3-07: a Send without a Receive at the peer has to raise an event there, when the stream
 * ends. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    MUST(post_send(&left, 1, IBV_WR_SEND, left.mr->lkey, 0, 0) == 0);
    completions("the sender", left.scq, 1500);
    struct rdma_cm_event *e;
    MUST(rdma_get_cm_event(channel, &e) == 0);
    printf("%s\n", rdma_event_str(e->event));
    return shown("VERBS-8.3.3-07", async_events(&right) == 0);
}
