/* Message Responses without data, at the responder (6.3, 6.5, 6.7). */
#include "message.h"

/* 6.3, 6.5; for FCVI_READ_RQST the one that reports an error (6.7, E42). It ends the Exchange. */
void fcvi_message_send_response(struct fcvi_port *p, struct exchange *x, const struct message *m,
                                uint32_t handle, uint8_t flags)
{
    bool read = m->op == FCVI_RDMA_READ;
    enum fcvi_iu iu =
        read ? FCVI_IU_READ_RESP : (m->op == FCVI_RDMA_WRITE ? FCVI_IU_WRITE_RESP : FCVI_IU_SEND_RESP);
    const struct iu_row *row = fcvi_fc2_row_of(p, iu);
    uint8_t *out = fcvi_fc2_control_new(p, (uint16_t)(24 + row->dh), fcvi_fc2_eof_of(p, true));
    if (out == NULL)
        return;
    uint8_t *dh = out + 24;
    fcvi_fc2_put_header(p, out, row->r_ctl, FCVI_TYPE, x->peer);
    fcvi_fc2_put_exchange(out, x, x->tx_cnt++);
    fcvi_set_FC_Last_Sequence(out, 1);
    fcvi_set_FC_Sequence_Initiative(out, 0);
    fcvi_set_FC_PREF(out, rev1(p) && vi_at(p, m->vi)->attributes.preference); /* its 5.6.2 */
    fcvi_set_FC_Device_Header(out, row->dh / DH16);
    fcvi_set_DH_FCVI_HANDLE(dh, handle);
    fcvi_set_DH_FCVI_OPCODE(dh, row->opcode);
    fcvi_set_DH_FCVI_FLAGS(dh, flags);
    fcvi_set_DH_FCVI_MSG_ID(dh, m->id);
    if (row->dh == DH32) {
        fcvi_set_DH_FCVI_RMT_VA(dh, m->rmt_va);
        fcvi_set_DH_FCVI_RMT_VA_HANDLE(dh, m->rmt_va_handle);
        fcvi_set_DH_FCVI_TOT_LEN(dh, m->total);
    }
}
