/* What must never be, and what must be so when nothing can happen any more. */
#include "explore.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The first one counts. */
void fcvi_explore_breach(struct breach *b, const char *rule, const char *format, ...)
{
    va_list args;
    if (b->rule != NULL)
        return;
    b->rule = rule;
    va_start(args, format);
    vsnprintf(b->text, sizeof b->text, format, args);
    va_end(args);
}

/* ---- frames as they are sent ---- */

static bool message_request(enum fcvi_iu iu)
{
    return iu == FCVI_IU_SEND_RQST || iu == FCVI_IU_WRITE_RQST || iu == FCVI_IU_READ_RQST;
}

enum { MEMORY_OF_ABORTS = sizeof((struct past *)0)->aborted / sizeof(uint16_t) };

/* The port has accepted a request of the other one, which has not aborted it: an accept that crosses the ABTS
 * is void (8.5.3 a, C rule 1). */
static bool accepts(const struct world *w, unsigned port)
{
    const struct past *other = &w->past[!port];
    bool valid = w->past[port].accept_sent;
    for (unsigned i = 0; i < other->aborts && i < MEMORY_OF_ABORTS; i++)
        valid = valid && other->aborted[i] != w->past[port].accepted;
    return valid;
}

void fcvi_explore_rule_frame(const struct system *s, uint8_t *block, unsigned from,
                             const struct fcvi_frame *f, struct breach *b)
{
    struct world *w = world_of(block);
    struct past *past = &w->past[from];
    bool refused = f->dh != NULL && f->dh_length >= 16 && fcvi_DH_CONN_STS(f->dh);
    if (fcvi_FC_R_CTL(f->fc) == FCVI_R_CTL_ABTS && !fcvi_FC_Exchange_Context(f->fc))
        past->aborted[past->aborts++ % MEMORY_OF_ABORTS] = (uint16_t)fcvi_FC_OX_ID(f->fc);
    if (f->iu == FCVI_IU_CONNECT_RESP1 && !refused) {
        past->accept_sent = true;
        past->accepted = (uint16_t)fcvi_FC_OX_ID(f->fc);
    }
    if (s->scenario->peer && accepts(w, 0) && accepts(w, 1))
        fcvi_explore_breach(b, "one-accept",
                            "both of two concurrent Peers accept the other one's request (5.3.4)");
    if (f->iu == FCVI_IU_CONNECT_RESP2 && !refused && past->accept_seen)
        past->own_confirmed = true;
    if (past->own_confirmed && past->other_confirmed && s->scenario->peer)
        fcvi_explore_breach(b, "one-accept", "two Connection Setups of concurrent Peers succeed (5.3.4)");
    if (message_request(f->iu) && !past->own_confirmed && !past->other_confirmed)
        fcvi_explore_breach(b, "half-open", "a Message Request is sent before the Connection exists (C.5.4)");
    if (message_request(f->iu) && w->app[from].state != FCVI_STATE_CONNECTED)
        fcvi_explore_breach(b, "half-open", "a Message Request is sent in state %s",
                            fcvi_vi_state_name(w->app[from].state));
}

/* ---- PDUs as they are sent ---- */

/* TCP connections with a Connect Accept that neither end has given up. */
static unsigned accepted_links(const struct world *w)
{
    unsigned n = 0;
    for (unsigned i = 0; i < LINKS; i++) {
        const struct link *l = &w->link[i];
        n += l->used && l->accepted && !l->gone && !l->end[0].over && !l->end[1].over &&
             !l->end[0].fin_sent && !l->end[1].fin_sent;
    }
    return n;
}

void fcvi_explore_rule_pdu(const struct system *s, uint8_t *block, unsigned from, struct link *link,
                           const struct fcvi_pdu *pdu, struct breach *b)
{
    struct world *w = world_of(block);
    struct past *past = &w->past[from];
    if (pdu->pdu == FCVI_PDU_CONNECT_ACCEPT) {
        link->accepted = true;
        past->other_confirmed = true;
    }
    if (s->scenario->peer && accepted_links(w) > 1)
        fcvi_explore_breach(b, "one-accept", "two Connection Setups of concurrent Peers are accepted (4)");
    if (pdu->pdu != FCVI_PDU_SEND && pdu->pdu != FCVI_PDU_WRITE && pdu->pdu != FCVI_PDU_READ_REQUEST)
        return;
    if (!past->other_confirmed)
        fcvi_explore_breach(b, "half-open", "a message is sent before the connection exists (4.1)");
    if (w->app[from].state != FCVI_STATE_CONNECTED)
        fcvi_explore_breach(b, "half-open", "a message is sent in state %s",
                            fcvi_vi_state_name(w->app[from].state));
}

/* ---- the end: nothing is under way, no timer runs, nobody has anything to do ---- */

