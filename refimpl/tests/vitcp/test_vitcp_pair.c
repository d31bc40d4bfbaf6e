/* VI/TCP: two ports on a wire that cuts, holds back and joins the bytes as chance has it, and Peers that call
 * each other. The wire looks at every PDU with the strict codec. */
#include "../../../codec/tests/quiet_check.h"
#include <fcvi/access.h>
#include <fcvi/pdu.h>
#include <fcvi/vitcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 16, FIFO = 1 << 18, MS = 1000, SEGMENT = 65535 };

/* One TCP connection: the stream at each side, and the bytes under way from it. */
struct link {
    bool used, ended[2], told[2];
    uint32_t stream[2];
    size_t first[2], count[2];
    uint8_t fifo[2][FIFO];
    size_t gathered[2]; /* of the PDU that the wire looks at */
    uint8_t pdu[2][SEGMENT];
};

struct wire {
    struct fcvi_port *port[2];
    size_t size;
    uint64_t now, random;
    uint16_t next_port;
    bool refuse; /* no SYN is accepted */
    struct link link[STREAMS];
    unsigned accepts, opens, placed;
    struct fcvi_event call[2];
    unsigned calls[2], errors[2];
};

static uint32_t chance(struct wire *w, uint32_t n)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->random >> 33) % n;
}

static void host_of(uint8_t out[16], unsigned last)
{
    memset(out, 0, 16);
    out[10] = out[11] = 0xff;
    out[12] = 10;
    out[15] = (uint8_t)last;
}

/* The ports have the addresses 10.0.0.first and 10.0.0.second. */
static struct wire *wire_new(uint64_t seed, bool flow_control, uint32_t segment, unsigned first,
                             unsigned second)
{
    struct wire *w = calloc(1, sizeof *w);
    const struct fcvi_port_limits limits = {.vis = 8,
                                            .connectionpoints = 8,
                                            .exchanges = 1,
                                            .regions = 4,
                                            .descriptors = 32,
                                            .events = 1024,
                                            .memory = 1 << 20,
                                            .max_transfer_size = 70000,
                                            .streams = STREAMS,
                                            .stream_reads = 3};
    w->random = seed * 77 + 1;
    w->size = fcvi_port_size(&limits);
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_config c = {.wire = FCVI_WIRE_VITCP,
                                     .self = {.hosts = 1},
                                     .seed = seed * 2 + i,
                                     .vitcp = {.flow_control = flow_control, .segment_size = segment}};
        host_of(c.self.host[0], i == 0 ? first : second);
        w->port[i] = fcvi_port_init(malloc(w->size), w->size, &limits, &c);
        ck_assert_ptr_nonnull(w->port[i]);
    }
    return w;
}

static void wire_free(struct wire *w)
{
    for (unsigned i = 0; i < 2; i++)
        free(w->port[i]);
    free(w);
}

static struct link *link_of(struct wire *w, unsigned side, uint32_t stream)
{
    for (unsigned i = 0; i < STREAMS; i++)
        if (w->link[i].used && w->link[i].stream[side] == stream && !w->link[i].told[side])
            return &w->link[i];
    return NULL;
}

static void open_link(struct wire *w, unsigned from, const struct fcvi_stream_out *what)
{
    struct fcvi_endpoint caller = what->local, called = what->remote;
    struct link *l = w->link;
    uint32_t stream;
    unsigned to = !from;
    while (l->used)
        l++;
    caller.port = ++w->next_port;
    called.port = 1;
    w->opens++;
    if (w->refuse || !fcvi_stream_incoming(w->port[to], w->now, &caller, &called, &stream)) {
        fcvi_stream_opened(w->port[from], w->now, what->stream, false, NULL);
        return;
    }
    memset(l, 0, sizeof *l);
    l->used = true;
    l->stream[from] = what->stream;
    l->stream[!from] = stream;
    fcvi_stream_opened(w->port[from], w->now, what->stream, true, &caller);
}

