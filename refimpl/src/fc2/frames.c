/* Building the frames that carry no Message Data: connection IUs and Basic Link Services
 * (Table 1, 5.8). */
#include "fc2.h"

/* ---- the queue of frames to send ---- */

uint8_t *fcvi_fc2_control_new(struct fcvi_port *p, uint16_t length, uint8_t eof)
{
    FCVI_ASSERT(length >= 24 && length <= CONTROL_FRAME);
    uint32_t at = p->control_free;
    if (at == NONE)
        return NULL; /* lost as on the wire: the timers recover it */
    struct control_frame *c = control_at(p, at);
    p->control_free = c->next;
    memset(c, 0, sizeof *c);
    c->length = length;
    c->sof = fcvi_fc2_sof_of(p, true);
    c->eof = eof;
    c->next = NONE;
    if (p->control_tail != NONE)
        control_at(p, p->control_tail)->next = at;
    else
        p->control_head = at;
    p->control_tail = at;
    p->used.frames++;
    return c->bytes;
}

static struct control_frame *control_of(uint8_t *frame)
{
    return (struct control_frame *)(void *)(frame - offsetof(struct control_frame, bytes));
}

/* A frame that goes in class 3 whatever the class of the rest. */
void fcvi_fc2_class3_frame(uint8_t *frame)
{
    control_of(frame)->sof = FCVI_SOF_I3;
}

static void unlink_frame(struct fcvi_port *p, uint32_t before, uint32_t at)
{
    FCVI_ASSERT(p->used.frames > 0);
    struct control_frame *c = control_at(p, at);
    if (before != NONE)
        control_at(p, before)->next = c->next;
    else
        p->control_head = c->next;
    if (p->control_tail == at)
        p->control_tail = before;
    c->next = p->control_free;
    p->control_free = at;
    p->used.frames--;
}

/* A frame before this one in the queue is of the same own Exchange. */
static bool follows_own(struct fcvi_port *p, uint32_t at)
{
    const uint8_t *frame = control_at(p, at)->bytes;
    for (uint32_t i = p->control_head; i != at; i = control_at(p, i)->next) {
        const uint8_t *earlier = control_at(p, i)->bytes;
        if (fcvi_FC_D_ID(earlier) == fcvi_FC_D_ID(frame) && fcvi_FC_OX_ID(earlier) == fcvi_FC_OX_ID(frame) &&
            !fcvi_FC_Exchange_Context(earlier))
            return true;
    }
    return false;
}

/* FC-VI IUs to a port that is not validated wait (7.7.3), and an ABTS does not overtake them. */
static bool waits(struct fcvi_port *p, uint32_t at)
{
    const uint8_t *frame = control_at(p, at)->bytes;
    bool abts = fcvi_FC_R_CTL(frame) == FCVI_R_CTL_ABTS && !fcvi_FC_Exchange_Context(frame);
    if (fcvi_FC_TYPE(frame) != FCVI_TYPE && !abts)
        return false;
    return !fcvi_fc2_may_send_to(p, (uint32_t)fcvi_FC_D_ID(frame)) && (!abts || follows_own(p, at));
}

/* The oldest frame that may go. */
size_t fcvi_fc2_control_next(struct fcvi_port *p, uint8_t *out, struct fcvi_transmitted *meta)
{
    uint32_t before = NONE;
    for (uint32_t at = p->control_head; at != NONE; before = at, at = control_at(p, at)->next) {
        struct control_frame *c = control_at(p, at);
        if (waits(p, at))
            continue;
        unlink_frame(p, before, at);
        memcpy(out, c->bytes, c->length);
        *meta = (struct fcvi_transmitted){c->sof, c->eof};
        return c->length;
    }
    return 0;
}

/* After a logout no FC-VI IU goes to that port any more (7.7.1). */
void fcvi_fc2_control_drop(struct fcvi_port *p, uint32_t d_id)
{
    uint32_t before = NONE, next;
    for (uint32_t at = p->control_head; at != NONE; at = next) {
        const struct control_frame *c = control_at(p, at);
        next = c->next;
        if (fcvi_FC_TYPE(c->bytes) == FCVI_TYPE && fcvi_FC_D_ID(c->bytes) == d_id)
            unlink_frame(p, before, at);
        else
            before = at;
    }
}

/* ---- parts of a frame ---- */

uint8_t fcvi_fc2_sof_of(const struct fcvi_port *p, bool initiates)
{
    if (class2(p))
        return initiates ? FCVI_SOF_I2 : FCVI_SOF_N2;
    return initiates ? FCVI_SOF_I3 : FCVI_SOF_N3;
}

