/* What was found, and the path to it, as JSON: one object a line. */
#include "explore.h"

#include <stdio.h>

void fcvi_explore_path_result(const struct system *s, const struct result *r)
{
    const uint8_t *budget = s->options->budget;
    printf("{\"scenario\":\"%s\",\"title\":\"%s\",\"losses\":%u,\"duplications\":%u,\"reorderings\":%u,"
           "\"races\":%u,\"resets\":%u,\"cuts\":%u,\"wire\":\"%s\",\"fabric\":\"%s\",\"class\":%u,"
           "\"reduction\":%s,\"states\":%llu,"
           "\"transitions\":%llu,\"ends\":%llu,\"depth\":%u,\"widest\":%u,\"seconds\":%.3f,"
           "\"states_per_second\":%.0f,\"complete\":%s,\"result\":\"%s\"",
           s->scenario->name, s->scenario->title, budget[LOSS], budget[DUPLICATION], budget[REORDERING],
           budget[RACE], budget[RESET], budget[CUT], s->scenario->streams ? "vitcp" : "fcvi",
           s->options->out_of_order ? "out-of-order" : "in-order", s->options->service_class,
           s->options->reduce ? "true" : "false", (unsigned long long)r->states,
           (unsigned long long)r->transitions, (unsigned long long)r->ends, r->depth, r->level, r->seconds,
           r->seconds > 0 ? (double)r->states / r->seconds : 0, r->complete ? "true" : "false",
           r->breach.rule != NULL ? "violation"
           : r->complete          ? "none"
                                  : "bound");
    if (r->breach.rule != NULL)
        printf(",\"rule\":\"%s\",\"text\":\"%s\",\"steps\":%u", r->breach.rule, r->breach.text, r->steps);
    printf("}\n");
}

/* Number of the frame or unit that the choice is about; 0 for a call, a timer, a reset. */
static uint32_t number_of(const struct system *s, const struct world *w, const struct choice *c)
{
    if (c->kind == EXPIRE || c->kind == CALL || c->kind == BREAK)
        return 0;
    if (!s->scenario->streams)
        return w->to[c->port].frame[c->index].number;
    return w->link[c->kind == DIVIDE ? c->index / 2 : c->index].to[c->port].unit[0].number;
}

static void trace_choice(struct system *s, uint8_t *block, const struct choice *c)
{
    const struct world *w = world_of(block);
    uint64_t now = w->now, due = fcvi_port_deadline(port_of(s, block, c->port));
    if (c->kind == EXPIRE && due > now)
        now = due;
    printf("{\"kind\":\"choice\",\"time\":%llu,\"choice\":\"%s\",\"port\":%u,\"frame\":%u,\"link\":%u,"
           "\"call\":\"%s\"}\n",
           (unsigned long long)now, fcvi_explore_kind_names[c->kind], c->port, number_of(s, w, c),
           c->kind == BREAK ? c->index : 0u, c->kind == CALL ? fcvi_explore_op_names[c->index] : "");
}

/* The same path once more, this time telling. */
void fcvi_explore_path_replay(struct system *s, const struct result *r)
{
    struct breach b = {0};
    s->telling = true;
    for (unsigned i = 0; i < r->steps; i++) {
        trace_choice(s, s->base, &r->path[i]);
        fcvi_explore_apply(s, s->base, &r->path[i], &b);
    }
    s->telling = false;
}
