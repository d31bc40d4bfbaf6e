/* Rev 1.0 (1999): Messages at the receiver. No field tells the length of a Send or an RDMA Write (R09). It is
 * known when the last frame has come; until then `total` is the length that has been seen. In a Message of
 * several IUs RLTV_OFF may go on from IU to IU, or begin again in each. Where it begins again, VI_RMT_VA goes
 * on instead, or for a Send nothing but the order of the IUs tells the place (5.6.6, R02). The clauses in
 * this file are the draft's. */
#include "message.h"

static bool is_request(const struct message *m, const struct fcvi_frame *f)
{
    static const uint8_t requests[] = {
        [FCVI_SEND] = FCVI_IU_SEND_RQST,
        [FCVI_RDMA_WRITE] = FCVI_IU_WRITE_RQST,
        [FCVI_RDMA_READ] = FCVI_IU_READ_RQST,
    };
    return f->iu == requests[m->op];
}

/* An RDMA Read tells its length, and its request has no payload (6.5). */
static bool grow(struct message *m, uint64_t end)
{
    if (m->op == FCVI_RDMA_READ || end > UINT32_MAX)
        return end <= m->total;
    if (end > m->total)
        m->total = (uint32_t)end;
    return true;
}

/* Frames in order: whether this one follows the one before, by the place that it gives its data. It is a
 * frame of a Message Request, or of the FCVI_READ_RESP to a request of ours. */
bool fcvi_rev1_message_next(struct message *m, const struct fcvi_frame *f)
{
    uint32_t at = (uint32_t)fcvi_FC_Parameter(f->fc);
    if (m->offset == 0)
        m->iu_start = m->iu_end = 0;
    if (f->iu != FCVI_IU_READ_RESP && !is_request(m, f))
        return false;
    if (f->iu == FCVI_IU_READ_RQST)
        return f->payload_length == 0;
    uint64_t place = (uint64_t)m->iu_start + at;
    if (m->op == FCVI_RDMA_WRITE) { /* the address alone decides */
        if (fcvi_DH_REV1_VI_RMT_VA_HANDLE(f->dh) != m->rmt_va_handle)
            return false;
        place = fcvi_DH_REV1_VI_RMT_VA(f->dh) + at - m->rmt_va;
    } else if (at == 0 && m->offset == m->iu_end) {
        place = m->iu_start = m->offset;
    }
    if ((f->payload_length > 0 && place != m->offset) || !grow(m, (uint64_t)m->offset + f->payload_length))
        return false;
    if (fcvi_FC_End_Sequence(f->fc))
        m->iu_end = m->offset + f->payload_length;
    return true;
}

/* Frames out of order: whether this one can belong to the Message. A frame whose RLTV_OFF began again looks
 * like one that was sent before, so RLTV_OFF has to go on here. */
bool fcvi_rev1_message_fits(struct message *m, const struct fcvi_frame *f)
{
    bool known = m->ended || m->final_seen; /* total is the length */
    uint64_t end = f->payload_length > 0 ? fcvi_FC_Parameter(f->fc) + f->payload_length : 0;
    if (!is_request(m, f) || (known && end > m->total))
        return false;
    if (m->op == FCVI_RDMA_READ)
        return f->payload_length == 0;
    if (m->op == FCVI_RDMA_WRITE && (fcvi_DH_REV1_VI_RMT_VA(f->dh) != m->rmt_va ||
                                     fcvi_DH_REV1_VI_RMT_VA_HANDLE(f->dh) != m->rmt_va_handle))
        return false;
    return grow(m, end);
}

/* A frame has made the Send longer: it may not fit into its Descriptor any more. */
void fcvi_rev1_message_grown(struct fcvi_port *p, const struct vi *vi, struct message *m)
{
    if (m->op != FCVI_SEND || m->entry == NONE || m->fault != FAULT_NONE)
        return;
    if (m->total > entry_at(p, m->entry)->length || m->total > vi->attributes.max_transfer_size)
        m->fault = FAULT_DESCRIPTOR;
}
