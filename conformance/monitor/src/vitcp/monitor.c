/* One connection: what comes in, and what is kept of it. */
#include "connection.h"

#include <string.h>

size_t fcvi_vitcp_monitor_size(void)
{
    return sizeof(struct fcvi_vitcp_monitor);
}

struct fcvi_vitcp_monitor *fcvi_vitcp_monitor_init(void *memory, const struct fcvi_profile *profile)
{
    struct fcvi_vitcp_monitor *m = memory;
    memset(m, 0, sizeof *m);
    m->profile = profile;
    for (unsigned i = 0; i < 2; i++) {
        m->side[i].seen.setup = FCVI_PDU_NONE;
        m->side[i].readings = VITCP_READINGS;
    }
    return m;
}

void fcvi_vitcp_monitor_opened(struct fcvi_vitcp_monitor *m, unsigned direction, bool whole, bool initiator)
{
    m->side[direction].seen.whole = whole;
    m->side[direction].seen.initiator = initiator;
}

void fcvi_vitcp_monitor_tester(struct fcvi_vitcp_monitor *m, unsigned direction)
{
    m->side[direction].tester = true;
}

void fcvi_vitcp_monitor_lost(struct fcvi_vitcp_monitor *m, unsigned direction)
{
    m->side[direction].seen.lost = true;
}

const struct fcvi_vitcp_side *fcvi_vitcp_monitor_side(const struct fcvi_vitcp_monitor *m, unsigned direction)
{
    return &m->side[direction].seen;
}

const char *fcvi_vitcp_unjudged_text(enum fcvi_vitcp_unjudged reason)
{
    switch (reason) {
    case FCVI_VITCP_SETUP:
        return "the setup of the connection of VI/TCP may not be in the capture";
    case FCVI_VITCP_PROFILE:
        return "the connection has numbers that are not the profile's";
    case FCVI_VITCP_BREACH:
        return "a rule of VI/TCP was broken before on the connection";
    default:
        return "";
    }
}

/* ---- what the other end has received ---- */

static void know(struct vitcp_side *s, const struct vitcp_mark *mark)
{
    s->known = s->begun = (uint32_t)mark->value;
    s->has_known = s->has_begun = true;
}

/* The sender of what is judged now had received so much of the other direction. */
static void receive(struct vitcp_side *s, uint64_t acknowledged)
{
    struct vitcp_marks *c = &s->counts;
    while (c->count > 0 && c->mark[c->first].end <= acknowledged) {
        s->count_known = c->mark[c->first].value;
        c->first = (c->first + 1) % VITCP_RING;
        c->count--;
    }
    struct vitcp_marks *t = &s->sent;
    while (t->count > 0 && t->mark[t->first].end <= acknowledged) {
        know(s, &t->mark[t->first]);
        t->first = (t->first + 1) % VITCP_RING;
        t->count--;
    }
    if (t->count > 0 && t->mark[t->first].begin < acknowledged) {
        s->begun = (uint32_t)t->mark[t->first].value;
        s->has_begun = true;
    }
}

/* 3.1: modulo 2^16. An older one may come behind a newer (V61). */
static void take_count(struct vitcp_side *s, uint64_t end, uint16_t posted)
{
    uint64_t count = posted;
    if (s->counted) {
        const uint16_t more = (uint16_t)(posted - (uint16_t)s->count);
        if (more == 0 || more > INT16_MAX)
            return;
        count = s->count + more;
    }
    struct vitcp_mark out;
    s->counted = true;
    s->count = count;
    fcvi_vitcp_monitor_mark(&s->counts, (struct vitcp_mark){end, end, count}, &out);
    if (out.end != 0)
        s->count_known = out.value;
}

static bool is_message(uint8_t pdu)
{
    return pdu == FCVI_PDU_SEND || pdu == FCVI_PDU_READ_REQUEST || pdu == FCVI_PDU_WRITE;
}

static void keep(struct vitcp_side *s, const struct vitcp_now *n)
{
    struct vitcp_header *h = &s->headers[s->header++ % VITCP_HEADERS];
    h->begin = n->seen->begin;
    memcpy(h->bytes, n->pdu->bytes, FCVI_SEG_LENGTH);
    /* the other end may use the count as soon as it has it, before the rest of the PDU arrives */
    const uint64_t told = n->seen->begin + FCVI_SEG_Rx_Descriptors_Posted_BYTE + sizeof(uint16_t);
    take_count(s, told, (uint16_t)fcvi_SEG_Rx_Descriptors_Posted(n->pdu->bytes));
    if (!is_message(n->pdu->pdu))
        s->borrowed[s->borrowings++ % VITCP_BORROWED] = (uint32_t)fcvi_SEG_Message_Number(n->pdu->bytes);
}

/* ---- numbers of another profile ---- */

static bool names(const struct fcvi_profile *p, uint64_t error)
{
    for (unsigned i = 0; i < FCVI_VI_ERROR_COUNT; i++)
        if (p->errors[i] == error)
            return true;
    return false;
}

