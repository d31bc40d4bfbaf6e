/* The table of streams, the life of each, and what the host says and is told of them (4.2, 4.3). */
#include "stream.h"
#include "../block/table.h"
#include "../block/timers.h"

enum { SHORTEST_SEGMENT = 128, LONGEST_SEGMENT = 65535 };

static const uint64_t incoming_timeout = 10000000, retry = 100000, linger = 5000000;

/* ---- the port ---- */

bool fcvi_vitcp_config_valid(const struct fcvi_port_config *config)
{
    const struct fcvi_vitcp_config *c = &config->vitcp;
    bool size =
        c->segment_size == 0 || (c->segment_size >= SHORTEST_SEGMENT && c->segment_size <= LONGEST_SEGMENT);
    return config->self.hosts >= 1 && config->self.hosts <= FCVI_MAX_HOSTS && size &&
           (c->profile.name[0] == '\0' || fcvi_profile_problem(&c->profile) == NULL);
}

static void take_default(uint64_t *value, uint64_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

void fcvi_vitcp_begin(struct fcvi_port *p)
{
    struct fcvi_vitcp_config *c = &p->config.vitcp;
    if (c->profile.name[0] == '\0')
        c->profile = *fcvi_profile_t0();
    if (c->segment_size == 0)
        c->segment_size = LONGEST_SEGMENT;
    take_default(&c->incoming_timeout_us, incoming_timeout);
    take_default(&c->retry_us, retry);
    take_default(&c->linger_us, linger);
}

/* ---- the ring of streams that have something to send ---- */

void fcvi_vitcp_talk(struct fcvi_port *p, struct stream *s)
{
    FCVI_ASSERT(s->state != STREAM_FREE);
    if (s->talking)
        return;
    uint32_t index = stream_index(p, s);
    if (p->talking == NONE) {
        p->talking = s->ring_next = s->ring_previous = index;
    } else {
        struct stream *first = stream_at(p, p->talking), *last = stream_at(p, first->ring_previous);
        s->ring_next = p->talking;
        s->ring_previous = first->ring_previous;
        last->ring_next = first->ring_previous = index;
    }
    s->talking = true;
}

static void be_quiet(struct fcvi_port *p, struct stream *s)
{
    uint32_t index = stream_index(p, s);
    if (!s->talking)
        return;
    stream_at(p, s->ring_next)->ring_previous = s->ring_previous;
    stream_at(p, s->ring_previous)->ring_next = s->ring_next;
    if (p->talking == index)
        p->talking = s->ring_next == index ? NONE : s->ring_next;
    s->talking = false;
}

/* ---- records ---- */

/* A TCP connection that has carried nothing yet. */
static void begin(struct fcvi_port *p, struct stream *s)
{
    enum { FEW = 0x3FFFFFFF }; /* far from the filler of Message ACK, all ones (V16, V65) */
    s->fin = s->fin_sent = s->ended = s->ask_reset = false;
    s->room = FCVI_STREAM_WINDOW;
    s->rx = (struct stream_rx){.entry = NONE, .read_entry = NONE};
    s->tx = (struct stream_tx){
        .notice = FCVI_PDU_NONE,
        .entry = NONE,
        .next_number =
            fcvi_table_hash(p->config.seed, (uint64_t)s->generation << 32 | stream_index(p, s)) & FEW,
        .acknowledged = UINT32_MAX,
    };
}

struct stream *fcvi_vitcp_new(struct fcvi_port *p)
{
    uint32_t index = p->free_stream;
    if (index == NONE)
        return NULL;
    struct stream *s = stream_at(p, index);
    p->free_stream = s->next_free;
    uint16_t generation = (uint16_t)(s->generation + 1);
    memset(s, 0, sizeof *s);
    s->generation = generation;
    s->vi = NONE;
    begin(p, s);
    p->used.streams++;
    return s;
}

/* The record is free. No TCP connection uses its number. */
void fcvi_vitcp_forget(struct fcvi_port *p, struct stream *s)
{
    uint32_t index = stream_index(p, s);
    FCVI_ASSERT(s->state != STREAM_FREE && p->used.streams > 0);
    be_quiet(p, s);
    fcvi_timer_stop(p, TIMER_STREAM, index);
    s->state = STREAM_FREE;
    s->tcp = TCP_NONE;
    s->next_free = p->free_stream;
    p->free_stream = index;
    p->used.streams--;
}

/* ---- the end ---- */

/* Nothing but what is due now goes out, and FIN. A segment whose data are not out ends where it is, as its
 * memory is no longer ours to read; the rest could not be told from it. */
void fcvi_vitcp_end_sending(struct fcvi_port *p, struct stream *s)
{
    struct stream_tx *tx = &s->tx;
    bool unasked = tx->notice == FCVI_PDU_CONNECT_REQUEST || tx->notice == FCVI_PDU_CONNECT_ACCEPT;
    if (tx->left > 0 || unasked) { /* a setup that has not been said needs no end */
        tx->left = tx->headers = tx->gone = 0;
        tx->notice = FCVI_PDU_NONE;
        tx->error = FCVI_VI_ERROR_NONE;
        tx->ack_due = false;
    }
    tx->entry = NONE;
    tx->jobs = 0;
    s->fin = true;
    fcvi_vitcp_talk(p, s);
}

/* No VI has to do with the stream any more. */
void fcvi_vitcp_close(struct fcvi_port *p, struct stream *s)
{
    s->vi = NONE;
    s->state = STREAM_CLOSING;
    if (s->tcp == TCP_NONE) {
        fcvi_vitcp_forget(p, s);
    } else if (s->tcp == TCP_ASKED) {
        s->ask_reset = true;
        fcvi_vitcp_talk(p, s);
    } else {
        fcvi_vitcp_end_sending(p, s);
        fcvi_timer_start(p, TIMER_STREAM, stream_index(p, s), p->config.vitcp.linger_us);
    }
}

/* At once, whatever waits. */
void fcvi_vitcp_abort(struct fcvi_port *p, struct stream *s)
{
    fcvi_vitcp_close(p, s);
    if (s->state == STREAM_FREE)
        return;
    s->ask_reset = true;
    fcvi_vitcp_talk(p, s);
}

/* Both sides have ended: there is no TCP connection any more. */
static void settle(struct fcvi_port *p, struct stream *s)
{
    if (!s->fin_sent || !s->ended)
        return;
    s->tcp = TCP_NONE;
    s->ask_reset = false; /* there is nothing left to cut off */
    if (s->state == STREAM_CLOSING)
        fcvi_vitcp_forget(p, s);
}

void fcvi_vitcp_timeout(struct fcvi_port *p, struct stream *s)
{
    if (s->state == STREAM_INCOMING)
        fcvi_vitcp_close(p, s);
    else if (s->state == STREAM_WAITING)
        fcvi_vitcp_open(p, s);
    else
        fcvi_vitcp_abort(p, s);
}

/* ---- what the host says ---- */

static struct stream *find(struct fcvi_port *p, uint32_t stream)
{
    bool there = p->config.wire == FCVI_WIRE_VITCP && stream < p->limits.streams;
    return there && stream_at(p, stream)->state != STREAM_FREE ? stream_at(p, stream) : NULL;
}

bool fcvi_stream_incoming(struct fcvi_port *port, uint64_t now, const struct fcvi_endpoint *remote,
                          const struct fcvi_endpoint *local, uint32_t *stream)
{
    fcvi_port_run(port, now);
    bool listening =
        port->config.wire == FCVI_WIRE_VITCP && (port->used.vis > 0 || port->used.points > 0); /* 4.3, V35 */
    struct stream *s = listening ? fcvi_vitcp_new(port) : NULL;
    if (s == NULL)
        return false;
    s->state = STREAM_INCOMING;
    s->tcp = TCP_OPEN;
    s->remote = *remote;
    s->local = *local;
    *stream = stream_index(port, s);
    fcvi_timer_start(port, TIMER_STREAM, *stream, port->config.vitcp.incoming_timeout_us);
    return true;
}

void fcvi_stream_opened(struct fcvi_port *port, uint64_t now, uint32_t stream, bool accepted,
                        const struct fcvi_endpoint *local)
{
    fcvi_port_run(port, now);
    struct stream *s = find(port, stream);
    if (s == NULL || s->tcp != TCP_ASKED)
        return;
    s->tcp = accepted ? TCP_OPEN : TCP_NONE;
    if (s->state == STREAM_CLOSING) {
        if (!accepted)
            fcvi_vitcp_forget(port, s);
        return; /* its RESET is on the way */
    }
    if (!accepted) {
        fcvi_vitcp_refused(port, s, false);
        return;
    }
    begin(port, s);
    if (local != NULL)
        s->local = *local;
    fcvi_vitcp_established(port, s);
}

void fcvi_stream_receive(struct fcvi_port *port, uint64_t now, uint32_t stream, const uint8_t *bytes,
                         size_t length)
{
    fcvi_port_run(port, now);
    struct stream *s = find(port, stream);
    if (s != NULL && s->tcp == TCP_OPEN && !s->ended)
        fcvi_vitcp_receive(port, s, bytes, length);
}

void fcvi_stream_window(struct fcvi_port *port, uint64_t now, uint32_t stream, int64_t bytes)
{
    fcvi_port_run(port, now);
    struct stream *s = find(port, stream);
    if (s == NULL || s->tcp != TCP_OPEN || s->room == FCVI_STREAM_UNLIMITED)
        return;
    if (bytes < 0)
        s->room = FCVI_STREAM_UNLIMITED;
    else
        s->room = bytes < INT64_MAX - s->room ? s->room + bytes : INT64_MAX;
    fcvi_vitcp_talk(port, s);
}

size_t fcvi_stream_place(struct fcvi_port *port, uint32_t stream,
                         struct fcvi_stream_piece piece[FCVI_STREAM_PIECES])
{
    struct stream *s = find(port, stream);
    if (s == NULL || s->tcp != TCP_OPEN || s->ended || s->state != STREAM_CONNECTED || s->rx.left == 0 ||
        s->rx.headers == 0 || s->rx.skip || s->rx.pdu != FCVI_PDU_SEND || s->rx.fault != RX_FAULT_NONE)
        return 0;
    const struct entry *e = entry_at(port, s->rx.entry);
    size_t count = 0;
    uint32_t length = 0;
    for (uint32_t done = 0; done < s->rx.left && count < FCVI_STREAM_PIECES; done += length) {
        uint8_t *at = fcvi_vi_descriptor_piece(port, e, s->rx.offset + done, s->rx.left - done, &length);
        if (at == NULL)
            return 0; /* deregistered meanwhile: what comes is lost */
        piece[count++] = (struct fcvi_stream_piece){at, length};
    }
    return count;
}

void fcvi_stream_placed(struct fcvi_port *port, uint64_t now, uint32_t stream, size_t length)
{
    fcvi_port_run(port, now);
    struct stream *s = find(port, stream);
    if (s != NULL && s->state == STREAM_CONNECTED && s->rx.headers != 0 && length <= s->rx.left)
        fcvi_vitcp_placed(port, s, length);
}

/* The other side sends nothing more. A half-open stream is not used (V43). */
static void finished(struct fcvi_port *p, struct stream *s)
{
    s->ended = true;
    if (s->state == STREAM_INCOMING)
        fcvi_vitcp_close(p, s);
    else if (s->state == STREAM_OFFERED)
        fcvi_vitcp_end_sending(p, s); /* the application has still to answer (V59) */
    else if (s->state == STREAM_REQUESTED)
        fcvi_vitcp_again(p, s);
    else if (s->state == STREAM_CONNECTED)
        fcvi_vitcp_fail(p, s, true);
    else
        settle(p, s);
}

static void gone(struct fcvi_port *p, struct stream *s)
{
    bool opening = s->tcp == TCP_ASKED;
    s->tcp = TCP_NONE;
    s->ask_reset = false;
    if (s->state == STREAM_INCOMING || s->state == STREAM_CLOSING)
        fcvi_vitcp_forget(p, s);
    else if (s->state == STREAM_CONNECTING && opening)
        fcvi_vitcp_refused(p, s, true);
    else if (s->state == STREAM_REQUESTED)
        fcvi_vitcp_again(p, s);
    else if (s->state == STREAM_CONNECTED)
        fcvi_vitcp_fail(p, s, true);
}

void fcvi_stream_closed(struct fcvi_port *port, uint64_t now, uint32_t stream, enum fcvi_close how)
{
    fcvi_port_run(port, now);
    struct stream *s = find(port, stream);
    if (s == NULL || s->tcp == TCP_NONE)
        return;
    if (how == FCVI_CLOSE_RESET)
        gone(port, s);
    else if (s->tcp == TCP_OPEN && !s->ended)
        finished(port, s);
}

/* ---- what the host is told ---- */

/* Something is due on a stream that ends. */
static bool unsaid(const struct stream_tx *tx)
{
    return tx->gone < tx->headers || tx->left > 0 || tx->notice != FCVI_PDU_NONE ||
           tx->error != FCVI_VI_ERROR_NONE || tx->ack_due;
}

static size_t data(struct fcvi_port *p, struct stream *s, struct fcvi_stream_bytes *out, size_t capacity)
{
    size_t room =
        s->room == FCVI_STREAM_UNLIMITED || (uint64_t)s->room > capacity ? capacity : (size_t)s->room;
    size_t length = room > 0 ? fcvi_vitcp_segment(p, s, out, room) : 0;
    if (s->room != FCVI_STREAM_UNLIMITED)
        s->room -= (int64_t)length;
    return length;
}

/* What this stream has to say now; kind stays FCVI_STREAM_NONE when it is nothing. */
static size_t turn(struct fcvi_port *p, struct stream *s, struct fcvi_stream_bytes *out, size_t capacity,
                   struct fcvi_stream_out *what)
{
    size_t length = 0;
    what->stream = stream_index(p, s);
    if (!s->ask_reset && s->tcp == TCP_OPEN && !s->fin_sent)
        length = data(p, s, out, capacity);
    if (length > 0) {
        what->kind = FCVI_STREAM_DATA;
        p->talking = s->ring_next;
    } else if (s->ask_reset) {
        what->kind = FCVI_STREAM_RESET;
        s->ask_reset = false;
        s->tcp = TCP_NONE;
        if (s->state == STREAM_CLOSING)
            fcvi_vitcp_forget(p, s);
    } else if (s->ask_open) {
        what->kind = FCVI_STREAM_OPEN;
        what->local = s->local;
        what->remote = s->remote;
        s->ask_open = false;
        s->tcp = TCP_ASKED;
    } else if (s->fin && !s->fin_sent && s->tcp == TCP_OPEN && !unsaid(&s->tx)) {
        what->kind = FCVI_STREAM_FIN;
        s->fin_sent = true;
        settle(p, s);
    }
    return length;
}

size_t fcvi_stream_gather(struct fcvi_port *port, uint64_t now, size_t most, struct fcvi_stream_bytes *out,
                          struct fcvi_stream_out *what)
{
    fcvi_port_run(port, now);
    memset(what, 0, sizeof *what);
    while (port->talking != NONE) {
        struct stream *s = stream_at(port, port->talking);
        size_t length = turn(port, s, out, most, what);
        if (what->kind != FCVI_STREAM_NONE)
            return length;
        be_quiet(port, s);
    }
    what->stream = 0;
    return 0;
}

size_t fcvi_stream_transmit(struct fcvi_port *port, uint64_t now, uint8_t *out, size_t capacity,
                            struct fcvi_stream_out *what)
{
    struct fcvi_stream_bytes bytes;
    size_t length = fcvi_stream_gather(port, now, capacity, &bytes, what);
    if (length == 0)
        return 0;
    memcpy(out, bytes.head, bytes.head_length);
    out += bytes.head_length;
    for (size_t i = 0; i < bytes.pieces; i++) {
        memcpy(out, bytes.piece[i].bytes, bytes.piece[i].length);
        out += bytes.piece[i].length;
    }
    return length;
}
