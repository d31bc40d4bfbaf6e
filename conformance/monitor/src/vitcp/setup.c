/* Connection establishment (4.1 to 4.3): which PDU an end may send, and what an acceptance agrees on. */
#include "connection.h"

static bool is_ce(uint8_t pdu)
{
    return pdu >= FCVI_PDU_CONNECT_REQUEST && pdu <= FCVI_PDU_CONNECT_NO_MATCH;
}

static struct fcvi_place at_type(void)
{
    return fcvi_vitcp_monitor_place("Type/Flags", FCVI_SEG_Type_Flags_BYTE, 1);
}

static void wrong(const struct vitcp_now *n, const char *id, const char *words, const char *required)
{
    fcvi_vitcp_monitor_breach(n, at_type(), fcvi_SEG_Type_Flags(n->pdu->bytes), id, words, required, 0);
}

static void take_ce(const struct vitcp_now *n)
{
    struct vitcp_side *s = n->from;
    const uint8_t *ce = n->pdu->ce;
    s->seen.setup = n->pdu->pdu;
    s->setup_end = n->seen->end;
    if (ce == NULL)
        return;
    s->seen.reliable = fcvi_profile_get(n->m->profile, FCVI_P_CE_Reliable, ce) != 0;
    s->seen.flow_control = fcvi_profile_get(n->m->profile, FCVI_P_CE_Flow_Control, ce) != 0;
    s->seen.mtu = (uint32_t)fcvi_CE_MTU_Size(ce);
    s->window = (uint16_t)fcvi_CE_Calling_RDMA_Read_Window(ce);
}

/* 2.2.1, 3.2: MTU Size may only go down; the other attributes match. What an Accept says of Reliable stands
 * at a place of the profile, so that it is no more than a notice (V05, V47). */
static void compare(const struct vitcp_now *n)
{
    const struct vitcp_side *request = n->from, *accept = n->to;
    if (request->seen.setup != FCVI_PDU_CONNECT_REQUEST) {
        request = n->to;
        accept = n->from;
    }
    if (accept != n->from)
        return; /* captured out of order: the finding would stand at the other end's PDU */
    struct fcvi_place mtu = FCVI_AT(FCVI_SEG_LENGTH, CE, MTU_Size);
    if (accept->seen.mtu > request->seen.mtu)
        fcvi_vitcp_monitor_breach(n, mtu, accept->seen.mtu, "VITCP-3.2-15",
                                  "the agreed MTU Size is more than was proposed", "the proposal, or less",
                                  request->seen.mtu);
    if (accept->seen.reliable != request->seen.reliable)
        fcvi_vitcp_monitor_notice(n, fcvi_vitcp_monitor_place("Calling Attributes", FCVI_SEG_LENGTH, 2),
                                  fcvi_CE_Calling_Attributes(n->pdu->ce), "VITCP-2.2.1-06", "V47",
                                  "Reliable is not that of the Connect Request", request->seen.reliable);
}

static void by_initiator(const struct vitcp_now *n)
{
    const uint8_t pdu = n->pdu->pdu;
    if (!n->from->any && pdu != FCVI_PDU_CONNECT_REQUEST)
        wrong(n, "VITCP-2.2.2.2.2-06", "the first PDU of who opened the TCP connection is no Connect Request",
              "Connect Request");
    else if (n->from->any && pdu == FCVI_PDU_CONNECT_REQUEST)
        wrong(n, "VITCP-4.2-03", "a second Connect Request on one TCP connection", "one Connect Request");
    else if (is_ce(pdu) && pdu != FCVI_PDU_CONNECT_REQUEST)
        wrong(n, "VITCP-4.1-01", "an answer to a Connect Request by who sent the request",
              "an answer by the other end");
    else if (!is_ce(pdu) && n->informed &&
             (n->to->seen.setup != FCVI_PDU_CONNECT_ACCEPT || n->to->setup_end > n->seen->acknowledged))
        wrong(n, "VITCP-2.2.2.1-04", "a PDU before the Connect Accept was received",
              "nothing before the connection");
}

static void by_acceptor(const struct vitcp_now *n)
{
    const uint8_t pdu = n->pdu->pdu;
    const bool refused =
        n->from->seen.setup == FCVI_PDU_CONNECT_REJECT || n->from->seen.setup == FCVI_PDU_CONNECT_NO_MATCH;
    if (refused)
        wrong(n, n->from->seen.setup == FCVI_PDU_CONNECT_REJECT ? "VITCP-4.3-08" : "VITCP-4.3-06",
              "a PDU behind a refusal", "the end of the TCP connection");
    else if (pdu == FCVI_PDU_CONNECT_REQUEST)
        wrong(n, "VITCP-4.1-01", "a Connect Request by who was called", "an answer");
    else if (is_ce(pdu) && n->from->any)
        wrong(n, "VITCP-4.1-01", "a second answer to one Connect Request", "one answer");
    else if (!is_ce(pdu) && !n->from->any)
        wrong(n, "VITCP-2.2.2.1-04", "a PDU before the Connect Accept", "nothing before the connection");
    else if (is_ce(pdu) && n->informed &&
             (n->to->seen.setup != FCVI_PDU_CONNECT_REQUEST || n->to->setup_end > n->seen->acknowledged))
        wrong(n, "VITCP-4.1-01", "an answer before the Connect Request was received", "the request first");
}

void fcvi_vitcp_monitor_setup(const struct vitcp_now *n)
{
    if (n->from->seen.initiator == n->to->seen.initiator && n->to->seen.whole)
        return; /* who opened the TCP connection is not known, or both did */
    if (n->to->unsettled)
        return;
    if (n->from->seen.initiator)
        by_initiator(n);
    else
        by_acceptor(n);
    if (!is_ce(n->pdu->pdu) || n->m->breach || n->from->unsettled)
        return;
    take_ce(n);
    if (vitcp_is_set_up(n->m))
        compare(n);
}