/* Every PDU is right by the strict codec. */
static void look(struct wire *w, struct link *l, unsigned side, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct fcvi_finding list[8];
        struct fcvi_findings findings = {.list = list, .capacity = 8};
        struct fcvi_pdu pdu;
        l->pdu[side][l->gathered[side]++] = bytes[i];
        if (l->gathered[side] < 4 || l->gathered[side] < fcvi_SEG_Segment_Length(l->pdu[side]))
            continue;
        ck_assert_int_eq(fcvi_pdu_first(fcvi_profile_t0(), l->pdu[side], l->gathered[side], &pdu, &findings),
                         FCVI_STREAM_PDU);
        ck_assert_msg(findings.count == 0, "%s", list[0].requirement);
        w->accepts += pdu.pdu == FCVI_PDU_CONNECT_ACCEPT;
        l->gathered[side] = 0;
    }
}

/* What a port has to say goes into the wire. */
static bool take(struct wire *w, unsigned side)
{
    static uint8_t out[FIFO];
    struct fcvi_stream_out what;
    size_t n = fcvi_stream_transmit(w->port[side], w->now, out, 1 + chance(w, 70000), &what);
    if (what.kind == FCVI_STREAM_NONE)
        return false;
    if (what.kind == FCVI_STREAM_OPEN) {
        open_link(w, side, &what);
        return true;
    }
    struct link *l = link_of(w, side, what.stream);
    ck_assert_ptr_nonnull(l);
    look(w, l, side, out, n);
    for (size_t i = 0; i < n; i++, l->count[side]++) {
        ck_assert_uint_lt(l->count[side], FIFO);
        l->fifo[side][(l->first[side] + l->count[side]) % FIFO] = out[i];
    }
    l->ended[side] |= what.kind == FCVI_STREAM_FIN;
    if (what.kind == FCVI_STREAM_RESET) {
        l->used = false;
        if (!l->told[!side])
            fcvi_stream_closed(w->port[!side], w->now, l->stream[!side], FCVI_CLOSE_RESET);
    }
    return true;
}

/* Bytes arrive; data of Sends now and then where they belong. */
static void arrive(struct wire *w, unsigned to, uint32_t stream, const uint8_t *bytes, size_t n)
{
    struct fcvi_stream_piece piece[FCVI_STREAM_PIECES];
    size_t placed = 0;
    size_t pieces = chance(w, 2) ? fcvi_stream_place(w->port[to], stream, piece) : 0;
    w->placed += pieces > 0;
    for (size_t i = 0; i < pieces; i++) {
        size_t length = piece[i].length < n - placed ? piece[i].length : n - placed;
        memcpy(piece[i].bytes, bytes + placed, length);
        placed += length;
    }
    if (placed > 0)
        fcvi_stream_placed(w->port[to], w->now, stream, placed);
    if (n > placed)
        fcvi_stream_receive(w->port[to], w->now, stream, bytes + placed, n - placed);
}

/* Some of what is under way arrives; its sender has that much room again. */
static bool deliver(struct wire *w, struct link *l, unsigned from)
{
    static uint8_t piece[FIFO];
    size_t n = l->count[from] > 0 ? 1 + chance(w, chance(w, 2) ? 40 : (uint32_t)l->count[from]) : 0;
    n = n < l->count[from] ? n : l->count[from];
    for (size_t i = 0; i < n; i++)
        piece[i] = l->fifo[from][(l->first[from] + i) % FIFO];
    l->first[from] = (l->first[from] + n) % FIFO;
    l->count[from] -= n;
    if (n > 0) {
        arrive(w, !from, l->stream[!from], piece, n);
        if (!l->ended[from])
            fcvi_stream_window(w->port[from], w->now, l->stream[from], (int64_t)n);
    } else if (l->ended[from] && !l->told[from]) {
        l->told[from] = true;
        fcvi_stream_closed(w->port[!from], w->now, l->stream[!from], FCVI_CLOSE_FIN);
        l->used = !(l->told[0] && l->told[1]);
    } else {
        return false;
    }
    return true;
}

static void events(struct wire *w)
{
    struct fcvi_event e;
    for (unsigned i = 0; i < 2; i++)
        while (fcvi_port_event(w->port[i], &e)) {
            if (e.kind == FCVI_EVENT_CALL) {
                w->call[i] = e;
                w->calls[i]++;
            }
            w->errors[i] += e.kind == FCVI_EVENT_ERROR;
        }
}

/* One thing happens; false when nothing is left to happen now. */
static bool step(struct wire *w)
{
    unsigned start = chance(w, 2 + 2 * STREAMS);
    for (unsigned k = 0; k < 2 + 2 * STREAMS; k++) {
        unsigned i = (start + k) % (2 + 2 * STREAMS);
        bool any = i < 2 ? take(w, i) : w->link[i / 2 - 1].used && deliver(w, &w->link[i / 2 - 1], i % 2);
        if (any) {
            events(w);
            return true;
        }
    }
    return false;
}

