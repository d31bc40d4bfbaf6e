/* TCP connections: ports open them, send bytes and end them; what is under way on one arrives in its order,
 * may arrive in pieces, and is lost when the connection is reset. */
#include "explore.h"

#include <string.h>

enum { RESERVED_PORT = 7000, FIRST_PORT = 50000 }; /* where VI/TCP is listened for; where a link comes from */

static struct fcvi_endpoint endpoint(unsigned port, uint16_t number)
{
    return (struct fcvi_endpoint){.host = {0xfe, 0x80, [15] = (uint8_t)(0xa1 + port)}, .port = number};
}

/* ---- what is under way ---- */

static void forget(struct way *way)
{
    memset(way, 0, sizeof *way);
}

static void pop(struct way *way)
{
    if (way->count == 0)
        return;
    way->count--;
    memmove(&way->unit[0], &way->unit[1], way->count * sizeof way->unit[0]);
    memset(&way->unit[way->count], 0, sizeof way->unit[0]);
}

/* On its way to port `to`, unless nobody is there any more or the connection is reset before it. */
static void push(struct link *l, unsigned to, const struct unit *u, struct breach *b)
{
    struct way *way = &l->to[to];
    if (l->gone || l->end[to].over)
        return;
    if (way->count == UNITS)
        fcvi_explore_breach(b, "bound", "more on its way in a stream than the explorer has room for");
    else
        way->unit[way->count++] = *u;
}

/* An end whose both directions have ended is over; so is a link whose both ends are. */
static void settle(struct link *l)
{
    for (unsigned i = 0; i < PORTS; i++) {
        l->end[i].over = l->end[i].over || (l->end[i].fin_sent && l->end[i].fin_seen);
        if (l->end[i].over)
            forget(&l->to[i]);
    }
    if (l->end[0].over && l->end[1].over)
        memset(l, 0, sizeof *l);
}

/* The connection is reset on its way: each end hears of it, the opener of one that it does not know to be
 * open that it was not opened. */
void fcvi_explore_streams_break(const struct system *s, uint8_t *block, unsigned link)
{
    struct world *w = world_of(block);
    struct link *l = &w->link[link];
    struct breach none = {0};
    for (unsigned i = 0; i < PORTS; i++) {
        const struct unit u = {.kind = l->end[i].open ? UNIT_RESET : UNIT_REFUSED, .number = ++w->frames};
        forget(&l->to[i]);
        l->end[i].over = l->end[i].over || !l->end[i].known;
        if (l->end[i].known && !l->end[i].over)
            fcvi_explore_trace_unit(s, w->now, !i, link, l->end[!i].sent, &u);
        push(l, i, &u, &none);
    }
    l->gone = true;
    settle(l);
}

/* ---- what a port says ---- */

static struct link *link_of(struct world *w, unsigned port, uint32_t stream)
{
    for (unsigned i = 0; i < LINKS; i++) {
        const struct end *e = &w->link[i].end[port];
        if (w->link[i].used && e->known && !e->over && e->stream == stream)
            return &w->link[i];
    }
    return NULL;
}

/* The codec takes the PDU apart strictly; the rules and the monitor judge it. */
static void judge(const struct system *s, uint8_t *block, unsigned from, struct link *l, const struct unit *u,
                  struct breach *b)
{
    struct world *w = world_of(block);
    struct fcvi_finding list[4];
    struct fcvi_findings findings = {list, 4, 0, 0};
    struct fcvi_pdu pdu;
    if (fcvi_pdu_first(fcvi_profile_t0(), u->bytes, u->length, &pdu, &findings) != FCVI_STREAM_PDU ||
        pdu.length != u->length) {
        fcvi_explore_breach(b, "codec", "%u bytes are no PDU", u->length);
        return;
    }
    if (findings.worst > 1 + FCVI_NOTICE)
        fcvi_explore_breach(b, list[0].requirement, "codec: %s", list[0].message);
    fcvi_explore_rule_pdu(s, block, from, l, &pdu, b);
    if (!s->options->monitor)
        return;
    /* everything that the end has received was given to the monitor when it was sent */
    uint64_t known = l->end[from].received;
    struct fcvi_vitcp_seen seen = {.pdu = &pdu,
                                   .direction = from,
                                   .begin = l->end[from].sent - u->length,
                                   .end = l->end[from].sent,
                                   .acknowledges = true,
                                   .acknowledged = known,
                                   .delivered = known,
                                   .worst = findings.worst};
    struct fcvi_findings monitored = {list, 4, 0, 0};
    fcvi_vitcp_monitor_pdu(stream_monitor_of(s, block, (unsigned)(l - w->link)), &seen, &monitored);
    if (monitored.worst > 1 + FCVI_NOTICE)
        fcvi_explore_breach(b, list[0].requirement, "monitor: %s", list[0].message);
}

