/* See connections.h. */
#include "connections.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- what is there ---- */

struct rdma_event_channel *connection_channel(struct verbs *v)
{
    pthread_mutex_lock(&v->lock);
    if (v->events == NULL) {
        v->events = rdma_create_event_channel();
        if (v->events != NULL)
            (void)fcntl(v->events->fd, F_SETFL, fcntl(v->events->fd, F_GETFL) | O_NONBLOCK);
        verbs_wake(v);
    }
    struct rdma_event_channel *channel = v->events;
    pthread_mutex_unlock(&v->lock);
    return channel;
}

struct connection *connection_new(struct verbs *v, struct params *p)
{
    struct connection *c = calloc(1, sizeof *c);
    pthread_mutex_lock(&v->lock);
    bool room = c != NULL && v->connections < VERBS_CONNECTIONS;
    if (room)
        v->connections++;
    pthread_mutex_unlock(&v->lock);
    if (!room) {
        if (p != NULL)
            params_no_room(p, "connections");
        free(c);
        return NULL;
    }
    c->v = v;
    return c;
}

struct connection *connection_hold(struct verbs *v, const struct thing *qp)
{
    pthread_mutex_lock(&v->lock);
    struct connection *c = qp->to;
    if (c != NULL)
        c->users++;
    pthread_mutex_unlock(&v->lock);
    return c;
}

void connection_forget_old(struct verbs *v, struct thing *qp, bool reset)
{
    pthread_mutex_lock(&v->lock);
    struct connection *c = qp->to != NULL && (qp->to->over || reset) ? qp->to : NULL;
    if (c != NULL)
        qp->to = NULL;
    pthread_mutex_unlock(&v->lock);
    connection_end(v, c);
}

void connection_drop(struct verbs *v, struct connection *c)
{
    pthread_mutex_lock(&v->lock);
    c->users--;
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
}

void connection_end(struct verbs *v, struct connection *c)
{
    if (c == NULL)
        return;
    pthread_mutex_lock(&v->lock);
    while (c->users > 0)
        pthread_cond_wait(&v->changed, &v->lock);
    pthread_mutex_unlock(&v->lock);
    if (c->id != NULL)
        rdma_destroy_id(c->id); /* returns when each of its events was acknowledged */
    pthread_mutex_lock(&v->lock);
    v->connections--;
    pthread_mutex_unlock(&v->lock);
    free(c);
}

/* ---- what is said ---- */

static struct said said_of(const struct rdma_cm_event *event)
{
    const struct rdma_conn_param *param = &event->param.conn;
    struct said s = {.event = event->event, .status = event->status};
    if (event->event == RDMA_CM_EVENT_ADDR_RESOLVED || event->event == RDMA_CM_EVENT_ROUTE_RESOLVED)
        return s; /* they have no such member */
    s.ord = param->initiator_depth;
    s.ird = param->responder_resources;
    s.length = param->private_data != NULL ? param->private_data_len : 0;
    if (s.length > 0)
        memcpy(s.data, param->private_data, s.length);
    return s;
}

/* The request that came, or no room for it: it is refused, and the caller destroys its rdma_cm_id. */
static struct rdma_cm_id *requested(struct verbs *v, const struct rdma_cm_event *event)
{
    struct params p = {.object = NULL};
    const struct connection *listener = event->listen_id->context;
    struct connection *c = connection_new(v, &p);
    struct thing *t = c != NULL ? things_new(v, &p, KIND_REQUEST) : NULL;
    event->id->context = NULL;
    if (t == NULL) {
        if (c != NULL)
            connection_end(v, c);
        (void)rdma_reject(event->id, NULL, 0);
        return event->id;
    }
    struct said s = said_of(event);
    c->id = event->id;
    event->id->context = c;
    json_t *number = things_publish(v, t, c);
    client_notify(&v->client, "connect-request",
                  json_pack("{s:I, s:o, s:i, s:i, s:o, s:I}", "listener", (json_int_t)listener->listener,
                            "request", number, "ord", (int)s.ord, "ird", (int)s.ird, "private",
                            verbs_bytes(s.data, s.length), "at_us", (json_int_t)verbs_now_us()));
    return NULL;
}

void connection_tell(struct verbs *v, uint64_t qp, const struct said *s)
{
    client_notify(&v->client, "cm",
                  json_pack("{s:o, s:o, s:i, s:I}", "event", words_name(words_cm_event, (uint32_t)s->event),
                            "qp", qp != 0 ? json_integer((json_int_t)qp) : json_null(), "status", s->status,
                            "at_us", (json_int_t)verbs_now_us()));
}

