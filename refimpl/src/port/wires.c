/* What each wire answers to the VI. */
#include "../fcvi/message.h"
#include "../fcvi/setup.h"
#include "../vitcp/stream.h"
#include "port_internal.h"

/* ---- FC-VI ---- */

static void fc_vi_begin(struct fcvi_port *p, struct vi *vi)
{
    (void)p;
    fcvi_connection_none(vi);
}

static void fc_vi_end(struct fcvi_port *p, struct vi *vi)
{
    fcvi_connection_forget(p, vi);
    fcvi_schedule_forget(p, vi);
}

/* One size for both directions: that of the VI. */
static uint32_t fc_transfer_size(struct fcvi_port *p, const struct vi *vi)
{
    (void)p;
    return vi->attributes.max_transfer_size;
}

static void fc_posted(struct fcvi_port *p, struct vi *vi, bool recv)
{
    if (!recv)
        fcvi_schedule_wake(p, vi);
}

static bool fc_withheld(struct fcvi_port *p, const struct vi *vi, bool recv)
{
    (void)p;
    return fcvi_message_withheld(vi, recv);
}

const struct wire fcvi_port_fc = {
    .vi_begin = fc_vi_begin,
    .vi_end = fc_vi_end,
    .prepare = fcvi_originator_prepare,
    .connect = fcvi_originator_connect,
    .timeout = fcvi_originator_t1,
    .offered = fcvi_responder_offered,
    .match = fcvi_setup_match,
    .accept = fcvi_responder_accept_offer,
    .refuse = fcvi_responder_refuse_offer,
    .transfer_size = fc_transfer_size,
    .disconnect = fcvi_disconnect_start,
    .posted = fc_posted,
    .withheld = fc_withheld,
    .completed = fcvi_message_completed,
    .drop = fcvi_message_drop_all,
};

/* ---- VI/TCP ---- */

static void tcp_vi_begin(struct fcvi_port *p, struct vi *vi)
{
    (void)p;
    fcvi_vitcp_none(vi);
}

/* An idle VI has no stream, and its Messages end with that. */
static void tcp_nothing(struct fcvi_port *p, struct vi *vi)
{
    (void)p;
    (void)vi;
}

static int tcp_match(const struct fcvi_port *p, const struct vi *vi, const struct fcvi_attributes *remote)
{
    (void)p;
    return fcvi_vitcp_match(vi, remote);
}

static int tcp_disconnect(struct fcvi_port *p, struct vi *vi, uint64_t token)
{
    (void)token; /* it returns at once */
    return fcvi_vitcp_disconnect(p, vi);
}

static void tcp_completed(struct fcvi_port *p, struct vi *vi, const struct entry *e)
{
    (void)e;
    tcp_nothing(p, vi);
}

const struct wire fcvi_port_tcp = {
    .vi_begin = tcp_vi_begin,
    .vi_end = tcp_nothing,
    .prepare = fcvi_vitcp_prepare,
    .connect = fcvi_vitcp_connect,
    .timeout = fcvi_vitcp_t1,
    .offered = fcvi_vitcp_offered,
    .match = tcp_match,
    .accept = fcvi_vitcp_accept,
    .refuse = fcvi_vitcp_refuse,
    .transfer_size = fcvi_vitcp_transfer_size,
    .disconnect = tcp_disconnect,
    .posted = fcvi_vitcp_posted,
    .withheld = fcvi_vitcp_withheld,
    .completed = tcp_completed,
    .drop = tcp_nothing,
};