static void settle(struct wire *w)
{
    while (step(w))
        ;
}

static void pass(struct wire *w, uint64_t us)
{
    uint64_t end = w->now + us;
    for (;;) {
        settle(w);
        uint64_t next = end;
        for (unsigned i = 0; i < 2; i++)
            next = fcvi_port_deadline(w->port[i]) < next ? fcvi_port_deadline(w->port[i]) : next;
        if (w->now == end)
            return;
        w->now = next;
        for (unsigned i = 0; i < 2; i++)
            fcvi_port_run(w->port[i], w->now);
    }
}

static struct fcvi_address address(unsigned host, uint8_t discriminator)
{
    struct fcvi_address a = {.discriminator_length = 5};
    host_of(a.host, host);
    memset(a.discriminator, discriminator, 5);
    return a;
}

static uint32_t create(struct wire *w, unsigned side, uint8_t level, uint32_t mtu)
{
    const struct fcvi_attributes a = {.reliability = level,
                                      .max_transfer_size = mtu,
                                      .rdma_write = true,
                                      .rdma_read = level != FCVI_UNRELIABLE};
    uint32_t vi;
    ck_assert_int_eq(fcvi_vip_create_vi(w->port[side], w->now, &a, &vi), VIP_SUCCESS);
    return vi;
}

static enum fcvi_vi_state state_of(struct wire *w, unsigned side, uint32_t vi)
{
    struct fcvi_vi_info info;
    ck_assert_int_eq(fcvi_vip_query_vi(w->port[side], w->now, vi, &info), VIP_SUCCESS);
    return (enum fcvi_vi_state)info.state;
}

static void nothing_left(struct wire *w)
{
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_counts c;
        fcvi_port_count(w->port[i], &c);
        ck_assert_uint_eq(c.streams, 0);
        ck_assert_uint_eq(c.points, 0);
        ck_assert_uint_eq(c.entries, 0);
        ck_assert_uint_eq(c.timers, 0);
        ck_assert_uint_eq(c.events_lost, 0);
    }
}

/* Client on side 0, server on side 1. */
static void connect_both(struct wire *w, uint32_t client, uint32_t server)
{
    struct fcvi_address a = address(1, 1), b = address(2, 2);
    unsigned before = w->calls[0];
    ck_assert_int_eq(fcvi_vip_connect_wait(w->port[1], w->now, &b, FCVI_NEVER, 1), FCVI_VIP_PENDING);
    ck_assert_int_eq(fcvi_vip_connect_request(w->port[0], w->now, client, &a, &b, FCVI_NEVER, 2),
                     FCVI_VIP_PENDING);
    settle(w);
    ck_assert_int_eq(w->call[1].vip, VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_accept(w->port[1], w->now, w->call[1].conn, server, 3),
                     FCVI_VIP_PENDING);
    settle(w);
    ck_assert_uint_eq(w->calls[0], before + 1);
    ck_assert_int_eq(w->call[0].vip, VIP_SUCCESS);
    ck_assert_int_eq(state_of(w, 0, client), FCVI_STATE_CONNECTED);
    ck_assert_int_eq(state_of(w, 1, server), FCVI_STATE_CONNECTED);
}

/* ---- traffic ---- */

enum { SLOT = 70000, MESSAGES = 60 };

struct end {
    uint32_t mem, handle, vi;
    uint64_t va;
    uint8_t *bytes;
    unsigned sent, completed, received, posted, consumers; /* consumers: Sends, which take a receive */
    uint32_t length[MESSAGES];
    uint8_t op[MESSAGES];
};

static uint8_t pattern(unsigned side, unsigned n, uint32_t k)
{
    return (uint8_t)(side * 101 + n * 29 + k * 13 + k / 251);
}

static void post(struct wire *w, struct end *end, unsigned side, enum fcvi_op op, uint32_t offset,
                 uint32_t length, uint64_t va, uint32_t handle)
{
    struct fcvi_descriptor d = {.op = (uint8_t)op,
                                .segments = (uint8_t)(1 + chance(w, 2 * FCVI_STREAM_PIECES)),
                                .remote_va = va,
                                .remote_handle = handle};
    for (uint32_t i = 0, at = 0; i < d.segments; i++) {
        const uint32_t piece = i + 1 == d.segments ? length - at : length / d.segments;
        d.segment[i] = (struct fcvi_segment){end->mem, offset + at, piece};
        at += piece;
    }
    ck_assert_int_eq(fcvi_vip_post(w->port[side], w->now, end->vi, &d), VIP_SUCCESS);
}

