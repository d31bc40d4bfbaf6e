/* VI/TCP in captures: one side a direction of a TCP connection, one connection two of them. */
#include "tcp.h"

#include <segments.h>
#include <stdlib.h>
#include <string.h>

enum { ATTEMPTS = 256, RESETS = 4096, NEIGHBOURS = 8 /* places where a reset may be kept */ };
enum { MOST = 4096 /* directions at once */, KNOWN = 4, ANSWER = 8, REQUEST = 54, LONGEST = 65535 };
enum kind { UNDECIDED, VITCP, FOREIGN };
enum state { FOLLOWED, LOST, BROKEN, BEGUN };

struct side;
struct connection {
    uint8_t kind;
    bool left;           /* a side of it has ended: what begins then is another connection */
    uint64_t dataless;   /* records without data before it was known what it is */
    bool sends[2];       /* data */
    uint32_t next[2];    /* sequence number behind the data of each side */
    uint64_t data_us[2]; /* when its latest data came */
    bool acks[2];        /* something */
    uint32_t acked[2];   /* the latest acknowledgement by each side */
    bool room[2];        /* it had said a window */
    uint8_t hops[2];     /* hop limit of its latest segment, 0 without one */
    struct side *side[2];
    struct fcvi_vitcp_monitor *monitor; /* once it is VI/TCP */
    struct tcp_connection seen;
};

/* Where header bytes came: from byte `at` of the PDU on. */
struct run {
    uint8_t at;
    struct tcp_place place;
};

struct side {
    struct connection *connection;
    uint8_t direction, state, headers;
    bool whole, initiator, completed;
    uint32_t first, pending; /* sequence number of the first byte; records of an unfinished PDU */
    uint32_t have, skip, runs;
    uint64_t position, begin; /* bytes given so far; of the PDU under way */
    uint64_t pending_first;
    uint32_t acknowledged;
    bool acknowledges;
    uint8_t *whole_pdu; /* with keep */
    uint32_t kept;
    struct run run[TCP_HEADERS];
    uint8_t bytes[TCP_HEADERS];
};

/* A reset of VI/TCP, and whether its sender speaks on. */
struct gone {
    uint32_t number, network; /* of the connection, 0: none */
    bool six, spoke;
    uint8_t from[TCP_ADDRESS], to[TCP_ADDRESS];
    uint16_t from_port, to_port;
    uint64_t time_us;
};

struct tcp_judge {
    struct tcp_options options;
    struct segments library;
    const struct streams_calls *calls;
    struct streams *streams;
    bool tried, no_memory;
    struct side *side[MOST];
    struct tcp_report *report;
    size_t *stored; /* of each report: where its bytes are in the store */
    uint8_t *store;
    size_t reports, room, used, store_room;
    struct tcp_connection *over;
    size_t overs, over_next, over_room; /* those before over_next were taken */
    const struct streams_segment *now;
    struct tcp_attempt attempt[ATTEMPTS];
    size_t attempts, attempt_next;
    struct gone gone[RESETS];
    size_t resets; /* all there were */
    bool six;
    uint8_t hops; /* hop limit of the segment */
    struct tcp_tally tally;
};

/* ---- what is told ---- */

static void *grown(struct tcp_judge *t, void *old, size_t size)
{
    void *more = realloc(old, size);
    t->no_memory |= more == NULL;
    return more;
}

static bool make_room(struct tcp_judge *t, size_t bytes)
{
    if (t->reports == t->room) {
        size_t room = t->room == 0 ? 16 : t->room * 2;
        struct tcp_report *more = grown(t, t->report, room * sizeof *more);
        if (more == NULL)
            return false;
        t->report = more;
        size_t *stored = grown(t, t->stored, room * sizeof *stored);
        if (stored == NULL)
            return false;
        t->stored = stored;
        t->room = room;
    }
    if (t->store_room - t->used < bytes) {
        size_t room = (t->store_room + bytes) * 2;
        uint8_t *more = grown(t, t->store, room);
        if (more == NULL)
            return false;
        t->store = more;
        t->store_room = room;
    }
    return true;
}

static struct tcp_place place_of(const struct side *s, unsigned byte)
{
    const struct run *r = &s->run[0];
    for (uint32_t i = 1; i < s->runs && s->run[i].at <= byte; i++)
        r = &s->run[i];
    struct tcp_place place = r->place;
    place.byte += byte - r->at;
    return place;
}

