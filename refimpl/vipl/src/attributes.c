/* VI attributes (VI-DG 4.6) as the port has them, and back. */
#include "internal.h"

static uint8_t reliability_of(VIP_RELIABILITY_LEVEL level)
{
    switch (level) { /* 7.3 numbers the levels, VIPL gives each a bit */
    case VIP_SERVICE_UNRELIABLE:
        return FCVI_UNRELIABLE;
    case VIP_SERVICE_RELIABLE_DELIVERY:
        return FCVI_RELIABLE_DELIVERY;
    case VIP_SERVICE_RELIABLE_RECEPTION:
        return FCVI_RELIABLE_RECEPTION;
    default:
        return 0;
    }
}

/* 0 for a value that only a remote port can have sent. */
static VIP_RELIABILITY_LEVEL level_of(uint8_t reliability)
{
    bool known = reliability >= FCVI_UNRELIABLE && reliability <= FCVI_RELIABLE_RECEPTION;
    return (VIP_RELIABILITY_LEVEL)(known ? 1u << (reliability - 1) : 0);
}

static bool qos_in(const struct fcvi_vipl_qos *qos, struct fcvi_attributes *out)
{
    if (qos == NULL)
        return true;
    if (qos->size != sizeof *qos || qos->preference > 1)
        return false;
    out->preference = qos->preference == 1;
    out->pipeline_depth = qos->pipeline_depth;
    return true;
}

/* Check in the order in which VIPL lists the codes; nothing is changed but *out and *ptag. */
int vipl_attributes_in(struct nic *nic, const VIP_VI_ATTRIBUTES *in, struct fcvi_attributes *out,
                       struct ptag **ptag)
{
    const struct fcvi_vipl_nic *info = &nic->object.device->info;
    if (in == NULL)
        return VIP_INVALID_PARAMETER;
    *out = (struct fcvi_attributes){.reliability = reliability_of(in->ReliabilityLevel),
                                    .max_transfer_size = (uint32_t)in->MaxTransferSize,
                                    .rdma_write = in->EnableRdmaWrite != VIP_FALSE,
                                    .rdma_read = in->EnableRdmaRead != VIP_FALSE};
    if (out->reliability == 0 || (in->ReliabilityLevel & info->reliability_levels) == 0)
        return VIP_INVALID_RELIABILITY_LEVEL;
    if (in->MaxTransferSize == 0 || in->MaxTransferSize > info->max_transfer_size)
        return VIP_INVALID_MTU;
    if (!qos_in(in->QoS, out))
        return VIP_INVALID_QOS;
    *ptag = vipl_ptag_find(nic, in->Ptag);
    if (*ptag == NULL)
        return VIP_INVALID_PTAG;
    out->ptag = (*ptag)->number;
    if (out->rdma_read && (in->ReliabilityLevel & info->rdma_read_levels) == 0)
        return VIP_INVALID_RDMAREAD;
    return VIP_SUCCESS;
}

/* qos: where what QoS points to may stay. */
void vipl_attributes_out(const struct fcvi_attributes *in, struct fcvi_vipl_qos *qos, VIP_VI_ATTRIBUTES *out)
{
    *qos = (struct fcvi_vipl_qos){sizeof *qos, in->preference, in->pipeline_depth};
    *out = (VIP_VI_ATTRIBUTES){.ReliabilityLevel = level_of(in->reliability),
                               .MaxTransferSize = in->max_transfer_size,
                               .QoS = in->preference || in->pipeline_depth != 0 ? qos : NULL,
                               .EnableRdmaWrite = in->rdma_write ? VIP_TRUE : VIP_FALSE,
                               .EnableRdmaRead = in->rdma_read ? VIP_TRUE : VIP_FALSE};
}
