/* Message Responses without data, at the responder (6.3, 6.5, 6.7). */
#include "message.h"

/* 6.3, 6.5; for FCVI_READ_RQST the one that reports an error (6.7, E42). It ends the Exchange. */
void fcvi_message_send_response(struct fcvi_port *p, struct exchange *x, const struct message *m,
                                uint32_t handle, uint8_t flags)
{
    bool read = m->op == FCVI_RDMA_READ;
    enum fcvi_iu iu =
        read ? FCVI_IU_READ_RESP : (m->op == FCVI_RDMA_WRITE ? FCVI_IU_WRITE_RESP : FCVI_IU_SEND_RESP);
    uint16_t header = read ? DH32 : DH16;
    uint8_t *out = fcvi_fc2_control_new(p, (uint16_t)(24 + header), fcvi_fc2_eof_of(p, true)), r_ctl;
    if (out == NULL)
        return;
    uint8_t *dh = out + 24, opcode = fcvi_fc2_opcode_of(iu, &r_ctl);
    fcvi_fc2_put_header(p, out, r_ctl, FCVI_TYPE, x->peer);
    fcvi_fc2_put_exchange(out, x, x->tx_cnt++);
    fcvi_set_FC_Last_Sequence(out, 1);
    fcvi_set_FC_Sequence_Initiative(out, 0);
    fcvi_set_FC_Device_Header(out, read ? 2 : 1);
    fcvi_set_DH_FCVI_HANDLE(dh, handle);
    fcvi_set_DH_FCVI_OPCODE(dh, opcode);
    fcvi_set_DH_FCVI_FLAGS(dh, flags);
    fcvi_set_DH_FCVI_MSG_ID(dh, m->id);
    if (read) {
        fcvi_set_DH_FCVI_RMT_VA(dh, m->rmt_va);
        fcvi_set_DH_FCVI_RMT_VA_HANDLE(dh, m->rmt_va_handle);
        fcvi_set_DH_FCVI_TOT_LEN(dh, m->total);
    }
}
