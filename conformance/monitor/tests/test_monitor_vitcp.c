/* The monitor of VI/TCP: PDUs put together byte by byte from the drawings of the draft (3.1, 3.2, 3.2.1) and
 * the numbers of profile T0. For each rule there is a connection that breaks it, and the same one that keeps
 * it. */
#include "../../../codec/tests/quiet_check.h"
#include <fcvi/vitcp_monitor.h>
#include <stdlib.h>
#include <string.h>

/* a PDU below is what is usual, and then what this test changes of it */
#pragma GCC diagnostic ignored "-Woverride-init"

enum {
    SEND = 1,
    READ,
    RESPONSE,
    WRITE,
    NOP,
    REQUEST,
    ACCEPT,
    REJECT,
    NO_MATCH /* Types */
};
enum { IMMEDIATE = 1, END = 2, FAILED = 4 };                    /* Flags */
enum { RELIABLE = 1, RDMA_WRITE = 2, RDMA_READ = 4, FLOW = 8 }; /* Calling Attributes */
enum { SEGMENT = 24, CE = 68, RDMA = 40, LONGEST = 1024 };
enum { CLIENT, SERVER };
enum { ALL = -1, UNKNOWN = -2 }; /* what a PDU's TCP segment acknowledged: all that was sent, nothing said */

/** A PDU as a test writes it. */
struct said {
    uint8_t from, type, flags;
    uint32_t number, offset, data; /* data: bytes of it */
    uint32_t ack;
    uint16_t posted, error;
    uint32_t rdma_length, mtu, immediate;
    uint16_t attributes, window;
    int64_t acknowledged; /* bytes, or ALL or UNKNOWN */
    uint16_t gap;         /* bytes of its own direction that stand before it and were not seen */
};

struct tcp {
    struct fcvi_vitcp_monitor *monitor;
    uint64_t sent[2];
    struct fcvi_finding list[8];
    struct fcvi_findings findings;
    enum fcvi_vitcp_unjudged reason;
};

