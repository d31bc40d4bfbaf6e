/* The wire: frames leave a port, wait in its channel, arrive. */
#include "explore.h"

#include <string.h>

void fcvi_explore_drop(struct channel *c, uint32_t index)
{
    c->count--;
    memmove(&c->frame[index], &c->frame[index + 1], (c->count - index) * sizeof c->frame[0]);
    memset(&c->frame[c->count], 0, sizeof c->frame[0]);
}

/* Every frame is decoded strictly, judged by the rules and shown to the monitor. */
static void judge(const struct system *s, uint8_t *block, unsigned from, const struct flying *f,
                  struct breach *b)
{
    struct world *w = world_of(block);
    struct fcvi_input in = {f->bytes, f->length, f->sof, f->eof, FCVI_CRC_OK};
    struct fcvi_finding list[4];
    struct fcvi_findings findings = {list, 4, 0, 0};
    struct fcvi_monitor_finding seen[4];
    struct fcvi_monitor_findings monitored = {seen, 4, 0};
    struct fcvi_frame frame;
    fcvi_decode(&in, &frame, &findings);
    if (findings.worst > 1 + FCVI_NOTICE)
        fcvi_explore_breach(b, list[0].requirement, "codec: %s", list[0].message);
    fcvi_explore_rule_frame(s, block, from, &frame, b);
    if (!s->options->monitor)
        return;
    struct fcvi_monitor_frame shown = {&frame, f->number, w->now, 0, false};
    fcvi_monitor_frame(monitor_of(s, block), &shown, &monitored);
    if (monitored.count != 0)
        fcvi_explore_breach(b, seen[0].what.requirement, "monitor: %s (seen %llx, required %llx)",
                            seen[0].what.message, (unsigned long long)seen[0].what.seen,
                            (unsigned long long)seen[0].what.required_value);
}

/* Everything that the port has to say, now. Events come first: what they tell was so before the frames that
 * the port makes only when it is asked for them. */
void fcvi_explore_collect(const struct system *s, uint8_t *block, unsigned port, struct breach *b)
{
    struct world *w = world_of(block);
    struct channel *c = &w->to[!port];
    uint8_t out[24 + 2112];
    struct fcvi_transmitted meta;
    size_t n;
    if (s->scenario->streams) {
        fcvi_explore_streams_collect(s, block, port, b);
        return;
    }
    fcvi_explore_app_events(s, block, port, b);
    while ((n = fcvi_port_transmit(port_of(s, block, port), w->now, out, sizeof out, &meta)) > 0) {
        if (c->count == FLIGHT || n > FRAME) {
            fcvi_explore_breach(b, "bound", "more frames under way than the explorer has room for");
            return;
        }
        struct flying *f = &c->frame[c->count++];
        *f = (struct flying){
            .sent = w->now, .length = (uint16_t)n, .sof = meta.sof, .eof = meta.eof, .number = ++w->frames};
        memcpy(f->bytes, out, n);
        fcvi_explore_trace_sent(s, w->now, port, f);
        judge(s, block, port, f, b);
        fcvi_explore_app_events(s, block, port, b);
    }
    fcvi_explore_app_events(s, block, port, b);
}

/* The frame arrives at `at`; it stays in the channel. */
void fcvi_explore_deliver(const struct system *s, uint8_t *block, unsigned port, uint32_t index, uint64_t at)
{
    struct world *w = world_of(block);
    const struct flying *f = &w->to[port].frame[index];
    struct fcvi_input in = {f->bytes, f->length, f->sof, f->eof, FCVI_CRC_OK};
    struct fcvi_frame frame;
    fcvi_decode(&in, &frame, NULL);
    struct past *past = &w->past[port];
    bool status = frame.dh_length >= 16 && fcvi_DH_CONN_STS(frame.dh);
    if (frame.iu == FCVI_IU_CONNECT_RESP1)
        past->accept_seen = !status;
    if (frame.iu == FCVI_IU_CONNECT_RESP2 && !status && past->accept_sent)
        past->other_confirmed = true;
    if (frame.iu == FCVI_IU_CONNECT_RESP3)
        past->resp3_seen = true;
    fcvi_port_receive(port_of(s, block, port), at, &in);
}