/* The next own message: slots 0 to 2 hold what goes out, 3 to 5 what comes in, 6 and 7 what is written and
 * read. One is under way at a time for each side, as each looks at what has come. */
static void send_next(struct wire *w, struct end *e, unsigned side, uint8_t level)
{
    struct end *mine = &e[side], *theirs = &e[!side];
    unsigned n = mine->sent++;
    uint32_t length = chance(w, 3) ? chance(w, 300) : chance(w, SLOT);
    unsigned kinds = level == FCVI_UNRELIABLE ? 2 : 3;
    unsigned kind = chance(w, kinds);
    mine->length[n] = length;
    mine->consumers += kind == 0;
    mine->op[n] = (uint8_t)kind;
    uint8_t *from = kind == 2 ? theirs->bytes + 7 * SLOT : mine->bytes + (n % 3) * SLOT;
    for (uint32_t k = 0; k < length; k++)
        from[k] = pattern(side, n, k);
    if (kind == 0)
        post(w, mine, side, FCVI_SEND, (n % 3) * SLOT, length, 0, 0);
    else if (kind == 1)
        post(w, mine, side, FCVI_RDMA_WRITE, (n % 3) * SLOT, length, theirs->va + 6 * SLOT, theirs->handle);
    else
        post(w, mine, side, FCVI_RDMA_READ, 8 * SLOT, length, theirs->va + 7 * SLOT, theirs->handle);
}

static void check_arrived(const struct end *e, unsigned side, unsigned n)
{
    const uint8_t *at = e[side].op[n] == 1   ? e[!side].bytes + 6 * SLOT
                        : e[side].op[n] == 2 ? e[side].bytes + 8 * SLOT
                                             : e[!side].bytes + 3 * SLOT + (e[!side].received % 3) * SLOT;
    for (uint32_t k = 0; k < e[side].length[n]; k++)
        ck_assert_msg(at[k] == pattern(side, n, k), "byte %u of message %u", k, n);
}

static void traffic(uint64_t seed, uint8_t level, bool flow_control)
{
    static const uint32_t sizes[] = {0, 128, 1500};
    struct wire *w = wire_new(seed, flow_control, sizes[seed % 3], 1, 2);
    struct end e[2];
    memset(e, 0, sizeof e);
    for (unsigned i = 0; i < 2; i++) {
        e[i].vi = create(w, i, level, 0);
        ck_assert_int_eq(fcvi_vip_register_mem(w->port[i], w->now, 9 * SLOT, true, true, &e[i].mem, &e[i].va,
                                               &e[i].handle),
                         VIP_SUCCESS);
        e[i].bytes = fcvi_port_memory(w->port[i], e[i].mem, 0, 9 * SLOT);
    }
    connect_both(w, e[0].vi, e[1].vi);
    while (e[0].completed < MESSAGES || e[1].completed < MESSAGES) {
        for (unsigned i = 0; i < 2; i++) {
            struct fcvi_completion c;
            bool waits =
                e[i].sent == e[i].completed && e[!i].received == e[i].consumers && e[i].sent < MESSAGES;
            bool room = e[!i].posted - e[!i].received > 0 || (flow_control && chance(w, 2));
            if (waits && room)
                send_next(w, e, i, level);
            if (e[i].posted - e[i].received < 1 && chance(w, 3) == 0) {
                post(w, &e[i], i, FCVI_RECV, 3 * SLOT + (e[i].posted % 3) * SLOT, SLOT, 0, 0);
                e[i].posted++;
            }
            if (fcvi_vip_done(w->port[i], w->now, e[i].vi, true, &c) == VIP_SUCCESS) {
                unsigned n = e[!i].sent - 1; /* one at a time */
                ck_assert_uint_eq(c.length, e[!i].length[n]);
                check_arrived(e, !i, n);
                e[i].received++;
            }
            if (e[i].sent > e[i].completed &&
                fcvi_vip_done(w->port[i], w->now, e[i].vi, false, &c) == VIP_SUCCESS) {
                ck_assert_uint_eq(c.length, e[i].length[e[i].completed]);
                if (level == FCVI_UNRELIABLE) /* out, and not there yet */
                    settle(w);
                if (level == FCVI_UNRELIABLE && e[!i].received < e[i].consumers) {
                    struct fcvi_completion r;
                    ck_assert_int_eq(fcvi_vip_done(w->port[!i], w->now, e[!i].vi, true, &r), VIP_SUCCESS);
                    check_arrived(e, i, e[i].completed);
                    e[!i].received++;
                } else if (e[i].op[e[i].completed] != 0) {
                    check_arrived(e, i, e[i].completed);
                }
                e[i].completed++;
            }
        }
        for (unsigned k = chance(w, 5); k > 0; k--)
            step(w);
    }
    settle(w);
    ck_assert_uint_eq(w->errors[0] + w->errors[1], 0);
    unsigned first = chance(w, 2);
    ck_assert_int_eq(fcvi_vip_disconnect(w->port[first], w->now, e[first].vi, 9), VIP_SUCCESS);
    settle(w);
    ck_assert_int_eq(state_of(w, !first, e[!first].vi), FCVI_STATE_ERROR);
    ck_assert_uint_eq(w->errors[!first], 1);
    ck_assert_int_eq(fcvi_vip_disconnect(w->port[!first], w->now, e[!first].vi, 9), VIP_SUCCESS);
    settle(w);
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_completion c;
        while (fcvi_vip_done(w->port[i], w->now, e[i].vi, true, &c) != VIP_DESCRIPTOR_ERROR || c.status != 0)
            ck_assert_uint_ne(c.status & FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    }
    nothing_left(w);
    ck_assert_uint_gt(w->placed, 0);
    wire_free(w);
}

