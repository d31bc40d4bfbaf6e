/* Connections, made by librdmacm with QPs that it does not know. */
#include "connections.h"
#include "words.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <time.h>

/* A Send into an empty queue of InfiniBand is tried twice: with the 655 ms of librdmacm's RNR timer it ends
 * within 2 s. */
enum {
    BACKLOG = 64,
    RETRIES = 7,
    RETRIES_LOSSY = 6, /* rxe takes 7 for ever */
    RNR_RETRIES = 1,
    PATIENCE_US = 5 * 1000 * 1000,
    STALE_CONNECTION = 10,
    STALE_US = 100 * 1000
};

json_t *verb_listen(struct verbs *v, struct params *p)
{
    struct outcome o;
    json_t *result = NULL;
    struct thing *rnic = things_take(v, p, "rnic", KIND_RNIC);
    struct connection *c = rnic != NULL ? connection_new(v, p) : NULL;
    struct thing *t = c != NULL ? things_new(v, p, KIND_LISTENER) : NULL;
    if (t != NULL && rnic->device != NULL) {
        struct sockaddr_storage at = rnic->device->at;
        c->listener = t->number;
        outcome_begin(&o);
        struct rdma_event_channel *channel = connection_channel(v);
        bool good = channel != NULL && rdma_create_id(channel, &c->id, c, RDMA_PS_TCP) == 0 &&
                    rdma_bind_addr(c->id, (struct sockaddr *)(void *)&at) == 0 &&
                    rdma_listen(c->id, BACKLOG) == 0;
        outcome_good(&o, good);
        result = outcome_json(&o);
        if (good) {
            json_object_set_new(result, "port", json_integer(ntohs(rdma_get_src_port(c->id))));
            json_object_set_new(result, "listener", things_publish(v, t, c));
            c = NULL;
        } else {
            things_forget(v, t);
        }
    }
    connection_end(v, c);
    things_drop(v, rnic);
    return result;
}

json_t *verb_unlisten(struct verbs *v, struct params *p)
{
    struct outcome o;
    struct thing *t = things_take_out(v, p, "listener", KIND_LISTENER);
    if (t == NULL)
        return NULL;
    outcome_begin(&o);
    connection_end(v, t->connection);
    outcome_int(&o, 0);
    things_put_out(v, t, true);
    return outcome_json(&o);
}

/* What the suite wants of a connection, and what came of it. */
struct attempt {
    struct thing *qp;
    struct connection *c;
    struct rdma_conn_param param;
    unsigned char data[VERBS_PRIVATE];
    unsigned access;
    bool access_given;
    uint64_t until;
    struct said said; /* event: the last */
    bool ended;       /* by that event */
    int error;        /* of a call, or why the event is no success */
};

