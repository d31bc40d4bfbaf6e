/* Messages and their segments (3.1, 2.2.2.2.3): numbers, Data Offset, lengths, what may stand between. */
#include "connection.h"

#define AT(F) FCVI_AT(0, SEG, F)

/* ---- Message Number ---- */

static unsigned type_of(uint8_t pdu)
{
    return pdu == FCVI_PDU_SEND ? 0 : pdu == FCVI_PDU_READ_REQUEST ? 1 : 2;
}

static void number_message(const struct vitcp_now *n, uint32_t number)
{
    struct vitcp_side *s = n->from;
    const unsigned type = type_of(n->pdu->pdu);
    unsigned fits = s->numbered ? 0 : VITCP_READINGS;
    if (number == s->last + 1)
        fits |= VITCP_ONE_COUNT;
    if (number == (uint32_t)(s->last + 1 + s->nops))
        fits |= VITCP_WITH_NOPS;
    if (!s->numbered_type[type] || number == s->last_type[type] + 1)
        fits |= VITCP_BY_TYPE;
    const unsigned was = s->readings, left = was & fits;
    const uint32_t next = s->last + 1;
    s->numbered = s->numbered_type[type] = true;
    s->last = s->last_type[type] = number;
    s->nops = 0;
    if (left == 0) {
        fcvi_vitcp_monitor_breach(n, AT(Message_Number), number, "VITCP-3.1-09",
                                  "Message Number does not rise by one", NULL, next);
        return;
    }
    if ((was & VITCP_ONE_COUNT) != 0 && (left & VITCP_ONE_COUNT) == 0)
        fcvi_vitcp_monitor_notice(n, AT(Message_Number), number, "VITCP-3.1-09",
                                  (left & VITCP_BY_TYPE) != 0 ? "V18" : "V17",
                                  "Message Number does not rise by one from message to message", next);
    s->readings = (uint8_t)left;
}

/* ---- RDMA Reads ---- */

static struct vitcp_read *find_read(struct vitcp_side *s, uint32_t number)
{
    for (unsigned i = 0; i < VITCP_RING; i++)
        if (s->reads[i].used && s->reads[i].number == number)
            return &s->reads[i];
    return NULL;
}

static void request(const struct vitcp_now *n, uint32_t number)
{
    struct vitcp_side *s = n->from;
    unsigned under_way = 1;
    struct vitcp_read *room = NULL;
    for (unsigned i = 0; i < VITCP_RING; i++) {
        under_way += s->reads[i].used;
        if (!s->reads[i].used && room == NULL)
            room = &s->reads[i];
    }
    if (room == NULL) {
        s->unread = true;
        return;
    }
    *room = (struct vitcp_read){true, number, (uint32_t)fcvi_RDMA_RDMA_Length(n->pdu->rdma), n->seen->end};
    const bool agreed = vitcp_is_set_up(n->m) && n->informed && !s->unread;
    if (agreed && !n->from->seen.reliable && !n->to->seen.reliable)
        fcvi_vitcp_monitor_notice(n, fcvi_vitcp_monitor_place("Type/Flags", 1, 1),
                                  fcvi_SEG_Type_Flags(n->pdu->bytes), "VITCP-2.2.2.1-06", "V51",
                                  "an RDMA Read on an unreliable connection", 0);
    else if (agreed && under_way > n->to->window)
        fcvi_vitcp_monitor_notice(n, AT(Message_Number), under_way, "VITCP-2.2.2.2.6-02", "V24",
                                  "more RDMA Reads are under way than the other end takes", n->to->window);
}

/* ---- segments of one message ---- */

static uint64_t length_without(const struct vitcp_now *n)
{
    return (uint64_t)n->pdu->length - FCVI_SEG_LENGTH;
}

static void begin(const struct vitcp_now *n, struct vitcp_message *m, uint32_t number)
{
    const struct fcvi_pdu *p = n->pdu;
    *m = (struct vitcp_message){.open = true, .with_header = true, .pdu = p->pdu, .number = number};
    m->without_header = p->pdu != FCVI_PDU_SEND;
    m->total = p->rdma != NULL ? fcvi_RDMA_RDMA_Length(p->rdma) : UINT64_MAX;
    if (p->rdma != NULL) {
        m->address = fcvi_RDMA_RDMA_Address(p->rdma);
        m->handle = (uint32_t)fcvi_RDMA_Registered_Memory_Handle(p->rdma);
    }
    const uint64_t offset = fcvi_SEG_Data_Offset(p->bytes);
    if (offset != 0)
        fcvi_vitcp_monitor_breach(n, AT(Data_Offset), offset, "VITCP-3.1-13",
                                  "Data Offset of the first segment of a message is not zero", NULL, 0);
    m->sum = m->sum_without = p->data_length;
    m->segments = 1;
}

