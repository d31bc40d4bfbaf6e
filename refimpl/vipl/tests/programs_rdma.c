/* RDMA Write and Read (VI-DG 5.2, 5.3; VI-ARCH 2.4.3, 6.3.1). The server tells the client where its window
 * is with a first Send; a Send of the client's ends the program. */
#include "endpoint.h"

#include <string.h>

enum { WINDOW = 65536, LENGTH = 40000, HELLO = 16, RECV = VIP_STATUS_OP_RECEIVE };

struct window {
    VIP_UINT64 address;
    VIP_MEM_HANDLE handle;
    VIP_UINT32 length;
};

/* Slots 0 to 3 of the server are for what the client sends, in order. */
static bool offer(struct endpoint *e)
{
    struct window w = {(VIP_UINT64)(size_t)data(e, WINDOW), e->handle, WINDOW};
    EXPECT(e, endpoint_create(e, NULL));
    for (unsigned i = 0; i < 4; i++)
        EXPECT(e, post_recv(e, i, 0, 64));
    EXPECT(e, endpoint_serve(e));
    VIP_DESCRIPTOR *d = slot(e, HELLO, VIP_CONTROL_OP_SENDRECV);
    memcpy(data(e, 1024), &w, sizeof w);
    add(e, d, 1024, sizeof w);
    return post_send(e, d) && sent(e, HELLO, VIP_STATUS_OP_SEND);
}

static bool meet(struct endpoint *e, struct window *w)
{
    EXPECT(e, endpoint_create(e, NULL) && post_recv(e, HELLO, 1024, sizeof *w) && endpoint_request(e));
    EXPECT(e, e->remote.EnableRdmaWrite == VIP_TRUE);
    EXPECT(e, received(e, HELLO, RECV, sizeof *w));
    memcpy(w, data(e, 1024), sizeof *w);
    return true;
}

static bool farewell(struct endpoint *e, unsigned nth, unsigned control)
{
    VIP_DESCRIPTOR *d = slot(e, nth, VIP_CONTROL_OP_SENDRECV | control);
    return post_send(e, d) && sent(e, nth, VIP_STATUS_OP_SEND);
}

/* ---- RDMA Write ---- */

static bool write_serve(struct endpoint *e)
{
    EXPECT(e, offer(e));
    /* only the second write has immediate data, so only it takes a Descriptor; no segment of it is used */
    EXPECT(e, received(e, 0, VIP_STATUS_OP_REMOTE_RDMA_WRITE | VIP_STATUS_IMMEDIATE, 100));
    EXPECT(e, ((VIP_DESCRIPTOR *)(void *)e->memory)->CS.ImmediateData == 0x12345678);
    EXPECT(e, filled(e, WINDOW, LENGTH, 3) && filled(e, WINDOW + LENGTH, 100, 4));
    EXPECT(e, received(e, 1, RECV, 0));
    EXPECT(e, endpoint_errors(e, 1) && e->error[0].ErrorCode == VIP_ERROR_CONN_LOST);
    return endpoint_end(e);
}

void write_server(struct run *run)
{
    endpoint_run(run, write_serve);
}

static bool write_request(struct endpoint *e)
{
    struct window w;
    EXPECT(e, meet(e, &w));
    fill(e, 2048, LENGTH, 3);
    VIP_DESCRIPTOR *d = slot(e, 0, VIP_CONTROL_OP_RDMAWRITE);
    add_remote(d, w.address, w.handle);
    add(e, d, 2048, 1000);
    add(e, d, 3048, LENGTH - 1000);
    EXPECT(e, post_send(e, d));
    fill(e, 2048 + LENGTH, 100, 4);
    d = slot(e, 1, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE);
    d->CS.ImmediateData = 0x12345678;
    add_remote(d, w.address + LENGTH, w.handle);
    add(e, d, 2048 + LENGTH, 100);
    EXPECT(e, post_send(e, d));
    EXPECT(e, sent(e, 0, VIP_STATUS_OP_RDMA_WRITE) && sent(e, 1, VIP_STATUS_OP_RDMA_WRITE));
    return farewell(e, 2, 0) && endpoint_end(e);
}

void write_client(struct run *run)
{
    endpoint_run(run, write_request);
}

/* ---- RDMA Read ---- */

static bool read_serve(struct endpoint *e)
{
    fill(e, WINDOW, LENGTH, 5);
    EXPECT(e, offer(e) && received(e, 0, RECV, 0));
    EXPECT(e, endpoint_errors(e, 1) && e->error[0].ErrorCode == VIP_ERROR_CONN_LOST);
    return endpoint_end(e);
}

void read_server(struct run *run)
{
    endpoint_run(run, read_serve);
}

static bool read_request(struct endpoint *e)
{
    struct window w;
    EXPECT(e, meet(e, &w) && e->remote.EnableRdmaRead == VIP_TRUE);
    VIP_DESCRIPTOR *d = slot(e, 0, VIP_CONTROL_OP_RDMAREAD | VIP_CONTROL_IMMEDIATE); /* the bit is ignored */
    add_remote(d, w.address + 16, w.handle);
    add(e, d, 2048, 7);
    add(e, d, 2055, LENGTH - 16 - 7);
    EXPECT(e, post_send(e, d));
    VIP_DESCRIPTOR *fenced = slot(e, 1, VIP_CONTROL_OP_SENDRECV | VIP_CONTROL_QFENCE);
    EXPECT(e, post_send(e, fenced));
    EXPECT(e, sent(e, 0, VIP_STATUS_OP_RDMA_READ) && d->CS.Length == LENGTH - 16);
    EXPECT(e, sent(e, 1, VIP_STATUS_OP_SEND));
    for (unsigned i = 0; i < LENGTH - 16; i++)
        EXPECT(e, data(e, 2048)[i] == (unsigned char)(5 + (i + 16) * 7 + (i + 16) / 251));
    return endpoint_end(e);
}

void read_client(struct run *run)
{
    endpoint_run(run, read_request);
}

/* ---- outside the window (table 11.2 X12) ---- */

static bool protect_serve(struct endpoint *e)
{
    EXPECT(e, offer(e) && endpoint_errors(e, 1));
    EXPECT(e, e->error[0].ErrorCode == VIP_ERROR_RDMAW_PROT && endpoint_state(e, VIP_STATE_ERROR));
    EXPECT(e, received(e, 0, RECV | VIP_STATUS_DESC_FLUSHED_ERROR, 0));
    return endpoint_end(e);
}

void protect_server(struct run *run)
{
    endpoint_run(run, protect_serve);
}

static bool protect_request(struct endpoint *e)
{
    bool reception = e->run->level == VIP_SERVICE_RELIABLE_RECEPTION;
    struct window w;
    EXPECT(e, meet(e, &w) && endpoint_settle(e));
    VIP_DESCRIPTOR *d = slot(e, 0, VIP_CONTROL_OP_RDMAWRITE);
    add_remote(d, w.address + 16 * 65536, w.handle);
    add(e, d, 2048, 100);
    EXPECT(e, post_send(e, d));
    EXPECT(e, sent(e, 0, VIP_STATUS_OP_RDMA_WRITE | (reception ? VIP_STATUS_RDMA_PROT_ERROR : 0)));
    EXPECT(e, reception || endpoint_errors(e, 1));
    EXPECT(e, endpoint_state(e, VIP_STATE_ERROR));
    return endpoint_end(e);
}

void protect_client(struct run *run)
{
    endpoint_run(run, protect_request);
}