/* In class 2 it is the last ACK that terminates the Sequence. */
uint8_t fcvi_fc2_eof_of(const struct fcvi_port *p, bool ends)
{
    return ends && !class2(p) ? FCVI_EOF_T : FCVI_EOF_N;
}

/* Bytes of Data_Field in a frame to that port: what both logins allow. */
static uint32_t data_field_for(struct fcvi_port *p, uint32_t peer)
{
    const struct remote_port *r = fcvi_fc2_remote_find(p, peer);
    uint32_t size = p->config.receive_size;
    if (r != NULL && r->receive_size < size)
        size = r->receive_size;
    return size;
}

bool fcvi_fc2_usable(struct fcvi_port *p, const struct remote_port *r)
{
    return r->usable && (!rev1(p) || data_field_for(p, r->id) >= REV1_LEAST_DATA_FIELD);
}

/* Payload bytes in a frame of a Message to that port, whichever Device_Header it has. */
uint32_t fcvi_fc2_room_for(struct fcvi_port *p, uint32_t peer)
{
    return (data_field_for(p, peer) - DH32) & ~3u;
}

/* A single-frame Sequence that ends itself and passes Sequence Initiative; callers change what differs. */
void fcvi_fc2_put_header(struct fcvi_port *p, uint8_t *out, uint8_t r_ctl, uint8_t type, uint32_t d_id)
{
    fcvi_set_FC_R_CTL(out, r_ctl);
    fcvi_set_FC_D_ID(out, d_id);
    fcvi_set_FC_S_ID(out, p->own_id);
    fcvi_set_FC_TYPE(out, type);
    fcvi_set_FC_End_Sequence(out, 1);
    fcvi_set_FC_Sequence_Initiative(out, 1);
    fcvi_set_FC_SEQ_ID(out, fcvi_fc2_seq_id_new(p));
    fcvi_set_FC_RX_ID(out, FC_X_ID_UNASSIGNED);
}

void fcvi_fc2_put_exchange(uint8_t *out, const struct exchange *x, uint16_t count)
{
    fcvi_set_FC_Exchange_Context(out, !x->originator);
    fcvi_set_FC_OX_ID(out, x->ox_id);
    fcvi_set_FC_RX_ID(out, x->rx_id);
    fcvi_set_FC_SEQ_CNT(out, count);
}