START_TEST(traffic_of_a_level)
{
    for (uint64_t seed = 0; seed < 6; seed++)
        traffic(seed, (uint8_t)(1 + _i % 3), _i >= 3);
}
END_TEST

/* Posts before receives, and both sides at their end of credit: each recovers by a NOP (3.1, V20). */
START_TEST(no_deadlock)
{
    struct wire *w = wire_new((uint64_t)_i, true, 0, 1, 2);
    struct end e[2];
    memset(e, 0, sizeof e);
    for (unsigned i = 0; i < 2; i++) {
        e[i].vi = create(w, i, FCVI_RELIABLE_RECEPTION, 0);
        fcvi_vip_register_mem(w->port[i], w->now, SLOT, true, true, &e[i].mem, &e[i].va, &e[i].handle);
    }
    connect_both(w, e[0].vi, e[1].vi);
    for (unsigned n = 0; n < 30; n++)
        for (unsigned i = 0; i < 2; i++)
            post(w, &e[i], i, FCVI_SEND, 0, n, 0, 0);
    settle(w);
    for (unsigned n = 0; n < 30; n++)
        for (unsigned i = 0; i < 2; i++) {
            struct fcvi_completion c;
            ck_assert_int_eq(fcvi_vip_done(w->port[i], w->now, e[i].vi, false, &c), VIP_NOT_DONE);
            post(w, &e[!i], !i, FCVI_RECV, 0, 100, 0, 0);
            settle(w);
            ck_assert_int_eq(fcvi_vip_done(w->port[i], w->now, e[i].vi, false, &c), VIP_SUCCESS);
            ck_assert_uint_eq(c.length, n);
        }
    ck_assert_uint_eq(w->errors[0] + w->errors[1], 0);
    wire_free(w);
}
END_TEST

/* The lesser MTU holds both ways (3.2). */
START_TEST(agreed)
{
    struct wire *w = wire_new(1, false, 0, 1, 2);
    uint32_t client = create(w, 0, FCVI_UNRELIABLE, _i ? 500 : 300);
    uint32_t server = create(w, 1, FCVI_UNRELIABLE, _i ? 300 : 500);
    struct end e = {.vi = client};
    connect_both(w, client, server);
    ck_assert_uint_eq(w->call[0].remote_attributes.max_transfer_size, 300);
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_completion c;
        e.vi = i == 0 ? client : server;
        fcvi_vip_register_mem(w->port[i], w->now, 600, true, true, &e.mem, &e.va, &e.handle);
        post(w, &e, i, FCVI_SEND, 0, 300, 0, 0);
        post(w, &e, i, FCVI_SEND, 0, 301, 0, 0);
        settle(w);
        ck_assert_int_eq(fcvi_vip_done(w->port[i], w->now, e.vi, false, &c), VIP_SUCCESS);
        ck_assert_int_eq(fcvi_vip_done(w->port[i], w->now, e.vi, false, &c), VIP_DESCRIPTOR_ERROR);
        ck_assert_uint_ne(c.status & FCVI_STATUS_LENGTH_ERROR, 0);
    }
    wire_free(w);
}
END_TEST

