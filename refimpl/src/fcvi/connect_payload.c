/* The payload of FCVI_CONNECT_RQST and FCVI_CONNECT_RESP1 (Tables 13 to 18) and addresses (7.2). */
#include "setup.h"

static void put_address(uint8_t *out, const struct fcvi_address *a)
{
    fcvi_set_ADDR_HOST_ADD_LEN(out, sizeof a->host);
    fcvi_set_ADDR_DISCRIM_LEN(out, a->discriminator_length);
    memcpy(out + FCVI_ADDR_HOST_ADD_BYTE, a->host, sizeof a->host);
    memcpy(out + FCVI_ADDR_DISCRIM_BYTE, a->discriminator, a->discriminator_length);
}

/* What a provider may tell its peer of itself (6.8.3): who it is. */
static void put_info(uint8_t *out)
{
    static const char text[] = "fcvi reference port";
    memset(out, 0, FCVI_INFO_LENGTH);
    memcpy(out, text, sizeof text);
}

/* The payload of FCVI_CONNECT_RQST or RESP1, as the sender of the setup sees it; returns its length. */
uint32_t fcvi_setup_put_payload(const struct fcvi_port *p, uint8_t *out, const struct setup *s)
{
    if (rev1(p))
        return fcvi_rev1_put_payload(out, s);
    const struct fcvi_attributes *attributes = &s->attributes;
    memset(out, 0, FCVI_CONN_LENGTH);
    fcvi_set_CONN_FCVI_REVISION(out, FCVI_REVISION_2007);
    fcvi_set_CONN_FCVI_RQST_HANDLE(out, s->local_handle);
    put_address(out + FCVI_CONN_FCVI_LOC_ADDR_BYTE, &s->local);
    put_address(out + FCVI_CONN_FCVI_REM_ADDR_BYTE, &s->remote);
    uint8_t *a = out + FCVI_CONN_FCVI_LOC_ATTRS_BYTE;
    fcvi_set_ATTRS_FCVI_RELIABILITY_LVL(a, attributes->reliability);
    fcvi_set_ATTRS_EnRdmaWr(a, attributes->rdma_write);
    fcvi_set_ATTRS_EnRdmaRd(a, attributes->rdma_read);
    fcvi_set_ATTRS_FCVI_MAX_TRANS_SIZE(a, attributes->max_transfer_size);
    uint8_t *q = a + FCVI_ATTRS_FCVI_QOS_BYTE;
    fcvi_set_QOS_FCVI_PREF(q, attributes->preference ? 0x80 : 0x00);
    fcvi_set_QOS_FCVI_PIPELINE_DEPTH(q, attributes->pipeline_depth);
    if (!p->config.connect_info)
        return FCVI_CONN_LENGTH;
    put_info(out + FCVI_CONN_LENGTH);
    return CONNECT_LENGTH;
}

static bool take_address(const uint8_t *in, struct fcvi_address *a)
{
    memset(a, 0, sizeof *a);
    uint64_t length = fcvi_ADDR_DISCRIM_LEN(in);
    if (fcvi_ADDR_HOST_ADD_LEN(in) != sizeof a->host || length > FCVI_MAX_DISCRIMINATOR)
        return false;
    a->discriminator_length = (uint8_t)length;
    memcpy(a->host, fcvi_ADDR_HOST_ADD(in), sizeof a->host);
    memcpy(a->discriminator, fcvi_ADDR_DISCRIM(in), length);
    return length >= FCVI_MIN_DISCRIMINATOR;
}

/* Take the complete payload in. False when it is none of this revision: no connection comes of it (E25, E45).
 */
bool fcvi_setup_take_payload(const struct fcvi_port *p, struct setup *s)
{
    if (rev1(p))
        return fcvi_rev1_take_payload(s);
    const uint8_t *in = s->buffer;
    bool info = s->flags & (s->originator ? 2u : 8u); /* Table 9 bit 1, Table 7 bit 3 (E23) */
    if (s->received != FCVI_CONN_LENGTH + (info ? FCVI_INFO_LENGTH : 0))
        return false;
    s->remote_handle = (uint32_t)fcvi_CONN_FCVI_RQST_HANDLE(in);
    struct fcvi_address remote, local; /* as the other side sees them */
    bool first = take_address(fcvi_CONN_FCVI_LOC_ADDR(in), &remote);
    bool second = take_address(fcvi_CONN_FCVI_REM_ADDR(in), &local);
    if (!s->originator) {
        s->remote = remote;
        s->local = local;
    }
    const uint8_t *a = fcvi_CONN_FCVI_LOC_ATTRS(in), *q = fcvi_ATTRS_FCVI_QOS(a);
    s->remote_attributes = (struct fcvi_attributes){
        .reliability = (uint8_t)fcvi_ATTRS_FCVI_RELIABILITY_LVL(a),
        .max_transfer_size = (uint32_t)fcvi_ATTRS_FCVI_MAX_TRANS_SIZE(a),
        .rdma_write = fcvi_ATTRS_EnRdmaWr(a),
        .rdma_read = fcvi_ATTRS_EnRdmaRd(a),
        .preference = fcvi_QOS_FCVI_PREF(q) == 0x80,
        .pipeline_depth = (uint32_t)fcvi_QOS_FCVI_PIPELINE_DEPTH(q),
    };
    return fcvi_CONN_FCVI_REVISION(in) == FCVI_REVISION_2007 && first && second;
}

/* A Reason Code as the edition has it on the wire; 0 stays what it is. */
uint8_t fcvi_setup_reason_out(const struct fcvi_port *p, uint8_t reason)
{
    return rev1(p) ? fcvi_rev1_reason_out(reason) : reason;
}
