/* Where a frame goes, and what the Fabric answers when it goes nowhere (FC-FS). */
#include "internal.h"

enum { LINK_CONTROL = 0xC };
enum { INVALID_D_ID = 0x01, NOT_AVAILABLE = 0x03, FABRIC_BUSY = 1, RETRYABLE = 1, NOT_RETRYABLE = 2 };

static void carry(struct fcvi_fabric *f, const struct fabric_parcel *p, uint32_t to);

/* ---- frames that the Fabric makes ---- */

void fcvi_fabric_emit(struct fcvi_fabric *f, uint64_t at, uint32_t to, const uint8_t *bytes, uint32_t length,
                      uint8_t sof, uint8_t eof)
{
    struct fabric_parcel p = {at, FCVI_FABRIC_ITSELF, length, bytes, sof, eof};
    f->counters.own++;
    carry(f, &p, to);
}

/* ACK_1, F_RJT or F_BSY to the frame fc: it says which frame it speaks of, and from the other side. */
void fcvi_fabric_link_control(struct fcvi_fabric *f, uint64_t at, uint32_t to, const uint8_t *fc,
                              uint8_t r_ctl, uint8_t type, uint32_t parameter)
{
    enum { CONTEXTS = 0xC00000, KEPT = 0xFD0300 }; /* bits 23 and 22; those, 21 to 18, 16, 9 and 8 */
    uint8_t out[24];
    memcpy(out, fc, sizeof out);
    fcvi_set_FC_R_CTL(out, r_ctl);
    fcvi_set_FC_D_ID(out, fcvi_FC_S_ID(fc));
    fcvi_set_FC_S_ID(out, fcvi_FC_D_ID(fc));
    fcvi_set_FC_CS_CTL(out, 0);
    fcvi_set_FC_TYPE(out, type);
    fcvi_set_FC_F_CTL(out, (fcvi_FC_F_CTL(fc) ^ CONTEXTS) & KEPT);
    fcvi_set_FC_DF_CTL(out, 0);
    fcvi_set_FC_Parameter(out, parameter);
    fcvi_fabric_emit(f, at, to, out, sizeof out, FCVI_SOF_N2,
                     fcvi_FC_End_Sequence(fc) ? FCVI_EOF_T : FCVI_EOF_N);
}

/* Only class 2 is answered, and a Link_Control frame never by a reject. */
static void reject(struct fcvi_fabric *f, const struct fabric_parcel *p, uint8_t reason, uint32_t action)
{
    bool link_control = fcvi_FC_R_CTL(p->bytes) >> 4 == LINK_CONTROL;
    if (fabric_class2(p->sof) && p->from != FCVI_FABRIC_ITSELF && !link_control)
        fcvi_fabric_link_control(f, p->at, p->from, p->bytes, FCVI_R_CTL_F_RJT, 0,
                                 action << 24 | (uint32_t)reason << 16);
}

/* F_BSY has its reason in TYPE; to a Link_Control frame it repeats that frame's category there. */
static void busy(struct fcvi_fabric *f, const struct fabric_parcel *p, uint8_t reason)
{
    uint8_t r_ctl = (uint8_t)fcvi_FC_R_CTL(p->bytes);
    bool link_control = r_ctl >> 4 == LINK_CONTROL;
    uint8_t type = (uint8_t)(reason << 4 | (link_control ? r_ctl & 0xF : 0));
    if (fabric_class2(p->sof) && p->from != FCVI_FABRIC_ITSELF)
        fcvi_fabric_link_control(f, p->at, p->from, p->bytes,
                                 link_control ? FCVI_R_CTL_F_BSY_TO_LINK_CONTROL : FCVI_R_CTL_F_BSY_TO_DATA,
                                 type, 0);
}

/* ---- one frame to one destination ---- */

static void carry(struct fcvi_fabric *f, const struct fabric_parcel *p, uint32_t to)
{
    struct fabric_verdict v = fcvi_fabric_judge(f, p, to);
    if (v.drop) {
        f->counters.dropped++;
        if (v.answer == FCVI_R_CTL_F_RJT)
            reject(f, p, v.reason != 0 ? v.reason : NOT_AVAILABLE, RETRYABLE);
        else if (v.answer == FCVI_R_CTL_F_BSY_TO_DATA)
            busy(f, p, v.reason != 0 ? v.reason : FABRIC_BUSY);
        return;
    }
    fcvi_fabric_fly(f, p, to, &v, v.delay);
    if (v.duplicate) {
        f->counters.duplicated++;
        fcvi_fabric_fly(f, p, to, &v, v.delay + v.second_delay);
    }
}

