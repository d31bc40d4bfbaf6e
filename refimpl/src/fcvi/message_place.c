/* Where the data of a received Message go, and how it completes on each Reliability Level (5.9.7.3, 6.3, 6.5,
 * VI-ARCH 2.5, VI-DG 3.8.1 and 5.2). */
#include "../vi/events.h"
#include "message.h"

enum { RESP_ERR = 1, DESC_ERR = 2, PROT_ERR = 4 }; /* Table 6 */
enum { REMOTE_DESCRIPTOR_ERROR = 0x42, REMOTE_RDMA_WRITE_PROTECTION = 0x43 };

/* A record for the Message whose first frame this is; NULL when there is no room for one. */
struct exchange *fcvi_message_rx_begin(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    struct exchange *x = fcvi_fc2_exchange_accept(p, X_MESSAGE, vi_index(p, vi), f);
    if (x == NULL)
        return NULL;
    *message_at(p, exchange_index(p, x)) = (struct message){
        .phase = RECEIVING,
        .op = f->iu == FCVI_IU_SEND_RQST    ? FCVI_SEND
              : f->iu == FCVI_IU_WRITE_RQST ? FCVI_RDMA_WRITE
                                            : FCVI_RDMA_READ,
        .vi = vi_index(p, vi),
        .id = (uint32_t)fcvi_DH_FCVI_MSG_ID(f->dh),
        .entry = NONE,
        .since = p->now,
        .runs = NONE,
    };
    struct message *m = message_at(p, exchange_index(p, x));
    if (fcvi_fc2_row_of(p, (enum fcvi_iu)f->iu)->total)
        m->total = (uint32_t)fcvi_DH_FCVI_TOT_LEN(f->dh);
    if (f->dh_length >= DH32) {
        m->rmt_va = fcvi_DH_FCVI_RMT_VA(f->dh);
        m->rmt_va_handle = (uint32_t)fcvi_DH_FCVI_RMT_VA_HANDLE(f->dh);
    }
    return x;
}

/* Whether the frame belongs where it says: what all frames of a Message have alike (E43), and its range. */
bool fcvi_message_rx_fits(const struct message *m, const struct fcvi_frame *f)
{
    static const uint8_t requests[] = {
        [FCVI_SEND] = FCVI_IU_SEND_RQST,
        [FCVI_RDMA_WRITE] = FCVI_IU_WRITE_RQST,
        [FCVI_RDMA_READ] = FCVI_IU_READ_RQST,
    };
    uint32_t offset = f->payload_length > 0 ? (uint32_t)fcvi_FC_Parameter(f->fc) : 0;
    bool same = f->iu == requests[m->op] && fcvi_DH_FCVI_TOT_LEN(f->dh) == m->total &&
                (m->op == FCVI_SEND || (fcvi_DH_FCVI_RMT_VA(f->dh) == m->rmt_va &&
                                        fcvi_DH_FCVI_RMT_VA_HANDLE(f->dh) == m->rmt_va_handle));
    return same && offset <= m->total && f->payload_length <= m->total - offset &&
           (m->op != FCVI_RDMA_READ || f->payload_length == 0);
}

/* The last frame of the Message Request (5.2.1): it ends the Exchange or passes Sequence Initiative. */
bool fcvi_message_rx_final(const struct fcvi_frame *f)
{
    return fcvi_FC_End_Sequence(f->fc) &&
           (fcvi_FC_Last_Sequence(f->fc) || fcvi_FC_Sequence_Initiative(f->fc));
}

/* What the headers of this frame add: Immediate Data, and that the Message ends with it. */
void fcvi_message_rx_note(struct message *m, const struct fcvi_frame *f)
{
    if (fcvi_message_immediate(f) && m->op != FCVI_RDMA_READ) {
        m->immediate = true;
        m->value = (uint32_t)fcvi_DH_MSG_PARAMETER(f->dh);
    }
    m->ended |= fcvi_message_rx_final(f);
}

/* Settle which receive Descriptor the Message takes: a Send one, an RDMA Write one with Immediate Data only.
 */
void fcvi_message_rx_bind(struct fcvi_port *p, struct vi *vi, struct message *m)
{
    m->bound = true;
    if (m->op == FCVI_RDMA_READ || (m->op == FCVI_RDMA_WRITE && !m->immediate))
        return;
    m->entry = vi->recv.fresh;
    struct entry *e = fcvi_vi_queue_take(p, &vi->recv);
    if (e == NULL)
        m->fault = FAULT_QUEUE_EMPTY;
    else if (e->fault != 0 ||
             (m->op == FCVI_SEND && (m->total > e->length || m->total > vi->attributes.max_transfer_size ||
                                     !fcvi_vi_descriptor_in_memory(p, vi, e, m->total))))
        m->fault = FAULT_DESCRIPTOR;
}

void fcvi_message_rx_place(struct fcvi_port *p, struct vi *vi, struct message *m, uint32_t offset,
                           const uint8_t *bytes, uint32_t length)
{
    if (length == 0 || m->fault != FAULT_NONE)
        return;
    if (m->op == FCVI_SEND) {
        fcvi_vi_descriptor_place(p, entry_at(p, m->entry), offset, bytes, length);
        return;
    }
    uint8_t *at = fcvi_message_memory(p, vi, m, offset, length);
    if (at != NULL)
        fcvi_vi_place_ascending(at, bytes, length);
    else
        m->fault = FAULT_RDMA;
}

