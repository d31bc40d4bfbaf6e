/* What can happen next.
 *
 * Time stands still while frames travel; it goes on only when a timer expires. Of the timers the ones due
 * first expire, and normally not before every frame has arrived or is lost and every application has made the
 * calls that it can make. A race, of which the budget allows so many, is a timer that is faster than that:
 * but no frame is on its way for longer than R_A_TOV (FC-FS), and no timer is late.
 *
 * Losing only the oldest frame of a channel loses nothing: the loss of another one is chosen when it has
 * become the oldest, and nobody can tell when it happened.
 *
 * Partial order: when nothing can go wrong any more (all budgets are used up), whatever happens at one port
 * (arrivals, calls) commutes with what happens at the other: each changes its own port and application, takes
 * from the front of its own channel and appends to the other one. If a frame is under way to a port, then
 * nothing that the other port does can change or disable what can happen here, and what it may enable (a
 * further frame) comes behind the one that is there. So the choices of this port are a persistent set, and
 * looking at them alone finds every end. Timers expire only when no frame and no call is left, so they are
 * never among what is put off. A path always ends, so nothing is put off for ever. The rules judge what one
 * port and the past of the frames that reached it have said, and the ends; all of it is the same in each
 * order of commuting steps, with one exception: what a rule reads of the other application (Messages posted,
 * Messages received) only grows and has happened, in every order, before the frames that tell of it arrive.
 *
 * Streams: what a port sends on one TCP connection does not stay behind what is under way on another, and
 * either port may open a further one. So the argument above does not hold for them, and nothing is put off.
 * TCP keeps no byte waiting for good, but there is no bound as R_A_TOV is one: a stream that stalls is a race
 * that a timer wins. A reset takes what is under way with it; what had arrived before it is a choice that was
 * made before.
 *
 * Symmetry: exchanging the two ports is no symmetry of the states: their Port_Names decide between concurrent
 * Peers (5.3.4), and client and server differ (C.5.1). It is one of the scenarios: with other names for the
 * ports "client-server" from port 1 to port 0 is the same, so no scenario is explored twice, and the peers'
 * covers both outcomes of the comparison. */
#include "explore.h"

const char *const fcvi_explore_kind_names[] = {"deliver", "lose",   "duplicate", "overtake", "call",
                                               "expire",  "hasten", "reset",     "cut"};

struct list {
    struct choice *out;
    unsigned count;
};

static void add(struct list *l, enum kind kind, unsigned port, uint32_t index)
{
    if (l->count < CHOICES)
        l->out[l->count++] = (struct choice){(uint8_t)kind, (uint8_t)port, (uint8_t)index};
}

static void frames(const struct system *s, uint8_t *block, unsigned port, struct list *l)
{
    const struct world *w = world_of(block);
    uint32_t count = w->to[port].count;
    if (count == 0)
        return;
    add(l, DELIVER, port, 0);
    if (w->left[LOSS] > 0)
        add(l, LOSE, port, 0);
    if (w->left[DUPLICATION] > 0)
        add(l, DUPLICATE, port, 0);
    for (uint32_t i = 1; s->options->out_of_order && w->left[REORDERING] > 0 && i < count; i++)
        add(l, OVERTAKE, port, i);
    /* its timer is due, but this frame is faster */
    if (w->left[RACE] > 0 && fcvi_port_deadline(port_of(s, block, port)) <= w->now)
        add(l, HASTEN, port, 0);
}

/* A PDU that arrives in two pieces is cut within its Segment Header or before its last byte. */
static void units(const struct system *s, uint8_t *block, unsigned port, struct list *l)
{
    const struct world *w = world_of(block);
    for (unsigned i = 0; i < LINKS; i++) {
        const struct unit *u = &w->link[i].to[port].unit[0];
        if (w->left[RESET] > 0 && w->link[i].used && !w->link[i].gone && w->link[i].opener == port)
            add(l, BREAK, port, i);
        if (w->link[i].to[port].count == 0)
            continue;
        add(l, DELIVER, port, i);
        for (unsigned place = 0; w->left[CUT] > 0 && place < 2; place++)
            if (fcvi_explore_streams_division(u, place) != 0)
                add(l, DIVIDE, port, 2 * i + place);
        if (w->left[RACE] > 0 && fcvi_port_deadline(port_of(s, block, port)) <= w->now)
            add(l, HASTEN, port, i);
    }
}

/* Something is on its way to the port. */
static bool awaited(const struct system *s, const struct world *w, unsigned port)
{
    bool any = !s->scenario->streams && w->to[port].count > 0;
    for (unsigned i = 0; s->scenario->streams && i < LINKS; i++)
        any = any || w->link[i].to[port].count > 0;
    return any;
}

static void calls(const struct system *s, uint8_t *block, unsigned port, struct list *l)
{
    enum op op = fcvi_explore_app_next(s, world_of(block), port);
    if (op != OP_END)
        add(l, CALL, port, (uint32_t)op);
}

