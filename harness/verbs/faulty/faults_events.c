/* Events that are lost, doubled, or name the wrong object. */
#include "faults.h"

#include <errno.h>
#include <stdbool.h>

/* ---- asynchronous ---- */

static int no_events(struct ibv_context *context, struct ibv_async_event *event)
{
    while (layer_plain.get_async_event(context, event) == 0)
        layer_plain.ack_async_event(event);
    errno = EAGAIN;
    return -1;
}

static int no_limit_event(struct ibv_context *context, struct ibv_async_event *event)
{
    for (;;) {
        int returned = layer_plain.get_async_event(context, event);
        if (returned != 0 || event->event_type != IBV_EVENT_SRQ_LIMIT_REACHED)
            return returned;
        layer_plain.ack_async_event(event);
    }
}

/* The event as it was, for its acknowledgement: one thread reads them. */
static struct ibv_async_event real;

static int nameless(struct ibv_context *context, struct ibv_async_event *event)
{
    int returned = layer_plain.get_async_event(context, event);
    real = *event;
    if (returned == 0)
        event->element.qp = NULL;
    return returned;
}

static int other_word(struct ibv_context *context, struct ibv_async_event *event)
{
    int returned = layer_plain.get_async_event(context, event);
    real = *event;
    if (returned == 0)
        event->event_type = IBV_EVENT_COMM_EST;
    return returned;
}

static bool again;

static int twice(struct ibv_context *context, struct ibv_async_event *event)
{
    if (again) {
        again = false;
        *event = real;
        return 0;
    }
    int returned = layer_plain.get_async_event(context, event);
    real = *event;
    again = returned == 0;
    return returned;
}

static void ack_real(struct ibv_async_event *event)
{
    (void)event;
    layer_plain.ack_async_event(&real);
}

static void ack_once(struct ibv_async_event *event)
{
    if (!again)
        layer_plain.ack_async_event(event);
}

/* ---- completions ---- */

static int never_armed(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    return 0;
}

static int armed_for_all(struct ibv_cq *cq, int solicited)
{
    (void)solicited;
    return layer_plain.req_notify_cq(cq, 0);
}

static int armed_for_solicited(struct ibv_cq *cq, int solicited)
{
    (void)solicited;
    return layer_plain.req_notify_cq(cq, 1);
}

static int armed_again(struct ibv_comp_channel *channel, struct ibv_cq **cq)
{
    int returned = layer_plain.get_cq_event(channel, cq);
    if (returned == 0)
        (void)layer_plain.req_notify_cq(*cq, 0);
    return returned;
}

static int event_lost(struct ibv_comp_channel *channel, struct ibv_cq **cq)
{
    while (layer_plain.get_cq_event(channel, cq) == 0)
        layer_plain.ack_cq_event(*cq);
    *cq = NULL;
    errno = EAGAIN;
    return -1;
}

static struct ibv_cq *meant;

static int of_no_cq(struct ibv_comp_channel *channel, struct ibv_cq **cq)
{
    int returned = layer_plain.get_cq_event(channel, &meant);
    *cq = NULL;
    if (returned == 0)
        layer_plain.ack_cq_event(meant);
    return returned;
}

static int arming_fails(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    return EINVAL;
}

const struct fault faults_events[] = {
    {"no-async-events", "No asynchronous event is told.", {.get_async_event = no_events}, NULL},
    {"no-limit-event", "The event of an SRQ's limit is lost.", {.get_async_event = no_limit_event}, NULL},
    {"async-event-nameless",
     "An asynchronous event names no object.",
     {.get_async_event = nameless, .ack_async_event = ack_real},
     NULL},
    {"async-event-other-word",
     "Each asynchronous event is told as COMM_EST.",
     {.get_async_event = other_word, .ack_async_event = ack_real},
     NULL},
    {"async-event-twice",
     "Each asynchronous event is told twice.",
     {.get_async_event = twice, .ack_async_event = ack_once},
     NULL},
    {"never-armed", "Arming a CQ does nothing.", {.req_notify_cq = never_armed}, NULL},
    {"odd-armed-for-all",
     "Armed for solicited, any completion raises the event.",
     {.req_notify_cq = armed_for_all},
     NULL},
    {"armed-for-solicited",
     "Armed for the next, only a solicited one does.",
     {.req_notify_cq = armed_for_solicited},
     NULL},
    {"armed-again", "Each event arms the CQ again.", {.get_cq_event = armed_again}, NULL},
    {"completion-event-lost", "No completion event is told.", {.get_cq_event = event_lost}, NULL},
    {"completion-event-nameless", "A completion event names no CQ.", {.get_cq_event = of_no_cq}, NULL},
    {"arming-refused", "Arming a CQ is refused.", {.req_notify_cq = arming_fails}, NULL},
    {NULL, NULL, {.open_device = NULL}, NULL}};
