/* Receiving Messages in Unreliable Delivery on an In-Order Fabric: Annex B rules 2 to 6. */
#include "internal.h"

/* Rule 3a: the Descriptor of a Message of which frames had come completes in error. */
static void lose_message(struct fcvi_port *p, struct vi *vi)
{
    if (vi->rx.placing) {
        struct entry *e = queue_first(p, vi, true, ENTRY_POSTED);
        if (e != NULL)
            complete(p, vi, true, e, FCVI_STATUS_TRANSPORT_ERROR, 0);
    }
    vi->rx.active = vi->rx.placing = false;
    vi->rx.seq_cnt = 0;
}

/* Whether the frame is the next one of the Message that is due; sets Mexp and SCexp when it is not. */
static bool in_order(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    struct receiver *rx = &vi->rx;
    uint32_t message = (uint32_t)fcvi_DH_FCVI_MSG_ID(f->dh);
    uint16_t count = (uint16_t)fcvi_FC_SEQ_CNT(f->fc);
    int32_t ahead = (int32_t)(message - rx->expected); /* modulo 2^32 (E93) */
    if (ahead < 0)
        return false; /* rule 2 after a loss; rule 5a lets an unreliable VI discard it as well (E94) */
    if (ahead > 0) {  /* rule 4a: Messages before this one are lost */
        lose_message(p, vi);
        rx->expected = message;
    }
    if (count == rx->seq_cnt)
        return true;
    lose_message(p, vi); /* rules 4a b and 6c; also when the first frame is the one missing (E89) */
    rx->expected = message + 1;
    return false;
}

static void begin(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    struct receiver *rx = &vi->rx;
    struct entry *e = queue_first(p, vi, true, ENTRY_POSTED);
    rx->active = true;
    rx->offset = 0;
    rx->total = (uint32_t)fcvi_DH_FCVI_TOT_LEN(f->dh);
    rx->placing = e != NULL;
    rx->too_long = e != NULL && (rx->total > descriptor_length(&e->descriptor) ||
                                 rx->total > vi->attributes.max_transfer_size);
    if (e == NULL) /* VI-DG 3.8.1: the Message is dropped, the connection stays */
        event_error(p, vi_index(p, vi), VIP_ERROR_RECVQ_EMPTY);
}

static void finish(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    struct receiver *rx = &vi->rx;
    struct entry *e = rx->placing ? queue_first(p, vi, true, ENTRY_POSTED) : NULL;
    uint32_t status = 0;
    if (rx->offset != rx->total) /* the rest never came (5.2.1) */
        status = FCVI_STATUS_TRANSPORT_ERROR;
    else if (rx->too_long)
        status = FCVI_STATUS_LENGTH_ERROR; /* Length is then 0 (VI-DG 5.2) */
    else if (e != NULL && !descriptor_in_memory(p, &e->descriptor))
        status = FCVI_STATUS_PROTECTION_ERROR;
    if (e != NULL && status == 0 && fcvi_DH_IMM_DATA(f->dh)) {
        e->completion.immediate = (uint32_t)fcvi_DH_MSG_PARAMETER(f->dh);
        complete(p, vi, true, e, FCVI_STATUS_IMMEDIATE, rx->total);
    } else if (e != NULL) {
        complete(p, vi, true, e, status, status == 0 ? rx->total : 0);
    }
    if (e != NULL && status == 0)
        rx->last_completed = rx->expected;
    rx->active = rx->placing = false;
    rx->seq_cnt = 0;
    rx->expected++;
}

void message_receive(struct fcvi_port *p, const struct fcvi_frame *f)
{
    struct vi *vi = vi_of_handle(p, (uint32_t)fcvi_DH_FCVI_HANDLE(f->dh), (uint32_t)fcvi_FC_S_ID(f->fc));
    if (vi == NULL || !vi->connection.receiving || !in_order(p, vi, f))
        return;
    struct receiver *rx = &vi->rx;
    if (!rx->active)
        begin(p, vi, f);
    bool fits = f->payload_length <= rx->total - rx->offset;
    bool placed = f->payload_length == 0 || fcvi_FC_Parameter(f->fc) == rx->offset;
    if (!fits || !placed || fcvi_DH_FCVI_TOT_LEN(f->dh) != rx->total) {
        lose_message(p, vi); /* rule 6a: a Sequence error */
        rx->expected++;
        return;
    }
    struct entry *e = rx->placing && !rx->too_long ? queue_first(p, vi, true, ENTRY_POSTED) : NULL;
    if (e != NULL)
        descriptor_place(p, &e->descriptor, rx->offset, f->payload, f->payload_length);
    rx->offset += f->payload_length;
    rx->seq_cnt++;
    if (fcvi_FC_End_Sequence(f->fc) && fcvi_FC_Last_Sequence(f->fc))
        finish(p, vi, f);
}