static void tell(struct tcp_judge *t, const struct side *s, const struct fcvi_pdu *pdu,
                 const struct fcvi_findings *found, enum fcvi_stream_step step)
{
    const uint8_t *bytes = t->options.keep && s->whole_pdu != NULL ? s->whole_pdu : s->bytes;
    const uint32_t there = t->options.keep && s->whole_pdu != NULL ? s->kept : s->have;
    if (!make_room(t, there))
        return;
    struct tcp_report *r = &t->report[t->reports];
    memset(r, 0, sizeof *r);
    r->place = place_of(s, 0);
    r->findings = found->count;
    for (size_t i = 0; i < found->count && i < TCP_FINDINGS; i++) {
        r->finding[i] = found->list[i];
        r->at[i] = place_of(s, found->list[i].byte < s->have ? found->list[i].byte : 0);
    }
    r->connection = s->connection->seen.number;
    r->direction = s->direction;
    r->step = (uint8_t)step;
    r->offset = s->begin;
    r->length = pdu->length;
    r->there = there;
    memcpy(r->headers, s->bytes, s->have);
    if (there != 0)
        memcpy(t->store + t->used, bytes, there);
    t->stored[t->reports++] = t->used;
    t->used += there;
}

static void count(struct tcp_count *c, uint64_t records, uint64_t first)
{
    if (records != 0 && c->records == 0)
        c->first = first;
    c->records += records;
}

/* ---- what became of records ---- */

static void drop_pending(struct tcp_judge *t, struct side *s, enum tcp_reason reason)
{
    if (s->connection != NULL && s->connection->kind == VITCP)
        count(&t->tally.unjudged[reason], s->pending, s->pending_first);
    else
        t->tally.foreign += s->pending;
    s->pending = 0;
}

static void count_record(struct tcp_judge *t, struct side *s, uint64_t record)
{
    static const uint8_t reasons[] = {
        [FOLLOWED] = TCP_UNFINISHED, [LOST] = TCP_MISSING, [BROKEN] = TCP_BEHIND, [BEGUN] = TCP_BEGUN};
    const struct connection *c = s->connection;
    if (c->kind == FOREIGN) {
        t->tally.foreign++;
    } else if (s->state != FOLLOWED && !s->completed) {
        if (c->kind == VITCP)
            count(&t->tally.unjudged[reasons[s->state]], 1, record);
        else
            t->tally.foreign++;
    } else if (c->kind == VITCP && (s->completed || s->have == 0)) {
        t->tally.judged++;
    } else if (s->pending++ == 0) {
        s->pending_first = record;
    }
}

/* ---- PDUs ---- */

/* How much of the other direction the segment with the first byte of the PDU acknowledged. */
static void note_received(const struct side *s, struct fcvi_vitcp_seen *seen)
{
    const struct side *o = s->connection->side[1 - s->direction];
    if (o == NULL || !s->acknowledges || !o->whole)
        return;
    const uint32_t next = o->first + (uint32_t)o->position;
    const int64_t at = (int64_t)o->position + (int32_t)(s->acknowledged - next);
    seen->acknowledges = at >= 0;
    seen->acknowledged = (uint64_t)at;
    seen->delivered = o->position;
}

static void tally_found(struct connection *c, const struct fcvi_findings *found)
{
    for (size_t i = 0; i < found->count && i < TCP_FINDINGS; i++)
        *(found->list[i].cls == FCVI_NOTICE ? &c->seen.notices : &c->seen.violations) += 1;
}

static void end_pdu(struct tcp_judge *t, struct side *s, enum fcvi_stream_step step)
{
    struct connection *c = s->connection;
    struct fcvi_finding list[TCP_FINDINGS];
    struct fcvi_findings found = {list, TCP_FINDINGS, 0, 0};
    struct fcvi_pdu pdu;
    (void)fcvi_pdu_first(t->options.profile, s->bytes, s->have, &pdu,
                         step == FCVI_STREAM_BROKEN ? &found : NULL);
    if (step == FCVI_STREAM_PDU) {
        pdu.data_length = (uint32_t)pdu.length - pdu.headers;
        pdu.later = fcvi_vitcp_monitor_later(c->monitor, s->direction, &pdu);
        fcvi_pdu_check(&pdu, &found);
        struct fcvi_vitcp_seen seen = {&pdu, s->direction, s->begin, s->position, false, 0, 0, found.worst};
        note_received(s, &seen);
        const enum fcvi_vitcp_unjudged why = fcvi_vitcp_monitor_pdu(c->monitor, &seen, &found);
        if (why != FCVI_VITCP_JUDGED)
            count(&t->tally.monitor[why], 1, place_of(s, 0).record);
        t->tally.pdus++;
    } else {
        s->state = BROKEN;
        fcvi_vitcp_monitor_lost(c->monitor, s->direction);
    }
    tally_found(c, &found);
    if (found.count != 0 || t->options.keep)
        tell(t, s, &pdu, &found, step);
    t->tally.judged += s->pending;
    s->pending = 0;
    s->completed = true;
    s->have = s->skip = s->runs = s->kept = 0;
    s->headers = 0;
    if (c->seen.answer_us == 0 && pdu.pdu > FCVI_PDU_CONNECT_REQUEST && pdu.pdu <= FCVI_PDU_CONNECT_NO_MATCH)
        c->seen.answer_us = c->seen.last_us;
}