/* Table 1 of the port's edition. Rev 1.0 tells a length with FCVI_READ_RQST alone (5.7.9, R04, R09). */
const struct iu_row *fcvi_fc2_row_of(const struct fcvi_port *p, enum fcvi_iu iu)
{
    static const struct iu_row table[FCVI_EDITION_COUNT][FCVI_IU_COUNT] = {
#define ROW(ident, opcode, r_ctl, dh, payload, category) {opcode, r_ctl, dh, (dh) == DH32},
        [FCVI_EDITION_2007] = {FCVI_IU_TABLE(ROW)},
#undef ROW
#define ROW(ident, opcode, r_ctl, dh, payload, requirement)                                                  \
    [FCVI_IU_##ident] = {opcode, r_ctl, dh, FCVI_IU_##ident == FCVI_IU_READ_RQST},
        [FCVI_EDITION_REV1] = {FCVI_REV1_IU_TABLE(ROW)},
#undef ROW
    };
    return &table[p->config.revision][iu];
}

/* ---- connection IUs ---- */

/* Words 0 to 3 have one layout in both editions. */
static void put_device_header(uint8_t *dh, const struct iu *iu, const struct iu_row *row)
{
    fcvi_set_DH_FCVI_HANDLE(dh, iu->handle);
    fcvi_set_DH_FCVI_OPCODE(dh, row->opcode);
    fcvi_set_DH_FCVI_FLAGS(dh, iu->flags);
    fcvi_set_DH_FCVI_MSG_ID(dh, iu->msg_id);
    fcvi_set_DH_Reason_Code(dh, iu->reason);
    if (row->dh == DH32)
        fcvi_set_DH_FCVI_CONNECTION_ID(dh, iu->connection_id);
}

/* Whether the Exchange ends with the IU (Table 1; Rev 1.0 5.3 and 6.11). */
static bool ends_exchange(const struct fcvi_port *p, enum fcvi_iu iu)
{
    return iu == FCVI_IU_DISCONNECT_RESP || iu == (rev1(p) ? FCVI_IU_CONNECT_RESP2 : FCVI_IU_CONNECT_RESP3);
}

/* One IU, cut to what the other side takes; SEQ_CNT and Relative Offset go on over the Exchange (5.6). */
void fcvi_fc2_send_iu(struct fcvi_port *p, const struct iu *iu)
{
    struct exchange *x = iu->exchange;
    const struct iu_row *row = fcvi_fc2_row_of(p, iu->iu);
    uint8_t seq_id = 0;
    bool first = iu->iu == FCVI_IU_CONNECT_RQST || iu->iu == FCVI_IU_DISCONNECT_RQST;
    bool last = ends_exchange(p, iu->iu);
    uint32_t room = (data_field_for(p, x->peer) - row->dh) & ~3u, sent = 0;
    do {
        uint32_t piece = iu->payload_length - sent < room ? iu->payload_length - sent : room;
        bool end = sent + piece == iu->payload_length;
        uint8_t *out = fcvi_fc2_control_new(p, (uint16_t)(24 + row->dh + piece), fcvi_fc2_eof_of(p, end));
        if (out == NULL)
            return;
        fcvi_fc2_put_header(p, out, row->r_ctl, FCVI_TYPE, x->peer);
        fcvi_fc2_put_exchange(out, x, x->tx_cnt++);
        fcvi_set_FC_PREF(out, iu->pref);
        if (sent == 0)
            seq_id = (uint8_t)fcvi_FC_SEQ_ID(out);
        fcvi_set_FC_SEQ_ID(out, seq_id);
        fcvi_set_FC_First_Sequence(out, first);
        fcvi_set_FC_Last_Sequence(out, last && end);
        fcvi_set_FC_End_Sequence(out, end);
        fcvi_set_FC_Sequence_Initiative(out, end && !last);
        fcvi_set_FC_Device_Header(out, row->dh / DH16);
        put_device_header(out + 24, iu, row);
        if (piece > 0) {
            fcvi_set_FC_Relative_Offset_Present(out, 1);
            fcvi_set_FC_Parameter(out, x->tx_offset);
            memcpy(out + 24 + row->dh, iu->payload + sent, piece);
        }
        x->tx_offset += piece;
        control_of(out)->sof = fcvi_fc2_sof_of(p, sent == 0);
        sent += piece;
    } while (sent < iu->payload_length);
}

/* ---- Basic Link Services (FC-FS) ---- */

void fcvi_fc2_send_abts(struct fcvi_port *p, const struct exchange *x)
{
    uint8_t *out = fcvi_fc2_control_new(p, 24, fcvi_fc2_eof_of(p, true));
    if (out == NULL)
        return;
    fcvi_fc2_put_header(p, out, FCVI_R_CTL_ABTS, 0, x->peer);
    fcvi_fc2_put_exchange(out, x, 0);
}

/* The answer to ABTS, in the same Exchange. */
static uint8_t *answer_abts(struct fcvi_port *p, const struct fcvi_frame *abts, uint8_t r_ctl,
                            uint16_t length)
{
    const uint8_t *in = abts->fc;
    uint8_t *out = fcvi_fc2_control_new(p, (uint16_t)(24 + length), fcvi_fc2_eof_of(p, true));
    if (out == NULL)
        return NULL;
    fcvi_fc2_put_header(p, out, r_ctl, 0, (uint32_t)fcvi_FC_S_ID(in));
    fcvi_set_FC_Exchange_Context(out, !fcvi_FC_Exchange_Context(in));
    fcvi_set_FC_Last_Sequence(out, 1);
    fcvi_set_FC_OX_ID(out, fcvi_FC_OX_ID(in));
    fcvi_set_FC_RX_ID(out, fcvi_FC_RX_ID(in));
    return out + 24;
}

void fcvi_fc2_send_ba_acc(struct fcvi_port *p, const struct fcvi_frame *abts)
{
    const uint8_t *in = abts->fc;
    uint8_t *body = answer_abts(p, abts, FCVI_R_CTL_BA_ACC, FCVI_BA_ACC_LENGTH);
    if (body == NULL)
        return;
    /* the whole Exchange: no valid SEQ_ID, SEQ_CNT 0000h to FFFFh */
    fcvi_set_BA_ACC_BA_OX_ID(body, fcvi_FC_OX_ID(in));
    fcvi_set_BA_ACC_BA_RX_ID(body, fcvi_FC_RX_ID(in));
    fcvi_set_BA_ACC_High_SEQ_CNT(body, 0xFFFF);
}

/* Logical error, invalid OX_ID-RX_ID combination (FC-FS). */
void fcvi_fc2_send_ba_rjt(struct fcvi_port *p, const struct fcvi_frame *abts)
{
    uint8_t *body = answer_abts(p, abts, FCVI_R_CTL_BA_RJT, FCVI_BA_RJT_LENGTH);
    if (body == NULL)
        return;
    fcvi_set_BA_RJT_BA_Reason(body, 0x03);
    fcvi_set_BA_RJT_BA_Explanation(body, 0x03);
}