static struct link *open_link(const struct system *s, uint8_t *block, unsigned port, uint32_t stream)
{
    struct world *w = world_of(block);
    for (unsigned i = 0; i < LINKS; i++) {
        struct link *l = &w->link[i];
        if (l->used)
            continue;
        *l = (struct link){.used = true, .opener = (uint8_t)port};
        l->end[port] = (struct end){.known = true, .stream = stream};
        if (s->options->monitor) {
            struct fcvi_vitcp_monitor *m = stream_monitor_of(s, block, i);
            fcvi_vitcp_monitor_init(m, fcvi_profile_t0());
            fcvi_vitcp_monitor_opened(m, port, true, true);
            fcvi_vitcp_monitor_opened(m, !port, true, false);
        }
        return l;
    }
    return NULL;
}

/* The port ends the connection, or its attempt to open it. */
static void abandon(struct link *l, unsigned port, const struct unit *u, struct breach *b)
{
    l->end[port].over = true;
    if (!l->end[!port].known) {
        forget(&l->to[!port]);
        l->end[!port].over = true;
    }
    push(l, !port, u, b);
    settle(l);
}

static void end_of_stream(struct link *l, unsigned port, const struct unit *u, struct breach *b)
{
    if (!l->end[port].open || l->end[port].fin_sent)
        fcvi_explore_breach(b, "stream", "port %u ends a stream that it cannot end", port);
    push(l, !port, u, b);
    l->end[port].fin_sent = true;
    settle(l);
}

static void bytes_of_stream(const struct system *s, uint8_t *block, struct link *l, unsigned port,
                            const struct unit *u, struct breach *b)
{
    if (!l->end[port].open || l->end[port].fin_sent)
        fcvi_explore_breach(b, "stream", "port %u sends bytes on a stream that is not open", port);
    push(l, !port, u, b);
    judge(s, block, port, l, u, b);
}

static void said(const struct system *s, uint8_t *block, unsigned port, const struct fcvi_stream_out *what,
                 const uint8_t *bytes, size_t n, struct breach *b)
{
    static const uint8_t kinds[] = {[FCVI_STREAM_OPEN] = UNIT_OPEN,
                                    [FCVI_STREAM_DATA] = UNIT_DATA,
                                    [FCVI_STREAM_FIN] = UNIT_FIN,
                                    [FCVI_STREAM_RESET] = UNIT_RESET};
    struct world *w = world_of(block);
    bool open = what->kind == FCVI_STREAM_OPEN;
    struct link *l = open ? open_link(s, block, port, what->stream) : link_of(w, port, what->stream);
    if (l == NULL && !open)
        fcvi_explore_breach(b, "stream", "port %u %s stream %u, which stands for nothing", port,
                            what->kind == FCVI_STREAM_DATA ? "sends bytes on" : "ends", what->stream);
    if (l == NULL || n > SEGMENT) {
        fcvi_explore_breach(b, "bound", "more TCP connections or bytes than the explorer has room for");
        return;
    }
    struct unit u = {.kind = kinds[what->kind], .length = (uint16_t)n, .number = ++w->frames};
    memcpy(u.bytes, bytes, n);
    fcvi_explore_trace_unit(s, w->now, port, (unsigned)(l - w->link), l->end[port].sent, &u);
    l->end[port].sent += n;
    if (open)
        push(l, !port, &u, b);
    else if (u.kind == UNIT_DATA)
        bytes_of_stream(s, block, l, port, &u, b);
    else if (u.kind == UNIT_FIN)
        end_of_stream(l, port, &u, b);
    else
        abandon(l, port, &u, b);
}

