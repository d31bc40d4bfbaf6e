/* FCVI_READ_RQST at the responder: the data come from registered memory as frames are asked for (6.6, 6.7).
 */
#include "../vi/events.h"
#include "message.h"

enum { RESP_ERR = 1, PROT_ERR = 4, REMOTE_RDMA_READ_PROTECTION = 0x47 };

/* The region does not allow it: an error response, and the connection is over (VI-DG 3.8.1). */
void fcvi_message_read_refused(struct fcvi_port *p, struct vi *vi, struct exchange *x)
{
    uint32_t index = exchange_index(p, x);
    fcvi_message_send_response(p, x, message_at(p, index), vi->connection.remote_handle, RESP_ERR | PROT_ERR);
    fcvi_message_list_remove(p, &vi->tx.jobs, index);
    fcvi_fc2_exchange_free(p, index);
    fcvi_event_error(p, vi_index(p, vi), VIP_ERROR_RDMAR_PROT);
    fcvi_message_error(p, vi, NULL, REMOTE_RDMA_READ_PROTECTION, false);
}

/* The request is complete. Whether it is allowed shows when it is answered, after those before it. */
void fcvi_message_read_start(struct fcvi_port *p, struct vi *vi, struct exchange *x)
{
    uint32_t index = exchange_index(p, x);
    message_at(p, index)->phase = RESPONDING;
    fcvi_message_list_append(p, &vi->tx.jobs, index);
    fcvi_schedule_wake(p, vi);
}

/* All data are out, and acknowledged in class 2. */
void fcvi_message_read_sent(struct fcvi_port *p, struct vi *vi, struct exchange *x)
{
    uint32_t index = exchange_index(p, x);
    fcvi_message_list_remove(p, &vi->tx.jobs, index);
    fcvi_fc2_exchange_free(p, index);
}
