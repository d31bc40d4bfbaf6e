/* Malformed Descriptors: the status of each, and what becomes of the VI (VI-DG 5.2, 5.3; table 11.2 X1 to X4,
 * VI-ARCH 2.5). */
#include "endpoint.h"

#include <string.h>

enum {
    FORMAT = VIP_STATUS_FORMAT_ERROR,
    LENGTH = VIP_STATUS_LENGTH_ERROR,
    PROTECTION = VIP_STATUS_PROTECTION_ERROR,
    FAULTS = 10
};

/* Returns the status that the fault leads to. */
static VIP_UINT32 spoil(struct endpoint *e, VIP_DESCRIPTOR *d, unsigned fault)
{
    VIP_DATA_SEGMENT *s = &d->DS[0].Local;
    switch (fault) {
    case 0:
        d->CS.Control = VIP_CONTROL_OP_RESERVED;
        return FORMAT;
    case 1:
        d->CS.Control |= 0x8000;
        return FORMAT;
    case 2:
        d->CS.Reserved = 1;
        return FORMAT;
    case 3: /* the address segment's reserved field is where a data segment has its length */
        d->CS.Control = VIP_CONTROL_OP_RDMAWRITE;
        return FORMAT | VIP_STATUS_OP_RDMA_WRITE;
    case 4:
        d->CS.Length++;
        return LENGTH;
    case 5: /* more than MaxTransferSize; 65536 of the segments sum */
        s->Length = d->CS.Length = 65537;
        return LENGTH;
    case 6:
        s->Handle ^= 0x55u;
        return PROTECTION;
    case 7:
        s->Data.AddressBits = (VIP_UINT64)(size_t)(e->memory + MEMORY - 64);
        s->Length = d->CS.Length = 64 + 4096; /* farther than its last page (VI-ARCH 3.2.1) */
        return PROTECTION;
    case 8:
        s->Data.AddressBits = (VIP_UINT64)(size_t)(e->memory - 1);
        return PROTECTION;
    default:
        d->CS.Control = VIP_CONTROL_OP_RDMAREAD;
        d->DS[0].Remote.Reserved = 0;
        d->CS.Length = 0;
        return e->run->level == VIP_SERVICE_UNRELIABLE ? FORMAT | VIP_STATUS_OP_RDMA_READ : 0;
    }
}

static bool format_serve(struct endpoint *e)
{
    bool reliable = e->run->level != VIP_SERVICE_UNRELIABLE;
    unsigned faults = reliable ? FAULTS - 1 : FAULTS;
    for (unsigned i = 0; i < faults; i++) {
        e->errors = 0;
        EXPECT(e, endpoint_create(e, NULL) && post_recv(e, 0, 0, 64) && endpoint_serve(e));
        EXPECT(e, endpoint_errors(e, 1) && e->error[0].ErrorCode == VIP_ERROR_CONN_LOST);
        EXPECT(e, endpoint_end(e));
    }
    /* a faulty receive Descriptor is found when it is used, or at once: it never completes well */
    VIP_DESCRIPTOR *d = slot(e, 0, VIP_CONTROL_OP_RDMAWRITE);
    EXPECT(e, endpoint_create(e, NULL));
    EXPECT_VIP(e, VipPostRecv(e->vi, d, e->handle), VIP_SUCCESS);
    EXPECT(e, endpoint_serve(e));
    EXPECT(e, received(e, 0, VIP_STATUS_OP_RECEIVE | FORMAT, 0));
    return endpoint_end(e);
}

static bool one_fault(struct endpoint *e, unsigned i)
{
    bool reliable = e->run->level != VIP_SERVICE_UNRELIABLE;
    EXPECT(e, endpoint_create(e, NULL) && endpoint_request(e) && endpoint_settle(e));
    VIP_DESCRIPTOR *d = slot(e, 0, VIP_CONTROL_OP_SENDRECV);
    add(e, d, 0, 64);
    VIP_UINT32 status = spoil(e, d, i);
    EXPECT(e, post_send(e, d) && sent(e, 0, status));
    EXPECT(e, endpoint_state(e, reliable ? VIP_STATE_ERROR : VIP_STATE_CONNECTED));
    return endpoint_end(e);
}

static bool format_request(struct endpoint *e)
{
    unsigned faults = e->run->level != VIP_SERVICE_UNRELIABLE ? FAULTS - 1 : FAULTS;
    for (unsigned i = 0; i < faults; i++) {
        if (!one_fault(e, i))
            return endpoint_fail(e, __FILE__, (int)i, "fault", -1);
        EXPECT(e, endpoint_pause(e, 5 * SECONDS)); /* until the server waits again */
    }
    EXPECT(e, endpoint_create(e, NULL) && endpoint_request(e) && endpoint_settle(e));
    VIP_DESCRIPTOR *d = slot(e, 0, VIP_CONTROL_OP_SENDRECV);
    EXPECT(e, post_send(e, d) && endpoint_pause(e, 5 * SECONDS));
    return endpoint_end(e);
}

void format_server(struct run *run)
{
    endpoint_run(run, format_serve);
}

void format_client(struct run *run)
{
    endpoint_run(run, format_request);
}