static void put(uint8_t *at, unsigned size, uint64_t value)
{
    for (unsigned i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

static size_t build(const struct said *s, uint8_t *out)
{
    bool ce = s->type >= REQUEST && s->type <= NO_MATCH, rdma = s->type >= READ && s->type <= WRITE;
    size_t headers = ce ? CE : rdma ? RDMA : SEGMENT;
    memset(out, 0, LONGEST);
    out[0] = 1;
    out[1] = (uint8_t)(s->type << 3 | s->flags);
    put(out + 2, 2, headers + s->data);
    put(out + 4, 4, s->offset);
    put(out + 8, 4, s->immediate);
    put(out + 12, 4, s->number);
    put(out + 16, 4, s->ack);
    put(out + 20, 2, s->posted);
    put(out + 22, 2, s->error);
    if (ce) {
        put(out + 24, 2, s->attributes);
        put(out + 26, 2, 4); /* Discriminators of four bytes */
        put(out + 28, 4, s->mtu);
        put(out + 48, 2, s->window);
        put(out + 50, 2, 4);
    }
    if (rdma)
        put(out + 36, 4, s->rdma_length);
    return headers + s->data;
}

static struct tcp *t_new(void)
{
    struct tcp *t = calloc(1, sizeof *t);
    t->monitor = fcvi_vitcp_monitor_init(malloc(fcvi_vitcp_monitor_size()), fcvi_profile_t0());
    t->findings = (struct fcvi_findings){t->list, 8, 0, 0};
    fcvi_vitcp_monitor_opened(t->monitor, CLIENT, true, true);
    fcvi_vitcp_monitor_opened(t->monitor, SERVER, true, false);
    return t;
}

static void t_free(struct tcp *t)
{
    free(t->monitor);
    free(t);
}

static void t_say(struct tcp *t, const struct said *s)
{
    uint8_t *bytes = malloc(LONGEST);
    size_t length = build(s, bytes);
    struct fcvi_pdu pdu;
    struct fcvi_findings of_codec = {NULL, 0, 0, 0};
    ck_assert_int_eq(fcvi_pdu_first(fcvi_profile_t0(), bytes, length, &pdu, NULL), FCVI_STREAM_PDU);
    pdu.later = fcvi_vitcp_monitor_later(t->monitor, s->from, &pdu);
    fcvi_pdu_check(&pdu, &of_codec);
    t->sent[s->from] += s->gap;
    uint64_t other = t->sent[!s->from];
    struct fcvi_vitcp_seen seen = {.pdu = &pdu,
                                   .direction = s->from,
                                   .begin = t->sent[s->from],
                                   .end = t->sent[s->from] + length,
                                   .acknowledges = s->acknowledged != UNKNOWN,
                                   .worst = of_codec.worst};
    if (seen.acknowledges)
        seen.acknowledged = s->acknowledged == ALL ? other : (uint64_t)s->acknowledged;
    seen.delivered = seen.acknowledged < other ? seen.acknowledged : other;
    t->sent[s->from] = seen.end;
    t->reason = fcvi_vitcp_monitor_pdu(t->monitor, &seen, &t->findings);
    free(bytes);
}

static const char *t_id(const struct tcp *t)
{
    return t->findings.count == 0 ? "" : t->list[0].requirement;
}

#define CLIENT_SAYS(...)                                                                                     \
    {                                                                                                        \
        .from = CLIENT, .acknowledged = ALL, .ack = NONE, __VA_ARGS__                                        \
    }
#define SERVER_SAYS(...)                                                                                     \
    {                                                                                                        \
        .from = SERVER, .acknowledged = ALL, .ack = NONE, __VA_ARGS__                                        \
    }
#define NONE 0xFFFFFFFFu /* what T0 says where no message was received (V16) */
#define ASKED(...) CLIENT_SAYS(.type = REQUEST, .number = 99, .mtu = 4096, .window = 2, __VA_ARGS__)
#define TAKEN(...) SERVER_SAYS(.type = ACCEPT, .number = 99, .mtu = 4096, .window = 1, __VA_ARGS__)
#define ANY .attributes = RELIABLE | RDMA_WRITE | RDMA_READ
#define PLAIN .attributes = RDMA_WRITE
#define CREDIT .attributes = RELIABLE | RDMA_WRITE | FLOW
#define SENDS(n, ...) CLIENT_SAYS(.type = SEND, .flags = END, .number = (n), .data = 8, __VA_ARGS__)
#define READS(n, ...) CLIENT_SAYS(.type = READ, .flags = END, .number = (n), .rdma_length = 8, __VA_ARGS__)
#define ANSWERS(n, ...)                                                                                      \
    SERVER_SAYS(.type = RESPONSE, .flags = END, .number = (n), .data = 8, .rdma_length = 8, __VA_ARGS__)

enum { PDUS = 8 };

static const struct {
    const char *title, *id; /* of what the last PDU breaks */
    uint8_t cls;
    struct said wrong[PDUS], right[PDUS];
} rules[] = {
    {"the client begins with another PDU",
     "VITCP-2.2.2.2.2-06",
     FCVI_VIOLATION,
     {SENDS(1)},
     {ASKED(ANY), TAKEN(ANY), SENDS(1)}},
    {"a second Connect Request",
     "VITCP-4.2-03",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY), ASKED(ANY)},
     {ASKED(ANY), TAKEN(ANY), CLIENT_SAYS(.type = NOP)}},
    {"the client answers itself",
     "VITCP-4.1-01",
     FCVI_VIOLATION,
     {ASKED(ANY), CLIENT_SAYS(.type = ACCEPT, ANY, .mtu = 4096)},
     {ASKED(ANY), TAKEN(ANY)}},
    {"data before the Connect Accept was received",
     "VITCP-2.2.2.1-04",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .acknowledged = CE - 1)},
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .acknowledged = CE)}},
    {"an answer before the Connect Request was received",
     "VITCP-4.1-01",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY, .acknowledged = CE - 1)},
     {ASKED(ANY), TAKEN(ANY, .acknowledged = CE)}},
    {"a PDU behind Connect Reject",
     "VITCP-4.3-08",
     FCVI_VIOLATION,
     {ASKED(ANY), SERVER_SAYS(.type = REJECT), SERVER_SAYS(.type = NOP)},
     {ASKED(ANY), SERVER_SAYS(.type = REJECT)}},
    {"a PDU behind Connect No Match",
     "VITCP-4.3-06",
     FCVI_VIOLATION,
     {ASKED(ANY), SERVER_SAYS(.type = NO_MATCH), SERVER_SAYS(.type = NOP)},
     {ASKED(ANY), SERVER_SAYS(.type = NO_MATCH)}},
    {"the server asks",
     "VITCP-4.1-01",
     FCVI_VIOLATION,
     {ASKED(ANY), SERVER_SAYS(.type = REQUEST, ANY, .mtu = 4096)},
     {ASKED(ANY), TAKEN(ANY)}},
    {"two answers",
     "VITCP-4.1-01",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY), TAKEN(ANY)},
     {ASKED(ANY), TAKEN(ANY), SERVER_SAYS(.type = NOP)}},
    {"the server sends before it has accepted",
     "VITCP-2.2.2.1-04",
     FCVI_VIOLATION,
     {ASKED(ANY), SERVER_SAYS(.type = NOP)},
     {ASKED(ANY), TAKEN(ANY), SERVER_SAYS(.type = NOP)}},
    {"more MTU than was proposed",
     "VITCP-3.2-15",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY, .mtu = 4097)},
     {ASKED(ANY), TAKEN(ANY, .mtu = 1)}},
    {"Reliable changes",
     "VITCP-2.2.1-06",
     FCVI_NOTICE,
     {ASKED(ANY), TAKEN(PLAIN)},
     {ASKED(PLAIN), TAKEN(PLAIN)}},
    {"a number is left out",
     "VITCP-3.1-09",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY), SENDS(0xFFFFFFFF), SENDS(1)},
     {ASKED(ANY), TAKEN(ANY), SENDS(0xFFFFFFFF), SENDS(0)}},
    {"each Type counts for itself (V18)",
     "VITCP-3.1-09",
     FCVI_NOTICE,
     {ASKED(ANY), TAKEN(ANY), SENDS(5), SENDS(6),
      CLIENT_SAYS(.type = WRITE, .flags = END, .number = 70, .data = 8, .rdma_length = 8)},
     {ASKED(ANY), TAKEN(ANY), SENDS(5), SENDS(6),
      CLIENT_SAYS(.type = WRITE, .flags = END, .number = 7, .data = 8, .rdma_length = 8)}},
    {"NOPs count (V17)",
     "VITCP-3.1-09",
     FCVI_NOTICE,
     {ASKED(ANY), TAKEN(ANY), SENDS(5), CLIENT_SAYS(.type = NOP, .number = 6), SENDS(7)},
     {ASKED(ANY), TAKEN(ANY), SENDS(5), CLIENT_SAYS(.type = NOP, .number = 6), SENDS(6)}},
    {"a message begins behind its beginning",
     "VITCP-3.1-13",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .offset = 8)},
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .offset = 0)}},
    {"Data Offset leaves bytes out",
     "VITCP-3.1-14",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .flags = 0), SENDS(1, .offset = 9)},
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .flags = 0), SENDS(1, .offset = 8)}},
    {"Data Offset counts the headers",
     "VITCP-3.1-15",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .flags = 0), SENDS(1, .offset = 8 + SEGMENT)},
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .flags = 0), SENDS(1, .offset = 8)}},
    {"RDMA segments without RDMA Header (V10)",
     "VITCP-3-05",
     FCVI_NOTICE,
     {ASKED(ANY), TAKEN(ANY), CLIENT_SAYS(.type = WRITE, .number = 1, .data = 8, .rdma_length = 56),
      CLIENT_SAYS(.type = WRITE, .flags = 0, .number = 1, .offset = 8, .data = 8, .rdma_length = 56),
      CLIENT_SAYS(.type = WRITE, .flags = END, .number = 1, .offset = 32, .data = 8, .rdma_length = 56)},
     {ASKED(ANY), TAKEN(ANY), CLIENT_SAYS(.type = WRITE, .number = 1, .data = 8, .rdma_length = 16),
      CLIENT_SAYS(.type = WRITE, .flags = END, .number = 1, .offset = 8, .data = 8, .rdma_length = 16)}},
    {"RDMA segments without RDMA Header behind an empty one (V10)",
     "VITCP-3-05",
     FCVI_NOTICE,
     {ASKED(ANY), TAKEN(ANY), CLIENT_SAYS(.type = WRITE, .number = 1, .rdma_length = 48),
      CLIENT_SAYS(.type = WRITE, .number = 1, .data = 8, .rdma_length = 48),
      CLIENT_SAYS(.type = WRITE, .flags = END, .number = 1, .offset = 24, .data = 8, .rdma_length = 48)},
     {ASKED(ANY), TAKEN(ANY), CLIENT_SAYS(.type = WRITE, .number = 1, .rdma_length = 16),
      CLIENT_SAYS(.type = WRITE, .number = 1, .data = 8, .rdma_length = 16),
      CLIENT_SAYS(.type = WRITE, .flags = END, .number = 1, .offset = 8, .data = 8, .rdma_length = 16)}},
    {"the last of two RDMA segments without RDMA Header (V10)",
     "VITCP-3-05",
     FCVI_NOTICE,
     {ASKED(ANY), TAKEN(ANY), CLIENT_SAYS(.type = WRITE, .number = 1, .rdma_length = 24),
      CLIENT_SAYS(.type = WRITE, .flags = END, .number = 1, .data = 8, .rdma_length = 24)},
     {ASKED(ANY), TAKEN(ANY), CLIENT_SAYS(.type = WRITE, .number = 1, .rdma_length = 8),
      CLIENT_SAYS(.type = WRITE, .flags = END, .number = 1, .data = 8, .rdma_length = 8)}},
    {"a NOP inside a message",
     "VITCP-2.2.2.2.3-08",
     FCVI_NOTICE,
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .flags = 0), CLIENT_SAYS(.type = NOP)},
     {ASKED(ANY), TAKEN(ANY), SENDS(1), CLIENT_SAYS(.type = NOP)}},
    {"a message begins within another",
     "VITCP-2.2.2.2.3-08",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .flags = 0), SENDS(2)},
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .flags = 0), SENDS(1, .offset = 8), CLIENT_SAYS(.type = NOP)}},
    {"RDMA Length is not what was sent",
     "VITCP-3.2.1-04",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY), CLIENT_SAYS(.type = WRITE, .number = 1, .data = 8, .rdma_length = 17),
      CLIENT_SAYS(.type = WRITE, .flags = END, .number = 1, .offset = 8, .data = 8, .rdma_length = 17)},
     {ASKED(ANY), TAKEN(ANY), CLIENT_SAYS(.type = WRITE, .number = 1, .data = 8, .rdma_length = 17),
      CLIENT_SAYS(.type = WRITE, .flags = END | FAILED, .number = 1, .offset = 8, .data = 8,
                  .rdma_length = 17)}},
    {"the client sends more than was agreed",
     "VITCP-3.2-16",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY, .mtu = 7), SENDS(1)},
     {ASKED(ANY), TAKEN(ANY, .mtu = 8), SENDS(1)}},
    {"the server sends more than was agreed",
     "VITCP-3.2-14",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY, .mtu = 7), SERVER_SAYS(.type = SEND, .flags = END, .number = 1, .data = 8)},
     {ASKED(ANY), TAKEN(ANY, .mtu = 0), SERVER_SAYS(.type = SEND, .flags = END, .number = 1, .data = 8)}},
    {"Immediate Data changes within a message (V19)",
     "VITCP-3.1-06",
     FCVI_NOTICE,
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .flags = IMMEDIATE, .immediate = 5),
      SENDS(1, .flags = IMMEDIATE | END, .offset = 8, .immediate = 6)},
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .flags = IMMEDIATE, .immediate = 5),
      SENDS(1, .flags = IMMEDIATE | END, .offset = 8, .immediate = 5)}},
    {"Immediate Data only at the beginning (V19)",
     "VITCP-3.1-06",
     FCVI_NOTICE,
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .flags = IMMEDIATE, .immediate = 5), SENDS(1, .offset = 8)},
     {ASKED(ANY), TAKEN(ANY), SENDS(1, .flags = 0), SENDS(1, .flags = END | IMMEDIATE, .offset = 8)}},
    {"a response to no Read",
     "VITCP-3.1-17",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY), READS(1), ANSWERS(2)},
     {ASKED(ANY), TAKEN(ANY), READS(1), ANSWERS(1)}},
    {"a response before its Read was received",
     "VITCP-3.1-17",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY), READS(1), ANSWERS(1, .acknowledged = CE + RDMA - 1)},
     {ASKED(ANY), TAKEN(ANY), READS(1), ANSWERS(1, .acknowledged = CE + RDMA)}},
    {"a response that is too short",
     "VITCP-3.2.1-06",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY), READS(1), ANSWERS(1, .data = 7)},
     {ASKED(ANY), TAKEN(ANY), READS(1), ANSWERS(1, .data = 7, .flags = END | FAILED)}},
    {"responses that interleave",
     "VITCP-2.2.2.2.3-10",
     FCVI_VIOLATION,
     {ASKED(ANY), TAKEN(ANY, .window = 2), READS(1), READS(2), ANSWERS(1, .data = 4, .flags = 0), ANSWERS(2)},
     {ASKED(ANY), TAKEN(ANY, .window = 2), READS(1), READS(2), ANSWERS(1, .data = 4, .flags = 0),
      ANSWERS(1, .data = 4, .offset = 4), ANSWERS(2)}},
    {"more Reads than the other end takes (V24)",
     "VITCP-2.2.2.2.6-02",
     FCVI_NOTICE,
     {ASKED(ANY), TAKEN(ANY), READS(1), READS(2)},
     {ASKED(ANY), TAKEN(ANY), READS(1), ANSWERS(1), READS(2)}},
    {"a Read on an unreliable connection (V51)",
     "VITCP-2.2.2.1-06",
     FCVI_NOTICE,
     {ASKED(PLAIN), TAKEN(PLAIN), READS(1)},
     {ASKED(PLAIN), TAKEN(PLAIN), SENDS(1)}},
    {"a message without a receive Descriptor",
     "VITCP-3.1-23",
     FCVI_VIOLATION,
     {ASKED(CREDIT), TAKEN(CREDIT, .posted = 1), SENDS(1), SENDS(2)},
     {ASKED(CREDIT), TAKEN(CREDIT, .posted = 1), SENDS(1),
      CLIENT_SAYS(.type = WRITE, .flags = END, .number = 2, .data = 8, .rdma_length = 8)}},
    {"a Write with Immediate Data takes one too",
     "VITCP-3.1-23",
     FCVI_VIOLATION,
     {ASKED(CREDIT), TAKEN(CREDIT, .posted = 1), SENDS(1),
      CLIENT_SAYS(.type = WRITE, .flags = END | IMMEDIATE, .number = 2, .data = 8, .rdma_length = 8)},
     {ASKED(CREDIT), TAKEN(CREDIT, .posted = 2), SENDS(1),
      CLIENT_SAYS(.type = WRITE, .flags = END | IMMEDIATE, .number = 2, .data = 8, .rdma_length = 8)}},
    {"the count is used before it has arrived",
     "VITCP-3.1-23",
     FCVI_VIOLATION,
     {ASKED(CREDIT, .posted = 1), TAKEN(CREDIT, .posted = 1), SENDS(1),
      SERVER_SAYS(.type = SEND, .flags = END, .number = 1, .data = 8, .posted = 2, .ack = 1),
      SENDS(2, .acknowledged = CE + 21)},
     /* a Segment Header says what it says before the data behind it have come */
     {ASKED(CREDIT, .posted = 1), TAKEN(CREDIT, .posted = 1), SENDS(1),
      SERVER_SAYS(.type = SEND, .flags = END, .number = 1, .data = 8, .posted = 2, .ack = 1),
      SENDS(2, .acknowledged = CE + 22)}},
    {"flow control that only one end wants (V22)",
     "VITCP-3.1-23",
     FCVI_VIOLATION,
     {ASKED(CREDIT), TAKEN(CREDIT), SENDS(1)},
     {ASKED(CREDIT), TAKEN(ANY), SENDS(1)}},
    {"an ACK of what was not received",
     "VITCP-3.1-34",
     FCVI_NOTICE, /* V14 */
     {ASKED(ANY), TAKEN(ANY), SENDS(1), SENDS(2), SENDS(3),
      SERVER_SAYS(.type = NOP, .ack = 2, .acknowledged = CE + 32)},
     {ASKED(ANY), TAKEN(ANY), SENDS(1), SENDS(2), SENDS(3),
      SERVER_SAYS(.type = NOP, .ack = 2, .acknowledged = CE + 64)}},
    {"an error of what was not received",
     "VITCP-3.1-35",
     FCVI_NOTICE, /* V14 */
     {ASKED(ANY), TAKEN(ANY), SENDS(1), SENDS(2),
      SERVER_SAYS(.type = NOP, .ack = 2, .error = 0x0200, .acknowledged = CE + 32)},
     {ASKED(ANY), TAKEN(ANY), SENDS(1), SENDS(2),
      SERVER_SAYS(.type = NOP, .ack = 2, .error = 0x0200, .acknowledged = CE + 33)}},
    {"an error on an unreliable connection",
     "VITCP-3.1-55",
     FCVI_VIOLATION,
     {ASKED(PLAIN), TAKEN(PLAIN), SENDS(1), SERVER_SAYS(.type = NOP, .ack = 1, .error = 0x0200)},
     {ASKED(PLAIN), TAKEN(PLAIN), SENDS(1), SERVER_SAYS(.type = NOP, .ack = 17)}},
};
enum { RULES = sizeof rules / sizeof rules[0] };

