/* Frames with Message Data, built from registered memory when the host asks for them: no copy is kept
 * (5.2.1, 5.8, 5.9, 6.2, 6.4, 6.6, 6.7). */
#include "message.h"

/* A Sequence holds no more frames than SEQ_CNT has values (5.6). */
enum { SEQUENCE_FRAMES = 65536 };

/* Where the Information Unit that starts at iu_start ends. All its frames but the last of the Message are
 * full, so that a frame's place follows from its number. In Rev 1.0 SEQ_CNT does not wrap in one (its 5.4).
 */
static uint32_t iu_end(struct fcvi_port *p, const struct exchange *x, const struct message *m)
{
    uint64_t room = fcvi_fc2_room_for(p, x->peer);
    uint64_t size = (SEQUENCE_FRAMES - (rev1(p) ? x->tx_cnt : 0u)) * room;
    if (p->config.iu_size != 0 && p->config.iu_size < size)
        size = p->config.iu_size < room ? room : p->config.iu_size / room * room;
    return m->total - m->iu_start < size ? m->total : (uint32_t)(m->iu_start + size);
}

static enum fcvi_iu iu_of(const struct exchange *x, const struct message *m)
{
    static const uint8_t requests[] = {
        [FCVI_SEND] = FCVI_IU_SEND_RQST,
        [FCVI_RDMA_WRITE] = FCVI_IU_WRITE_RQST,
        [FCVI_RDMA_READ] = FCVI_IU_READ_RQST,
    };
    return x->originator ? (enum fcvi_iu)requests[m->op] : FCVI_IU_READ_RESP;
}

/* Words 0 to 3 have one layout in both editions, and the others where they exist. */
static void put_device_header(uint8_t *dh, const struct vi *vi, const struct message *m,
                              const struct iu_row *row, uint8_t immediate)
{
    bool rdma = m->op != FCVI_SEND;
    memset(dh, 0, DH32);
    fcvi_set_DH_FCVI_HANDLE(dh, vi->connection.remote_handle);
    fcvi_set_DH_FCVI_OPCODE(dh, row->opcode);
    fcvi_set_DH_FCVI_MSG_ID(dh, m->id);
    if (m->immediate) { /* in every frame: the safest reading (E43) */
        fcvi_set_DH_FCVI_FLAGS(dh, immediate);
        fcvi_set_DH_MSG_PARAMETER(dh, m->value);
    }
    fcvi_set_DH_FCVI_RMT_VA(dh, rdma ? m->rmt_va : 0);
    fcvi_set_DH_FCVI_RMT_VA_HANDLE(dh, rdma ? m->rmt_va_handle : 0);
    fcvi_set_DH_FCVI_TOT_LEN(dh, row->total ? m->total : 0);
}

/* Table 1, 5.8.4: who ends the Exchange, and who hands over Sequence Initiative. */
static void put_sequence_bits(uint8_t *out, const struct vi *vi, const struct message *m, enum fcvi_iu iu,
                              bool end, bool final)
{
    bool answered = iu == FCVI_IU_READ_RQST ||
                    (iu != FCVI_IU_READ_RESP && vi->attributes.reliability == FCVI_RELIABLE_RECEPTION);
    fcvi_set_FC_First_Sequence(out, iu != FCVI_IU_READ_RESP && m->iu_start == 0);
    fcvi_set_FC_Last_Sequence(out, final && !answered);
    fcvi_set_FC_End_Sequence(out, end);
    fcvi_set_FC_Sequence_Initiative(out, final && answered);
}

struct place {
    uint32_t offset, length;
    uint16_t count;
    bool starts, ends, final; /* of an Information Unit; the last of the Message */
};

/* The frame at that place; 0 when the memory read from is gone. */
static size_t build(struct fcvi_port *p, struct vi *vi, struct exchange *x, const struct place *at,
                    uint8_t *out, struct fcvi_transmitted *meta)
{
    struct message *m = message_at(p, exchange_index(p, x));
    enum fcvi_iu iu = iu_of(x, m);
    const struct iu_row *row = fcvi_fc2_row_of(p, iu);
    uint32_t fill = (4 - at->length % 4) % 4;
    memset(out, 0, 24);
    fcvi_set_FC_R_CTL(out, row->r_ctl);
    fcvi_set_FC_D_ID(out, x->peer);
    fcvi_set_FC_S_ID(out, p->own_id);
    fcvi_set_FC_TYPE(out, FCVI_TYPE);
    fcvi_fc2_put_exchange(out, x, at->count);
    fcvi_set_FC_SEQ_ID(out, x->seq_id);
    fcvi_set_FC_PREF(out, vi->attributes.preference); /* 5.8.2, 7.3 */
    put_sequence_bits(out, vi, m, iu, at->ends, at->final);
    bool data = iu != FCVI_IU_READ_RQST && m->total > 0;
    fcvi_set_FC_Relative_Offset_Present(out, data);
    fcvi_set_FC_Parameter(out, data ? at->offset : 0);
    fcvi_set_FC_Fill_Bytes(out, fill);
    fcvi_set_FC_Device_Header(out, row->dh / DH16);
    put_device_header(out + 24, vi, m, row,
                      fcvi_message_immediate_bit((enum fcvi_edition)p->config.revision));
    uint8_t *payload = out + 24 + row->dh;
    if (x->originator) {
        if (!fcvi_vi_descriptor_in_memory(p, vi, entry_at(p, m->entry), UINT32_MAX))
            return 0;
        fcvi_vi_descriptor_fetch(p, entry_at(p, m->entry), at->offset, payload, at->length);
    } else if (at->length > 0) {
        const uint8_t *from = fcvi_message_memory(p, vi, m, 0, m->total);
        if (from == NULL)
            return 0;
        memcpy(payload, from + at->offset, at->length);
    }
    memset(payload + at->length, 0, fill);
    *meta = (struct fcvi_transmitted){fcvi_fc2_sof_of(p, at->starts), fcvi_fc2_eof_of(p, at->ends)};
    return 24u + row->dh + at->length + fill;
}