/* A first PDU by strict shape: 1 it is, 0 more bytes are needed, -1 it is none. */
static int shape(const struct tcp_judge *t, const struct side *s)
{
    const struct fcvi_profile *p = t->options.profile;
    const uint8_t *b = s->bytes;
    if (b[0] != p->version)
        return -1;
    if (s->have < ANSWER)
        return 0;
    const enum fcvi_pdu_type pdu = fcvi_pdu_of_type(p, fcvi_profile_get(p, FCVI_P_SEG_Type, b));
    const uint64_t length = fcvi_SEG_Segment_Length(b);
    const uint8_t *ce = b + FCVI_SEG_LENGTH;
    const bool refused = pdu == FCVI_PDU_CONNECT_REJECT || pdu == FCVI_PDU_CONNECT_NO_MATCH;
    if (pdu < FCVI_PDU_CONNECT_REQUEST || pdu > FCVI_PDU_CONNECT_NO_MATCH || fcvi_SEG_Data_Offset(b) != 0)
        return -1;
    if (refused && length == FCVI_SEG_LENGTH)
        return 1;
    if (length < FCVI_SEG_LENGTH + FCVI_CE_LENGTH)
        return -1;
    if (s->have < REQUEST)
        return 0;
    return fcvi_CE_Calling_Discriminator_Length(ce) <= 16 && fcvi_CE_Called_Discriminator_Length(ce) <= 16
               ? 1
               : -1;
}

static void decide(struct tcp_judge *t, struct connection *c, enum kind kind)
{
    c->kind = (uint8_t)kind;
    if (kind == VITCP) {
        void *memory = malloc(fcvi_vitcp_monitor_size());
        t->no_memory |= memory == NULL;
        if (memory == NULL) {
            c->kind = FOREIGN;
            return;
        }
        c->monitor = fcvi_vitcp_monitor_init(memory, t->options.profile);
        c->seen.number = (uint32_t)++t->tally.connections;
        t->tally.without += c->dataless;
        for (unsigned i = 0; i < 2; i++) {
            const struct side *s = c->side[i];
            if (s != NULL)
                fcvi_vitcp_monitor_opened(c->monitor, i, s->whole, s->initiator);
            if (s != NULL && s->state == LOST)
                fcvi_vitcp_monitor_lost(c->monitor, i);
        }
        return;
    }
    t->tally.foreign += c->dataless;
    c->dataless = 0;
    for (unsigned i = 0; i < 2; i++)
        if (c->side[i] != NULL) {
            drop_pending(t, c->side[i], TCP_UNFINISHED);
            c->side[i]->have = 0;
        }
}

static void note_run(struct side *s, const struct streams_piece *piece, size_t done)
{
    if (s->runs < TCP_HEADERS)
        s->run[s->runs++] =
            (struct run){(uint8_t)s->have, {piece->record, piece->time_us, piece->offset + (uint32_t)done}};
    if (s->have == 0) {
        s->begin = s->position;
        s->acknowledged = piece->acknowledged;
        s->acknowledges = (piece->flags & STREAMS_ACK) != 0;
    }
}

static void keep(struct tcp_judge *t, struct side *s, const uint8_t *bytes, size_t length)
{
    if (!t->options.keep)
        return;
    if (s->whole_pdu == NULL && (s->whole_pdu = malloc(LONGEST)) == NULL) {
        t->no_memory = true;
        return;
    }
    memcpy(s->whole_pdu + s->kept, bytes, length);
    s->kept += (uint32_t)length;
}

static size_t needed(struct side *s)
{
    return s->headers != 0 ? s->headers : s->have < KNOWN ? (size_t)KNOWN : (size_t)FCVI_SEG_LENGTH;
}

/* Four bytes are there: how many the headers have. A Segment Length without room for them ends the stream,
 * once its Segment Header is there. */
