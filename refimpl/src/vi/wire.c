/* The questions of the VI, and who answers them. */
#include "wire.h"
#include "../fcvi/calls.h"
#include "../vitcp/calls.h"

void fcvi_wire_vi_begin(struct fcvi_port *p, struct vi *vi)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        fcvi_vitcp_none(vi);
        break;
    case FCVI_WIRE_FC:
    default:
        fcvi_connection_none(vi);
        break;
    }
}

void fcvi_wire_vi_end(struct fcvi_port *p, struct vi *vi)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        break; /* an idle VI has no stream */
    case FCVI_WIRE_FC:
    default:
        fcvi_connection_forget(p, vi);
        fcvi_schedule_forget(p, vi);
        break;
    }
}

bool fcvi_wire_prepare(struct fcvi_port *p, struct vi *vi, const struct wire_request *r)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        return fcvi_vitcp_prepare(p, vi, r->local, r->remote, r->peer_mode);
    case FCVI_WIRE_FC:
    default:
        return fcvi_originator_prepare(p, vi, r->local, r->remote, r->peer_mode);
    }
}

void fcvi_wire_connect(struct fcvi_port *p, struct vi *vi)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        fcvi_vitcp_connect(p, vi);
        break;
    case FCVI_WIRE_FC:
    default:
        fcvi_originator_connect(p, vi);
        break;
    }
}

const struct fcvi_attributes *fcvi_wire_offered(struct fcvi_port *p, uint32_t conn)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        return fcvi_vitcp_offered(p, conn);
    case FCVI_WIRE_FC:
    default:
        return fcvi_responder_offered(p, conn);
    }
}

int fcvi_wire_match(const struct fcvi_port *p, const struct vi *vi, const struct fcvi_attributes *remote)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        return fcvi_vitcp_match(vi, remote);
    case FCVI_WIRE_FC:
    default:
        return fcvi_setup_match(p, &vi->attributes, remote);
    }
}

uint32_t fcvi_wire_transfer_size(struct fcvi_port *p, const struct vi *vi)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        return fcvi_vitcp_transfer_size(p, vi);
    case FCVI_WIRE_FC:
    default:
        return vi->attributes.max_transfer_size;
    }
}

int fcvi_wire_accept(struct fcvi_port *p, uint32_t conn, struct vi *vi)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        return fcvi_vitcp_accept(p, conn, vi);
    case FCVI_WIRE_FC:
    default:
        return fcvi_responder_accept_offer(p, conn, vi) ? FCVI_VIP_PENDING : VIP_ERROR_RESOURCE;
    }
}

bool fcvi_wire_refuse(struct fcvi_port *p, uint32_t conn)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        return fcvi_vitcp_refuse(p, conn);
    case FCVI_WIRE_FC:
    default:
        return fcvi_responder_refuse_offer(p, conn);
    }
}

int fcvi_wire_disconnect(struct fcvi_port *p, struct vi *vi, uint64_t token)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        return fcvi_vitcp_disconnect(p, vi);
    case FCVI_WIRE_FC:
    default:
        return fcvi_disconnect_start(p, vi, token);
    }
}

void fcvi_wire_posted(struct fcvi_port *p, struct vi *vi, bool recv)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        fcvi_vitcp_posted(p, vi, recv);
        break;
    case FCVI_WIRE_FC:
    default:
        if (!recv)
            fcvi_schedule_wake(p, vi);
        break;
    }
}

bool fcvi_wire_withheld(struct fcvi_port *p, const struct vi *vi, bool recv)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        return fcvi_vitcp_withheld(p, vi, recv);
    case FCVI_WIRE_FC:
    default:
        return fcvi_message_withheld(vi, recv);
    }
}

void fcvi_wire_completed(struct fcvi_port *p, struct vi *vi, const struct entry *e)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        break;
    case FCVI_WIRE_FC:
    default:
        fcvi_message_completed(p, vi, e);
        break;
    }
}

void fcvi_wire_drop(struct fcvi_port *p, struct vi *vi)
{
    switch (p->config.wire) {
    case FCVI_WIRE_VITCP:
        break; /* they ended with the stream */
    case FCVI_WIRE_FC:
    default:
        fcvi_message_drop_all(p, vi);
        break;
    }
}
