/* Rev 1.0 (1999): the payload of FCVI_CONNECT_RQST and FCVI_CONNECT_RESP1 and the Reason Codes. The clauses
 * and tables in this file are the draft's; R.. is its register of errata. */
#include "setup.h"

enum { REVISION = 1 };

/* ---- Tables 11 to 15 and Annex B ---- */

static void put_address(uint8_t *out, const struct fcvi_address *a)
{
    fcvi_set_ADDR_REV1_HOST_ADDR_LEN(out, sizeof a->host);
    fcvi_set_ADDR_REV1_DISCRIM_LEN(out, a->discriminator_length);
    memcpy(out + FCVI_ADDR_REV1_HOST_IP_ADDR_BYTE, a->host, sizeof a->host);
    memcpy(out + FCVI_ADDR_REV1_DISCRIM_BYTE, a->discriminator, a->discriminator_length);
}

/* 7.2: the values of VI-DG 4.6. Others are kept as one that no VI has. */
static const struct {
    uint8_t code, level;
} levels[] = {
    {FCVI_REV1_RELIABILITY_UNRELIABLE_DELIVERY, FCVI_UNRELIABLE},
    {FCVI_REV1_RELIABILITY_RELIABLE_DELIVERY, FCVI_RELIABLE_DELIVERY},
    {FCVI_REV1_RELIABILITY_RELIABLE_RECEPTION, FCVI_RELIABLE_RECEPTION},
};
enum { LEVELS = sizeof levels / sizeof levels[0], NO_LEVEL = 0 };

uint32_t fcvi_rev1_put_payload(uint8_t *out, const struct setup *s)
{
    const struct fcvi_attributes *attributes = &s->attributes;
    FCVI_ASSERT(attributes->reliability >= FCVI_UNRELIABLE && attributes->reliability <= LEVELS);
    memset(out, 0, FCVI_CONN_REV1_LENGTH);
    fcvi_set_CONN_REV1_VI_REVISION(out, REVISION);
    fcvi_set_CONN_REV1_VI_RQST_HANDLE(out, s->local_handle);
    put_address(out + FCVI_CONN_REV1_VI_LOC_ADDR_BYTE, &s->local);
    put_address(out + FCVI_CONN_REV1_VI_REM_ADDR_BYTE, &s->remote);
    uint8_t *a = out + FCVI_CONN_REV1_VI_LOC_ATTRS_BYTE;
    fcvi_set_ATTRS_REV1_RELIABILITY_LVL(a, levels[attributes->reliability - FCVI_UNRELIABLE].code);
    fcvi_set_ATTRS_REV1_MAX_TRANS_SIZE(a, attributes->max_transfer_size);
    fcvi_set_QOS_REV1_Precedence(a + FCVI_ATTRS_REV1_VIP_QOS_BYTE, /* R13 */
                                 attributes->preference ? FCVI_REV1_PRECEDENCE_PRIORITY
                                                        : FCVI_REV1_PRECEDENCE_ROUTINE);
    fcvi_set_ATTRS_REV1_EnRdmaWr(a, attributes->rdma_write);
    fcvi_set_ATTRS_REV1_EnRdmaRd(a, attributes->rdma_read);
    return FCVI_CONN_REV1_LENGTH;
}

static bool take_address(const uint8_t *in, struct fcvi_address *a)
{
    memset(a, 0, sizeof *a);
    uint64_t length = fcvi_ADDR_REV1_DISCRIM_LEN(in);
    if (fcvi_ADDR_REV1_HOST_ADDR_LEN(in) != sizeof a->host || length > FCVI_MAX_DISCRIMINATOR)
        return false;
    a->discriminator_length = (uint8_t)length;
    memcpy(a->host, fcvi_ADDR_REV1_HOST_IP_ADDR(in), sizeof a->host);
    memcpy(a->discriminator, fcvi_ADDR_REV1_DISCRIM(in), length);
    return true;
}

static uint8_t level_of(uint64_t code)
{
    for (unsigned i = 0; i < LEVELS; i++)
        if (levels[i].code == code)
            return levels[i].level;
    return NO_LEVEL;
}

/* ---- Table 10 ---- */

/* What the engine calls a reason, by its number of 2007, and the draft's number. The first line of a reason
 * is sent; 06h and 07h are both read as Duplicate Addresses (R05). */
static const struct {
    uint8_t reason, code;
} reasons[] = {
    {CONNECT_REJECT, FCVI_REV1_REASON_CONNECT_REJECT},
    {NO_MATCH, FCVI_REV1_REASON_NO_DISCRIMINATOR_MATCH},
    {CONNECT_TIMEOUT, FCVI_REV1_REASON_CONNECT_TIMEOUT},
    {NO_WAITING, FCVI_REV1_REASON_NO_WAITING_REMOTE_ENDPOINT},
    {CONCURRENT_REQUESTS, FCVI_REV1_REASON_CONCURRENT_PEER_REQUESTS},
    {DUPLICATE_ADDRESSES, FCVI_REV1_REASON_DUPLICATE_ADDRESSES},
    {DUPLICATE_ADDRESSES, FCVI_REV1_REASON_DUPLICATE_ADDRESSES_READ},
};
enum { REASONS = sizeof reasons / sizeof reasons[0] };

/* 0 is no reason at all. */
uint8_t fcvi_rev1_reason_out(uint8_t reason)
{
    for (unsigned i = 0; i < REASONS; i++)
        if (reasons[i].reason == reason)
            return reasons[i].code;
    FCVI_ASSERT(reason == 0);
    return 0;
}

/* A code that the table does not have is a refusal as well. */
static uint8_t reason_in(uint8_t code)
{
    for (unsigned i = 0; i < REASONS; i++)
        if (reasons[i].code == code)
            return reasons[i].reason;
    return CONNECT_REJECT;
}

/* False when it is no payload of this revision (R27). VI_REVISION of an answer is not compared (R30). */
bool fcvi_rev1_take_payload(struct setup *s)
{
    const uint8_t *in = s->buffer;
    s->reason_in = reason_in(s->reason_in);
    if (s->received != FCVI_CONN_REV1_LENGTH)
        return false;
    s->remote_handle = (uint32_t)fcvi_CONN_REV1_VI_RQST_HANDLE(in);
    struct fcvi_address remote, local; /* as the other side sees them */
    bool first = take_address(fcvi_CONN_REV1_VI_LOC_ADDR(in), &remote);
    bool second = take_address(fcvi_CONN_REV1_VI_REM_ADDR(in), &local);
    if (!s->originator) {
        s->remote = remote;
        s->local = local;
    }
    const uint8_t *a = fcvi_CONN_REV1_VI_LOC_ATTRS(in);
    s->remote_attributes = (struct fcvi_attributes){
        .reliability = level_of(fcvi_ATTRS_REV1_RELIABILITY_LVL(a)),
        .max_transfer_size = (uint32_t)fcvi_ATTRS_REV1_MAX_TRANS_SIZE(a),
        .rdma_write = fcvi_ATTRS_REV1_EnRdmaWr(a),
        .rdma_read = fcvi_ATTRS_REV1_EnRdmaRd(a),
        .preference = fcvi_QOS_REV1_Precedence(fcvi_ATTRS_REV1_VIP_QOS(a)) == FCVI_REV1_PRECEDENCE_PRIORITY,
    };
    return (s->originator || fcvi_CONN_REV1_VI_REVISION(in) == REVISION) && first && second;
}