/* An RDMA Write of several segments is one operation (3.2.1): the headers of all say where it goes and how
 * long it is. An address that goes on with the data is the other reading (V10). What the bytes are that look
 * like a header is certain only when the message has ended. */
static void note_target(const struct vitcp_now *n, struct vitcp_message *m, uint64_t offset)
{
    const uint8_t *rdma = n->pdu->rdma;
    const uint64_t length = fcvi_RDMA_RDMA_Length(rdma), address = fcvi_RDMA_RDMA_Address(rdma);
    const uint64_t handle = fcvi_RDMA_Registered_Memory_Handle(rdma);
    if (m->odd != VITCP_SAME)
        return;
    if (length != m->total)
        m->odd = VITCP_OTHER_LENGTH;
    else if (handle != m->handle)
        m->odd = VITCP_OTHER_HANDLE;
    else if (address != m->address && address != m->address + offset)
        m->odd = VITCP_OTHER_ADDRESS;
    m->odd_value = m->odd == VITCP_OTHER_LENGTH ? length : m->odd == VITCP_OTHER_HANDLE ? handle : address;
}

static void same_target(const struct vitcp_now *n, const struct vitcp_message *m)
{
    static const struct {
        const char *id, *words, *field;
        uint16_t byte, size;
    } odd[] = {
        [VITCP_OTHER_LENGTH] = {"VITCP-3.2.1-04", "RDMA Length changes within the message", "RDMA Length",
                                FCVI_RDMA_RDMA_Length_BYTE, 4},
        [VITCP_OTHER_HANDLE] = {"VITCP-3.2.1-03", "Registered Memory Handle changes within the message",
                                "Registered Memory Handle", FCVI_RDMA_Registered_Memory_Handle_BYTE, 4},
        [VITCP_OTHER_ADDRESS] = {"VITCP-3.2.1-02", "RDMA Address changes within the message", "RDMA Address",
                                 FCVI_RDMA_RDMA_Address_BYTE, 8},
    };
    const uint64_t first[] = {[VITCP_OTHER_LENGTH] = m->total,
                              [VITCP_OTHER_HANDLE] = m->handle,
                              [VITCP_OTHER_ADDRESS] = m->address};
    const bool certain =
        m->with_header && m->sum == m->total && !(m->without_header && m->sum_without == m->total);
    if (m->odd == VITCP_SAME || !certain)
        return;
    fcvi_vitcp_monitor_breach(n,
                              fcvi_vitcp_monitor_place(odd[m->odd].field,
                                                       (uint16_t)(FCVI_SEG_LENGTH + odd[m->odd].byte),
                                                       odd[m->odd].size),
                              m->odd_value, odd[m->odd].id, odd[m->odd].words, NULL, first[m->odd]);
}

static void without_headers(const struct vitcp_now *n, const struct vitcp_message *m)
{
    fcvi_vitcp_monitor_notice(n, AT(Data_Offset), fcvi_SEG_Data_Offset(n->pdu->bytes), "VITCP-3-05", "V10",
                              "RDMA segments behind the first have no RDMA Header", m->sum);
}

static void go_on(const struct vitcp_now *n, struct vitcp_message *m)
{
    const struct fcvi_pdu *p = n->pdu;
    const uint64_t offset = fcvi_SEG_Data_Offset(p->bytes);
    const bool with = m->with_header && offset == (uint32_t)m->sum;
    const bool without = m->without_header && offset == (uint32_t)m->sum_without;
    if (!with && !without) {
        const bool headers = offset == (uint32_t)(m->sum + (uint64_t)m->segments * p->headers);
        fcvi_vitcp_monitor_breach(n, AT(Data_Offset), offset, headers ? "VITCP-3.1-15" : "VITCP-3.1-14",
                                  headers ? "Data Offset counts the headers of the segments before"
                                          : "Data Offset is not the number of bytes of the message before",
                                  NULL, m->sum);
        return;
    }
    if (!with && m->with_header)
        without_headers(n, m);
    if (with && p->pdu == FCVI_PDU_WRITE && p->rdma != NULL)
        note_target(n, m, offset);
    m->with_header = with && (p->pdu == FCVI_PDU_SEND || p->rdma != NULL);
    m->without_header = without;
    m->sum += p->data_length;
    m->sum_without += length_without(n);
    m->segments = m->segments < UINT8_MAX ? m->segments + 1 : m->segments;
}

/* The fewest bytes that the message has by any reading that is left. */
static uint64_t bytes_of(const struct vitcp_message *m)
{
    return m->with_header ? m->sum : m->sum_without;
}

