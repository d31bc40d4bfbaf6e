/* Asynchronous errors (VI-DG 3.8, 4.4, 6.3). */
#include "internal.h"

#include <stdlib.h>

static void raise_error(struct nic *nic, const struct error_source *s)
{
    struct callback *c = calloc(1, sizeof *c);
    if (c == NULL)
        return; /* the states and the Descriptors still tell of it */
    c->nic = nic->object.handle;
    c->error = (VIP_ERROR_DESCRIPTOR){.NicHandle = nic->object.handle,
                                      .ViHandle = s->vi != NULL ? s->vi->object.handle : NULL,
                                      .DescriptorPtr = s->descriptor,
                                      .OpCode = s->op,
                                      .ResourceCode = s->resource,
                                      .ErrorCode = s->code};
    vipl_callbacks_append(&nic->object.device->ready, c);
}

/* The operation that an error of the port belongs to, as far as its code tells. */
static uint32_t op_of(enum fcvi_vip_error code)
{
    switch (code) {
    case VIP_ERROR_RECVQ_EMPTY:
        return VIP_STATUS_OP_RECEIVE;
    case VIP_ERROR_RDMAW_PROT:
    case VIP_ERROR_RDMAW_DATA:
    case VIP_ERROR_RDMAW_ABORT:
    case VIP_ERROR_RDMA_TRANSPORT:
        return VIP_STATUS_OP_REMOTE_RDMA_WRITE;
    case VIP_ERROR_RDMAR_PROT:
        return VIP_STATUS_OP_RDMA_READ;
    default:
        return 0;
    }
}

void vipl_raise_port_error(struct device *d, uint32_t number, enum fcvi_vip_error code)
{
    struct vi *vi = vipl_vi_of_number(d, number);
    struct error_source s = {.vi = vi, .op = op_of(code), .resource = VIP_RESOURCE_VI, .code = code};
    if (code == VIP_ERROR_CATASTROPHIC)
        s.resource = VIP_RESOURCE_NIC;
    if (vi != NULL) {
        raise_error(vi->object.nic, &s);
        return;
    }
    if (code == VIP_ERROR_CATASTROPHIC) /* of the port: every NIC on it hears it */
        for (struct nic *nic = d->nics; nic != NULL; nic = nic->next)
            raise_error(nic, &s);
}

void vipl_raise_on_descriptor(struct vi *vi, enum fcvi_vip_error code, VIP_DESCRIPTOR *descriptor,
                              uint32_t op)
{
    VIP_RESOURCE_CODE resource = code == VIP_ERROR_VI_OVERRUN ? VIP_RESOURCE_VI : VIP_RESOURCE_DESCRIPTOR;
    raise_error(vi->object.nic, &(struct error_source){vi, descriptor, op, resource, code});
}

/* VI-DG 6.3.1: after a catastrophic error the VI is in the Error state for every reliability level. The port
 * has no such call: it is disconnected there, which flushes its queues and tells the other end, and shows the
 * Error state to the program until VipDisconnect. */
void vipl_vi_break(struct vi *vi)
{
    struct device *d = vi->object.device;
    if (vi->broken)
        return;
    vi->broken = true;
    vi->teardown = vipl_call_begin(d, NULL, false);
    if (fcvi_vip_disconnect(vipl_device_port(d), vipl_device_now(d), vi->number, vi->teardown) !=
        FCVI_VIP_PENDING)
        vi->teardown = 0;
}