static unsigned count_of(const struct said *list)
{
    unsigned n = 0;
    while (n < PDUS && list[n].type != 0)
        n++;
    return n;
}

START_TEST(broken)
{
    struct tcp *t = t_new();
    unsigned n = count_of(rules[_i].wrong);
    for (unsigned i = 0; i < n; i++) {
        ck_assert_msg(t->findings.count == 0, "%s: PDU %u: %s", rules[_i].title, i, t_id(t));
        t_say(t, &rules[_i].wrong[i]);
    }
    ck_assert_msg(t->findings.count == 1 && strcmp(t_id(t), rules[_i].id) == 0, "%s: %s", rules[_i].title,
                  t_id(t));
    ck_assert_uint_eq(t->list[0].cls, rules[_i].cls);
    ck_assert_int_eq(t->reason, FCVI_VITCP_JUDGED);
    t_free(t);
}
END_TEST

START_TEST(kept)
{
    struct tcp *t = t_new();
    unsigned n = count_of(rules[_i].right);
    for (unsigned i = 0; i < n; i++) {
        t_say(t, &rules[_i].right[i]);
        ck_assert_msg(t->findings.count == 0, "%s: PDU %u: %s", rules[_i].title, i, t_id(t));
    }
    t_free(t);
}
END_TEST