static void look(const struct tcp_judge *t, struct side *s)
{
    const struct fcvi_profile *p = t->options.profile;
    const uint16_t length = (uint16_t)fcvi_SEG_Segment_Length(s->bytes);
    if (s->headers != 0 || length < FCVI_SEG_LENGTH)
        return;
    s->headers =
        fcvi_pdu_headers(fcvi_pdu_of_type(p, fcvi_profile_get(p, FCVI_P_SEG_Type, s->bytes)), length);
    s->skip = (uint32_t)length - s->headers;
}

static void take_header(struct tcp_judge *t, struct side *s)
{
    if (s->connection->kind == UNDECIDED) {
        const int fits = shape(t, s);
        if (fits != 0)
            decide(t, s->connection, fits > 0 ? VITCP : FOREIGN);
    }
    if (s->connection->kind == FOREIGN || s->have < KNOWN)
        return;
    look(t, s);
    if (s->headers == 0 && s->have == FCVI_SEG_LENGTH)
        end_pdu(t, s, FCVI_STREAM_BROKEN);
    else if (s->headers != 0 && s->have == s->headers && s->skip == 0)
        end_pdu(t, s, FCVI_STREAM_PDU);
}

static void on_data(void *context, uint32_t stream, const struct streams_piece *piece)
{
    struct tcp_judge *t = context;
    struct side *s = t->side[stream];
    const uint8_t *bytes = piece->bytes;
    const size_t length = piece->length;
    if (s == NULL || s->connection == NULL)
        return;
    for (size_t done = 0; done < length;) {
        if (s->connection->kind == FOREIGN || s->state != FOLLOWED) {
            s->position += length - done;
            return;
        }
        const bool data = s->headers != 0 && s->have == s->headers;
        const size_t want = data ? s->skip : needed(s) - s->have, left = length - done;
        const size_t step = want < left ? want : left;
        keep(t, s, bytes + done, step);
        if (!data) {
            note_run(s, piece, done);
            memcpy(s->bytes + s->have, bytes + done, step);
            s->have += (uint32_t)step;
        } else {
            s->skip -= (uint32_t)step;
        }
        s->position += step;
        done += step;
        if (!data)
            take_header(t, s);
        else if (s->skip == 0)
            end_pdu(t, s, FCVI_STREAM_PDU);
    }
}

/* ---- connections ---- */

static void end_connection(struct tcp_judge *t, struct connection *c)
{
    if (c->kind == UNDECIDED)
        t->tally.foreign += c->dataless;
    if (c->monitor != NULL) {
        if (t->options.connections && t->overs == t->over_room) {
            size_t room = t->over_room == 0 ? 16 : t->over_room * 2;
            struct tcp_connection *more = grown(t, t->over, room * sizeof *more);
            if (more != NULL) {
                t->over = more;
                t->over_room = room;
            }
        }
        if (t->overs < t->over_room)
            t->over[t->overs++] = c->seen;
    }
    free(c->monitor);
    free(c);
}

/* Where resets of one direction are kept. */
static size_t place_of_reset(const struct streams_segment *s)
{
    uint32_t hash = s->network ^ (uint32_t)s->from_port << 16 ^ s->to_port;
    for (unsigned i = 0; i < TCP_ADDRESS; i++)
        hash = (hash * 0x01000193u) ^ s->from[i] ^ (uint32_t)s->to[i] << 8;
    return (hash ^ hash >> 16) % RESETS;
}

static void keep_reset(struct tcp_judge *t, const struct connection *c)
{
    const struct streams_segment *n = t->now;
    const size_t place = place_of_reset(n);
    struct gone *g = &t->gone[place];
    for (size_t i = 1; i < NEIGHBOURS && g->number != 0; i++) {
        struct gone *next = &t->gone[(place + i) % RESETS];
        if (next->number < g->number)
            g = next; /* a free one, or that of the oldest connection */
    }
    t->resets++;
    *g = (struct gone){.number = c->seen.number,
                       .network = n->network,
                       .six = t->six,
                       .time_us = n->time_us,
                       .from_port = n->from_port,
                       .to_port = n->to_port};
    memcpy(g->from, n->from, TCP_ADDRESS);
    memcpy(g->to, n->to, TCP_ADDRESS);
}

