/* Rev 1.0, 5.3 and 6.7 to 6.9: FCVI_CONNECT_RQST, RESP1 and RESP2. There is no fourth IU and no retry. */
#include "rev1.h"

static const uint8_t *host_of(const uint8_t *address)
{
    return address + FCVI_ADDR_REV1_HOST_IP_ADDR_BYTE;
}

static const uint8_t *payload_of(const struct judged_frame *s)
{
    return s->f->payload_length == FCVI_CONN_REV1_LENGTH && s->end_sequence ? s->f->payload : NULL;
}

static void take_request(struct r1_judged_frame *r)
{
    const struct judged_frame *s = r->s;
    struct r1_exchange *x = r->x;
    const uint8_t *p = payload_of(s);
    x->has_payload = p != NULL && !s->in->broken;
    if (!x->has_payload)
        return;
    const uint8_t *attributes = fcvi_CONN_REV1_VI_LOC_ATTRS(p);
    x->mode = (uint8_t)fcvi_DH_REV1_MODE(s->dh);
    x->rqst_handle = (uint32_t)fcvi_CONN_REV1_VI_RQST_HANDLE(p);
    x->rqst_level = (uint8_t)fcvi_ATTRS_REV1_RELIABILITY_LVL(attributes);
    x->most = (uint32_t)fcvi_ATTRS_REV1_MAX_TRANS_SIZE(attributes);
    memcpy(x->local, host_of(fcvi_CONN_REV1_VI_LOC_ADDR(p)), R1_HOST);
    memcpy(x->remote, host_of(fcvi_CONN_REV1_VI_REM_ADDR(p)), R1_HOST);
}

/* 5.3.4: the codes of the arbitration say how the two host addresses compare. What the responder is asked as
 * is its own address; the request has both. */
static void check_arbitration(struct r1_judged_frame *r)
{
    const struct judged_frame *s = r->s;
    const uint64_t reason = fcvi_DH_REV1_Reason_Code(s->dh);
    if (r->x->mode != FCVI_REV1_MODE_PEER_TO_PEER)
        return;
    const int own =
        memcmp(r->x->remote, r->x->local, R1_HOST); /* most significant byte first: 128 bits without a sign */
    const bool duplicate =
        reason == FCVI_REV1_REASON_DUPLICATE_ADDRESSES || reason == FCVI_REV1_REASON_DUPLICATE_ADDRESSES_READ;
    if (reason == FCVI_REV1_REASON_CONCURRENT_PEER_REQUESTS && own > 0)
        mon_rev1_report(r, DH1(r, Reason_Code), reason,
                        FCVI_BREACH_IN_WORDS("REV1-5.3.4-01",
                                             "the Peer with the higher Host Address refuses as the lower",
                                             "to accept"),
                        r->x->born);
    else if (reason == FCVI_REV1_REASON_CONCURRENT_PEER_REQUESTS && own == 0)
        mon_rev1_report(r, DH1(r, Reason_Code), reason,
                        FCVI_BREACH("REV1-5.3.4-03", "the Host Addresses of the two Peers are equal",
                                    FCVI_REV1_REASON_DUPLICATE_ADDRESSES),
                        r->x->born);
    else if (duplicate && own != 0)
        mon_rev1_report(r, DH1(r, Reason_Code), reason,
                        FCVI_BREACH_IN_WORDS("REV1-5.3.4-03",
                                             "the Host Addresses of the two Peers are not equal",
                                             "another Reason Code"),
                        r->x->born);
}