/* What an end knew cannot be told: its segment acknowledges nothing, or bytes that are not in the capture.
 * Then nothing is judged that rests on what it knew. */
START_TEST(not_informed)
{
    static const char *const rest_on_it[] = {"VITCP-2.2.2.1-04", "VITCP-4.1-01", "VITCP-3.1-17",
                                             "VITCP-3.1-23",     "VITCP-3.1-34", "VITCP-3.1-35"};
    struct tcp *t = t_new();
    unsigned n = count_of(rules[_i].wrong);
    const struct said *last = &rules[_i].wrong[n - 1];
    bool rests = last->acknowledged != ALL;
    for (unsigned i = 0; i < sizeof rest_on_it / sizeof rest_on_it[0]; i++)
        rests = rests || (strcmp(rules[_i].id, rest_on_it[i]) == 0 && i > 1);
    for (unsigned i = 0; rests && i < n; i++) {
        struct said one = rules[_i].wrong[i];
        if (i == n - 1)
            one.acknowledged = UNKNOWN;
        t_say(t, &one);
        ck_assert_msg(t->findings.count == 0, "%s: %s", rules[_i].title, t_id(t));
    }
    t_free(t);
}
END_TEST

/* After a breach nothing more is judged, and the reason is told. */
START_TEST(after_a_breach)
{
    static const struct said list[] = {ASKED(ANY), TAKEN(ANY), SENDS(1), SENDS(3), SENDS(9)};
    struct tcp *t = t_new();
    for (unsigned i = 0; i < 5; i++)
        t_say(t, &list[i]);
    ck_assert_uint_eq(t->findings.count, 1);
    ck_assert_int_eq(t->reason, FCVI_VITCP_BREACH);
    ck_assert_str_ne(fcvi_vitcp_unjudged_text(t->reason), "");
    ck_assert_str_eq(fcvi_vitcp_unjudged_text(FCVI_VITCP_JUDGED), "");
    t_free(t);
}
END_TEST