/* The memory was deregistered while the Message was under way: what is out of it goes no further. */
static void memory_gone(struct fcvi_port *p, struct vi *vi, struct exchange *x)
{
    if (!x->originator) {
        fcvi_message_read_refused(p, vi, x);
        return;
    }
    struct entry *e = entry_at(p, message_at(p, exchange_index(p, x))->entry);
    fcvi_fc2_exchange_abort(p, exchange_index(p, x));
    fcvi_message_closed(p, vi, x);
    fcvi_vi_entry_finish(p, vi, false, e, FCVI_STATUS_PROTECTION_ERROR | FCVI_STATUS_PARTIAL_ERROR, 0);
    if (reliable(vi))
        fcvi_message_error(p, vi, NULL, 0, true);
}

/* The next frame of a Message, and the books about it; 0 when it has to wait (class 2) or failed. */
size_t fcvi_message_data_frame(struct fcvi_port *p, struct vi *vi, struct exchange *x, uint8_t *out,
                               struct fcvi_transmitted *meta)
{
    struct message *m = message_at(p, exchange_index(p, x));
    bool request = x->originator && m->op == FCVI_RDMA_READ;
    if (!fcvi_fc2_credit_left(p, x))
        return 0;
    FCVI_ASSERT(m->offset <= m->iu_end && m->iu_end <= m->total);
    if (m->offset == m->iu_end) { /* the first Sequence of the Message, or the next one */
        if (x->unacked != 0)
            return 0; /* the one before is open until it is acknowledged (5.5) */
        x->sequence_open = false;
        m->iu_start = m->iu_end;
        m->iu_end = iu_end(p, x, m);
    }
    if (!x->sequence_open && !fcvi_fc2_sequence_open(p, x)) {
        fcvi_schedule_starve(p, vi);
        return 0;
    }
    bool starts = m->offset == m->iu_start;
    uint32_t room = fcvi_fc2_room_for(p, x->peer), left = request ? 0 : m->iu_end - m->offset;
    struct place at = {
        .offset = m->offset, .length = left < room ? left : room, .count = x->tx_cnt, .starts = starts};
    at.ends = request || m->offset + at.length == m->iu_end;
    at.final = at.ends && (request || m->iu_end == m->total);
    size_t length = build(p, vi, x, &at, out, meta);
    if (length == 0) {
        memory_gone(p, vi, x);
        return 0;
    }
    x->tx_cnt++;
    m->offset += at.length;
    fcvi_fc2_frame_sent(p, x, at.count);
    if (at.final) {
        m->phase = AWAIT_ACK;
        if (x->originator)
            vi->tx.current = NONE;
        fcvi_message_sent(p, vi, x);
    }
    return length;
}

/* Annex B rule 8b: a frame that found no room is built once more. */
size_t fcvi_message_data_again(struct fcvi_port *p, struct vi *vi, struct exchange *x, uint8_t *out,
                               struct fcvi_transmitted *meta)
{
    struct message *m = message_at(p, exchange_index(p, x));
    bool request = x->originator && m->op == FCVI_RDMA_READ;
    uint16_t behind = 0;
    FCVI_ASSERT(x->resend != 0);
    while ((x->resend >> behind & 1u) == 0)
        behind++;
    x->resend &= ~(1ULL << behind);
    uint16_t count = (uint16_t)(x->ack_base + behind), back = (uint16_t)(x->tx_cnt - count);
    uint32_t room = fcvi_fc2_room_for(p, x->peer), sent = m->phase == AWAIT_ACK ? m->total : m->offset;
    uint64_t frames = request || sent == 0 ? 1 : ((uint64_t)sent + room - 1) / room;
    uint32_t offset = (uint32_t)((frames - back) * room), left = request ? 0 : sent - offset;
    struct place at = {.offset = offset, .length = left < room ? left : room, .count = count};
    at.starts = offset == m->iu_start; /* only frames of the present Information Unit are unacknowledged */
    at.ends = request || offset + at.length == m->iu_end;
    at.final = at.ends && (request || m->iu_end == m->total);
    size_t length = build(p, vi, x, &at, out, meta);
    if (length == 0)
        memory_gone(p, vi, x);
    return length;
}