static bool has(const struct vitcp_message *m, uint64_t total)
{
    return (m->with_header && m->sum == total) || (m->without_header && m->sum_without == total);
}

static void end_write(const struct vitcp_now *n, const struct vitcp_message *m)
{
    if (m->with_header && m->sum != m->total && m->sum_without == m->total && !m->failed)
        without_headers(n, m);
    if (m->segments > 1 && !has(m, m->total) && !m->failed)
        fcvi_vitcp_monitor_breach(
            n, fcvi_vitcp_monitor_place("Segment Length", FCVI_SEG_Segment_Length_BYTE, 2), bytes_of(m),
            "VITCP-3.2.1-04", "RDMA Length is not the number of bytes of the message", NULL, m->total);
    else if (m->segments > 1 && !m->failed)
        same_target(n, m);
}

static void end_response(const struct vitcp_now *n, const struct vitcp_message *m, struct vitcp_read *r)
{
    if (r != NULL && !has(m, r->length) && !m->failed)
        fcvi_vitcp_monitor_breach(
            n, fcvi_vitcp_monitor_place("Segment Length", FCVI_SEG_Segment_Length_BYTE, 2), bytes_of(m),
            "VITCP-3.2.1-06", "the RDMA Read Response has not as many bytes as were asked for", NULL,
            r->length);
    if (r != NULL)
        r->used = false;
}

/* 3.2: agreed is the smaller one (V25, V26); 0 is not judged (V27). */
static void measure(const struct vitcp_now *n, const struct vitcp_message *m, uint64_t before)
{
    if (!vitcp_is_set_up(n->m) || n->to->unsettled)
        return;
    uint64_t agreed = n->from->seen.mtu < n->to->seen.mtu ? n->from->seen.mtu : n->to->seen.mtu;
    if (agreed != 0 && before <= agreed && bytes_of(m) > agreed)
        fcvi_vitcp_monitor_breach(
            n, fcvi_vitcp_monitor_place("Segment Length", FCVI_SEG_Segment_Length_BYTE, 2), bytes_of(m),
            n->from->seen.initiator ? "VITCP-3.2-16" : "VITCP-3.2-14",
            "the message is longer than the agreed MTU Size", "at most the MTU Size agreed on", agreed);
}

/* V19: in the last segment at least, and the same in each. */
static void look_at_immediate(const struct vitcp_now *n, struct vitcp_message *m)
{
    const bool now = vitcp_get(n, FCVI_P_SEG_Immediate_Data_Valid) != 0;
    const uint32_t value = (uint32_t)fcvi_SEG_Immediate_Data(n->pdu->bytes);
    if (now && m->immediate && value != m->immediate_data)
        fcvi_vitcp_monitor_notice(n, AT(Immediate_Data), value, "VITCP-3.1-06", "V19",
                                  "Immediate Data is not that of the segments before", m->immediate_data);
    if (now && !m->immediate) {
        m->immediate = true;
        m->immediate_data = value;
        m->immediate_now = true;
    }
    if (!now && m->immediate && vitcp_get(n, FCVI_P_SEG_End_of_Message) != 0)
        fcvi_vitcp_monitor_notice(n, fcvi_vitcp_monitor_place("Type/Flags", 1, 1),
                                  fcvi_SEG_Type_Flags(n->pdu->bytes), "VITCP-3.1-06", "V19",
                                  "the last segment has no Immediate Data, and another has", 1);
}

static bool is_failed(const struct vitcp_now *n)
{
    return vitcp_get(n, FCVI_P_SEG_Transmit_Error) != 0 || fcvi_SEG_Remote_Error_Code(n->pdu->bytes) != 0;
}

static struct vitcp_mark *newest(struct vitcp_marks *marks)
{
    return marks->count == 0 ? NULL : &marks->mark[(marks->first + marks->count - 1) % VITCP_RING];
}

/* A message is on its way: it ends where its last segment does, or where the next one begins. */
static void note_begin(const struct vitcp_now *n, uint32_t number)
{
    struct vitcp_side *s = n->from;
    struct vitcp_mark out, *last = newest(&s->sent);
    if (last != NULL && last->end == UINT64_MAX)
        last->end = n->seen->begin;
    fcvi_vitcp_monitor_mark(&s->sent, (struct vitcp_mark){n->seen->begin, UINT64_MAX, number}, &out);
    if (out.end != 0) {
        s->known = s->begun = (uint32_t)out.value;
        s->has_known = s->has_begun = true;
    }
}