/* A tester breaks rules on purpose: that is no finding, and the device at the other end is judged as before.
 */
START_TEST(tester)
{
    const struct said *list = rules[_i].wrong;
    const unsigned count = count_of(list), faulty = list[count - 1].from;
    for (unsigned of = 0; of < 2; of++) {
        struct tcp *t = t_new();
        fcvi_vitcp_monitor_tester(t->monitor, of);
        for (unsigned i = 0; i < count; i++)
            t_say(t, &list[i]);
        ck_assert_str_eq(t_id(t), of == faulty ? "" : rules[_i].id);
        t_free(t);
    }
}
END_TEST

/* What a tester says that has broken a rule means nothing to the device, whose own PDUs are judged. */
START_TEST(broken_by_tester)
{
    static const struct said list[] = {ASKED(ANY),
                                       TAKEN(ANY),
                                       SENDS(1),
                                       SENDS(5),
                                       READS(6),
                                       ANSWERS(77),
                                       SERVER_SAYS(.type = SEND, .flags = END, .number = 1),
                                       SERVER_SAYS(.type = SEND, .flags = END, .number = 9)};
    struct tcp *t = t_new();
    fcvi_vitcp_monitor_tester(t->monitor, CLIENT);
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_uint_eq(t->findings.count, 0);
        t_say(t, &list[i]);
    }
    ck_assert_str_eq(t_id(t), "VITCP-3.1-09");
    t_free(t);
}
END_TEST

