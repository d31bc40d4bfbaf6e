/* siw, VERBS-6.2.3-08: a QP that Modify QP moves to Terminate has to go on to Error by itself, where its
 * Receives are flushed. They are not before the consumer asks for Error, though the stream ends and the
 * peer's are. */
#include "access.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    struct outcome o = {0};
    connected(&left, &right, argv[1]);
    MUST(post_recv(&left, 1) == 0 && post_recv(&right, 2) == 0);
    int returned = move(&left, IBV_QPS_SQE);
    printf("RTS to SQE: %s\n", returned == 0 ? "accepted" : "refused");
    int mine = completions("its Receive", left.rcq, 4000);
    completions("the peer's Receive", right.rcq, 1);
    asynchronous(&left, &right, &o);
    closes(&left, &right, &o);
    printf("then to Error: %s\n", move(&left, IBV_QPS_ERR) == 0 ? "accepted" : "refused");
    completions("its Receive", left.rcq, 1000);
    return shown("VERBS-6.2.3-08", returned == 0 && mine == 0);
}
