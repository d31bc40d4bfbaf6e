/* The table of streams, and the life of each (4.2, 4.3). */
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

void fcvi_vitcp_be_quiet(struct fcvi_port *p, struct stream *s)
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
void fcvi_vitcp_unused(struct fcvi_port *p, struct stream *s)
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
    fcvi_vitcp_unused(p, s);
    p->used.streams++;
    return s;
}

/* The record is free. No TCP connection uses its number. */
void fcvi_vitcp_forget(struct fcvi_port *p, struct stream *s)
{
    uint32_t index = stream_index(p, s);
    FCVI_ASSERT(s->state != STREAM_FREE && p->used.streams > 0);
    fcvi_vitcp_be_quiet(p, s);
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
