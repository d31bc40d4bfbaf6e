/* Messages of the VI: which Descriptor is next, when it may go, and when it is over (2.2.2.2.3, 3.1). */
#include "stream.h"

/* The status bit with which a Descriptor fails before anything of it is sent (VI-DG 5.2). */
static uint32_t fault_of(struct fcvi_port *p, const struct stream *s, const struct entry *e)
{
    if (e->fault != 0)
        return e->fault;
    if (e->op == FCVI_RDMA_READ && !s->reliable)
        return FCVI_STATUS_FORMAT_ERROR; /* V51 */
    if (e->op == FCVI_RDMA_READ && s->tx.window == 0)
        return FCVI_STATUS_RDMA_PROT_ERROR; /* the other side takes none (V69) */
    if (e->length > s->mtu)
        return FCVI_STATUS_LENGTH_ERROR;
    return fcvi_vi_descriptor_in_memory(p, vi_at(p, s->vi), e, UINT32_MAX) ? 0 : FCVI_STATUS_PROTECTION_ERROR;
}

static bool consumes(const struct entry *e)
{
    return e->op == FCVI_SEND || (e->op == FCVI_RDMA_WRITE && e->has_immediate);
}

/* On Reliable Reception an RDMA Write behind an RDMA Read may have no effect before the Read has completed; a
 * Send may pass, as its receiver holds it (VI-ARCH 6.3.1). */
static bool must_wait(const struct stream *s, const struct vi *vi, const struct entry *e)
{
    bool fenced =
        e->fence || (vi->attributes.reliability == FCVI_RELIABLE_RECEPTION && e->op == FCVI_RDMA_WRITE);
    if (fenced && s->tx.reads > 0)
        return true;
    if (e->op == FCVI_RDMA_READ)
        return s->tx.reads >= s->tx.window && s->tx.window != 0; /* V24 */
    return consumes(e) && !fcvi_vitcp_credit_left(s);
}

/* Descriptors before this one have not completed. */
static bool open_messages(struct fcvi_port *p, const struct vi *vi)
{
    return vi->send.pending != NONE && vi->send.pending != vi->send.fresh &&
           entry_at(p, vi->send.pending)->state == ENTRY_POSTED;
}

/* Begin the message of the next Descriptor; false when none may begin now. */
bool fcvi_vitcp_message_begin(struct fcvi_port *p, struct stream *s)
{
    struct vi *vi = vi_at(p, s->vi);
    struct entry *e;
    while ((e = fcvi_vi_queue_head(p, &vi->send)) != NULL) {
        uint32_t fault = fault_of(p, s, e);
        if (fault != 0) {
            if (s->reliable && open_messages(p, vi))
                return false; /* those before it come to their end first */
            fcvi_vi_queue_take(p, &vi->send);
            fcvi_vi_entry_finish(p, vi, false, e, fault, 0);
            if (s->reliable) {
                fcvi_vitcp_fail(p, s, true);
                return false;
            }
            continue;
        }
        if (must_wait(s, vi, e))
            return false;
        s->tx.entry = vi->send.fresh;
        s->tx.offset = 0;
        fcvi_vi_queue_take(p, &vi->send);
        e->begun = true;
        e->msg_id = s->tx.next_number++;
        s->tx.reads = (uint16_t)(s->tx.reads + (e->op == FCVI_RDMA_READ));
        s->tx.used = (uint16_t)(s->tx.used + consumes(e));
        return true;
    }
    return false;
}

/* All of a message is out. On a reliable connection an ACK or the data of a Read complete it. */
void fcvi_vitcp_message_sent(struct fcvi_port *p, struct stream *s)
{
    struct vi *vi = vi_at(p, s->vi);
    struct entry *e = entry_at(p, s->tx.entry);
    bool failed = s->tx.failed;
    s->tx.entry = NONE;
    if (failed)
        fcvi_vi_entry_finish(p, vi, false, e, FCVI_STATUS_PROTECTION_ERROR, 0);
    else if (!s->reliable)
        fcvi_vi_entry_finish(p, vi, false, e, 0, e->length);
    if (failed && s->reliable)
        fcvi_vitcp_fail(p, s, true);
}
