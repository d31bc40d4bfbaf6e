/* Message Responses at the originator: FCVI_SEND_RESP, FCVI_WRITE_RESP, FCVI_READ_RESP, and their absence
 * (6.3, 6.5, 6.7, 8.4.1 a, Annex B rule 9). */
#include "../block/timers.h"
#include "message.h"
#include "setup.h"

enum { RESP_ERR = 1, DESC_ERR = 2, PROT_ERR = 4, TRANS_ERR = 8 }; /* Table 6 */

/* What Table 6 says, as status of the Descriptor (VI-DG 5.2). RESP_ERR alone names no cause (E22). */
static uint32_t status_of(uint8_t flags)
{
    uint32_t status = 0;
    if (flags & DESC_ERR)
        status |= FCVI_STATUS_REMOTE_DESC_ERROR;
    if (flags & PROT_ERR)
        status |= FCVI_STATUS_RDMA_PROT_ERROR;
    if (flags & TRANS_ERR || status == 0)
        status |= FCVI_STATUS_TRANSPORT_ERROR;
    return status;
}

/* The Message is answered. An error ends the connection: both levels that have responses are reliable. */
static void answered(struct fcvi_port *p, struct vi *vi, struct exchange *x, uint32_t status)
{
    struct message *m = message_at(p, exchange_index(p, x));
    struct entry *e = entry_at(p, m->entry);
    uint32_t length = status == 0 ? m->total : 0;
    fcvi_message_closed(p, vi, x);
    fcvi_vi_entry_finish(p, vi, false, e, status, length);
    if (status != 0)
        fcvi_message_error(p, vi, NULL, 0, true);
}

/* Where the data of the frame belong; false when they belong nowhere. Rev 1.0: RLTV_OFF may begin again in a
 * later IU, so that only the order of the frames tells (R02). */
static bool place_of(struct fcvi_port *p, struct exchange *x, struct message *m, const struct fcvi_frame *f,
                     uint32_t *offset)
{
    bool in_order = !p->config.out_of_order;
    *offset = f->payload_length > 0 ? (uint32_t)fcvi_FC_Parameter(f->fc) : m->offset;
    if (!rev1(p))
        return fcvi_DH_FCVI_RMT_VA(f->dh) == m->rmt_va &&
               fcvi_DH_FCVI_RMT_VA_HANDLE(f->dh) == m->rmt_va_handle &&
               (!in_order || fcvi_fc2_sequence_ok(x, f));
    if (!in_order)
        return true;
    *offset = m->offset;
    bool next = fcvi_fc2_count_ok(x, f) && fcvi_rev1_message_next(m, f);
    m->offset += next ? f->payload_length : 0;
    return next;
}

/* One frame of FCVI_READ_RESP. Frames out of order are an error where the Fabric keeps them in order. */
static void read_data(struct fcvi_port *p, struct vi *vi, struct exchange *x, const struct fcvi_frame *f)
{
    struct message *m = message_at(p, exchange_index(p, x));
    uint32_t offset;
    bool fits = place_of(p, x, m, f, &offset);
    if (!fits || offset > m->total || f->payload_length > m->total - offset) {
        fcvi_message_error(p, vi, x, PROTOCOL_ERROR, true);
        return;
    }
    if (f->payload_length > 0 && !fcvi_message_run_add(p, m, offset, offset + f->payload_length))
        return; /* it has been here before */
    fcvi_vi_descriptor_place(p, entry_at(p, m->entry), offset, f->payload, f->payload_length);
    m->ended |= fcvi_FC_End_Sequence(f->fc) && fcvi_FC_Last_Sequence(f->fc);
    fcvi_timer_start(p, TIMER_EXCHANGE, exchange_index(p, x), p->config.r_a_tov_us); /* 8.4.1 Note 1, E96 */
    if (fcvi_message_run_whole(p, m)) /* VI-DG 5.2: the memory may have been deregistered meanwhile */
        answered(p, vi, x,
                 fcvi_vi_descriptor_in_memory(p, vi, entry_at(p, m->entry), UINT32_MAX)
                     ? 0
                     : FCVI_STATUS_PROTECTION_ERROR);
    else if (m->ended && !p->config.out_of_order)
        fcvi_message_error(p, vi, x, TRANSPORT_ERROR, true); /* it ended before its length */
}

void fcvi_message_response_receive(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    static const uint8_t operation[] = {
        [FCVI_IU_SEND_RESP] = FCVI_SEND,
        [FCVI_IU_WRITE_RESP] = FCVI_RDMA_WRITE,
        [FCVI_IU_READ_RESP] = FCVI_RDMA_READ,
    };
    struct exchange *x = fcvi_fc2_exchange_of(p, f);
    if (x == NULL || x->kind != X_MESSAGE || x->owner != vi_index(p, vi))
        return;
    const struct message *m = message_at(p, exchange_index(p, x));
    bool due = m->phase == AWAIT_RESPONSE || m->phase == AWAIT_ACK;
    if (!due || m->id != fcvi_DH_FCVI_MSG_ID(f->dh) || m->op != operation[f->iu] ||
        (m->op != FCVI_RDMA_READ && vi->attributes.reliability != FCVI_RELIABLE_RECEPTION))
        return; /* E45 */
    uint8_t flags = (uint8_t)fcvi_DH_FCVI_FLAGS(f->dh);
    if (flags & RESP_ERR)
        answered(p, vi, x, status_of(flags)); /* whatever data came before (E42) */
    else if (m->op == FCVI_RDMA_READ)
        read_data(p, vi, x, f);
    else
        answered(p, vi, x, 0);
}

/* Rule 9: no Message Response for FCVI_ULP_TIMEOUT. */
void fcvi_message_response_missing(struct fcvi_port *p, struct exchange *x)
{
    fcvi_message_error(p, vi_at(p, x->owner), x, TRANSPORT_ERROR, true);
}
