/* A conversation of VI/TCP whose segments the input divides, repeats, holds back, drops and overlaps.
 * Whatever comes of it, each record is counted once, every PDU that is reported is one of the conversation,
 * and nobody is accused of anything. Where nothing was lost all PDUs are there, each once and in order.
 * Overlapping segments with other bytes, resets and early ends only have to be borne. */
#include "oracle.h"
#include "tcp.h"

#include <fcvi/pdu.h>

enum { PATIENCE = 60 }; /* segments that wait for one before it is given up (harness/capture/streams.cc) */
enum { DIRECTIONS = 2, MOST = 6000, SENDS = 24, HELD = 16, HEADS = 40, PIECE = 1000, STEPS = 400 };
enum { FIN = 0x01, SYN = 0x02, RST = 0x04, ACK = 0x10 };

const char fcvi_fuzz_allocates = 1;

/* ---- the conversation ---- */

struct talk {
    uint8_t bytes[MOST];
    size_t length;
    size_t ends[SENDS + 2]; /* of its PDUs */
    size_t pdus;
};
static struct talk fuzz_said[DIRECTIONS];

static void number(uint8_t *at, size_t size, uint64_t value)
{
    while (size-- > 0) {
        at[size] = (uint8_t)value;
        value >>= 8;
    }
}

/* A PDU by profile T0: 3.1, and for the setup 3.2. */
static void say(struct talk *t, uint8_t type, uint32_t message, uint32_t ack, size_t length)
{
    uint8_t *pdu = t->bytes + t->length;
    bool setup = type >= 6;
    length = setup ? 68 : 24 + length;
    number(pdu, 1, 1);
    number(pdu + 1, 1, (uint8_t)(type << 3 | 2));
    number(pdu + 2, 2, length);
    number(pdu + 12, 4, message);
    number(pdu + 16, 4, ack);
    number(pdu + 20, 2, 40);
    for (size_t i = 24; i < length; i++)
        pdu[i] = setup ? 0 : (uint8_t)(0x80 | i);
    if (setup) {
        number(pdu + 24, 2, 1);
        number(pdu + 26, 2, 2);
        number(pdu + 28, 4, 4096);
        memcpy(pdu + 32, "ab", 2);
        number(pdu + 50, 2, 2);
        memcpy(pdu + 52, "cd", 2);
    }
    t->length += length;
    t->ends[t->pdus++] = t->length;
}

static void make_talk(void)
{
    for (unsigned d = 0; d < DIRECTIONS; d++) {
        say(&fuzz_said[d], d == 0 ? 6 : 7, 0, 0, 0);
        for (uint32_t i = 0, sent = 0; i < SENDS; i++)
            if (i % 5 == 4)
                say(&fuzz_said[d], 5, 0, 0xfffffff0u, 0);
            else
                say(&fuzz_said[d], 1, sent++, 0xfffffff0u, (i * 37) % 200);
    }
}

/* ---- what of it has come ---- */

struct segment {
    size_t begin, length;
    bool other; /* its bytes are not those of the conversation */
};
struct way {
    size_t next; /* the first byte that was not sent */
    bool came[MOST];
    struct segment held[HELD];
    size_t holds;
    size_t waited; /* segments that came before those that belong in front of them */
};
struct world {
    struct tcp_judge *judge;
    struct way ways[DIRECTIONS];
    uint64_t records, time_us;
    size_t reported[DIRECTIONS];
    bool set_up; /* nobody has sent before the Connect Accept had come: nobody is to be accused */
    bool spoilt; /* something else than loss and repetition has happened */
};

static void heed(struct world *w, int reports)
{
    DEMAND(reports >= 0);
    for (size_t i = 0; i < (size_t)reports; i++) {
        struct tcp_report r;
        DEMAND(fcvi_tcp_report(w->judge, i, &r));
        DEMAND(r.direction < DIRECTIONS && r.place.record >= 1 && r.place.record <= w->records);
        if (w->spoilt)
            continue;
        const struct talk *t = &fuzz_said[r.direction];
        size_t at = w->reported[r.direction]++;
        DEMAND(at < t->pdus && r.step == FCVI_STREAM_PDU);
        size_t begin = at == 0 ? 0 : t->ends[at - 1];
        DEMAND(r.offset == begin && r.length == t->ends[at] - begin && r.there == r.length);
        DEMAND(memcmp(fcvi_tcp_bytes(w->judge, i), t->bytes + begin, r.length) == 0);
        for (size_t k = 0; w->set_up && k < r.findings && k < TCP_FINDINGS; k++)
            DEMAND(r.finding[k].cls == FCVI_NOTICE); /* the conversation is right, however it is captured */
    }
    struct tcp_report none;
    DEMAND(!fcvi_tcp_report(w->judge, (size_t)reports, &none));
}

/* Bytes from the first one on that have come. */
static size_t there(const struct world *w, unsigned d)
{
    size_t bytes = 0;
    while (bytes < fuzz_said[d].length && w->ways[d].came[bytes])
        bytes++;
    return bytes;
}

