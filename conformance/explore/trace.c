/* What was found, as JSON: one object a line. */
#include "explore.h"

#include <stdio.h>

static bool speaking(const struct system *s)
{
    return s->tracer != NULL;
}

void fcvi_explore_trace_result(const struct system *s, const struct result *r)
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

void fcvi_explore_trace_sent(const struct system *s, uint64_t now, unsigned from, const struct flying *f)
{
    if (!speaking(s))
        return;
    printf("{\"kind\":\"frame\",\"time\":%llu,\"from\":%u,\"number\":%u,\"sof\":%u,\"eof\":%u,\"bytes\":\"",
           (unsigned long long)now, from, f->number, f->sof, f->eof);
    for (unsigned i = 0; i < f->length; i++)
        printf("%02x", f->bytes[i]);
    printf("\"}\n");
}

void fcvi_explore_trace_unit(const struct system *s, uint64_t now, unsigned from, unsigned link,
                             uint64_t begin, const struct unit *u)
{
    static const char *const events[UNIT_KINDS] = {"open", "opened", "refused", "data", "fin", "reset"};
    if (!speaking(s))
        return;
    printf("{\"kind\":\"unit\",\"time\":%llu,\"from\":%u,\"number\":%u,\"link\":%u,\"event\":\"%s\","
           "\"begin\":%llu,\"bytes\":\"",
           (unsigned long long)now, from, u->number, link, events[u->kind], (unsigned long long)begin);
    for (unsigned i = 0; i < u->length; i++)
        printf("%02x", u->bytes[i]);
    printf("\"}\n");
}

void fcvi_explore_trace_event(const struct system *s, uint64_t now, unsigned port, const struct fcvi_event *e)
{
    static const char *const calls[] = {"VipConnectWait", "VipConnectAccept", "VipConnectRequest",
                                        "VipConnectPeerWait", "VipDisconnect"};
    char text[TEXT] = "";
    if (!speaking(s))
        return;
    if (e->kind == FCVI_EVENT_CALL && e->token < TOKENS)
        snprintf(text, sizeof text, "%s returns %s", calls[e->token], fcvi_vip_name(e->vip));
    else if (e->kind == FCVI_EVENT_STATE)
        snprintf(text, sizeof text, "state: %s", fcvi_vi_state_name(e->state));
    else if (e->kind == FCVI_EVENT_ERROR)
        snprintf(text, sizeof text, "error: %s", fcvi_vip_error_name(e->vip));
    else
        snprintf(text, sizeof text, "%s Descriptor %u completes, status %08x", e->recv ? "receive" : "send",
                 (unsigned)e->completion.cookie, e->completion.status);
    printf("{\"kind\":\"event\",\"time\":%llu,\"port\":%u,\"text\":\"%s\"}\n", (unsigned long long)now, port,
           text);
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
void fcvi_explore_trace_path(struct system *s, const struct result *r)
{
    struct breach b = {0};
    s->tracer = (struct tracer *)s;
    for (unsigned i = 0; i < r->steps; i++) {
        trace_choice(s, s->base, &r->path[i]);
        fcvi_explore_apply(s, s->base, &r->path[i], &b);
    }
    s->tracer = NULL;
}