static void note_reset(struct tcp_judge *t, struct connection *c, unsigned by)
{
    const uint32_t left = c->next[1 - by] - c->acked[by];
    c->seen.reset[by] = true;
    /* what was acknowledged before is no place of the window (RFC 9293, 3.10.7.4) */
    c->seen.stale[by] = c->acks[1 - by] && (int32_t)(t->now->sequence - c->acked[1 - by]) < 0;
    if (c->kind == VITCP)
        keep_reset(t, c);
    c->seen.foreign[by] = c->hops[by] != 0 && c->hops[by] != t->hops;
    c->seen.bare[by] = (t->now->flags & STREAMS_ACK) == 0;
    if (c->sends[1 - by] && c->acks[by] && (int32_t)left > 0)
        c->seen.unacknowledged[1 - by] = left;
}

static void leave(struct tcp_judge *t, struct side *s)
{
    struct connection *c = s->connection;
    if (c == NULL)
        return;
    drop_pending(t, s, TCP_UNFINISHED);
    if (c->monitor != NULL) {
        c->seen.side[s->direction] = *fcvi_vitcp_monitor_side(c->monitor, s->direction);
        c->seen.side[s->direction].open |= s->have != 0;
        fcvi_vitcp_monitor_lost(c->monitor, s->direction);
    }
    if (t->now != NULL && (t->now->flags & STREAMS_RST) != 0)
        note_reset(t, c, s->direction);
    c->side[s->direction] = NULL;
    c->left = true;
    s->connection = NULL;
    if (c->side[1 - s->direction] == NULL)
        end_connection(t, c);
}

static void on_begin(void *context, uint32_t stream, int lost)
{
    struct tcp_judge *t = context;
    struct side *s = t->side[stream];
    if (s == NULL && (s = t->side[stream] = calloc(1, sizeof *s)) == NULL) {
        t->no_memory = true;
        return;
    }
    if (lost == 0) {
        leave(t, s);
        return;
    }
    drop_pending(t, s, TCP_MISSING);
    s->have = s->runs = 0;
    s->state = s->state == FOLLOWED ? LOST : s->state;
    if (s->connection != NULL && s->connection->monitor != NULL)
        fcvi_vitcp_monitor_lost(s->connection->monitor, s->direction);
}

static struct connection *new_connection(struct tcp_judge *t, unsigned direction)
{
    struct connection *c = calloc(1, sizeof *c);
    t->no_memory |= c == NULL;
    if (c == NULL)
        return NULL;
    const struct streams_segment *n = t->now;
    c->seen.six = t->six;
    memcpy(c->seen.address[direction], n->from, TCP_ADDRESS);
    memcpy(c->seen.address[1 - direction], n->to, TCP_ADDRESS);
    c->seen.port[direction] = n->from_port;
    c->seen.port[1 - direction] = n->to_port;
    c->seen.first_record = n->record;
    c->seen.first_us = n->time_us;
    if (t->options.every ||
        (t->options.port != 0 && (n->from_port == t->options.port || n->to_port == t->options.port)))
        decide(t, c, VITCP);
    return c;
}

static void on_opened(void *context, uint32_t stream, const struct streams_opening *opening)
{
    struct tcp_judge *t = context;
    struct side *s = t->side[stream], *o = opening->other < MOST ? t->side[opening->other] : NULL;
    const bool syn = opening->syn != 0;
    if (s == NULL)
        return;
    uint8_t *kept = s->whole_pdu;
    *s = (struct side){.whole = syn, .first = opening->first, .whole_pdu = kept};
    const bool answers = (t->now->flags & STREAMS_ACK) != 0;
    struct connection *c = o != NULL ? o->connection : NULL;
    if (c != NULL && c->side[1 - o->direction] == NULL && !c->left) {
        s->direction = (uint8_t)(1 - o->direction);
    } else {
        s->direction = syn && answers ? 1 : 0;
        if (!syn && t->options.port != 0 && t->now->from_port == t->options.port)
            s->direction = 1;
        c = new_connection(t, s->direction);
    }
    if (c == NULL)
        return;
    s->connection = c;
    s->initiator = s->whole && !answers;
    c->side[s->direction] = s;
    if (c->monitor != NULL)
        fcvi_vitcp_monitor_opened(c->monitor, s->direction, s->whole, s->initiator);
    if (!syn && c->kind == VITCP)
        s->state = BEGUN;
}

