/* Connections of endpoints: handles, the beginning and the end (4.2, 8.2, 8.4.2). */
#include "internal.h"

/* A handle names its VI and how many connections that VI has had, so that none comes back within R_A_TOV
 * (8.4.2 f). */
uint32_t new_handle(struct fcvi_port *p, struct vi *vi)
{
    uint32_t index = vi_index(p, vi), handle;
    do
        handle = ((uint32_t)++vi->generation << 16 | index) ^ (uint32_t)(p->config.seed & 0x7FFF0000u);
    while (handle == FCVI_UNASSIGNED);
    return handle;
}

/* Only the port that the connection is with may use its handle (E45). */
struct vi *vi_of_handle(struct fcvi_port *p, uint32_t handle, uint32_t peer)
{
    uint32_t index = handle & 0xFFFF;
    if (index >= p->limits.vis)
        return NULL;
    struct vi *vi = vi_at(p, index);
    const struct connection *c = &vi->connection;
    return vi->used && c->known && c->local_handle == handle && c->peer == peer ? vi : NULL;
}

void connection_begin(struct vi *vi, const struct setup *s)
{
    vi->connection = (struct connection){
        .known = true,
        .originator = s->originator,
        .peer = s->exchange.peer,
        .local_handle = s->local_handle,
        .remote_handle = s->remote_handle,
        .connection_id = s->connection_id,
    };
    vi->tx = (struct sender){.next_msg_id = 1};
    vi->rx = (struct receiver){.expected = 1};
}

/* The connection is over but for a Disconnect: Error, queues flushed; the application hears of it (8.2 d). */
void connection_fail(struct fcvi_port *p, struct vi *vi, bool notify)
{
    vi->connection.receiving = false;
    set_state(p, vi, FCVI_STATE_ERROR);
    if (notify)
        event_error(p, vi_index(p, vi), VIP_ERROR_CONN_LOST);
    flush(p, vi);
}