/* When the first timer expires; FCVI_NEVER when it may not, as a frame would be too old then. */
static uint64_t next_time(const struct system *s, uint8_t *block)
{
    const struct world *w = world_of(block);
    uint64_t a = fcvi_port_deadline(port_of(s, block, 0)), b = fcvi_port_deadline(port_of(s, block, 1));
    uint64_t due = a < b ? a : b;
    for (unsigned port = 0; !s->scenario->streams && port < PORTS; port++)
        for (uint32_t i = 0; i < w->to[port].count; i++)
            if (due > w->to[port].frame[i].sent + R_A_TOV)
                return FCVI_NEVER;
    return due;
}

static void timers(const struct system *s, uint8_t *block, struct list *l)
{
    uint64_t due = next_time(s, block);
    for (unsigned port = 0; due != FCVI_NEVER && port < PORTS; port++)
        if (fcvi_port_deadline(port_of(s, block, port)) == due)
            add(l, EXPIRE, port, 0);
}

static bool exhausted(const struct world *w)
{
    for (unsigned i = 0; i < FAULTS; i++)
        if (w->left[i] != 0)
            return false;
    return true;
}

/* A reset may come at any time, so that a timer that waits for everything else does not wait for one. */
static bool progress(const struct list *l)
{
    for (unsigned i = 0; i < l->count; i++)
        if (l->out[i].kind != BREAK)
            return true;
    return false;
}

unsigned fcvi_explore_choices(const struct system *s, uint8_t *block, struct choice *out)
{
    struct list l = {out, 0};
    const struct world *w = world_of(block);
    bool reduce = s->options->reduce && !s->scenario->streams && exhausted(w);
    for (unsigned port = 0; port < PORTS; port++) {
        if (reduce && w->to[port].count > 0)
            l.count = 0;
        if (s->scenario->streams)
            units(s, block, port, &l);
        else
            frames(s, block, port, &l);
        calls(s, block, port, &l);
        if (reduce && w->to[port].count > 0)
            return l.count;
    }
    if (w->left[RACE] > 0 || !progress(&l))
        timers(s, block, &l);
    return l.count;
}

/* A timer that does not wait for what could still happen is a race. */
static void expire(const struct system *s, uint8_t *block, unsigned port)
{
    struct world *w = world_of(block);
    bool race = false;
    for (unsigned i = 0; i < PORTS; i++)
        race = race || awaited(s, w, i) || fcvi_explore_app_next(s, w, i) != OP_END;
    w->left[RACE] = (uint8_t)(w->left[RACE] - race);
    uint64_t due = fcvi_port_deadline(port_of(s, block, port));
    if (due > w->now)
        w->now = due;
    fcvi_port_run(port_of(s, block, port), w->now);
}

static void apply_unit(const struct system *s, uint8_t *block, const struct choice *c)
{
    struct world *w = world_of(block);
    unsigned link = c->kind == DIVIDE ? c->index / 2u : c->index;
    uint64_t at = w->now;
    uint32_t length = 0;
    if (c->kind == HASTEN) {
        w->left[RACE]--;
        at = fcvi_port_deadline(port_of(s, block, c->port)) - 1;
    } else if (c->kind == DIVIDE) {
        w->left[CUT]--;
        length = fcvi_explore_streams_division(&w->link[link].to[c->port].unit[0], c->index % 2u);
    }
    fcvi_explore_streams_deliver(s, block, c->port, link, length, at);
}

void fcvi_explore_apply(const struct system *s, uint8_t *block, const struct choice *c, struct breach *b)
{
    struct world *w = world_of(block);
    bool unit = s->scenario->streams && (c->kind == DELIVER || c->kind == DIVIDE || c->kind == HASTEN);
    switch (unit ? DIVIDE : c->kind) {
    case DIVIDE:
        apply_unit(s, block, c);
        break;
    case BREAK:
        w->left[RESET]--;
        fcvi_explore_streams_break(s, block, c->index);
        break;
    case DELIVER:
    case OVERTAKE:
        w->left[REORDERING] = (uint8_t)(w->left[REORDERING] - (c->kind == OVERTAKE));
        fcvi_explore_deliver(s, block, c->port, c->index, w->now);
        fcvi_explore_drop(&w->to[c->port], c->index);
        break;
    case DUPLICATE:
        w->left[DUPLICATION]--;
        fcvi_explore_deliver(s, block, c->port, 0, w->now);
        break;
    case HASTEN:
        w->left[RACE]--;
        fcvi_explore_deliver(s, block, c->port, 0, fcvi_port_deadline(port_of(s, block, c->port)) - 1);
        fcvi_explore_drop(&w->to[c->port], 0);
        break;
    case LOSE:
        w->left[LOSS]--;
        fcvi_explore_drop(&w->to[c->port], 0);
        break;
    case CALL:
        fcvi_explore_app_call(s, block, c->port, (enum op)c->index, b);
        break;
    default:
        expire(s, block, c->port);
        break;
    }
    fcvi_explore_collect(s, block, c->port, b);
}
