/* Events that are lost, doubled, or name the wrong object. */
#include "faults.h"

#include <errno.h>
#include <stdbool.h>

#define INSTALL_AS(function, member)                                                                         \
    static void install_##function(struct layer *layer)                                                      \
    {                                                                                                        \
        layer->member = function;                                                                            \
    }

/* ---- asynchronous ---- */

static int no_events(struct ibv_context *context, struct ibv_async_event *event)
{
    while (layer_plain.get_async_event(context, event) == 0)
        layer_plain.ack_async_event(event);
    errno = EAGAIN;
    return -1;
}
INSTALL_AS(no_events, get_async_event)

static int no_limit_event(struct ibv_context *context, struct ibv_async_event *event)
{
    for (;;) {
        int returned = layer_plain.get_async_event(context, event);
        if (returned != 0 || event->event_type != IBV_EVENT_SRQ_LIMIT_REACHED)
            return returned;
        layer_plain.ack_async_event(event);
    }
}
INSTALL_AS(no_limit_event, get_async_event)

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

static void install_nameless(struct layer *layer)
{
    layer->get_async_event = nameless;
    layer->ack_async_event = ack_real;
}

static void install_other_word(struct layer *layer)
{
    layer->get_async_event = other_word;
    layer->ack_async_event = ack_real;
}

static void install_twice(struct layer *layer)
{
    layer->get_async_event = twice;
    layer->ack_async_event = ack_once;
}

/* ---- completions ---- */

static int never_armed(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    return 0;
}
INSTALL_AS(never_armed, req_notify_cq)

static int armed_for_all(struct ibv_cq *cq, int solicited)
{
    (void)solicited;
    return layer_plain.req_notify_cq(cq, 0);
}
INSTALL_AS(armed_for_all, req_notify_cq)

static int armed_for_solicited(struct ibv_cq *cq, int solicited)
{
    (void)solicited;
    return layer_plain.req_notify_cq(cq, 1);
}
INSTALL_AS(armed_for_solicited, req_notify_cq)

static int armed_again(struct ibv_comp_channel *channel, struct ibv_cq **cq)
{
    int returned = layer_plain.get_cq_event(channel, cq);
    if (returned == 0)
        (void)layer_plain.req_notify_cq(*cq, 0);
    return returned;
}
INSTALL_AS(armed_again, get_cq_event)

static int event_lost(struct ibv_comp_channel *channel, struct ibv_cq **cq)
{
    while (layer_plain.get_cq_event(channel, cq) == 0)
        layer_plain.ack_cq_event(*cq);
    *cq = NULL;
    errno = EAGAIN;
    return -1;
}
INSTALL_AS(event_lost, get_cq_event)

static struct ibv_cq *meant;

static int of_no_cq(struct ibv_comp_channel *channel, struct ibv_cq **cq)
{
    int returned = layer_plain.get_cq_event(channel, &meant);
    *cq = NULL;
    if (returned == 0)
        layer_plain.ack_cq_event(meant);
    return returned;
}
INSTALL_AS(of_no_cq, get_cq_event)

static int arming_fails(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    return EINVAL;
}
INSTALL_AS(arming_fails, req_notify_cq)

const struct fault faults_events[] = {
    {"no-async-events", "No asynchronous event is told.", install_no_events},
    {"no-limit-event", "The event of an SRQ's limit is lost.", install_no_limit_event},
    {"async-event-nameless", "An asynchronous event names no object.", install_nameless},
    {"async-event-other-word", "Each asynchronous event is told as COMM_EST.", install_other_word},
    {"async-event-twice", "Each asynchronous event is told twice.", install_twice},
    {"never-armed", "Arming a CQ does nothing.", install_never_armed},
    {"odd-armed-for-all", "Armed for solicited, any completion raises the event.", install_armed_for_all},
    {"armed-for-solicited", "Armed for the next, only a solicited one does.", install_armed_for_solicited},
    {"armed-again", "Each event arms the CQ again.", install_armed_again},
    {"completion-event-lost", "No completion event is told.", install_event_lost},
    {"completion-event-nameless", "A completion event names no CQ.", install_of_no_cq},
    {"arming-refused", "Arming a CQ is refused.", install_arming_fails},
    {NULL, NULL, NULL}};