/* ---- Peers (4) ---- */

static int peer_done(struct wire *w, unsigned side, uint32_t vi)
{
    struct fcvi_attributes a;
    return fcvi_vip_connect_peer_done(w->port[side], w->now, vi, &a);
}

static void ask_peer(struct wire *w, unsigned side, uint32_t vi, unsigned own, unsigned other,
                     uint64_t timeout)
{
    struct fcvi_address a = address(own, 7), b = address(other, 7);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(w->port[side], w->now, vi, &a, &b, timeout), VIP_SUCCESS);
}

/* Requests that cross in every order that chance has: exactly one connection, on the stream of the higher
 * address; 9 and 10 are told apart as bytes and not as text (V28). */
START_TEST(crossing)
{
    static const unsigned pairs[][2] = {{1, 2}, {2, 1}, {9, 10}, {10, 9}};
    for (uint64_t seed = 0; seed < 40; seed++) {
        unsigned first = pairs[_i][0], second = pairs[_i][1];
        struct wire *w = wire_new(seed, false, 0, first, second);
        uint32_t a = create(w, 0, FCVI_RELIABLE_RECEPTION, 0), b = create(w, 1, FCVI_RELIABLE_RECEPTION, 0);
        ask_peer(w, 0, a, first, second, 10000 * MS);
        for (unsigned k = chance(w, 8); k > 0; k--)
            step(w);
        ask_peer(w, 1, b, second, first, 10000 * MS);
        pass(w, 1000 * MS);
        ck_assert_int_eq(peer_done(w, 0, a), VIP_SUCCESS);
        ck_assert_int_eq(peer_done(w, 1, b), VIP_SUCCESS);
        ck_assert_int_eq(state_of(w, 0, a), FCVI_STATE_CONNECTED);
        ck_assert_int_eq(state_of(w, 1, b), FCVI_STATE_CONNECTED);
        ck_assert_uint_eq(w->accepts, 1);
        fcvi_vip_disconnect(w->port[0], w->now, a, 1);
        settle(w);
        fcvi_vip_disconnect(w->port[1], w->now, b, 1);
        pass(w, 1000 * MS);
        nothing_left(w);
        wire_free(w);
    }
}
END_TEST

/* The other one comes late: No Match, or no host that listens, and again until it is there (4, V63). */
START_TEST(late)
{
    struct wire *w = wire_new(1, false, 0, 1, 2);
    uint32_t a = create(w, 0, FCVI_UNRELIABLE, 0), b = 0;
    if (_i == 0)
        b = create(w, 1, FCVI_UNRELIABLE, 0);
    w->refuse = _i == 2;
    ask_peer(w, 0, a, 1, 2, 10000 * MS);
    pass(w, 1000 * MS);
    ck_assert_int_eq(peer_done(w, 0, a), VIP_NOT_DONE);
    ck_assert_uint_ge(w->opens, 5);
    ck_assert_uint_le(w->opens, 100);
    w->refuse = false;
    if (_i != 0)
        b = create(w, 1, FCVI_UNRELIABLE, 0);
    ask_peer(w, 1, b, 2, 1, 10000 * MS);
    pass(w, 1000 * MS);
    ck_assert_int_eq(peer_done(w, 0, a), VIP_SUCCESS);
    ck_assert_int_eq(peer_done(w, 1, b), VIP_SUCCESS);
    ck_assert_uint_eq(w->accepts, 1);
    wire_free(w);
}
END_TEST

