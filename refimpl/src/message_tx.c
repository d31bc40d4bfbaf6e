/* Sending Messages in Unreliable Delivery: frames are built from registered memory when the host asks
 * (5.2.2, 6.2). */
#include "internal.h"

/* C.5.1: a client's Descriptors complete once RESP3 has come, a server's as soon as they are sent. */
void release_sent(struct fcvi_port *p, struct vi *vi)
{
    if (!vi->connection.confirmed)
        return;
    for (struct entry *e = queue_first(p, vi, false, ENTRY_SENT); e != NULL;
         e = queue_first(p, vi, false, ENTRY_SENT)) {
        complete(p, vi, false, e, 0, (uint32_t)descriptor_length(&e->descriptor));
        vi->tx.last_completed++;
    }
}

static void put_message_header(const struct vi *vi, uint8_t *dh, const struct fcvi_descriptor *d,
                               uint32_t total)
{
    memset(dh, 0, 32);
    fcvi_set_DH_FCVI_HANDLE(dh, vi->connection.remote_handle);
    fcvi_set_DH_FCVI_OPCODE(dh, FCVI_OP_SEND_RQST);
    fcvi_set_DH_IMM_DATA(dh, d->has_immediate); /* in every frame: the safest reading (E43) */
    fcvi_set_DH_MSG_PARAMETER(dh, d->has_immediate ? d->immediate : 0);
    fcvi_set_DH_FCVI_MSG_ID(dh, vi->tx.next_msg_id);
    fcvi_set_DH_FCVI_TOT_LEN(dh, total);
}

static size_t next_frame(struct fcvi_port *p, struct vi *vi, struct entry *e, uint8_t *out,
                         struct fcvi_transmitted *meta)
{
    struct sender *tx = &vi->tx;
    uint32_t total = (uint32_t)descriptor_length(&e->descriptor);
    uint32_t room = (p->config.receive_size - 32) & ~3u;
    bool first = !tx->active;
    if (first) {
        tx->active = true;
        tx->offset = 0;
        tx->seq_cnt = 0;
        tx->ox_id = exchange_open(p, vi->connection.peer).ox_id;
        tx->seq_id = (uint8_t)new_seq_id(p); /* one IU, so one Sequence, for the whole Message */
    }
    uint32_t piece = total - tx->offset < room ? total - tx->offset : room;
    bool end = tx->offset + piece == total;
    uint32_t fill = (4 - piece % 4) % 4;
    memset(out, 0, 24);
    put_header(p, out, 0x01, FCVI_TYPE, vi->connection.peer);
    fcvi_set_FC_SEQ_ID(out, tx->seq_id);
    fcvi_set_FC_PREF(out, vi->attributes.preference); /* 5.8.2, 7.3 */
    fcvi_set_FC_First_Sequence(out, 1);
    fcvi_set_FC_Last_Sequence(out, end);
    fcvi_set_FC_End_Sequence(out, end);
    fcvi_set_FC_Sequence_Initiative(out, 0);
    fcvi_set_FC_Relative_Offset_Present(out, total > 0);
    fcvi_set_FC_Fill_Bytes(out, fill);
    fcvi_set_FC_Device_Header(out, 2);
    fcvi_set_FC_SEQ_CNT(out, tx->seq_cnt++);
    fcvi_set_FC_OX_ID(out, tx->ox_id);
    fcvi_set_FC_Parameter(out, tx->offset);
    put_message_header(vi, out + 24, &e->descriptor, total);
    descriptor_fetch(p, &e->descriptor, tx->offset, out + 56, piece);
    memset(out + 56 + piece, 0, fill);
    bool class2 = p->config.service_class == 2;
    meta->sof = first ? (class2 ? FCVI_SOF_I2 : FCVI_SOF_I3) : (class2 ? FCVI_SOF_N2 : FCVI_SOF_N3);
    meta->eof = end && !class2 ? FCVI_EOF_T : FCVI_EOF_N;
    tx->offset += piece;
    if (end) {
        tx->active = false;
        tx->next_msg_id++;
        e->state = ENTRY_SENT;
        release_sent(p, vi);
    }
    return 24 + 32 + piece + fill;
}

/* One Message at a time is on the way, so that Sequences of two Messages do not mix. */
size_t message_frame(struct fcvi_port *p, uint8_t *out, struct fcvi_transmitted *meta)
{
    for (uint32_t i = 0; i < p->limits.vis; i++) {
        uint32_t at = (p->next_sender + i) % p->limits.vis;
        struct vi *vi = vi_at(p, at);
        if (!vi->used || vi->state != FCVI_STATE_CONNECTED)
            continue;
        struct entry *e = queue_first(p, vi, false, ENTRY_POSTED);
        if (e == NULL)
            continue;
        size_t length = next_frame(p, vi, e, out, meta);
        p->next_sender = vi->tx.active ? at : (at + 1) % p->limits.vis;
        return length;
    }
    return 0;
}
