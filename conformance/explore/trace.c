/* What happens on the way to a breach, as JSON: one object a line. */
#include "explore.h"

#include <stdio.h>

void fcvi_explore_trace_sent(const struct system *s, uint64_t now, unsigned from, const struct flying *f)
{
    if (!s->telling)
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
    if (!s->telling)
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
    if (!s->telling)
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
