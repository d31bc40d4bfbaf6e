/* The thread that reads what nobody asked for: asynchronous events of every RNIC, and events of connections.
 */
#include "agent.h"
#include "words.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { WATCHED = 256 }; /* RNICs, the first of those that are open */

struct watched {
    struct verbs *v;
    struct pollfd fds[WATCHED + 2]; /* the wake, the connections, the RNICs */
    struct thing *rnics[WATCHED];
    size_t count;
};

/* ---- asynchronous events ---- */

static const char *object_of(const struct ibv_async_event *e, enum kind *kind, const void **native)
{
    switch (e->event_type) {
    case IBV_EVENT_CQ_ERR:
        *kind = KIND_CQ;
        *native = e->element.cq;
        return "cq";
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        *kind = KIND_SRQ;
        *native = e->element.srq;
        return "srq";
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        *kind = KIND_QP;
        *native = e->element.qp;
        return "qp";
    default:
        return NULL;
    }
}

static bool is_of_port(enum ibv_event_type type)
{
    return type == IBV_EVENT_PORT_ACTIVE || type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_LID_CHANGE ||
           type == IBV_EVENT_PKEY_CHANGE || type == IBV_EVENT_SM_CHANGE ||
           type == IBV_EVENT_CLIENT_REREGISTER || type == IBV_EVENT_GID_CHANGE;
}

static void tell(struct verbs *v, const struct thing *rnic, const struct ibv_async_event *e)
{
    enum kind kind = KIND_RNIC;
    const void *native = NULL;
    const char *name = object_of(e, &kind, &native);
    json_t *said = json_pack("{s:o, s:I}", "event", words_name(words_event, (uint32_t)e->event_type), "at_us",
                             (json_int_t)verbs_now_us());
    if (name != NULL)
        json_object_set_new(said, name, things_number(v, kind, native));
    else if (is_of_port(e->event_type))
        json_object_set_new(said, "port", json_integer(e->element.port_num));
    else if (e->event_type == IBV_EVENT_DEVICE_FATAL)
        json_object_set_new(said, "rnic", json_integer((json_int_t)rnic->number));
    client_notify(&v->client, "async", said);
}

/* A channel of events that fails belongs to a device that is gone: it is not read again. */
static void read_async(struct verbs *v, struct thing *rnic)
{
    struct ibv_async_event e;
    for (errno = 0; ibv_get_async_event(rnic->context, &e) == 0; errno = 0) {
        tell(v, rnic, &e);
        ibv_ack_async_event(&e);
    }
    if (errno != EAGAIN && errno != EINTR)
        rnic->moved = true;
}

/* ---- the thread ---- */

static void read_connections(struct verbs *v)
{
    struct rdma_cm_event *event = NULL;
    while (rdma_get_cm_event(v->events, &event) == 0) {
        struct rdma_cm_id *unwanted = connection_event(v, event);
        rdma_ack_cm_event(event);
        if (unwanted != NULL)
            rdma_destroy_id(unwanted);
    }
}

static void choose(struct watched *w)
{
    struct verbs *v = w->v;
    w->count = 0;
    pthread_mutex_lock(&v->lock);
    w->fds[0] = (struct pollfd){.fd = v->wake, .events = POLLIN};
    w->fds[1] = (struct pollfd){.fd = v->events != NULL ? v->events->fd : -1, .events = POLLIN};
    for (size_t at = 0; !v->hold_async && w->count < WATCHED;) {
        struct thing *t = things_next(v, KIND_RNIC, &at);
        if (t == NULL)
            break;
        if (t->going || t->moved)
            continue;
        t->users++;
        w->fds[2 + w->count] = (struct pollfd){.fd = t->context->async_fd, .events = POLLIN};
        w->rnics[w->count++] = t;
    }
    pthread_mutex_unlock(&v->lock);
}

static void *watch(void *context)
{
    struct watched *w = context;
    struct verbs *v = w->v;
    while (!v->watch_ends) {
        uint64_t woken;
        choose(w);
        int n = poll(w->fds, (nfds_t)(2 + w->count), -1);
        if (n > 0 && w->fds[0].revents != 0)
            (void)!read(v->wake, &woken, sizeof woken);
        if (n > 0 && w->fds[1].revents != 0)
            read_connections(v);
        for (size_t i = 0; i < w->count; i++) {
            if (n > 0 && w->fds[2 + i].revents != 0)
                read_async(v, w->rnics[i]);
            things_drop(v, w->rnics[i]);
        }
    }
    free(w);
    return NULL;
}

/* What the thread needs is there before it is: an agent that cannot watch has to say so. */
bool verbs_watch(struct verbs *v)
{
    struct watched *w = calloc(1, sizeof *w);
    v->watch_ends = false;
    if (v->wake < 0)
        v->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w != NULL)
        w->v = v;
    v->watched = w != NULL && v->wake >= 0 && pthread_create(&v->watcher, NULL, watch, w) == 0;
    if (!v->watched)
        free(w);
    return v->watched;
}

void verbs_unwatch(struct verbs *v)
{
    if (!v->watched)
        return;
    v->watch_ends = true;
    verbs_wake(v);
    pthread_join(v->watcher, NULL);
    v->watched = false;
    if (v->events != NULL)
        rdma_destroy_event_channel(v->events);
    v->events = NULL;
}