/* With InfiniBand each end has to answer the other's disconnection. Until it does, its connection manager
 * takes every new request of that QP number for a stale one. */
static void answer_disconnection(const struct rdma_cm_event *event)
{
    const struct ibv_context *context = event->id->verbs;
    if (event->event == RDMA_CM_EVENT_DISCONNECTED && context != NULL &&
        context->device->transport_type == IBV_TRANSPORT_IB)
        (void)rdma_disconnect(event->id);
}

struct rdma_cm_id *connection_event(struct verbs *v, const struct rdma_cm_event *event)
{
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST && event->listen_id != NULL)
        return requested(v, event);
    struct connection *c = event->id->context;
    struct said s = said_of(event);
    answer_disconnection(event);
    pthread_mutex_lock(&v->lock);
    uint64_t qp = c != NULL ? c->qp : 0;
    bool taken = c != NULL && c->attempting;
    if (taken && c->count < CONNECTION_SAID)
        c->said[c->count++] = s;
    if (c != NULL && event->event == RDMA_CM_EVENT_DISCONNECTED)
        c->over = true;
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
    if (!taken)
        connection_tell(v, qp, &s);
    return NULL;
}

bool connection_wait(struct connection *c, const struct thing *qp, uint64_t until, struct said *out)
{
    struct verbs *v = c->v;
    const struct timespec end = {.tv_sec = (time_t)(until / 1000000),
                                 .tv_nsec = (long)(until % 1000000) * 1000};
    pthread_mutex_lock(&v->lock);
    while (c->count == 0 && !v->calls.ending && !qp->going)
        if (pthread_cond_timedwait(&v->changed, &v->lock, &end) == ETIMEDOUT)
            break;
    bool got = c->count > 0 && !v->calls.ending;
    if (got) {
        *out = c->said[0];
        c->count--;
        memmove(c->said, c->said + 1, c->count * sizeof *c->said);
    }
    pthread_mutex_unlock(&v->lock);
    return got;
}

/* ---- the moves of a QP ---- */

bool connection_is_iwarp(const struct thing *qp)
{
    return qp->qp->context->device->transport_type == IBV_TRANSPORT_IWARP;
}

void connection_is_lossy(const struct verbs *v, struct rdma_cm_id *id)
{
    uint8_t exponent = 16; /* of 4.096 us */
    if (v->devices->lossy)
        (void)rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &exponent, sizeof exponent);
}

bool connection_is_init(const struct thing *qp)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;
    memset(&attr, 0, sizeof attr);
    return ibv_query_qp(qp->qp, &attr, IBV_QP_STATE, &init) == 0 && attr.qp_state == IBV_QPS_INIT;
}

static int modified(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    struct outcome o;
    outcome_begin(&o);
    outcome_int(&o, ibv_modify_qp(qp, attr, mask));
    return o.error;
}

int connection_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    const unsigned remote = attr->qp_access_flags;
    if ((mask & IBV_QP_ACCESS_FLAGS) == 0)
        return modified(qp, attr, mask);
    attr->qp_access_flags = remote | IBV_ACCESS_MW_BIND;
    if (modified(qp, attr, mask) == 0)
        return 0;
    attr->qp_access_flags = remote;
    return modified(qp, attr, mask);
}

int connection_move(struct thing *qp, struct rdma_cm_id *id, enum ibv_qp_state to, const unsigned *access,
                    const struct rdma_conn_param *param)
{
    struct ibv_qp_attr attr;
    int mask = 0;
    memset(&attr, 0, sizeof attr);
    attr.qp_state = to;
    if (rdma_init_qp_attr(id, &attr, &mask) != 0)
        return errno > 0 ? errno : EIO;
    if (access != NULL && to != IBV_QPS_RTS) {
        attr.qp_access_flags = *access;
        mask |= IBV_QP_ACCESS_FLAGS;
    }
    /* who accepts has not said yet what it grants: librdmacm puts it in, too */
    if (param != NULL && to == IBV_QPS_RTR)
        attr.max_dest_rd_atomic = param->responder_resources;
    if (param != NULL && to == IBV_QPS_RTS)
        attr.max_rd_atomic = param->initiator_depth;
    const int error = connection_modify(qp->qp, &attr, mask);
    if (error == 0)
        qp->moved = true;
    return error;
}

void connection_may_receive(struct thing *qp)
{
    if (qp->moved || connection_is_iwarp(qp))
        return;
    struct ibv_qp_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    if (connection_modify(qp->qp, &attr,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
        return;
    qp->moved = true;
    qp->init_by_agent = true;
}