static void on_repeated(void *context, uint32_t stream, const struct streams_piece *piece)
{
    struct tcp_judge *t = context;
    struct side *s = t->side[stream];
    if (s == NULL || s->connection == NULL)
        return;
    struct connection *c = s->connection;
    if (piece->bytes == NULL) {
        count_record(t, s, piece->record);
        return;
    }
    if (c->monitor == NULL || s->state != FOLLOWED)
        return;
    /* of where it begins in the stream: below the byte that comes next */
    const uint32_t next = s->first + (uint32_t)s->position;
    const uint32_t back = next - piece->sequence;
    if (back > s->position)
        return;
    struct fcvi_finding list[1];
    struct fcvi_findings found = {list, 1, 0, 0};
    fcvi_vitcp_monitor_again(c->monitor, s->direction, s->position - back, piece->bytes, piece->length,
                             &found);
    tally_found(c, &found);
    if (found.count == 0)
        return;
    struct side said = {.connection = c, .direction = s->direction, .runs = 1, .begin = s->position - back};
    said.run[0].place = (struct tcp_place){piece->record, piece->time_us, 0};
    const struct fcvi_pdu none = {.length = 0};
    tell(t, &said, &none, &found, FCVI_STREAM_PDU);
}

/* ---- segments ---- */

static bool load(struct tcp_judge *t)
{
    if (t->streams != NULL)
        return true;
    if (t->tried)
        return false;
    t->tried = true;
    t->calls = fcvi_segments_load(&t->library);
    if (t->calls == NULL)
        return false;
    const struct streams_events events = {t, MOST, on_data, on_begin, on_opened, on_repeated};
    t->streams = t->calls->open(&events);
    t->no_memory |= t->streams == NULL;
    return t->streams != NULL;
}

enum { SOON_US = 100000 }; /* two copies of one segment in the capture, and no repetition */

/* A keep-alive names the byte before the next, and has it or none (RFC 9293, 3.8.4). */
static bool is_probe(const struct connection *c, unsigned by, const struct streams_segment *g)
{
    const size_t length = g->length + g->missing;
    return c->sends[by] && length <= 1 && g->sequence + 1 == c->next[by] &&
           (g->flags & (STREAMS_SYN | STREAMS_FIN | STREAMS_RST)) == 0;
}

/* Whether one side repeats itself and the other says nothing, or has acknowledged it. */
static void note_repeated(struct connection *c, unsigned by, const struct streams_segment *g)
{
    const size_t length = g->length + g->missing;
    const uint32_t end = g->sequence + (uint32_t)length;
    const bool late = g->time_us >= c->data_us[by] + SOON_US;
    c->seen.repeated[1 - by] = c->seen.probes[1 - by] = 0;
    if (is_probe(c, by, g)) {
        c->seen.probes[by] += late;
        c->data_us[by] = g->time_us;
        return;
    }
    if (length == 0)
        return;
    if (!c->sends[by] || (int32_t)(end - c->next[by]) > 0) {
        c->sends[by] = true;
        c->next[by] = end;
        c->seen.repeated[by] = c->seen.deaf[by] = 0;
    } else if (late) {
        c->seen.repeated[by]++;
        c->seen.deaf[by] += c->acks[1 - by] && (int32_t)(c->acked[1 - by] - end) >= 0;
    }
    c->data_us[by] = g->time_us;
}

/* A window of 0 in all of its segments is not filled in. */
static void note_window(struct connection *c, unsigned by, const struct streams_segment *g)
{
    struct tcp_shut *shut = &c->seen.shut[by];
    if ((g->flags & (STREAMS_ACK | STREAMS_SYN)) == 0)
        return;
    c->room[by] |= g->window != 0;
    if (g->window != 0) {
        shut->segments = 0;
    } else if (c->room[by]) {
        if (shut->segments++ == 0) {
            shut->record = g->record;
            shut->since_us = g->time_us;
        }
        shut->until_us = g->time_us;
    }
}

static void count_segment(struct tcp_judge *t, struct streams_segment *g)
{
    struct side *s = g->stream < MOST ? t->side[g->stream] : NULL;
    struct connection *c = s != NULL ? s->connection : NULL;
    if (c == NULL) {
        t->tally.foreign++;
        return;
    }
    c->seen.last_record = g->record;
    c->seen.last_us = g->time_us;
    note_repeated(c, s->direction, g);
    note_window(c, s->direction, g);
    c->hops[s->direction] = t->hops;
    if ((g->flags & STREAMS_ACK) != 0) {
        if (c->acks[s->direction] && c->acked[s->direction] != g->acknowledged)
            c->seen.deaf[s->direction] = 0; /* something of the other side reached it */
        c->acks[s->direction] = true;
        c->acked[s->direction] = g->acknowledged;
    }
    if ((g->flags & STREAMS_FIN) != 0)
        c->seen.fin[s->direction] = true;
    if (g->length + g->missing == 0) {
        *(c->kind == VITCP ? &t->tally.without : c->kind == FOREIGN ? &t->tally.foreign : &c->dataless) += 1;
        return;
    }
    if (g->fate == STREAMS_WAITS)
        return; /* it is counted when it is over */
    t->tally.repeated += g->fate == STREAMS_REPEATED;
    if (g->missing != 0 && c->kind == VITCP)
        count(&t->tally.unjudged[TCP_CUT], 1, g->record);
    else
        count_record(t, s, g->record);
}