/* 4.2, 6.8 */
static void check_acceptance(struct r1_judged_frame *r, const uint8_t *p)
{
    const struct judged_frame *s = r->s;
    const struct r1_exchange *x = r->x;
    const uint16_t base = (uint16_t)(p - s->fc);
    const uint8_t *local = host_of(fcvi_CONN_REV1_VI_LOC_ADDR(p)),
                  *remote = host_of(fcvi_CONN_REV1_VI_REM_ADDR(p));
    if (memcmp(x->local, x->remote, R1_HOST) != 0 && memcmp(local, x->local, R1_HOST) == 0 &&
        memcmp(remote, x->remote, R1_HOST) == 0) {
        const uint16_t at = FCVI_CONN_REV1_VI_LOC_ADDR_BYTE + FCVI_ADDR_REV1_HOST_IP_ADDR_BYTE + R1_HOST - 8;
        struct fcvi_place place = {"VI_LOC_ADDR HOST_IP_ADDR", (uint16_t)(base + at), 8, 63, 0};
        mon_rev1_report(r, place, fcvi_load(p + at, 8),
                        FCVI_BREACH_IN_WORDS("REV1-6.8-03", "the addresses are those of the requester's side",
                                             "VI_LOC_ADDR of the responder"),
                        x->born);
    }
    const uint16_t attributes = (uint16_t)(base + FCVI_CONN_REV1_VI_LOC_ATTRS_BYTE);
    const uint64_t level = fcvi_ATTRS_REV1_RELIABILITY_LVL(fcvi_CONN_REV1_VI_LOC_ATTRS(p));
    const uint64_t most = fcvi_ATTRS_REV1_MAX_TRANS_SIZE(fcvi_CONN_REV1_VI_LOC_ATTRS(p));
    if (level != x->rqst_level)
        mon_rev1_report(
            r, FCVI_AT(attributes, ATTRS_REV1, RELIABILITY_LVL), level,
            FCVI_BREACH("REV1-4.2-02", "a request of another Reliability Level is accepted", x->rqst_level),
            x->born);
    else if (most != x->most)
        mon_rev1_report(
            r, FCVI_AT(attributes, ATTRS_REV1, MAX_TRANS_SIZE), most,
            FCVI_TOLERATED("REV1-4.2-02", "R29", "a request of another MAX_TRANS_SIZE is accepted", x->most),
            x->born);
}

/* 5.7.4: what `from` sends on the new Connection goes to this handle. */
static void open_end(struct r1_judged_frame *r, uint32_t from, uint32_t to, uint32_t handle, uint32_t partner,
                     bool pref, bool has_pref)
{
    struct judged_frame *s = r->s;
    struct r1_end *end = mon_rev1_end(s, from, to, handle);
    const bool taken = end != NULL && !end->closed && end->made > s->m->voided;
    if (end != NULL)
        memset((uint8_t *)end + sizeof end->node, 0, sizeof *end - sizeof end->node);
    else
        end = mon_pool_add(s->m, &s->m->rev1_ends, (uint64_t)s->in->network << 32 | handle,
                           (uint64_t)from << 24 | to);
    end->made = s->in->number;
    end->partner = partner;
    end->counting = true;
    end->level = r->x->level;
    end->pref = pref;
    end->has_pref = has_pref;
    end->of_setup = true;
    end->unsure = taken; /* which of the two is meant nobody can tell */
}

/* 6.8, 6.9: the VI_MSG_ID of the IU before. */
static void check_id(struct r1_judged_frame *r, uint32_t wanted)
{
    const uint64_t id = fcvi_DH_REV1_VI_MSG_ID(r->s->dh);
    if (id != wanted)
        mon_rev1_report(r, DH1(r, VI_MSG_ID), id,
                        FCVI_BREACH("REV1-5.7.5-03", "the VI_MSG_ID is not that of the IU before", wanted),
                        r->far->frame);
}

static void take_answer(struct r1_judged_frame *r)
{
    struct judged_frame *s = r->s;
    struct r1_exchange *x = r->x;
    const uint8_t *p = payload_of(s);
    if (x->answered && mon_rev1_once(s))
        mon_rev1_report(r, DH1(r, VI_OPCODE), fcvi_DH_REV1_VI_OPCODE(s->dh),
                        FCVI_BREACH_IN_WORDS("REV1-5.3-02", "a second FCVI_CONNECT_RESP1 in the setup",
                                             "one, between FCVI_CONNECT_RQST and FCVI_CONNECT_RESP2"),
                        r->own->frame);
    x->answered = true;
    check_id(r, x->id);
    const uint32_t handle = (uint32_t)fcvi_DH_REV1_VI_HANDLE(s->dh);
    if (!x->has_payload || p == NULL || !mon_rev1_far_good(r)) {
        s->m->rev1_blind = true;
        return;
    }
    if (handle != FCVI_UNASSIGNED && handle != x->rqst_handle) /* R03 */
        mon_rev1_report(r, DH1(r, VI_HANDLE), handle,
                        FCVI_BREACH_IN_WORDS("REV1-5.7.4-01", "a handle that the requester did not give",
                                             "FFFFFFFFh, or the requester's handle"),
                        x->born);
    if (fcvi_DH_REV1_CONN_ERR(s->dh)) {
        check_arbitration(r);
        return;
    }
    check_acceptance(r, p);
    x->accepted = true;
    x->resp_handle = (uint32_t)fcvi_CONN_REV1_VI_RQST_HANDLE(p);
    const bool alike = fcvi_ATTRS_REV1_RELIABILITY_LVL(fcvi_CONN_REV1_VI_LOC_ATTRS(p)) == x->rqst_level;
    x->level = alike && !s->in->broken ? x->rqst_level : 0;
    open_end(r, x->originator, x->responder, x->resp_handle, x->rqst_handle, x->pref, x->has_pref);
    open_end(r, x->responder, x->originator, x->rqst_handle, x->resp_handle, fcvi_FC_PREF(s->fc) != 0,
             !fcvi_FC_Priority_Enable(s->fc));
}

