/* Building the frames that are not Message Data: connection IUs and Basic Link Services (Table 1, 5.8). */
#include "internal.h"

uint8_t *control_new(struct fcvi_port *p, uint16_t length, uint8_t eof)
{
    if (p->control_count == p->control_size || length > CONTROL_FRAME)
        return NULL; /* lost as on the wire: the timers recover it */
    uint32_t at = (p->control_head + p->control_count++) % p->control_size;
    struct control_frame *c = ARRAY(p, struct control_frame, control, at);
    memset(c, 0, sizeof *c);
    c->length = length;
    c->sof = p->config.service_class == 2 ? FCVI_SOF_I2 : FCVI_SOF_I3;
    c->eof = eof;
    return c->bytes;
}

uint16_t new_seq_id(struct fcvi_port *p)
{
    return p->next_seq_id++;
}

/* A single-frame Sequence that ends itself and passes Sequence Initiative; callers change what differs. */
void put_header(struct fcvi_port *p, uint8_t *out, uint8_t r_ctl, uint8_t type, uint32_t d_id)
{
    fcvi_set_FC_R_CTL(out, r_ctl);
    fcvi_set_FC_D_ID(out, d_id);
    fcvi_set_FC_S_ID(out, p->config.self.n_port_id);
    fcvi_set_FC_TYPE(out, type);
    fcvi_set_FC_End_Sequence(out, 1);
    fcvi_set_FC_Sequence_Initiative(out, 1);
    fcvi_set_FC_SEQ_ID(out, new_seq_id(p));
    fcvi_set_FC_RX_ID(out, FC_X_ID_UNASSIGNED);
}

static bool ox_id_open(struct fcvi_port *p, uint16_t ox_id)
{
    for (uint32_t i = 0; i < setup_count(p); i++) {
        const struct setup *s = setup_at(p, i);
        if (s->phase != SETUP_FREE && s->originator && s->exchange.ox_id == ox_id)
            return true;
    }
    for (uint32_t i = 0; i < p->limits.vis; i++) {
        const struct vi *vi = vi_at(p, i);
        if ((vi->disconnect != DISCONNECT_NONE && vi->disconnect_exchange.ox_id == ox_id) ||
            (vi->tx.active && vi->tx.ox_id == ox_id))
            return true;
    }
    return false;
}

/* A new Exchange of ours. Going round all 65 535 identifiers keeps one that was aborted unused for R_A_TOV.
 */
struct exchange exchange_open(struct fcvi_port *p, uint32_t peer)
{
    do
        p->next_ox_id++;
    while (p->next_ox_id == FC_X_ID_UNASSIGNED || ox_id_open(p, p->next_ox_id));
    return (struct exchange){
        .open = true, .originator = true, .peer = peer, .ox_id = p->next_ox_id, .rx_id = FC_X_ID_UNASSIGNED};
}

static void put_exchange(uint8_t *out, const struct exchange *x, uint16_t count)
{
    fcvi_set_FC_Exchange_Context(out, !x->originator);
    fcvi_set_FC_OX_ID(out, x->ox_id);
    fcvi_set_FC_RX_ID(out, x->rx_id);
    fcvi_set_FC_SEQ_CNT(out, count);
}

static void put_device_header(uint8_t *dh, const struct iu *iu, uint8_t opcode)
{
    fcvi_set_DH_FCVI_HANDLE(dh, iu->handle);
    fcvi_set_DH_FCVI_OPCODE(dh, opcode);
    fcvi_set_DH_FCVI_FLAGS(dh, iu->flags);
    fcvi_set_DH_FCVI_MSG_ID(dh, iu->msg_id);
    fcvi_set_DH_Reason_Code(dh, iu->reason);
    fcvi_set_DH_FCVI_CONNECTION_ID(dh, iu->connection_id);
}

/* Table 1: opcode, R_CTL, and whether the IU is the first or the last of its Exchange. */
static uint8_t opcode_of(enum fcvi_iu iu, uint8_t *r_ctl)
{
    static const uint8_t table[][2] = {
#define ROW(ident, opcode, r_ctl_value, dh, payload, category) {opcode, r_ctl_value},
        FCVI_IU_TABLE(ROW)
#undef ROW
    };
    *r_ctl = table[iu][1];
    return table[iu][0];
}