/* ---- routing ---- */

uint32_t fcvi_fabric_find(const struct fcvi_fabric *fabric, uint32_t n_port_id)
{
    for (uint32_t i = 0; n_port_id != 0 && i < fabric->ports; i++)
        if (fabric_port_at_c(fabric, i)->id == n_port_id)
            return i;
    return FABRIC_NONE;
}

static void broadcast(struct fcvi_fabric *f, const struct fabric_parcel *p)
{
    uint32_t copies = 0;
    for (uint32_t to = 0; to < f->ports; to++) {
        if (to == p->from || !fabric_port_at(f, to)->up)
            continue;
        f->counters.copied += copies++ != 0;
        carry(f, p, to);
    }
    f->counters.dropped += copies == 0;
}

static void unreachable(struct fcvi_fabric *f, const struct fabric_parcel *p, uint8_t reason)
{
    f->counters.dropped++;
    if (fabric_present(f))
        reject(f, p, reason, reason == NOT_AVAILABLE ? RETRYABLE : NOT_RETRYABLE);
}

static void route(struct fcvi_fabric *f, const struct fabric_parcel *p)
{
    uint32_t d_id = (uint32_t)fcvi_FC_D_ID(p->bytes), to = fcvi_fabric_find(f, d_id);
    if (d_id == FABRIC_BROADCAST && !fabric_class2(p->sof)) { /* a broadcast cannot be acknowledged */
        broadcast(f, p);
        return;
    }
    if (fabric_present(f) && (d_id == FABRIC_F_PORT || d_id == FABRIC_NAME_SERVER)) {
        carry(f, p, FCVI_FABRIC_ITSELF);
        return;
    }
    if (to == FABRIC_NONE && f->config.topology == FCVI_POINT_TO_POINT && f->ports == 2)
        to = 1 - p->from; /* the link has only one other end */
    if (to == FABRIC_NONE)
        unreachable(f, p, INVALID_D_ID);
    else if (!fabric_port_at(f, to)->up)
        unreachable(f, p, NOT_AVAILABLE);
    else
        carry(f, p, to);
}

/* Put the header of the answer before `payload` bytes that stand at out + 24, and send it in the class of the
 * request. A reply ends its Exchange: F_CTL 990000h, or for a request of the other side's responder 190000h.
 */
void fcvi_fabric_reply(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_frame *request,
                       uint8_t *out, uint32_t payload)
{
    bool class2 = fabric_class2(request->input.sof);
    uint8_t r_ctl = (uint8_t)fcvi_FC_R_CTL(request->fc);
    memset(out, 0, 24);
    fcvi_set_FC_R_CTL(out,
                      r_ctl == FCVI_R_CTL_ABTS ? FCVI_R_CTL_BA_ACC : r_ctl | 1u); /* 22h: 23h; 02h: 03h */
    fcvi_set_FC_D_ID(out, fabric_port_at(f, port)->id);
    fcvi_set_FC_S_ID(out, fcvi_FC_D_ID(request->fc));
    fcvi_set_FC_TYPE(out, fcvi_FC_TYPE(request->fc));
    fcvi_set_FC_Exchange_Context(out, !fcvi_FC_Exchange_Context(request->fc));
    fcvi_set_FC_Last_Sequence(out, 1);
    fcvi_set_FC_End_Sequence(out, 1);
    fcvi_set_FC_Sequence_Initiative(out, 1);
    fcvi_set_FC_SEQ_ID(out, f->seq_id++);
    fcvi_set_FC_OX_ID(out, fcvi_FC_OX_ID(request->fc));
    fcvi_set_FC_RX_ID(out, fcvi_FC_RX_ID(request->fc));
    fcvi_fabric_emit(f, at, port, out, 24 + payload, class2 ? FCVI_SOF_I2 : FCVI_SOF_I3,
                     class2 ? FCVI_EOF_N : FCVI_EOF_T);
}

void fcvi_fabric_send(struct fcvi_fabric *fabric, uint64_t now, uint32_t from, const uint8_t *bytes,
                      size_t length, const struct fcvi_transmitted *meta)
{
    fabric_advance(fabric, now);
    fabric->counters.sent++;
    bool carried = from < fabric->ports && fabric_port_at(fabric, from)->up && length >= 24 &&
                   length <= FCVI_FABRIC_FRAME;
    if (!carried) {
        fabric->counters.dropped++;
        return;
    }
    struct fabric_parcel p = {now, from, (uint32_t)length, bytes, meta->sof, meta->eof};
    route(fabric, &p);
}