/* ---- completion ---- */

/* The status of the receive Descriptor, if the Message took one (VI-DG 5.2). */
static uint32_t status_of(struct fcvi_port *p, const struct vi *vi, const struct message *m)
{
    const struct entry *e = entry_at(p, m->entry);
    uint32_t operation = m->op == FCVI_RDMA_WRITE ? FCVI_STATUS_OP_REMOTE_RDMA_WRITE : 0;
    if (m->fault == FAULT_NONE && m->op == FCVI_SEND && !fcvi_vi_descriptor_in_memory(p, vi, e, m->total))
        return FCVI_STATUS_PROTECTION_ERROR; /* deregistered meanwhile */
    if (m->fault == FAULT_NONE)
        return operation | (m->immediate ? FCVI_STATUS_IMMEDIATE : 0);
    if (m->fault == FAULT_RDMA)
        return operation | FCVI_STATUS_PROTECTION_ERROR;
    if (e->fault != 0)
        return operation | e->fault;
    bool short_of = m->total > e->length || m->total > vi->attributes.max_transfer_size;
    return short_of ? FCVI_STATUS_LENGTH_ERROR : FCVI_STATUS_PROTECTION_ERROR;
}

static uint8_t flags_of(const struct message *m)
{
    if (m->fault == FAULT_NONE)
        return 0;
    return m->fault == FAULT_RDMA ? RESP_ERR | PROT_ERR : RESP_ERR | DESC_ERR;
}

/* 6.3, 6.5, C.5.10: answer on Reliable Reception, once the setup is confirmed. Ends the Exchange. */
static void answer(struct fcvi_port *p, struct vi *vi, struct exchange *x)
{
    uint32_t index = exchange_index(p, x);
    struct message *m = message_at(p, index);
    bool held = vi->connection.originator && !vi->connection.confirmed;
    bool answered = m->op == FCVI_RDMA_READ || vi->attributes.reliability == FCVI_RELIABLE_RECEPTION;
    if (answered && held) {
        fcvi_message_list_append(p, &vi->rx.unanswered, index);
        return;
    }
    if (m->op == FCVI_RDMA_READ) {
        fcvi_message_read_start(p, vi, x);
        return;
    }
    if (answered)
        fcvi_message_send_response(p, x, m, vi->connection.remote_handle, flags_of(m));
    fcvi_fc2_exchange_free(p, index);
}

/* The Message with FCVI_MSG_ID Mexp is whole: its Descriptor completes, it is answered, Mexp moves on. */
void fcvi_message_rx_done(struct fcvi_port *p, struct vi *vi, struct exchange *x)
{
    struct message *m = message_at(p, exchange_index(p, x));
    uint32_t status = 0, total = m->total, id = m->id;
    if (m->op == FCVI_RDMA_WRITE && !m->bound)
        fcvi_message_rx_bind(p, vi, m);
    uint32_t entry = m->entry;
    uint8_t fault = m->fault;
    if (entry != NONE) {
        status = status_of(p, vi, m);
        if (status & FCVI_STATUS_ERROR_MASK && fault == FAULT_NONE)
            fault = m->fault = FAULT_DESCRIPTOR;
        entry_at(p, entry)->completion.immediate = m->immediate ? m->value : 0;
    }
    fcvi_message_list_remove(p, &vi->rx.list, exchange_index(p, x));
    fcvi_message_run_drop(p, m);
    vi->rx.expected = id + 1;
    answer(p, vi, x);
    if (entry != NONE)
        fcvi_vi_entry_finish(p, vi, true, entry_at(p, entry), status, fault == FAULT_NONE ? total : 0);
    if (fault == FAULT_NONE) {
        vi->rx.last_completed = id;
        return;
    }
    if (!reliable(vi)) /* VI-ARCH 7.1: nobody hears of it but by a Descriptor */
        return;
    if (fault == FAULT_QUEUE_EMPTY) /* VI-DG 3.8.1: the Message is dropped */
        fcvi_event_error(p, vi_index(p, vi), VIP_ERROR_RECVQ_EMPTY);
    if (fault == FAULT_RDMA && entry == NONE)
        fcvi_event_error(p, vi_index(p, vi), VIP_ERROR_RDMAW_PROT);
    fcvi_message_error(p, vi, NULL,
                       fault == FAULT_RDMA ? REMOTE_RDMA_WRITE_PROTECTION : REMOTE_DESCRIPTOR_ERROR,
                       entry != NONE);
}

/* FCVI_CONNECT_RESP3 has come: what waited for it is answered, in order. */
void fcvi_message_rx_confirmed(struct fcvi_port *p, struct vi *vi)
{
    while (vi->rx.unanswered.head != NONE) {
        struct exchange *x = exchange_at(p, vi->rx.unanswered.head);
        fcvi_message_list_remove(p, &vi->rx.unanswered, vi->rx.unanswered.head);
        answer(p, vi, x);
    }
}