/* One IU, cut to what the other side takes; SEQ_CNT and Relative Offset go on over the Exchange (5.6). */
void send_iu(struct fcvi_port *p, const struct iu *iu)
{
    struct exchange *x = iu->exchange;
    uint8_t r_ctl, opcode = opcode_of(iu->iu, &r_ctl);
    bool first = iu->iu == FCVI_IU_CONNECT_RQST || iu->iu == FCVI_IU_DISCONNECT_RQST;
    bool last = iu->iu == FCVI_IU_CONNECT_RESP3 || iu->iu == FCVI_IU_DISCONNECT_RESP;
    uint32_t room = (p->config.receive_size - 32) & ~3u, sent = 0;
    uint16_t seq_id = new_seq_id(p);
    bool initiates = true;
    do {
        uint32_t piece = iu->payload_length - sent < room ? iu->payload_length - sent : room;
        bool end = sent + piece == iu->payload_length;
        uint8_t *out = control_new(p, (uint16_t)(24 + 32 + piece),
                                   end && p->config.service_class == 3 ? FCVI_EOF_T : FCVI_EOF_N);
        if (out == NULL)
            return;
        put_header(p, out, r_ctl, FCVI_TYPE, x->peer);
        put_exchange(out, x, x->tx_cnt++);
        fcvi_set_FC_SEQ_ID(out, seq_id);
        fcvi_set_FC_First_Sequence(out, first);
        fcvi_set_FC_Last_Sequence(out, last && end);
        fcvi_set_FC_End_Sequence(out, end);
        fcvi_set_FC_Sequence_Initiative(out, end && !last);
        fcvi_set_FC_Device_Header(out, 2);
        put_device_header(out + 24, iu, opcode);
        if (piece > 0) {
            fcvi_set_FC_Relative_Offset_Present(out, 1);
            fcvi_set_FC_Parameter(out, x->tx_offset);
            memcpy(out + 24 + 32, iu->payload + sent, piece);
        }
        x->tx_offset += piece;
        if (!initiates) {
            uint32_t at = (p->control_head + p->control_count - 1) % p->control_size;
            ARRAY(p, struct control_frame, control, at)->sof += 8; /* SOFn is SOFi plus 8 in either class */
        }
        initiates = false;
        sent += piece;
    } while (sent < iu->payload_length);
}

void send_abts(struct fcvi_port *p, const struct exchange *x)
{
    uint8_t *out = control_new(p, 24, p->config.service_class == 3 ? FCVI_EOF_T : FCVI_EOF_N);
    if (out == NULL)
        return;
    put_header(p, out, 0x81, 0, x->peer);
    put_exchange(out, x, 0);
}

void send_ba_acc(struct fcvi_port *p, const struct fcvi_frame *abts)
{
    const uint8_t *in = abts->fc;
    uint8_t *out = control_new(p, 24 + 12, p->config.service_class == 3 ? FCVI_EOF_T : FCVI_EOF_N);
    if (out == NULL)
        return;
    put_header(p, out, 0x84, 0, (uint32_t)fcvi_FC_S_ID(in));
    fcvi_set_FC_Exchange_Context(out, !fcvi_FC_Exchange_Context(in));
    fcvi_set_FC_Last_Sequence(out, 1);
    fcvi_set_FC_OX_ID(out, fcvi_FC_OX_ID(in));
    fcvi_set_FC_RX_ID(out, fcvi_FC_RX_ID(in));
    uint8_t *body = out + 24; /* the whole Exchange: no valid SEQ_ID, SEQ_CNT 0000h to FFFFh */
    fcvi_set_BA_ACC_BA_OX_ID(body, fcvi_FC_OX_ID(in));
    fcvi_set_BA_ACC_BA_RX_ID(body, fcvi_FC_RX_ID(in));
    fcvi_set_BA_ACC_High_SEQ_CNT(body, 0xFFFF);
}