static void read_attempt(const struct verbs *v, struct params *p, struct attempt *a)
{
    memset(a, 0, sizeof *a);
    a->param.initiator_depth = (uint8_t)params_number(p, "ord", UINT8_MAX, true, 1);
    a->param.responder_resources = (uint8_t)params_number(p, "ird", UINT8_MAX, true, 1);
    if (params_has(p, "private")) {
        a->param.private_data_len = (uint8_t)params_hex(p, "private", a->data, 0, sizeof a->data);
        a->param.private_data = a->data;
    }
    a->param.flow_control = 1;
    a->param.retry_count = v->devices->lossy ? RETRIES_LOSSY : RETRIES;
    a->param.rnr_retry_count = RNR_RETRIES;
    a->access_given = params_has(p, "access");
    a->access = words_flags(p, "access", words_access, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    a->until = verbs_now_us() + params_timeout(p, PATIENCE_US);
}

/* Waits for an event. True when it is the wanted one; any other ends the attempt. */
static bool comes(struct attempt *a, enum rdma_cm_event_type wanted, enum rdma_cm_event_type other)
{
    struct said s;
    if (!connection_wait(a->c, a->qp, a->until, &s)) {
        a->error = ETIMEDOUT;
        return false;
    }
    a->said = s;
    a->ended = true;
    if (s.event == wanted || s.event == other)
        return true;
    a->error = s.event == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED : s.status < 0 ? -s.status : EHOSTUNREACH;
    return false;
}

static bool did(struct attempt *a, int returned)
{
    if (returned == 0)
        return true;
    a->error = returned > 0 ? returned : errno > 0 ? errno : EIO;
    a->ended = false;
    return false;
}

static bool move(struct attempt *a, enum ibv_qp_state to, bool passive)
{
    const bool by_rights = to == IBV_QPS_INIT || a->access_given || a->qp->init_by_agent;
    return did(
        a, connection_move(a->qp, a->c->id, to, by_rights ? &a->access : NULL, passive ? &a->param : NULL));
}

/* The rights that an iWARP provider lets a program choose are the QP's own. */
static void choose_rights(struct attempt *a)
{
    struct ibv_qp_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.qp_access_flags = a->access;
    if (a->access_given && connection_is_iwarp(a->qp))
        (void)connection_modify(a->qp->qp, &attr, IBV_QP_ACCESS_FLAGS);
}

static bool to_init(struct attempt *a)
{
    if (connection_is_iwarp(a->qp)) {
        choose_rights(a);
        return true;
    }
    return connection_is_init(a->qp) || move(a, IBV_QPS_INIT, false);
}

static bool establish(struct attempt *a)
{
    if (!comes(a, RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_CONNECT_RESPONSE))
        return false;
    if (a->said.event == RDMA_CM_EVENT_ESTABLISHED)
        return true;
    struct said response = a->said;
    if (!move(a, IBV_QPS_RTR, false) || !move(a, IBV_QPS_RTS, false) || !did(a, rdma_establish(a->c->id)))
        return false;
    response.event = RDMA_CM_EVENT_ESTABLISHED; /* what librdmacm makes of it with a QP of its own */
    a->said = response;
    return true;
}

/* The connection stands: what was said since then is told, and what the QP had before is let go. */
static void stands(struct verbs *v, struct attempt *a)
{
    struct said left[CONNECTION_SAID];
    pthread_mutex_lock(&v->lock);
    struct connection *before = a->qp->to;
    size_t count = a->c->count;
    memcpy(left, a->c->said, count * sizeof *left);
    a->qp->to = a->c;
    a->c->count = 0;
    a->c->attempting = false;
    pthread_mutex_unlock(&v->lock);
    for (size_t i = 0; i < count; i++)
        connection_tell(v, a->qp->number, &left[i]);
    connection_end(v, before);
}

static json_t *attempt_json(struct attempt *a, struct outcome *o)
{
    errno = a->error;
    outcome_good(o, a->error == 0);
    json_t *result = outcome_json(o);
    json_object_set_new(result, "event",
                        a->ended ? words_name(words_cm_event, (uint32_t)a->said.event) : json_null());
    json_object_set_new(result, "status", json_integer(a->ended ? a->said.status : 0));
    json_object_set_new(result, "ord", json_integer(a->said.ord));
    json_object_set_new(result, "ird", json_integer(a->said.ird));
    json_object_set_new(result, "private", verbs_bytes(a->said.data, a->said.length));
    return result;
}

/* The address and port of the other end. */
static struct sockaddr_storage read_address(struct params *p)
{
    struct sockaddr_storage out;
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    const char *text = json_string_value(json_object_get(p->object, "address"));
    in_port_t port = htons((uint16_t)params_number(p, "port", UINT16_MAX, false, 0));
    memset(&out, 0, sizeof out);
    if (text != NULL && inet_pton(AF_INET, text, &four.sin_addr) == 1) {
        four.sin_port = port;
        memcpy(&out, &four, sizeof four);
    } else if (text != NULL && inet_pton(AF_INET6, text, &six.sin6_addr) == 1) {
        six.sin6_port = port;
        memcpy(&out, &six, sizeof six);
    } else {
        params_wrong(p, "address", "an IPv4 or IPv6 address");
    }
    return out;
}

static bool resolve(struct verbs *v, struct attempt *a, struct sockaddr_storage *to)
{
    struct sockaddr_storage from;
    struct rdma_event_channel *channel = connection_channel(v);
    uint64_t now = verbs_now_us();
    const int ms = a->until > now ? (int)((a->until - now + 999) / 1000) : 1;
    memset(&from, 0, sizeof from);
    if (a->qp->device != NULL)
        from = a->qp->device->at;
    if (channel == NULL)
        return did(a, -1);
    if (!did(a, rdma_create_id(channel, &a->c->id, a->c, RDMA_PS_TCP)))
        return false;
    connection_is_lossy(v, a->c->id);
    return did(a, rdma_resolve_addr(a->c->id,
                                    from.ss_family == to->ss_family ? (struct sockaddr *)(void *)&from : NULL,
                                    (struct sockaddr *)(void *)to, ms)) &&
           comes(a, RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_RESOLVED) &&
           did(a, rdma_resolve_route(a->c->id, ms)) &&
           comes(a, RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static void name_qp(struct attempt *a)
{
    a->param.qp_num = a->qp->qp->qp_num;
    a->param.srq = a->qp->qp->srq != NULL;
}

/* The other end's connection manager still holds what this QP number had before: it says so until that has
 * timed out. */
static bool is_stale(const struct attempt *a)
{
    return a->ended && a->said.event == RDMA_CM_EVENT_REJECTED && a->said.status == STALE_CONNECTION &&
           !connection_is_iwarp(a->qp) && !a->qp->going && !a->c->v->calls.ending &&
           verbs_now_us() + STALE_US < a->until;
}

/* Another rdma_cm_id for another attempt; the QP may be in INIT already. */
static void again(struct attempt *a)
{
    struct verbs *v = a->c->v;
    const struct timespec pause = {.tv_nsec = STALE_US * 1000L};
    rdma_destroy_id(a->c->id);
    pthread_mutex_lock(&v->lock);
    a->c->id = NULL;
    a->c->count = 0;
    pthread_mutex_unlock(&v->lock);
    a->ended = false;
    a->error = 0;
    nanosleep(&pause, NULL);
}

static bool try_to_connect(struct verbs *v, struct attempt *a, struct sockaddr_storage *to)
{
    for (;; again(a)) {
        if (resolve(v, a, to) && to_init(a) && did(a, rdma_connect(a->c->id, &a->param)) && establish(a))
            return true;
        if (!is_stale(a))
            return false;
    }
}

json_t *verb_connect(struct verbs *v, struct params *p)
{
    struct attempt a;
    struct outcome o;
    json_t *result = NULL;
    read_attempt(v, p, &a);
    struct sockaddr_storage to = read_address(p);
    a.qp = things_take(v, p, "qp", KIND_QP);
    a.c = a.qp != NULL && p->why[0] == '\0' ? connection_new(v, p) : NULL;
    if (a.c != NULL) {
        a.c->qp = a.qp->number;
        a.c->attempting = true;
        name_qp(&a);
        connection_forget_old(v, a.qp, false);
        outcome_begin(&o);
        bool good = try_to_connect(v, &a, &to);
        if (good)
            stands(v, &a);
        result = attempt_json(&a, &o);
        if (!good)
            connection_end(v, a.c);
    }
    things_drop(v, a.qp);
    return result;
}

/* With InfiniBand the QP is ready before the other end hears of it. */
static bool accept_it(struct verbs *v, struct attempt *a)
{
    connection_is_lossy(v, a->c->id);
    if (connection_is_iwarp(a->qp))
        choose_rights(a);
    else if (!to_init(a) || !move(a, IBV_QPS_RTR, true) || !move(a, IBV_QPS_RTS, true))
        return false;
    return did(a, rdma_accept(a->c->id, &a->param));
}

json_t *verb_accept(struct verbs *v, struct params *p)
{
    struct attempt a;
    struct outcome o;
    json_t *result = NULL;
    read_attempt(v, p, &a);
    a.qp = things_take(v, p, "qp", KIND_QP);
    struct thing *request = a.qp != NULL ? things_take_out(v, p, "request", KIND_REQUEST) : NULL;
    if (request != NULL && p->why[0] == '\0') {
        pthread_mutex_lock(&v->lock);
        a.c = request->connection;
        a.c->qp = a.qp->number;
        a.c->attempting = true;
        pthread_mutex_unlock(&v->lock);
        name_qp(&a);
        connection_forget_old(v, a.qp, false);
        outcome_begin(&o);
        bool accepted = accept_it(v, &a);
        bool good = accepted && comes(&a, RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_ESTABLISHED);
        if (good && a.said.ord == 0 && a.said.ird == 0) { /* this end's own word, where the event has none */
            a.said.ord = a.param.initiator_depth;
            a.said.ird = a.param.responder_resources;
        }
        if (good)
            stands(v, &a);
        result = attempt_json(&a, &o);
        if (!accepted) { /* the suite may refuse it, or try again */
            pthread_mutex_lock(&v->lock);
            a.c->attempting = false;
            pthread_mutex_unlock(&v->lock);
        } else if (!good) {
            connection_end(v, a.c);
        }
        things_put_out(v, request, accepted);
    } else if (request != NULL) {
        things_put_out(v, request, false);
    }
    things_drop(v, a.qp);
    return result;
}

json_t *verb_reject(struct verbs *v, struct params *p)
{
    struct outcome o;
    unsigned char data[VERBS_PRIVATE];
    uint8_t length = params_has(p, "private") ? (uint8_t)params_hex(p, "private", data, 0, sizeof data) : 0;
    struct thing *request = p->why[0] == '\0' ? things_take_out(v, p, "request", KIND_REQUEST) : NULL;
    if (request == NULL)
        return NULL;
    outcome_begin(&o);
    outcome_int(&o, rdma_reject(request->connection->id, length > 0 ? data : NULL, length));
    if (o.error == 0)
        connection_end(v, request->connection);
    things_put_out(v, request, o.error == 0);
    return outcome_json(&o);
}

json_t *verb_disconnect(struct verbs *v, struct params *p)
{
    struct outcome o;
    struct thing *qp = things_take(v, p, "qp", KIND_QP);
    if (qp == NULL)
        return NULL;
    struct connection *c = connection_hold(v, qp);
    outcome_begin(&o);
    errno = ENOTCONN;
    outcome_int(&o, c != NULL ? rdma_disconnect(c->id) : -1);
    if (c != NULL && !connection_is_iwarp(qp)) { /* librdmacm does so with a QP of its own */
        struct ibv_qp_attr attr;
        memset(&attr, 0, sizeof attr);
        attr.qp_state = IBV_QPS_ERR;
        (void)ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE);
    }
    if (c != NULL)
        connection_drop(v, c);
    things_drop(v, qp);
    return outcome_json(&o);
}
