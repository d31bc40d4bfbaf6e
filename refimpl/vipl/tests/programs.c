/* Programs with Send and Receive only. Those with RDMA and between peers are in programs_rdma.c and
 * programs_peer.c. */
#include "endpoint.h"

#include <stdlib.h>
#include <string.h>

enum { OUT = 65536, IN = 0, RECV = VIP_STATUS_OP_RECEIVE, SIZES = 7 };

static const VIP_UINT32 size[SIZES] = {0, 1, 64, 2048, 5000, 32768, 65536};

/* ---- echo ---- */

static bool echo_serve(struct endpoint *e)
{
    EXPECT(e, endpoint_create(e, NULL) && post_recv(e, 0, IN, 65536) && endpoint_serve(e));
    for (unsigned i = 0; i < SIZES; i++) {
        EXPECT(e, received(e, 0, RECV | VIP_STATUS_IMMEDIATE, size[i]));
        const VIP_DESCRIPTOR *in = (const VIP_DESCRIPTOR *)(const void *)e->memory;
        EXPECT(e, in->CS.ImmediateData == 0xE0000000 + i);
        memcpy(data(e, OUT), data(e, IN), size[i]);
        EXPECT(e, post_recv(e, 0, IN, 65536));
        VIP_DESCRIPTOR *d = slot(e, 1, VIP_CONTROL_OP_SENDRECV);
        add(e, d, OUT, size[i]);
        EXPECT(e, post_send(e, d) && sent(e, 1, VIP_STATUS_OP_SEND));
    }
    EXPECT(e, endpoint_errors(e, 1) && e->error[0].ErrorCode == VIP_ERROR_CONN_LOST);
    return endpoint_end(e);
}

static bool echo_ask(struct endpoint *e, unsigned i)
{
    VIP_UINT32 third = size[i] / 3;
    fill(e, OUT, size[i], i);
    EXPECT(e, post_recv(e, 0, IN, 65536));
    VIP_DESCRIPTOR *d = slot(e, 1, VIP_CONTROL_OP_SENDRECV | VIP_CONTROL_IMMEDIATE);
    d->CS.ImmediateData = 0xE0000000 + i;
    add(e, d, OUT, third); /* gathered, with an empty piece */
    add(e, d, OUT + third, 0);
    add(e, d, OUT + third, size[i] - third);
    EXPECT(e, post_send(e, d) && sent(e, 1, VIP_STATUS_OP_SEND) && d->CS.Length == size[i]);
    EXPECT(e, received(e, 0, RECV, size[i]));
    return filled(e, IN, size[i], i);
}

static bool echo_request(struct endpoint *e)
{
    EXPECT(e, endpoint_create(e, NULL) && endpoint_request(e));
    for (unsigned i = 0; i < SIZES; i++)
        EXPECT(e, echo_ask(e, i));
    EXPECT(e, endpoint_end(e) && e->errors == 0);
    return true;
}

void echo_server(struct run *run)
{
    endpoint_run(run, echo_serve);
}

void echo_client(struct run *run)
{
    endpoint_run(run, echo_request);
}

/* ---- the connection ends while work is queued (VI-DG 3.3.5, 6.2) ---- */

static bool lost_serve(struct endpoint *e)
{
    EXPECT(e, endpoint_create(e, NULL) && post_recv(e, 0, IN, 64) && post_recv(e, 1, IN, 64));
    EXPECT(e, endpoint_serve(e) && endpoint_errors(e, 1));
    const VIP_ERROR_DESCRIPTOR *error = &e->error[0];
    EXPECT(e, error->ErrorCode == VIP_ERROR_CONN_LOST && error->ResourceCode == VIP_RESOURCE_VI);
    EXPECT(e, error->NicHandle == e->nic && error->ViHandle == e->vi && error->DescriptorPtr == NULL);
    EXPECT(e, endpoint_state(e, VIP_STATE_ERROR));
    EXPECT(e, received(e, 0, RECV | VIP_STATUS_DESC_FLUSHED_ERROR, 0));
    VIP_DESCRIPTOR *d = slot(e, 2, VIP_CONTROL_OP_SENDRECV);
    EXPECT(e, post_send(e, d) && sent(e, 2, VIP_STATUS_DESC_FLUSHED_ERROR)); /* X21 */
    EXPECT_VIP(e, VipDestroyVi(e->vi), VIP_INVALID_STATE);                   /* C10 */
    EXPECT_VIP(e, VipSetViAttributes(e->vi, &e->attributes), VIP_INVALID_STATE);
    EXPECT(e, endpoint_end(e) && e->errors == 1);
    EXPECT(e, endpoint_create(e, NULL) && endpoint_serve(e) && endpoint_errors(e, 2)); /* once more */
    return endpoint_end(e);
}

static bool lost_request(struct endpoint *e)
{
    EXPECT(e, endpoint_create(e, NULL) && post_recv(e, 0, IN, 64) && endpoint_request(e));
    EXPECT_VIP(e, VipSetViAttributes(e->vi, &e->attributes), VIP_INVALID_STATE); /* C43 */
    EXPECT_VIP(e, VipDestroyVi(e->vi), VIP_INVALID_STATE);
    EXPECT(e, endpoint_settle(e));
    EXPECT_VIP(e, VipDisconnect(e->vi), VIP_SUCCESS); /* C29 */
    EXPECT(e, received(e, 0, RECV | VIP_STATUS_DESC_FLUSHED_ERROR, 0) && endpoint_end(e));
    /* the VI that the server has next may not wait for a request yet */
    EXPECT(e, endpoint_pause(e, 5 * SECONDS));
    EXPECT(e, endpoint_create(e, NULL) && endpoint_request(e) && endpoint_end(e) && e->errors == 0);
    return true;
}