/* Another profile's numbers: a version, a Type, an attribute, an error. */
START_TEST(another_profile)
{
    static const struct said foreign[] = {CLIENT_SAYS(.type = 30), CLIENT_SAYS(.type = NOP, .error = 0x7700),
                                          ASKED(.attributes = 0x8000)};
    struct tcp *t = t_new();
    t_say(t, &foreign[_i]);
    ck_assert_int_eq(t->reason, FCVI_VITCP_PROFILE);
    ck_assert_uint_eq(t->findings.count, 0);
    t_free(t);
}
END_TEST

/* A capture that begins in the middle of a connection. */
START_TEST(no_setup)
{
    static const struct said list[] = {SENDS(7), SENDS(9), SENDS(4)};
    struct tcp *t = t_new();
    fcvi_vitcp_monitor_init(t->monitor, fcvi_profile_t0());
    fcvi_vitcp_monitor_opened(t->monitor, CLIENT, false, false);
    fcvi_vitcp_monitor_opened(t->monitor, SERVER, false, false);
    for (unsigned i = 0; i < 3; i++)
        t_say(t, &list[i]);
    ck_assert_uint_eq(t->findings.count, 0);
    ck_assert_int_eq(t->reason, FCVI_VITCP_SETUP);
    t_free(t);
}
END_TEST