/* ---- connections that never were ---- */

/* The one that nobody answered yet, or else one that was refused: who is refused may try again from the same
 * port. */
static struct tcp_attempt *attempt_of(struct tcp_judge *t, const struct streams_segment *g, unsigned caller)
{
    struct tcp_attempt *refused = NULL;
    const uint8_t *ends[2] = {g->from, g->to};
    const uint16_t ports[2] = {g->from_port, g->to_port};
    for (size_t i = 0; i < t->attempts; i++) {
        struct tcp_attempt *a = &t->attempt[i];
        if (a->syns != 0 && a->network == g->network && a->six == t->six && a->port[0] == ports[caller] &&
            a->port[1] == ports[1 - caller] && memcmp(a->address[0], ends[caller], TCP_ADDRESS) == 0 &&
            memcmp(a->address[1], ends[1 - caller], TCP_ADDRESS) == 0) {
            if (!a->refused)
                return a;
            refused = a;
        }
    }
    return refused;
}

static void note_syn(struct tcp_judge *t, const struct streams_segment *g)
{
    struct tcp_attempt *a = attempt_of(t, g, 0);
    if (a == NULL || a->refused) {
        a = &t->attempt[t->attempt_next];
        t->attempts = t->attempt_next >= t->attempts ? t->attempt_next + 1 : t->attempts;
        t->attempt_next = (t->attempt_next + 1) % ATTEMPTS;
        *a = (struct tcp_attempt){.six = t->six, .network = g->network, .port = {g->from_port, g->to_port}};
        memcpy(a->address[0], g->from, TCP_ADDRESS);
        memcpy(a->address[1], g->to, TCP_ADDRESS);
        a->first_record = g->record;
        a->first_us = g->time_us;
    }
    a->syns++;
    a->last_record = g->record;
    a->last_us = g->time_us;
}

/* Whatever comes from the called but a reset says that somebody is there. So does an ACK of the caller. */
static void note_attempt(struct tcp_judge *t, const struct streams_segment *g)
{
    if ((g->flags & (STREAMS_SYN | STREAMS_ACK | STREAMS_RST)) == STREAMS_SYN) {
        note_syn(t, g);
        return;
    }
    struct tcp_attempt *a = t->attempts != 0 ? attempt_of(t, g, 1) : NULL;
    if (a == NULL) {
        a = t->attempts != 0 && (g->flags & STREAMS_RST) == 0 ? attempt_of(t, g, 0) : NULL;
        if (a != NULL)
            a->syns = 0;
        return;
    }
    if ((g->flags & STREAMS_RST) == 0) {
        a->syns = 0;
        return;
    }
    a->refused = true;
    a->last_record = g->record;
    a->last_us = g->time_us;
}

bool fcvi_tcp_attempt(const struct tcp_judge *t, size_t index, struct tcp_attempt *out)
{
    for (size_t i = 0; i < t->attempts; i++)
        if (t->attempt[i].syns != 0 && index-- == 0) {
            *out = t->attempt[i];
            return true;
        }
    return false;
}

/* ---- who speaks on behind a reset ---- */

static bool is_from(const struct gone *g, const struct streams_segment *s, bool six)
{
    return g->number != 0 && g->network == s->network && g->six == six && g->from_port == s->from_port &&
           g->to_port == s->to_port && memcmp(g->from, s->from, TCP_ADDRESS) == 0 &&
           memcmp(g->to, s->to, TCP_ADDRESS) == 0;
}

/* A SYN of either end begins another connection; one that answers a reset with another says nothing. */
static void note_speaker(struct tcp_judge *t, const struct streams_segment *s)
{
    struct streams_segment way[2] = {*s, *s};
    const bool syn = (s->flags & STREAMS_SYN) != 0;
    if ((s->flags & STREAMS_RST) != 0)
        return;
    memcpy(way[1].from, s->to, TCP_ADDRESS);
    memcpy(way[1].to, s->from, TCP_ADDRESS);
    way[1].from_port = s->to_port;
    way[1].to_port = s->from_port;
    for (unsigned w = 0; w < (syn ? 2 : 1); w++) {
        const size_t place = place_of_reset(&way[w]);
        for (size_t i = 0; i < NEIGHBOURS; i++) {
            struct gone *g = &t->gone[(place + i) % RESETS];
            if (!is_from(g, &way[w], t->six))
                continue;
            if (syn)
                memset(g->from, 0, sizeof g->from);
            else if (s->time_us > g->time_us)
                g->spoke = true;
        }
    }
}