static void segment(struct world *w, unsigned d, uint8_t flags, const struct segment *s)
{
    uint8_t ip[HEADS + PIECE] = {0x45};
    const struct talk *t = &fuzz_said[d];
    number(ip + 2, 2, HEADS + s->length);
    ip[8] = 64;
    ip[9] = 6;
    number(ip + 12, 4, 0x0a000001u + d);
    number(ip + 16, 4, 0x0a000002u - d);
    number(ip + 20, 2, d == 0 ? 40000 : 50444);
    number(ip + 22, 2, d == 0 ? 50444 : 40000);
    number(ip + 24, 4, 0xffffff00u + d + ((flags & SYN) != 0 ? 0 : 1 + s->begin));
    number(ip + 28, 4, 0xffffff00u + 1 - d + 1 + there(w, 1 - d)); /* a receiver acknowledges what it has */
    ip[32] = 5 << 4;
    ip[33] = flags;
    for (size_t i = 0; i < s->length; i++)
        ip[HEADS + i] = (uint8_t)(t->bytes[s->begin + i] ^ (s->other ? 0x55 : 0));
    w->ways[d].waited += s->begin > there(w, d);
    memset(w->ways[d].came + s->begin, 1, s->length);
    w->records++;
    w->time_us += 10;
    const struct capture_record record = {.time_us = w->time_us,
                                          .whole = (uint32_t)(HEADS + s->length),
                                          .frame = {.bytes = ip, .length = HEADS + s->length}};
    heed(w, fcvi_tcp_take(w->judge, &record, w->records));
}

static void release(struct world *w, unsigned d, size_t which)
{
    struct way *way = &w->ways[d];
    size_t at = which % way->holds--;
    struct segment s = way->held[at];
    way->held[at] = way->held[way->holds];
    segment(w, d, ACK, &s);
}

/* One step of the input: a direction, what to do, and how much. */
static void step(struct world *w, uint8_t what, uint8_t much)
{
    unsigned d = what & 1u;
    struct way *way = &w->ways[d];
    size_t left = fuzz_said[d].length - way->next;
    struct segment s = {.begin = way->next, .length = 1u + much};
    if (s.length > left)
        s.length = left;
    switch (what >> 1 & 15u) {
    case 8: /* again, from somewhere before, into what was not sent yet */
        s.begin = way->next - (much < way->next ? much : way->next);
        s.length = way->next - s.begin + (left < 3 ? left : 3);
        break;
    case 9:
    case 10: /* held back */
        if (way->holds < HELD && s.length > 0)
            way->held[way->holds++] = s;
        way->next += s.length;
        return;
    case 11:
    case 12:
        if (way->holds > 0)
            release(w, d, much);
        return;
    case 13: /* dropped, and sent again or not */
        way->next += s.length;
        return;
    case 14: /* other bytes */
        w->spoilt = true;
        s.begin = way->next - (much < way->next ? much : way->next);
        s.length = way->next - s.begin;
        s.other = true;
        break;
    case 15: /* the end of a direction, a reset, or a beginning again */
        w->spoilt = true;
        segment(w, d,
                much % 3 == 0   ? FIN | ACK
                : much % 3 == 1 ? RST
                                : SYN,
                &(struct segment){way->next, 0, false});
        return;
    default:
        break;
    }
    size_t end = s.begin + s.length;
    for (; s.begin < end; s.begin += s.length) {
        s.length = end - s.begin < PIECE ? end - s.begin : PIECE;
        segment(w, d, ACK, &s);
    }
    way->next = end > way->next ? end : way->next;
}

/* All PDUs that end before the first byte that never came. */
static size_t whole(const struct world *w, unsigned d)
{
    const size_t bytes = there(w, d);
    size_t pdus = 0;
    while (pdus < fuzz_said[d].pdus && fuzz_said[d].ends[pdus] <= bytes)
        pdus++;
    return pdus;
}

static void check(const struct world *w)
{
    const struct tcp_tally *t = fcvi_tcp_tally(w->judge);
    uint64_t sum = t->judged + t->without + t->foreign;
    for (unsigned i = 0; i < TCP_REASONS; i++)
        sum += t->unjudged[i].records;
    DEMAND(t->records == w->records && sum == t->records);
    for (unsigned d = 0; d < DIRECTIONS && !w->spoilt; d++)
        DEMAND(w->ways[d].waited > PATIENCE ? w->reported[d] <= whole(w, d) : w->reported[d] == whole(w, d));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tcp_judge *library; /* held open, or libtins would be loaded for each input */
    struct tcp_options options = {.profile = fcvi_profile_t0(), .keep = true};
    struct world w = {.time_us = 1000};
    const struct segment none = {0, 0, false};
    if (fuzz_said[0].length == 0)
        make_talk();
    bool first = library == NULL;
    w.judge = fcvi_tcp_open(&options);
    DEMAND(w.judge != NULL);
    segment(&w, 0, SYN, &none);
    segment(&w, 1, SYN | ACK, &none);
    DEMAND(fcvi_tcp_tally(w.judge)->unjudged[TCP_LIBRARY].records == 0); /* build/python has it */
    w.set_up = size % 2 != 0;
    for (unsigned d = 0; w.set_up && d < DIRECTIONS; d++)
        step(&w, (uint8_t)d, (uint8_t)(fuzz_said[d].ends[0] - 1));
    for (size_t i = 0; i + 2 <= size && i < 2 * STEPS; i += 2)
        step(&w, data[i], data[i + 1]);
    for (unsigned d = 0; d < DIRECTIONS; d++)
        while (w.ways[d].holds > 0)
            release(&w, d, 0);
    heed(&w, fcvi_tcp_flush(w.judge));
    check(&w);
    if (first)
        library = w.judge;
    else
        fcvi_tcp_close(w.judge);
    return 0;
}