static void at_rest(const struct system *s, uint8_t *block, unsigned port, struct breach *b)
{
    struct fcvi_port_counts c;
    const struct app *a = &world_of(block)->app[port];
    fcvi_port_count(port_of(s, block, port), &c);
    if (a->pending != 0)
        fcvi_explore_breach(b, "call-returns", "port %u: a call never returns (%02x)", port, a->pending);
    if (a->state == FCVI_STATE_PENDING_CONNECT || a->state == FCVI_STATE_PENDING_CONNECT_RETRY)
        fcvi_explore_breach(b, "no-exit", "port %u stays in %s", port, fcvi_vi_state_name(a->state));
    if (c.exchanges != 0)
        fcvi_explore_breach(b, "exchange-ends", "port %u: %u Exchanges never end", port, c.exchanges);
    if (c.setups != 0 || c.held_frames != 0 || c.frames != 0)
        fcvi_explore_breach(b, "no-exit", "port %u: %u setups, %u held frames, %u frames stay for ever", port,
                            c.setups, c.held_frames, c.frames);
    if (s->scenario->streams && c.streams != (a->state == FCVI_STATE_CONNECTED))
        fcvi_explore_breach(b, "stream-ends", "port %u: %u TCP connections are left in state %s", port,
                            c.streams, fcvi_vi_state_name(a->state));
    if (c.events_lost != 0)
        fcvi_explore_breach(b, "bound", "port %u: more events than the explorer has room for", port);
    if (a->done[0] != a->posted[0])
        fcvi_explore_breach(b, "completes", "port %u: %u of %u send Descriptors complete", port, a->done[0],
                            a->posted[0]);
    if (a->state == FCVI_STATE_ERROR && a->done[1] != a->posted[1])
        fcvi_explore_breach(b, "completes", "port %u is in Error: %u of %u receive Descriptors complete",
                            port, a->done[1], a->posted[1]);
}

/* Half open for ever: one side is Connected, the other is not and nothing will tell the first. It is so when
 * each try of the Disconnect with which the other let go was lost: it may be given up (8.6.3, E59). */
static bool may_be_half_open(const struct app *gone)
{
    return gone->let_go && gone->result[TOKEN_DISCONNECT] == VIP_NOT_REACHABLE;
}

/* Both say that they are Connected: then a Message of each reaches the other, or shows that an earlier one
 * was lost on a reliable Connection, which ends it (Annex B rule 4). */
static void probe(const struct system *s, uint8_t *block, struct breach *b)
{
    struct world *w = world_of(block);
    struct choice list[CHOICES];
    uint8_t before[PORTS];
    memset(w->left, 0, sizeof w->left);
    for (unsigned i = 0; i < PORTS; i++)
        fcvi_explore_app_post(s, block, i, OP_END);
    for (unsigned i = 0; i < PORTS; i++) {
        before[i] = w->app[i].good[1];
        fcvi_explore_app_post(s, block, i, OP_SEND);
        fcvi_explore_collect(s, block, i, b);
    }
    while (b->rule == NULL && fcvi_explore_choices(s, block, list) > 0)
        fcvi_explore_apply(s, block, &list[0], b);
    for (unsigned i = 0; i < PORTS; i++)
        if (w->app[i].good[1] == before[i] && w->app[i].state == FCVI_STATE_CONNECTED)
            fcvi_explore_breach(b, "agreement", "both are Connected, but no Message reaches port %u", i);
}

/* Nothing went wrong. Where a PDU is cut is nothing that may matter (2.2.2.2.3). */
static bool is_calm(const struct system *s, const struct world *w)
{
    bool calm = true;
    for (unsigned i = 0; i < FAULTS; i++)
        calm = calm && (i == CUT || w->left[i] == s->options->budget[i]);
    return calm;
}

/* Connected from the beginning, nothing went wrong, nobody leaves: everything arrives. */
static void undisturbed(const struct system *s, const struct world *w, struct breach *b)
{
    bool calm = s->scenario->connected && is_calm(s, w);
    for (unsigned i = 0; i < PORTS; i++)
        for (unsigned step = 0; step < STEPS; step++)
            calm = calm && s->scenario->script[i][step] != OP_LEAVE;
    for (unsigned i = 0; calm && i < PORTS; i++) {
        const struct app *a = &w->app[i];
        if (a->good[0] != a->posted[0] || a->sends >> w->app[!i].arrived > 1)
            fcvi_explore_breach(b, "delivery",
                                "port %u: nothing went wrong, and not every Message has arrived", !i);
    }
}

/* Nothing went wrong: of two Peers that ask for each other one concedes, and they are connected (4). */
static void meet(const struct system *s, const struct world *w, struct breach *b)
{
    bool peers = s->scenario->streams && s->scenario->peer && is_calm(s, w);
    for (unsigned i = 0; peers && i < PORTS; i++)
        if (w->app[i].state != FCVI_STATE_CONNECTED)
            fcvi_explore_breach(b, "peers-meet", "nothing went wrong, and port %u is %s", i,
                                fcvi_vi_state_name(w->app[i].state));
}

void fcvi_explore_rule_end(const struct system *s, uint8_t *block, uint8_t *scratch, struct breach *b)
{
    const struct world *w = world_of(block);
    const struct app *a = w->app;
    for (unsigned i = 0; i < PORTS; i++)
        at_rest(s, block, i, b);
    undisturbed(s, w, b);
    meet(s, w, b);
    for (unsigned i = 0; i < PORTS; i++)
        if (a[i].state == FCVI_STATE_CONNECTED && a[!i].state != FCVI_STATE_CONNECTED &&
            !may_be_half_open(&a[!i]))
            fcvi_explore_breach(b, "agreement",
                                "port %u stays Connected, the other is %s and has told it nothing", i,
                                fcvi_vi_state_name(a[!i].state));
    if (b->rule == NULL && a[0].state == FCVI_STATE_CONNECTED && a[1].state == FCVI_STATE_CONNECTED) {
        memcpy(scratch, block, s->size);
        probe(s, scratch, b);
    }
}
