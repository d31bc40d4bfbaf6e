/* What must be so when nothing can happen any more. */
#include "explore.h"

#include <string.h>

/* Nothing is under way, no timer runs, nobody has anything to do. */
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
