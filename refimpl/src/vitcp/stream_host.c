/* What the host says of streams, and is told of them (4.2, 4.3). */
#include "../block/timers.h"
#include "stream.h"

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
    const bool listening =
        port->config.wire == FCVI_WIRE_VITCP &&
        (port->config.vitcp.answers_always || port->used.vis > 0 || port->used.points > 0); /* 4.3, V35 */
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
    fcvi_vitcp_unused(port, s);
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
        fcvi_vitcp_be_quiet(port, s);
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