static bool is_foreign(const struct vitcp_now *n)
{
    const struct fcvi_profile *p = n->m->profile;
    uint16_t attributes = 0;
    for (unsigned i = FCVI_P_CE_Peer_to_Peer; i < FCVI_P_COUNT; i++)
        attributes |= p->bits[i];
    return n->pdu->pdu == FCVI_PDU_NONE || fcvi_SEG_Version(n->pdu->bytes) != p->version ||
           !names(p, vitcp_get(n, FCVI_P_SEG_VI_Error_Type)) ||
           (n->pdu->ce != NULL && (fcvi_CE_Calling_Attributes(n->pdu->ce) & ~(uint64_t)attributes) != 0);
}

/* ---- PDUs ---- */

static void count(struct vitcp_side *s, const struct vitcp_now *n)
{
    const struct fcvi_pdu *p = n->pdu;
    s->seen.pdus[p->pdu]++;
    s->seen.data += p->ce == NULL ? p->data_length : 0;
    s->seen.errors += vitcp_get(n, FCVI_P_SEG_VI_Error_Type) != n->m->profile->errors[FCVI_VI_ERROR_NONE];
    if (is_message(p->pdu) && fcvi_SEG_Data_Offset(p->bytes) == 0)
        s->seen.messages++;
    const bool last = vitcp_get(n, FCVI_P_SEG_End_of_Message) != 0;
    if (p->pdu == FCVI_PDU_READ_RESPONSE) {
        s->seen.responding = !last;
        s->seen.responses += last;
    } else if (is_message(p->pdu)) {
        s->seen.open = !last && p->pdu != FCVI_PDU_READ_REQUEST;
    }
}

enum fcvi_vitcp_unjudged fcvi_vitcp_monitor_pdu(struct fcvi_vitcp_monitor *m,
                                                const struct fcvi_vitcp_seen *seen,
                                                struct fcvi_findings *findings)
{
    struct vitcp_now n = {
        m, &m->side[seen->direction], &m->side[1 - seen->direction], seen, seen->pdu, findings, false};
    count(n.from, &n);
    n.informed = seen->acknowledges && !n.to->unsettled && n.from->seen.whole && n.to->seen.whole &&
                 !n.to->seen.lost && seen->acknowledged <= seen->delivered;
    const bool before = m->breach;
    if (n.from->tester)
        n.from->unsettled |= is_foreign(&n) || seen->worst > 1u + FCVI_NOTICE;
    else
        m->foreign |= is_foreign(&n);
    enum fcvi_vitcp_unjudged reason = FCVI_VITCP_JUDGED;
    if (m->foreign)
        reason = FCVI_VITCP_PROFILE;
    else if (before)
        reason = FCVI_VITCP_BREACH;
    else if (!n.from->seen.whole)
        reason = FCVI_VITCP_SETUP;
    m->breach |= !n.from->tester && seen->worst > 1u + FCVI_NOTICE;
    if (reason == FCVI_VITCP_JUDGED && !m->breach && !n.from->unsettled) {
        if (seen->acknowledges)
            receive(n.to, seen->acknowledged);
        fcvi_vitcp_monitor_setup(&n);
        keep(n.from, &n);
        if (!m->breach)
            fcvi_vitcp_monitor_segment(&n);
        if (!m->breach && vitcp_is_set_up(m) && n.pdu->ce == NULL)
            fcvi_vitcp_monitor_acknowledgement(&n);
    }
    n.from->any = true;
    return reason;
}

/* ---- what came again ---- */

void fcvi_vitcp_monitor_again(struct fcvi_vitcp_monitor *m, unsigned direction, uint64_t begin,
                              const uint8_t *bytes, size_t length, struct fcvi_findings *findings)
{
    enum { COUNT = FCVI_SEG_Rx_Descriptors_Posted_BYTE };
    struct vitcp_side *s = &m->side[direction];
    const struct vitcp_header *oldest = &s->headers[s->header % VITCP_HEADERS];
    if (s->header > VITCP_HEADERS && begin < oldest->begin)
        m->side[1 - direction].uncounted = true; /* what it says to the other end is not known */
    for (unsigned i = 0; i < VITCP_HEADERS && i < s->header; i++) {
        const struct vitcp_header *h = &s->headers[i];
        for (size_t k = 0; k < FCVI_SEG_LENGTH; k++) {
            const uint64_t at = h->begin + k;
            if (at < begin || at >= begin + length || bytes[at - begin] == h->bytes[k])
                continue;
            if (k == COUNT || k == COUNT + 1) {
                m->side[1 - direction].uncounted =
                    true; /* 2.2.2.2.5: a newer one, and it may have been cut */
                continue;
            }
            fcvi_report_parts(findings, fcvi_vitcp_monitor_place("Segment Header", (uint16_t)k, 1),
                              bytes[at - begin], FCVI_NOTICE, "VITCP-2.2.2.2.5-02", "V44",
                              "a retransmission has another byte than the original", NULL, h->bytes[k]);
            m->breach = true; /* which of the two the other end took is not known */
            return;
        }
    }
}
