/* Credits, Message ACK and VI Error Type (3.1). */
#include "connection.h"

/* 3.1: with flow control in effect (both flags, V22) a message that consumes a receive Descriptor waits for
 * one. What the sender could know is what it had acknowledged. */
void fcvi_vitcp_monitor_credit(const struct vitcp_now *n)
{
    struct vitcp_side *s = n->from;
    s->consumers++;
    if (!vitcp_is_set_up(n->m) || !s->seen.flow_control || !n->to->seen.flow_control)
        return;
    if (!n->informed || s->uncounted || s->consumers <= n->to->count_known)
        return;
    fcvi_vitcp_monitor_breach(
        n, fcvi_vitcp_monitor_place("Type/Flags", 1, 1), s->consumers, "VITCP-3.1-23",
        "a message that consumes a receive Descriptor without one that the other end told of",
        "at most as many as Rx Descriptors Posted", n->to->count_known);
}

static bool is_borrowed(const struct vitcp_side *s, uint32_t number)
{
    for (unsigned i = 0; i < VITCP_BORROWED && i < s->borrowings; i++)
        if (s->borrowed[i] == number)
            return true;
    return s->borrowings > VITCP_BORROWED; /* more than are kept */
}

/* 3.1: at Reliable Delivery Message ACK is undefined, and what passes does not tell that level from Reliable
 * Reception (V14). */
void fcvi_vitcp_monitor_acknowledgement(const struct vitcp_now *n)
{
    struct vitcp_side *s = n->from, *o = n->to;
    const uint64_t error = vitcp_get(n, FCVI_P_SEG_VI_Error_Type);
    const bool none = error == n->m->profile->errors[FCVI_VI_ERROR_NONE];
    const uint32_t ack = (uint32_t)fcvi_SEG_Message_ACK(n->pdu->bytes);
    if (!s->seen.reliable && !o->seen.reliable) {
        if (!none)
            fcvi_vitcp_monitor_breach(
                n, fcvi_vitcp_monitor_place("Remote Error Code", FCVI_SEG_Remote_Error_Code_BYTE, 2), error,
                "VITCP-3.1-55", "a VI Error Type on an unreliable connection", "No Error", 0);
        return;
    }
    const bool judged = n->informed && s->seen.reliable && o->seen.reliable && !s->reported &&
                        (o->readings & VITCP_ONE_COUNT) != 0 && vitcp_get(n, FCVI_P_SEG_IS_Error_Code) == 0;
    s->reported |= !none;
    if (!judged || s->astray || is_borrowed(o, ack))
        return;
    const bool has = none ? o->has_known : o->has_begun;
    const uint32_t newest = none ? o->known : o->begun;
    s->astray = has && (int32_t)(ack - newest) > 0;
    if (s->astray)
        fcvi_vitcp_monitor_notice(n, FCVI_AT(0, SEG, Message_ACK), ack,
                                  none ? "VITCP-3.1-34" : "VITCP-3.1-35", "V14",
                                  none ? "Message ACK names a message that was not received"
                                       : "an error is reported for a message that was not received",
                                  newest);
}