static bool is_of(const struct vitcp_message *m, const struct fcvi_pdu *p)
{
    return m->open && m->pdu == p->pdu && m->number == (uint32_t)fcvi_SEG_Message_Number(p->bytes);
}

bool fcvi_vitcp_monitor_later(const struct fcvi_vitcp_monitor *m, unsigned direction,
                              const struct fcvi_pdu *p)
{
    const struct vitcp_side *s = &m->side[direction];
    return is_of(&s->message, p) || is_of(&s->response, p);
}

static void message(const struct vitcp_now *n, uint32_t number)
{
    struct vitcp_side *s = n->from;
    struct vitcp_message *m = &s->message;
    const bool same = is_of(m, n->pdu);
    const uint64_t before = same ? bytes_of(m) : 0;
    m->immediate_now = false;
    if (same) {
        go_on(n, m);
    } else {
        if (m->open && !m->failed)
            fcvi_vitcp_monitor_breach(n, AT(Message_Number), number, "VITCP-2.2.2.2.3-08",
                                      "a message begins before the end of the message before", NULL,
                                      m->number);
        else
            number_message(n, number);
        if (n->m->breach)
            return;
        begin(n, m, number);
        note_begin(n, number);
        m->immediate_now = n->pdu->pdu == FCVI_PDU_SEND; /* it consumes a receive Descriptor anyway */
        if (n->pdu->pdu == FCVI_PDU_READ_REQUEST) {
            request(n, number);
            m->open = false; /* V12 */
        }
    }
    if (n->m->breach)
        return;
    m->failed |= vitcp_get(n, FCVI_P_SEG_Transmit_Error) != 0;
    const bool last = vitcp_get(n, FCVI_P_SEG_End_of_Message) != 0 || n->pdu->pdu == FCVI_PDU_READ_REQUEST;
    if (n->pdu->pdu != FCVI_PDU_READ_REQUEST) {
        const bool sending = m->immediate_now;
        look_at_immediate(n, m);
        m->immediate_now = n->pdu->pdu == FCVI_PDU_SEND ? sending : m->immediate_now;
        measure(n, m, before);
        if (m->pdu == FCVI_PDU_WRITE && last && !n->m->breach)
            end_write(n, m);
    }
    if (!n->m->breach && m->immediate_now)
        fcvi_vitcp_monitor_credit(n);
    if (last) {
        struct vitcp_mark *mark = newest(&s->sent);
        m->open = false;
        if (mark != NULL)
            mark->end = n->seen->end;
    }
}

static void respond(const struct vitcp_now *n, uint32_t number)
{
    struct vitcp_message *m = &n->from->response;
    struct vitcp_read *r = n->to->unsettled ? NULL : find_read(n->to, number);
    if (is_of(m, n->pdu)) {
        go_on(n, m);
    } else {
        const bool unasked = n->informed && !n->to->unread && (r == NULL || r->end > n->seen->acknowledged);
        if (unasked)
            fcvi_vitcp_monitor_breach(
                n, AT(Message_Number), number, "VITCP-3.1-17",
                "an RDMA Read Response has the number of no RDMA Read Request under way",
                "that of its request", 0);
        else if (m->open && !m->failed)
            fcvi_vitcp_monitor_breach(n, AT(Message_Number), number, "VITCP-2.2.2.2.3-10",
                                      "an RDMA Read Response begins before the end of the one before", NULL,
                                      m->number);
        if (n->m->breach)
            return;
        if (r == NULL)
            n->to->unread = true; /* its request comes later in the capture, or never */
        begin(n, m, number);
    }
    m->failed |= is_failed(n);
    if (n->m->breach || vitcp_get(n, FCVI_P_SEG_End_of_Message) == 0)
        return;
    end_response(n, m, r);
    m->open = false;
}

void fcvi_vitcp_monitor_segment(const struct vitcp_now *n)
{
    const uint32_t number = (uint32_t)fcvi_SEG_Message_Number(n->pdu->bytes);
    switch (n->pdu->pdu) {
    case FCVI_PDU_SEND:
    case FCVI_PDU_READ_REQUEST:
    case FCVI_PDU_WRITE:
        message(n, number);
        break;
    case FCVI_PDU_READ_RESPONSE:
        respond(n, number);
        break;
    case FCVI_PDU_NOP:
        n->from->nops++;
        if (n->from->message.open && !n->from->message.failed)
            fcvi_vitcp_monitor_notice(n, fcvi_vitcp_monitor_place("Type/Flags", 1, 1),
                                      fcvi_SEG_Type_Flags(n->pdu->bytes), "VITCP-2.2.2.2.3-08", "V80",
                                      "a NOP before the end of a message", n->from->message.number);
        break;
    default:
        break;
    }
}