/* It never comes: VIP_TIMEOUT at the time, and no attempt after it. A server is no Peer (VI-DG 3.3). */
START_TEST(never)
{
    struct wire *w = wire_new(1, false, 0, 1, 2);
    uint32_t a = create(w, 0, FCVI_UNRELIABLE, 0);
    create(w, 1, FCVI_UNRELIABLE, 0);
    struct fcvi_address server = address(2, 7);
    ck_assert_int_eq(fcvi_vip_connect_wait(w->port[1], w->now, &server, FCVI_NEVER, 1), FCVI_VIP_PENDING);
    ask_peer(w, 0, a, 1, 2, 2000 * MS);
    pass(w, 1999 * MS);
    ck_assert_int_eq(peer_done(w, 0, a), VIP_NOT_DONE);
    pass(w, 1 * MS);
    ck_assert_int_eq(peer_done(w, 0, a), VIP_TIMEOUT);
    ck_assert_int_eq(state_of(w, 0, a), FCVI_STATE_IDLE);
    unsigned opens = w->opens;
    pass(w, 5000 * MS);
    ck_assert_uint_eq(w->opens, opens);
    ck_assert_uint_eq(w->calls[1], 0);
    ask_peer(w, 0, a, 1, 2, 2000 * MS);
    ck_assert_int_eq(fcvi_vip_disconnect(w->port[0], w->now, a, 9), VIP_SUCCESS);
    ck_assert_int_eq(peer_done(w, 0, a), VIP_INVALID_STATE); /* VI-DG 3.3.7 */
    wire_free(w);
}
END_TEST

/* The levels differ: both hear of it (VI-DG 6.7). */
START_TEST(peers_differ)
{
    struct wire *w = wire_new((uint64_t)_i, false, 0, 1, 2);
    uint32_t a = create(w, 0, FCVI_UNRELIABLE, 0), b = create(w, 1, FCVI_RELIABLE_DELIVERY, 0);
    ask_peer(w, 0, a, 1, 2, 2000 * MS);
    ask_peer(w, 1, b, 2, 1, 2000 * MS);
    pass(w, 1000 * MS);
    ck_assert_int_eq(peer_done(w, 0, a), VIP_INVALID_RELIABILITY_LEVEL);
    ck_assert_int_eq(peer_done(w, 1, b), VIP_INVALID_RELIABILITY_LEVEL);
    ck_assert_int_eq(state_of(w, 0, a), FCVI_STATE_IDLE);
    ck_assert_int_eq(state_of(w, 1, b), FCVI_STATE_IDLE);
    ck_assert_uint_eq(w->accepts, 0);
    wire_free(w);
}
END_TEST

/* Two Peers of one address: the ports decide, and there is one connection at most (V29). */
START_TEST(one_host)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct wire *w = wire_new(seed, false, 0, 1, 1);
        uint32_t a = create(w, 0, FCVI_UNRELIABLE, 0), b = create(w, 1, FCVI_UNRELIABLE, 0);
        ask_peer(w, 0, a, 1, 1, 5000 * MS);
        for (unsigned k = chance(w, 8); k > 0; k--)
            step(w);
        ask_peer(w, 1, b, 1, 1, 5000 * MS);
        pass(w, 5000 * MS);
        ck_assert_int_eq(peer_done(w, 0, a), VIP_SUCCESS);
        ck_assert_int_eq(peer_done(w, 1, b), VIP_SUCCESS);
        ck_assert_uint_eq(w->accepts, 1);
        wire_free(w);
    }
}
END_TEST

/* ---- size ---- */

/* 100,000 streams at about 400 bytes each (and a timer, and the RDMA Reads that each may be asked for). */
START_TEST(hundred_thousand)
{
    struct fcvi_port_limits l = {.vis = 1,
                                 .connectionpoints = 1,
                                 .exchanges = 1,
                                 .regions = 1,
                                 .descriptors = 1,
                                 .events = 16,
                                 .max_transfer_size = 1,
                                 .streams = 100000,
                                 .stream_reads = 1};
    size_t many = fcvi_port_size(&l);
    l.streams = 1;
    ck_assert_uint_lt((many - fcvi_port_size(&l)) / 99999, 24 + 4 + 24 + 420);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vitcp pair");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, traffic_of_a_level, 0, 6);
    tcase_add_loop_test(c, no_deadlock, 0, 4);
    tcase_add_loop_test(c, agreed, 0, 2);
    tcase_add_loop_test(c, crossing, 0, 4);
    tcase_add_loop_test(c, late, 0, 3);
    tcase_add_test(c, never);
    tcase_add_loop_test(c, peers_differ, 0, 8);
    tcase_add_test(c, one_host);
    tcase_add_test(c, hundred_thousand);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