void lost_server(struct run *run)
{
    endpoint_run(run, lost_serve);
}

void lost_client(struct run *run)
{
    endpoint_run(run, lost_request);
}

/* ---- Completion Queues ---- */

struct notice {
    unsigned count;
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN recv;
};

static void on_entry(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN recv)
{
    struct notice *n = context;
    (void)nic;
    *n = (struct notice){n->count + 1, vi, recv};
}

static bool cq_serve(struct endpoint *e)
{
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN recv;
    VIP_DESCRIPTOR *d;
    struct notice notice = {0};
    EXPECT_VIP(e, VipCreateCQ(e->nic, 16, &cq), VIP_SUCCESS);
    EXPECT(e, endpoint_create(e, cq));
    for (unsigned i = 0; i < 4; i++)
        EXPECT(e, post_recv(e, i, i * 64u, 64));
    EXPECT_VIP(e, VipCQNotify(cq, &notice, on_entry), VIP_SUCCESS);
    EXPECT(e, endpoint_serve(e));
    for (unsigned i = 1; i < 4; i++) { /* the first entry is the handler's */
        EXPECT_VIP(e, VipCQWait(cq, 10 * SECONDS, &vi, &recv), VIP_SUCCESS);
        EXPECT(e, vi == e->vi && recv == VIP_TRUE);
    }
    EXPECT(e, notice.count == 1 && notice.vi == e->vi && notice.recv == VIP_TRUE);
    EXPECT_VIP(e, VipCQDone(cq, &vi, &recv), VIP_NOT_DONE);
    EXPECT_VIP(e, VipRecvWait(e->vi, 0, &d), VIP_ERROR_RESOURCE); /* C40 */
    for (unsigned i = 0; i < 4; i++) {
        EXPECT_VIP(e, VipRecvDone(e->vi, &d), VIP_SUCCESS);
        EXPECT(e, d->CS.Length == 64 && filled(e, i * 64u, 64, i));
    }
    EXPECT(e, post_send(e, slot(e, 4, VIP_CONTROL_OP_SENDRECV)));
    EXPECT_VIP(e, VipCQWait(cq, 10 * SECONDS, &vi, &recv), VIP_SUCCESS);
    EXPECT(e, vi == e->vi && recv == VIP_FALSE);
    EXPECT(e, endpoint_errors(e, 1));
    EXPECT_VIP(e, VipDestroyCQ(cq), VIP_ERROR_RESOURCE); /* C42 */
    EXPECT(e, endpoint_end(e));
    EXPECT_VIP(e, VipDestroyCQ(cq), VIP_SUCCESS);
    return true;
}

static bool cq_request(struct endpoint *e)
{
    EXPECT(e, endpoint_create(e, NULL) && post_recv(e, 8, IN, 0) && endpoint_request(e));
    for (unsigned i = 0; i < 4; i++) {
        VIP_DESCRIPTOR *d = slot(e, i, VIP_CONTROL_OP_SENDRECV);
        fill(e, OUT + i * 64u, 64, i);
        add(e, d, OUT + i * 64u, 64);
        EXPECT(e, post_send(e, d));
    }
    for (unsigned i = 0; i < 4; i++)
        EXPECT(e, sent(e, i, VIP_STATUS_OP_SEND));
    EXPECT(e, received(e, 8, RECV, 0));
    return endpoint_end(e);
}

void cq_server(struct run *run)
{
    endpoint_run(run, cq_serve);
}

void cq_client(struct run *run)
{
    endpoint_run(run, cq_request);
}

/* ---- a Send for which nothing is posted (table 11.2 X5) ---- */

static bool empty_serve(struct endpoint *e)
{
    EXPECT(e, endpoint_create(e, NULL) && endpoint_serve(e) && endpoint_errors(e, 1));
    EXPECT(e, e->error[0].ErrorCode == VIP_ERROR_RECVQ_EMPTY && endpoint_state(e, VIP_STATE_ERROR));
    return endpoint_end(e);
}

static bool empty_request(struct endpoint *e)
{
    bool reception = e->run->level == VIP_SERVICE_RELIABLE_RECEPTION;
    EXPECT(e, endpoint_create(e, NULL) && endpoint_request(e) && endpoint_settle(e));
    VIP_DESCRIPTOR *d = slot(e, 0, VIP_CONTROL_OP_SENDRECV);
    add(e, d, OUT, 64);
    EXPECT(e, post_send(e, d) && sent(e, 0, reception ? VIP_STATUS_REMOTE_DESC_ERROR : 0));
    EXPECT(e, reception || endpoint_errors(e, 1));
    EXPECT(e, endpoint_state(e, VIP_STATE_ERROR));
    return endpoint_end(e);
}

void empty_server(struct run *run)
{
    endpoint_run(run, empty_serve);
}

void empty_client(struct run *run)
{
    endpoint_run(run, empty_request);
}
