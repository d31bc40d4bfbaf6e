/* Peer-to-peer connections (VI-DG 3.3.6 to 3.3.8; table 11.1 C25 to C28). */
#include "endpoint.h"

#include <stdlib.h>
#include <string.h>

enum { RECV = VIP_STATUS_OP_RECEIVE };

/* local: the discriminator of the LocalAddr, which is compared with nothing. */
static bool begin(struct endpoint *e, const char *local_name, const char *remote_name, VIP_ULONG timeout)
{
    VIP_NET_ADDRESS *local = NULL, *remote = NULL;
    bool good =
        endpoint_address(e, false, local_name, &local) && endpoint_address(e, true, remote_name, &remote);
    int vip = good ? (int)VipConnectPeerRequest(e->vi, local, remote, timeout) : -1;
    free(local);
    free(remote);
    EXPECT_VIP(e, vip, VIP_SUCCESS);
    return true;
}

static bool swap(struct endpoint *e, unsigned own)
{
    VIP_DESCRIPTOR *d = slot(e, 1, VIP_CONTROL_OP_SENDRECV);
    fill(e, 65536, 3000, own);
    add(e, d, 65536, 3000);
    EXPECT(e, post_send(e, d) && sent(e, 1, VIP_STATUS_OP_SEND) && received(e, 0, RECV, 3000));
    return filled(e, 0, 3000, !own);
}

static bool poll_peer(struct endpoint *e)
{
    VIP_RETURN vip;
    EXPECT(e, endpoint_create(e, NULL) && post_recv(e, 0, 0, 4096));
    EXPECT_VIP(e, VipConnectPeerDone(e->vi, &e->remote), VIP_INVALID_STATE); /* C27 */
    EXPECT(e, begin(e, "one", "rendezvous", 60 * SECONDS) && endpoint_state(e, VIP_STATE_CONNECT_PENDING));
    EXPECT_VIP(e, VipConnectPeerDone(e->vi, &e->remote), VIP_NOT_DONE); /* C26 */
    do
        vip = VipConnectPeerDone(e->vi, &e->remote);
    while (vip == VIP_NOT_DONE);
    EXPECT_VIP(e, vip, VIP_SUCCESS);
    EXPECT(e, e->remote.MaxTransferSize == 65536 && e->remote.ReliabilityLevel == e->run->level);
    EXPECT_VIP(e, VipConnectPeerDone(e->vi, &e->remote), VIP_INVALID_STATE);
    EXPECT(e, endpoint_state(e, VIP_STATE_CONNECTED) && swap(e, 1));
    EXPECT(e, endpoint_errors(e, 1) && e->error[0].ErrorCode == VIP_ERROR_CONN_LOST);
    return endpoint_end(e);
}

void peer_one(struct run *run)
{
    endpoint_run(run, poll_peer);
}

static bool wait_peer(struct endpoint *e)
{
    EXPECT(e, endpoint_create(e, NULL) && post_recv(e, 0, 0, 4096));
    EXPECT(e, begin(e, "two", "rendezvous", 60 * SECONDS));
    EXPECT_VIP(e, VipConnectPeerWait(e->vi, &e->remote), VIP_SUCCESS);
    EXPECT(e, endpoint_state(e, VIP_STATE_CONNECTED) && swap(e, 0));
    return endpoint_end(e);
}

void peer_two(struct run *run)
{
    endpoint_run(run, wait_peer);
}

static bool mismatch(struct endpoint *e, VIP_ULONG max_transfer_size)
{
    EXPECT(e, endpoint_create(e, NULL));
    e->attributes.MaxTransferSize = max_transfer_size;
    EXPECT_VIP(e, VipSetViAttributes(e->vi, &e->attributes), VIP_SUCCESS);
    EXPECT(e, begin(e, "", "rendezvous", 60 * SECONDS));
    EXPECT_VIP(e, VipConnectPeerWait(e->vi, &e->remote), VIP_INVALID_MTU); /* C28 */
    EXPECT(e, endpoint_state(e, VIP_STATE_IDLE));
    EXPECT(e, begin(e, "", max_transfer_size == 65536 ? "here" : "there", 2 * SECONDS)); /* never meet */
    EXPECT_VIP(e, VipConnectPeerWait(e->vi, &e->remote), VIP_TIMEOUT);
    return endpoint_end(e);
}

static bool mismatch_large(struct endpoint *e)
{
    return mismatch(e, 65536);
}

static bool mismatch_small(struct endpoint *e)
{
    return mismatch(e, 32768);
}

void mismatch_one(struct run *run)
{
    endpoint_run(run, mismatch_large);
}

void mismatch_two(struct run *run)
{
    endpoint_run(run, mismatch_small);
}