void fcvi_explore_streams_collect(const struct system *s, uint8_t *block, unsigned port, struct breach *b)
{
    struct world *w = world_of(block);
    uint8_t out[4096];
    struct fcvi_stream_out what;
    for (;;) {
        fcvi_explore_app_events(s, block, port, b);
        size_t n = fcvi_stream_transmit(port_of(s, block, port), w->now, out, sizeof out, &what);
        if (what.kind == FCVI_STREAM_NONE || b->rule != NULL)
            break;
        said(s, block, port, &what, out, n, b);
    }
    fcvi_explore_app_events(s, block, port, b);
}

/* ---- what a port is told ---- */

/* How many bytes arrive when a PDU is cut there, 0 where it cannot be: it has no such place, or a piece of it
 * has arrived. */
uint32_t fcvi_explore_streams_division(const struct unit *u, unsigned place)
{
    if (u->kind != UNIT_DATA || u->taken != 0)
        return 0;
    return place == 0 ? FCVI_SEG_LENGTH / 2 : u->length - 1u;
}

static void incoming(const struct system *s, struct world *w, struct fcvi_port *p, struct link *l,
                     unsigned port, uint64_t at)
{
    struct end *e = &l->end[port];
    struct fcvi_endpoint here = endpoint(port, RESERVED_PORT),
                         there = endpoint(!port, (uint16_t)(FIRST_PORT + (l - w->link)));
    struct unit answer = {.kind = UNIT_OPENED, .number = ++w->frames};
    struct breach none = {0};
    e->known = e->open = fcvi_stream_incoming(p, at, &there, &here, &e->stream);
    e->over = !e->known;
    if (e->over)
        answer.kind = UNIT_REFUSED;
    fcvi_explore_trace_unit(s, w->now, port, (unsigned)(l - w->link), 0, &answer);
    push(l, !port, &answer, &none);
}

static void take_bytes(const struct system *s, uint8_t *block, struct link *l, unsigned port,
                       const struct unit *u, uint32_t length, uint64_t at)
{
    struct fcvi_pdu pdu;
    bool whole = u->taken + length == u->length;
    fcvi_pdu_first(fcvi_profile_t0(), u->bytes, u->length, &pdu, NULL);
    if (whole && pdu.pdu == FCVI_PDU_CONNECT_ACCEPT)
        world_of(block)->past[port].other_confirmed = true;
    l->end[port].received += length;
    fcvi_stream_receive(port_of(s, block, port), at, l->end[port].stream, u->bytes + u->taken, length);
}

/* What is oldest arrives at `at`. */
void fcvi_explore_streams_deliver(const struct system *s, uint8_t *block, unsigned port, unsigned link,
                                  uint32_t length, uint64_t at)
{
    struct world *w = world_of(block);
    struct fcvi_port *p = port_of(s, block, port);
    struct link *l = &w->link[link];
    struct end *e = &l->end[port];
    const struct unit u = l->to[port].unit[0];
    const struct fcvi_endpoint here = endpoint(port, (uint16_t)(FIRST_PORT + link));
    if (u.kind == UNIT_DATA && length != 0 && u.taken + length < u.length) {
        l->to[port].unit[0].taken = (uint16_t)(u.taken + length);
        take_bytes(s, block, l, port, &u, length, at);
        return;
    }
    pop(&l->to[port]);
    switch (u.kind) {
    case UNIT_OPEN:
        incoming(s, w, p, l, port, at);
        break;
    case UNIT_OPENED:
        e->open = true;
        fcvi_stream_opened(p, at, e->stream, true, &here);
        break;
    case UNIT_REFUSED:
        e->over = true;
        fcvi_stream_opened(p, at, e->stream, false, NULL);
        break;
    case UNIT_FIN:
        e->fin_seen = true;
        fcvi_stream_closed(p, at, e->stream, FCVI_CLOSE_FIN);
        break;
    case UNIT_RESET:
        e->over = true;
        fcvi_stream_closed(p, at, e->stream, FCVI_CLOSE_RESET);
        break;
    default:
        take_bytes(s, block, l, port, &u, u.length - u.taken, at);
        break;
    }
    settle(l);
}