/* R08: RESP2 has no reason of its own that is reserved; it may repeat that of the refusal. */
static void check_repeated(struct r1_judged_frame *r)
{
    const struct judged_frame *s = r->s;
    const uint64_t reason = fcvi_DH_REV1_Reason_Code(s->dh);
    if (!fcvi_DH_REV1_CONN_ERR(s->dh) || reason <= FCVI_REV1_REASON_DUPLICATE_ADDRESSES || !r->x->answered ||
        !mon_rev1_far_good(r))
        return;
    if (!fcvi_DH_REV1_CONN_ERR(r->far->dh) || fcvi_DH_REV1_Reason_Code(r->far->dh) != reason)
        mon_rev1_report(r, DH1(r, Reason_Code), reason,
                        FCVI_BREACH_IN_WORDS("REV1-5.7.2-09", "the Reason Code is reserved", "01h to 07h"),
                        r->far->frame);
}

/* The client answers what it has: a timeout before RESP1 is told with CONN_ERR (5.7.6). */
static void take_acknowledgement(struct r1_judged_frame *r)
{
    struct judged_frame *s = r->s;
    struct r1_exchange *x = r->x;
    const uint64_t handle = fcvi_DH_REV1_VI_HANDLE(s->dh);
    if (x->acknowledged && mon_rev1_once(s)) {
        mon_rev1_report(r, DH1(r, VI_OPCODE), fcvi_DH_REV1_VI_OPCODE(s->dh),
                        FCVI_BREACH_IN_WORDS("REV1-5.1-09", "a second FCVI_CONNECT_RESP2 in the setup",
                                             "none after the first"),
                        r->own->frame);
        return;
    }
    x->acknowledged = true;
    if (x->answered)
        check_id(r, (uint32_t)fcvi_DH_REV1_VI_MSG_ID(r->far->dh));
    check_repeated(r);
    if (!x->answered && !fcvi_DH_REV1_CONN_ERR(s->dh))
        mon_rev1_report(r, DH1(r, VI_OPCODE), fcvi_DH_REV1_VI_OPCODE(s->dh),
                        FCVI_BREACH_IN_WORDS("REV1-5.3-03", "FCVI_CONNECT_RESP2 without a FCVI_CONNECT_RESP1",
                                             "a FCVI_CONNECT_RESP1 before"),
                        x->born);
    if (!x->accepted || !mon_rev1_far_good(r))
        return;
    if (handle != FCVI_UNASSIGNED && handle != x->resp_handle) /* R03 */
        mon_rev1_report(r, DH1(r, VI_HANDLE), handle,
                        FCVI_BREACH_IN_WORDS("REV1-5.7.4-02", "a handle that the responder did not give",
                                             "the responder's handle, or FFFFFFFFh"),
                        r->far->frame);
    struct r1_end *there = mon_rev1_end(s, x->originator, x->responder, x->resp_handle);
    struct r1_end *back = mon_rev1_end(s, x->responder, x->originator, x->rqst_handle);
    if (there == NULL || back == NULL)
        return;
    there->open = back->open = true;
    if (fcvi_DH_REV1_CONN_ERR(s->dh)) /* no Connection came of it */
        there->closed = there->unsure = back->closed = back->unsure = true;
}

void mon_rev1_setup(struct r1_judged_frame *r)
{
    if (r->s->iu == FCVI_IU_CONNECT_RQST) {
        if (r->starts)
            take_request(r);
    } else if (r->s->iu == FCVI_IU_CONNECT_RESP1) {
        take_answer(r);
    } else {
        take_acknowledgement(r);
    }
}
