/* Connection requests that come to nothing (table 11.1 C14 to C22, VI-DG 3.3, 6.7). */
#include "endpoint.h"

#include <stdlib.h>
#include <string.h>

/* Wait for the next request with the discriminator. */
static bool next(struct endpoint *e, const char *discriminator, VIP_CONN_HANDLE *conn)
{
    VIP_NET_ADDRESS *local = NULL, *remote = NULL;
    bool good = endpoint_address(e, false, discriminator, &local) && endpoint_address(e, false, "", &remote);
    int vip = good ? (int)VipConnectWait(e->nic, local, VIP_INFINITE, remote, &e->remote, conn) : -1;
    free(local);
    free(remote);
    EXPECT_VIP(e, vip, VIP_SUCCESS);
    return true;
}

static bool attributes_differ(struct endpoint *e)
{
    VIP_VI_ATTRIBUTES a = e->attributes;
    VIP_CONN_HANDLE conn;
    EXPECT(e, next(e, "mismatch", &conn));
    a.MaxTransferSize = 32768;
    EXPECT_VIP(e, VipSetViAttributes(e->vi, &a), VIP_SUCCESS);
    EXPECT_VIP(e, VipConnectAccept(conn, e->vi), VIP_INVALID_MTU);
    a = e->attributes;
    a.ReliabilityLevel =
        a.ReliabilityLevel == VIP_SERVICE_UNRELIABLE ? VIP_SERVICE_RELIABLE_DELIVERY : VIP_SERVICE_UNRELIABLE;
    a.EnableRdmaRead = VIP_FALSE;
    EXPECT_VIP(e, VipSetViAttributes(e->vi, &a), VIP_SUCCESS);
    EXPECT_VIP(e, VipConnectAccept(conn, e->vi), VIP_INVALID_RELIABILITY_LEVEL);
    EXPECT_VIP(e, VipSetViAttributes(e->vi, &e->attributes), VIP_SUCCESS);
    EXPECT_VIP(e, VipConnectAccept(conn, e->vi), VIP_SUCCESS); /* the same request */
    EXPECT(e, endpoint_errors(e, 1) && endpoint_state(e, VIP_STATE_ERROR));
    EXPECT_VIP(e, VipDisconnect(e->vi), VIP_SUCCESS);
    return true;
}

static bool refuse_serve(struct endpoint *e)
{
    VIP_CONN_HANDLE conn;
    VIP_DESCRIPTOR *d;
    EXPECT(e, endpoint_create(e, NULL));
    EXPECT(e, next(e, "reject", &conn));
    EXPECT_VIP(e, VipConnectReject(conn), VIP_SUCCESS);
    EXPECT_VIP(e, VipConnectReject(conn), VIP_INVALID_PARAMETER);
    EXPECT_VIP(e, VipConnectAccept(conn, e->vi), VIP_INVALID_PARAMETER); /* C17 */
    EXPECT(e, attributes_differ(e));                                     /* C15 */
    EXPECT(e, next(e, "late", &conn) && post_recv(e, 0, 0, 64));
    EXPECT_VIP(e, VipRecvWait(e->vi, 60 * SECONDS, &d), VIP_TIMEOUT); /* C39 */
    EXPECT_VIP(e, VipConnectAccept(conn, e->vi), VIP_TIMEOUT);        /* C16 */
    EXPECT(e, next(e, "later", &conn));
    EXPECT(e, endpoint_pause(e, 60 * SECONDS));
    EXPECT_VIP(e, VipConnectReject(conn), VIP_SUCCESS); /* C18 */
    EXPECT_VIP(e, VipDisconnect(e->vi), VIP_SUCCESS);
    return endpoint_end(e);
}

void refuse_server(struct run *run)
{
    endpoint_run(run, refuse_serve);
}

static bool ask(struct endpoint *e, const char *discriminator, VIP_RETURN result)
{
    VIP_NET_ADDRESS *local = NULL, *remote = NULL;
    bool good =
        endpoint_address(e, false, "client", &local) && endpoint_address(e, true, discriminator, &remote);
    int vip = good ? (int)VipConnectRequest(e->vi, local, remote, 5 * SECONDS, &e->remote) : -1;
    free(local);
    free(remote);
    EXPECT_VIP(e, vip, result);
    return endpoint_state(e, result == VIP_SUCCESS ? VIP_STATE_CONNECTED : VIP_STATE_IDLE);
}

static bool refuse_request(struct endpoint *e)
{
    EXPECT(e, endpoint_create(e, NULL));
    EXPECT(e, ask(e, "nobody", VIP_NO_MATCH)); /* C20 */
    EXPECT(e, ask(e, "reject", VIP_REJECT));   /* C21 */
    EXPECT(e, endpoint_pause(e, 1 * SECONDS) && ask(e, "mismatch", VIP_SUCCESS));
    EXPECT(e, endpoint_settle(e));
    EXPECT_VIP(e, VipDisconnect(e->vi), VIP_SUCCESS);
    EXPECT(e, endpoint_pause(e, 5 * SECONDS) && ask(e, "late", VIP_TIMEOUT)); /* C22 */
    EXPECT(e, endpoint_pause(e, 120 * SECONDS) && ask(e, "later", VIP_TIMEOUT));
    return endpoint_end(e);
}

void refuse_client(struct run *run)
{
    endpoint_run(run, refuse_request);
}
