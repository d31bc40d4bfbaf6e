/* CE PDUs: Connect Request, Accept, Reject and No Match (3.2). */
#include "stream.h"

static void put_attributes(const struct fcvi_port *p, uint8_t *ce, const struct fcvi_attributes *a)
{
    fcvi_profile_put(profile_of(p), FCVI_P_CE_Reliable, ce, a->reliability != FCVI_UNRELIABLE);
    fcvi_profile_put(profile_of(p), FCVI_P_CE_RDMA_Write_Enable, ce, a->rdma_write);
    fcvi_profile_put(profile_of(p), FCVI_P_CE_RDMA_Read_Enable, ce, a->rdma_read);
}

/* The CE Header of a PDU in a segment of 68 bytes. A Connect Accept has the attributes of the acceptor and
 * the Discriminators of the request (V47); a refusal repeats the request (V08). */
void fcvi_vitcp_put_ce(struct fcvi_port *p, const struct stream *s, enum fcvi_pdu_type pdu, uint8_t *out)
{
    uint8_t *ce = out + SEGMENT_HEADER;
    bool refusal = pdu == FCVI_PDU_CONNECT_REJECT || pdu == FCVI_PDU_CONNECT_NO_MATCH;
    const struct fcvi_attributes *a = refusal ? &s->attributes : &vi_at(p, s->vi)->attributes;
    bool flow = pdu == FCVI_PDU_CONNECT_REQUEST ? p->config.vitcp.flow_control : s->flow_control;
    put_attributes(p, ce, a);
    fcvi_profile_put(profile_of(p), FCVI_P_CE_Flow_Control, ce, flow);
    fcvi_profile_put(profile_of(p), FCVI_P_CE_Peer_to_Peer, ce, s->peer_mode);
    fcvi_set_CE_MTU_Size(ce, pdu == FCVI_PDU_CONNECT_ACCEPT ? s->mtu : a->max_transfer_size);
    fcvi_set_CE_Calling_Discriminator_Length(ce, s->calling_length);
    memcpy(ce + FCVI_CE_Calling_Discriminator_BYTE, s->calling, DISCRIMINATOR);
    fcvi_set_CE_Calling_RDMA_Read_Window(ce, p->limits.stream_reads);
    fcvi_set_CE_Called_Discriminator_Length(ce, s->called_length);
    memcpy(ce + FCVI_CE_Called_Discriminator_BYTE, s->called, DISCRIMINATOR);
}

/* What a Connect Request or Accept says of the other side. That a connection is reliable is all that can be
 * known of its level (V15). */
void fcvi_vitcp_take_ce(const struct fcvi_port *p, struct stream *s, const uint8_t *header)
{
    const uint8_t *ce = header + SEGMENT_HEADER;
    bool is_reliable = segment_get(p, ce, FCVI_P_CE_Reliable) != 0;
    s->attributes = (struct fcvi_attributes){
        .reliability = is_reliable ? FCVI_RELIABLE_RECEPTION : FCVI_UNRELIABLE,
        .max_transfer_size = (uint32_t)fcvi_CE_MTU_Size(ce),
        .rdma_write = segment_get(p, ce, FCVI_P_CE_RDMA_Write_Enable) != 0,
        .rdma_read = segment_get(p, ce, FCVI_P_CE_RDMA_Read_Enable) != 0,
    };
    s->flow_control = p->config.vitcp.flow_control && segment_get(p, ce, FCVI_P_CE_Flow_Control) != 0;
    s->tx.window = (uint16_t)fcvi_CE_Calling_RDMA_Read_Window(ce);
    s->tx.credit = (uint16_t)fcvi_SEG_Rx_Descriptors_Posted(header);
}

/* The Discriminators of a Connect Request, without what stands behind their lengths; false when a length is
 * more than the field (V46). */
bool fcvi_vitcp_take_addresses(struct stream *s, const uint8_t *header)
{
    const uint8_t *ce = header + SEGMENT_HEADER;
    uint64_t calling = fcvi_CE_Calling_Discriminator_Length(ce);
    uint64_t called = fcvi_CE_Called_Discriminator_Length(ce);
    if (calling > DISCRIMINATOR || called > DISCRIMINATOR)
        return false;
    s->calling_length = (uint8_t)calling;
    s->called_length = (uint8_t)called;
    memcpy(s->calling, fcvi_CE_Calling_Discriminator(ce), (size_t)calling);
    memcpy(s->called, fcvi_CE_Called_Discriminator(ce), (size_t)called);
    return true;
}

void fcvi_vitcp_take_address(struct fcvi_address *out, const struct fcvi_endpoint *from,
                             const uint8_t *discriminator, uint8_t length)
{
    *out = (struct fcvi_address){.discriminator_length = length};
    memcpy(out->host, from->host, sizeof out->host);
    memcpy(out->discriminator, discriminator, length);
}