/* Bytes of the other direction are missing: what this end knew is not known any more. */
START_TEST(bytes_are_missing)
{
    static const struct said list[] = {ASKED(CREDIT), TAKEN(CREDIT, .posted = 1), SENDS(1), SENDS(2)};
    struct tcp *t = t_new();
    for (unsigned i = 0; i < 4; i++) {
        if (i == 3)
            fcvi_vitcp_monitor_lost(t->monitor, SERVER);
        t_say(t, &list[i]);
    }
    ck_assert_uint_eq(t->findings.count, 0);
    t_free(t);
}
END_TEST

/* 2.2.2.2.5: a Segment Header that comes again may have a newer count, and nothing else. */
static void come_again(struct tcp *t, unsigned byte, uint8_t change)
{
    static const struct said list[] = {ASKED(CREDIT), TAKEN(CREDIT, .posted = 1), SENDS(1)};
    uint8_t bytes[LONGEST];
    for (unsigned i = 0; i < 3; i++)
        t_say(t, &list[i]);
    build(&list[1], bytes);
    bytes[byte] ^= change;
    fcvi_vitcp_monitor_again(t->monitor, SERVER, byte, bytes + byte, SEGMENT - byte, &t->findings);
}

START_TEST(again)
{
    static const struct said second = SENDS(2);
    for (unsigned byte = 0; byte < SEGMENT; byte++) {
        struct tcp *t = t_new();
        bool count = byte == 20 || byte == 21;
        come_again(t, byte, 0x01);
        ck_assert_uint_eq(t->findings.count, count ? 0 : 1);
        if (!count) {
            ck_assert_str_eq(t_id(t), "VITCP-2.2.2.2.5-02");
            ck_assert_uint_eq(t->list[0].cls, FCVI_NOTICE);
        } else { /* how many Descriptors it was told of is open now */
            t_say(t, &second);
            ck_assert_uint_eq(t->findings.count, 0);
        }
        t_free(t);
    }
    struct tcp *t = t_new();
    come_again(t, 0, 0);
    ck_assert_uint_eq(t->findings.count, 0);
    t_say(t, &second);
    ck_assert_str_eq(t_id(t), "VITCP-3.1-23");
    t_free(t);
}
END_TEST