uint32_t fcvi_tcp_spoke_on(const struct tcp_judge *t, size_t index)
{
    for (size_t i = 0; i < RESETS; i++)
        if (t->gone[i].spoke && index-- == 0)
            return t->gone[i].number;
    return 0;
}

/* Of a segment in several fragments of IP those before the last count as their connection does. */
static void count_fragments(struct tcp_judge *t, const struct capture_record *record, uint32_t stream)
{
    const struct side *s = stream < MOST ? t->side[stream] : NULL;
    if ((record->unusual & CAPTURE_PARTS) == 0)
        return;
    t->tally.records += record->parts;
    *(s != NULL && s->connection != NULL && s->connection->kind == VITCP ? &t->tally.judged
                                                                         : &t->tally.foreign) +=
        record->parts;
}

int fcvi_tcp_take(struct tcp_judge *t, const struct capture_record *record, uint64_t number)
{
    const struct fcvi_input *ip = &record->frame;
    struct streams_segment segment = {.stream = MOST};
    t->reports = t->used = 0;
    t->tally.records++;
    if (!fcvi_segment_of(ip->bytes, ip->length, record->whole, &segment)) {
        t->tally.foreign++;
        count_fragments(t, record, MOST);
        return 0;
    }
    if (!load(t)) {
        count(&t->tally.unjudged[TCP_LIBRARY], 1, number);
        count_fragments(t, record, MOST);
        return t->no_memory ? -1 : 0;
    }
    segment.network = record->network;
    segment.record = number;
    segment.time_us = record->time_us;
    t->now = &segment;
    t->six = ip->bytes[0] >> 4 == 6;
    t->hops = ip->bytes[t->six ? 7 : 8];
    if (t->options.connections)
        note_attempt(t, &segment);
    if (t->resets != 0)
        note_speaker(t, &segment);
    const int status = t->calls->take(t->streams, &segment);
    count_segment(t, &segment);
    count_fragments(t, record, segment.stream);
    t->now = NULL;
    if (segment.stream < MOST && t->side[segment.stream] != NULL)
        t->side[segment.stream]->completed = false;
    return status != 0 || t->no_memory ? -1 : (int)t->reports;
}

int fcvi_tcp_flush(struct tcp_judge *t)
{
    t->reports = t->used = 0;
    if (t->streams == NULL)
        return 0;
    const int status = t->calls->flush(t->streams);
    for (unsigned i = 0; i < MOST; i++)
        if (t->side[i] != NULL)
            leave(t, t->side[i]);
    return status != 0 || t->no_memory ? -1 : (int)t->reports;
}

/* ---- the rest ---- */

struct tcp_judge *fcvi_tcp_open(const struct tcp_options *options)
{
    struct tcp_judge *t = calloc(1, sizeof *t);
    if (t != NULL)
        t->options = *options;
    return t;
}

bool fcvi_tcp_report(const struct tcp_judge *t, size_t index, struct tcp_report *out)
{
    if (index >= t->reports)
        return false;
    *out = t->report[index];
    return true;
}

const uint8_t *fcvi_tcp_bytes(const struct tcp_judge *t, size_t index)
{
    return t->store == NULL ? t->report[index].headers : t->store + t->stored[index];
}

const struct tcp_tally *fcvi_tcp_tally(const struct tcp_judge *t)
{
    return &t->tally;
}

bool fcvi_tcp_over(struct tcp_judge *t, struct tcp_connection *out)
{
    if (t->over_next == t->overs) {
        t->over_next = t->overs = 0;
        return false;
    }
    *out = t->over[t->over_next++];
    return true;
}

void fcvi_tcp_close(struct tcp_judge *t)
{
    if (t == NULL)
        return;
    if (t->streams != NULL)
        t->calls->close(t->streams);
    for (unsigned i = 0; i < MOST; i++)
        if (t->side[i] != NULL) {
            leave(t, t->side[i]);
            free(t->side[i]->whole_pdu);
            free(t->side[i]);
        }
    free(t->report);
    free(t->stored);
    free(t->store);
    free(t->over);
    fcvi_segments_unload(&t->library);
    free(t);
}
