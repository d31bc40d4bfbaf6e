/* Rev 1.0 (1999): FCVI_DISCONNECT_RQST and FCVI_DISCONNECT_RESP (6.10, 6.11). The clauses in this file are
 * the draft's; R.. is its register of errata. */
#include "setup.h"

/* 6.10: VI_MSG_ID goes on from the last Message that was sent (R12). The application asks for it: this
 * provider ends no connection by itself. */
void fcvi_rev1_disconnect_ask(struct fcvi_port *p, struct vi *vi, struct exchange *x)
{
    struct iu iu = {
        .iu = FCVI_IU_DISCONNECT_RQST,
        .exchange = x,
        .handle = vi->connection.remote_handle,
        .msg_id = vi->tx.next_msg_id,
        .flags = FCVI_REV1_MODE_APPLICATION_DISCONNECT,
        .pref = vi->attributes.preference,
    };
    fcvi_fc2_send_iu(p, &iu);
}

/* 6.11: the answer has no flags, also where nothing is known of the connection (R07): it is over in any case.
 */
void fcvi_rev1_disconnect_rqst(struct fcvi_port *p, const struct fcvi_frame *f)
{
    uint64_t mode = fcvi_DH_REV1_MODE(f->dh);
    uint32_t peer = (uint32_t)fcvi_FC_S_ID(f->fc);
    bool intact = fcvi_FC_SEQ_CNT(f->fc) == 0 && fcvi_FC_End_Sequence(f->fc) &&
                  !fcvi_FC_Exchange_Context(f->fc) && f->payload_length == 0;
    bool disconnects =
        mode == FCVI_REV1_MODE_KERNEL_DISCONNECT || mode == FCVI_REV1_MODE_APPLICATION_DISCONNECT;
    if (!intact || !disconnects)
        return; /* the other modes are reserved here */
    struct vi *vi = fcvi_connection_of_handle(p, (uint32_t)fcvi_DH_REV1_VI_HANDLE(f->dh), peer);
    struct exchange x = {
        .peer = peer, .ox_id = (uint16_t)fcvi_FC_OX_ID(f->fc), .rx_id = fcvi_fc2_transient_rx_id(p)};
    struct iu iu = {
        .iu = FCVI_IU_DISCONNECT_RESP,
        .exchange = &x,
        .handle = vi != NULL ? vi->connection.remote_handle : FCVI_UNASSIGNED,
        .msg_id = (uint32_t)fcvi_DH_REV1_VI_MSG_ID(f->dh),
        .pref = vi != NULL && vi->attributes.preference,
    };
    if (vi != NULL)
        fcvi_disconnect_lose(p, vi);
    fcvi_fc2_send_iu(p, &iu);
}