/* Rings that overflow accuse nobody: hundreds of messages, Reads and counts of which none is acknowledged. */
START_TEST(long_connection)
{
    static const struct said setup[] = {ASKED(CREDIT, .posted = 1000), TAKEN(CREDIT, .posted = 1000)};
    struct tcp *t = t_new();
    t_say(t, &setup[0]);
    t_say(t, &setup[1]);
    for (uint32_t n = 1; n <= 300; n++) {
        const struct said mine = SENDS(n, .posted = (uint16_t)(1000 + n), .acknowledged = CE),
                          theirs = SERVER_SAYS(.type = SEND, .flags = END, .number = n, .data = 8,
                                               .posted = (uint16_t)(1000 + n), .acknowledged = CE);
        t_say(t, &mine);
        t_say(t, &theirs);
    }
    ck_assert_msg(t->findings.count == 0, "%s", t_id(t));
    for (uint32_t n = 301; n <= 500; n++) {
        const struct said read =
            CLIENT_SAYS(.type = READ, .flags = END, .number = n, .rdma_length = 8, .acknowledged = UNKNOWN);
        t_say(t, &read);
    }
    const struct said answer = ANSWERS(500);
    t_say(t, &answer);
    ck_assert_msg(t->findings.count == 0, "%s", t_id(t));
    const struct fcvi_vitcp_side *side = fcvi_vitcp_monitor_side(t->monitor, CLIENT);
    ck_assert_uint_eq(side->messages, 500);
    ck_assert_uint_eq(side->data, 300 * 8);
    ck_assert_uint_eq(side->pdus[FCVI_PDU_SEND], 300);
    ck_assert(side->flow_control && side->reliable && side->whole && side->initiator);
    ck_assert_uint_eq(side->mtu, 4096);
    t_free(t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("monitor of VI/TCP");
    TCase *c = tcase_create("rules");
    tcase_add_loop_test(c, broken, 0, RULES);
    tcase_add_loop_test(c, kept, 0, RULES);
    tcase_add_loop_test(c, not_informed, 0, RULES);
    tcase_add_test(c, after_a_breach);
    tcase_add_loop_test(c, tester, 0, RULES);
    tcase_add_test(c, broken_by_tester);
    tcase_add_loop_test(c, another_profile, 0, 3);
    tcase_add_test(c, no_setup);
    tcase_add_test(c, bytes_are_missing);
    tcase_add_test(c, again);
    tcase_add_test(c, long_connection);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
