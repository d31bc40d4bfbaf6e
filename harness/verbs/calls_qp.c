/* Queue Pairs. */
#include "connections.h"
#include "words.h"

#include <string.h>

static json_t *cap_json(const struct ibv_qp_cap *cap)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "sq_size", (json_int_t)cap->max_send_wr, "rq_size",
                     (json_int_t)cap->max_recv_wr, "sq_sges", (json_int_t)cap->max_send_sge, "rq_sges",
                     (json_int_t)cap->max_recv_sge, "inline", (json_int_t)cap->max_inline_data);
}

static struct ibv_qp_init_attr wanted(struct params *p)
{
    struct ibv_qp_init_attr init;
    memset(&init, 0, sizeof init);
    init.cap.max_send_wr = (uint32_t)params_number(p, "sq_size", UINT32_MAX, false, 0);
    init.cap.max_recv_wr = (uint32_t)params_number(p, "rq_size", UINT32_MAX, false, 0);
    init.cap.max_send_sge = (uint32_t)params_number(p, "sq_sges", UINT32_MAX, false, 0);
    init.cap.max_recv_sge = (uint32_t)params_number(p, "rq_sges", UINT32_MAX, false, 0);
    init.cap.max_inline_data = (uint32_t)params_number(p, "inline", UINT32_MAX, true, 0);
    init.sq_sig_all = params_flag(p, "signal_all");
    init.qp_type = (enum ibv_qp_type)words_value(p, "type", words_qp_type, true, IBV_QPT_RC);
    return init;
}

json_t *verb_create_qp(struct verbs *v, struct params *p)
{
    struct outcome o;
    json_t *result = NULL;
    struct ibv_qp_init_attr init = wanted(p);
    struct thing *pd = things_take(v, p, "pd", KIND_PD), *send = things_take(v, p, "send_cq", KIND_CQ);
    struct thing *recv = things_take(v, p, "recv_cq", KIND_CQ),
                 *srq = things_take_or_none(v, p, "srq", KIND_SRQ);
    struct thing *t = p->why[0] == '\0' ? things_new(v, p, KIND_QP) : NULL;
    if (t != NULL && pd != NULL && send != NULL && recv != NULL) {
        init.send_cq = send->cq;
        init.recv_cq = recv->cq;
        init.srq = srq != NULL ? srq->srq : NULL;
        t->device = devices_named(v->devices, ibv_get_device_name(pd->pd->context->device));
        outcome_begin(&o);
        struct ibv_qp *qp = v->layer->create_qp(pd->pd, &init);
        outcome_good(&o, qp != NULL);
        result = outcome_json(&o);
        if (qp != NULL) {
            json_object_set_new(result, "qp", things_publish(v, t, qp));
            json_object_set_new(result, "qp_num", json_integer(qp->qp_num));
            json_object_set_new(result, "cap", cap_json(&init.cap));
        } else {
            things_forget(v, t);
        }
    }
    things_drop(v, srq);
    things_drop(v, recv);
    things_drop(v, send);
    things_drop(v, pd);
    return result;
}

json_t *verb_query_qp(struct verbs *v, struct params *p)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;
    struct outcome o;
    struct thing *t = things_take(v, p, "qp", KIND_QP);
    if (t == NULL)
        return NULL;
    memset(&attr, 0, sizeof attr);
    memset(&init, 0, sizeof init);
    outcome_begin(&o);
    outcome_int(&o, ibv_query_qp(t->qp, &attr,
                                 IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_CAP |
                                     IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC,
                                 &init));
    json_t *result = outcome_json(&o);
    if (o.error == 0) {
        json_object_set_new(result, "state", words_name(words_state, (uint32_t)attr.qp_state));
        json_object_set_new(result, "cap", cap_json(&attr.cap));
        json_object_set_new(result, "attributes",
                            json_pack("{s:o, s:i, s:i, s:o}", "qp_access_flags",
                                      words_list(words_access, (uint32_t)attr.qp_access_flags),
                                      "max_rd_atomic", attr.max_rd_atomic, "max_dest_rd_atomic",
                                      attr.max_dest_rd_atomic, "cur_qp_state",
                                      words_name(words_state, (uint32_t)attr.cur_qp_state)));
        json_object_set_new(result, "send_cq", things_number(v, KIND_CQ, init.send_cq));
        json_object_set_new(result, "recv_cq", things_number(v, KIND_CQ, init.recv_cq));
        json_object_set_new(result, "srq", things_number(v, KIND_SRQ, init.srq));
        json_object_set_new(result, "pd", things_number(v, KIND_PD, t->qp->pd));
    }
    things_drop(v, t);
    return result;
}

static void number_of(struct params *p, const char *name, uint64_t most, int bit, int *mask, uint32_t *out)
{
    if (!params_has(p, name))
        return;
    *out = (uint32_t)params_number(p, name, most, false, 0);
    *mask |= bit;
}

/* The mask has what was given, and nothing else. */
static int changes(struct params *p, struct ibv_qp_attr *attr)
{
    int mask = 0;
    uint32_t reads = 0, dest = 0, sq = 0, rq = 0, port = 0, pkey = 0;
    memset(attr, 0, sizeof *attr);
    if (params_has(p, "state")) {
        attr->qp_state = (enum ibv_qp_state)words_value(p, "state", words_state, false, 0);
        mask |= IBV_QP_STATE;
    }
    if (params_has(p, "access")) {
        attr->qp_access_flags = words_flags(p, "access", words_access, 0);
        mask |= IBV_QP_ACCESS_FLAGS;
    }
    number_of(p, "max_rd_atomic", UINT8_MAX, IBV_QP_MAX_QP_RD_ATOMIC, &mask, &reads);
    number_of(p, "max_dest_rd_atomic", UINT8_MAX, IBV_QP_MAX_DEST_RD_ATOMIC, &mask, &dest);
    number_of(p, "sq_size", UINT32_MAX, IBV_QP_CAP, &mask, &sq);
    number_of(p, "rq_size", UINT32_MAX, IBV_QP_CAP, &mask, &rq);
    number_of(p, "port_num", UINT8_MAX, IBV_QP_PORT, &mask, &port);
    number_of(p, "pkey_index", UINT16_MAX, IBV_QP_PKEY_INDEX, &mask, &pkey);
    attr->max_rd_atomic = (uint8_t)reads;
    attr->max_dest_rd_atomic = (uint8_t)dest;
    attr->cap.max_send_wr = sq;
    attr->cap.max_recv_wr = rq;
    attr->port_num = (uint8_t)port;
    attr->pkey_index = (uint16_t)pkey;
    return mask;
}

/* A size that was not given stays, as far as the QP tells it. */
static void keep_size(struct params *p, struct ibv_qp *qp, struct ibv_qp_attr *attr)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr now;
    if (ibv_query_qp(qp, &now, IBV_QP_CAP, &init) != 0)
        return;
    uint32_t send = attr->cap.max_send_wr, recv = attr->cap.max_recv_wr;
    attr->cap = now.cap;
    attr->cap.max_send_wr = params_has(p, "sq_size") ? send : now.cap.max_send_wr;
    attr->cap.max_recv_wr = params_has(p, "rq_size") ? recv : now.cap.max_recv_wr;
}

json_t *verb_modify_qp(struct verbs *v, struct params *p)
{
    struct ibv_qp_attr attr;
    struct outcome o;
    json_t *result = NULL;
    int mask = changes(p, &attr);
    struct thing *t = things_take(v, p, "qp", KIND_QP);
    if (t != NULL && p->why[0] == '\0') {
        if ((mask & IBV_QP_CAP) != 0)
            keep_size(p, t->qp, &attr);
        outcome_begin(&o);
        outcome_int(&o, ibv_modify_qp(t->qp, &attr, mask));
        result = outcome_json(&o);
        if (o.error == 0 && (mask & IBV_QP_STATE) != 0) {
            t->moved = attr.qp_state != IBV_QPS_RESET;
            t->init_by_agent = false;
            if (!t->moved && !connection_is_iwarp(t)) /* its connection manager never hears of the move */
                connection_forget_old(v, t, true);
        }
    }
    things_drop(v, t);
    return result;
}

json_t *verb_destroy_qp(struct verbs *v, struct params *p)
{
    struct outcome o;
    struct thing *t = things_take_out(v, p, "qp", KIND_QP);
    if (t == NULL)
        return NULL;
    struct connection *c = t->to;
    outcome_begin(&o);
    outcome_int(&o, ibv_destroy_qp(t->qp));
    things_put_out(v, t, o.error == 0);
    if (o.error == 0)
        connection_end(v, c);
    return outcome_json(&o);
}
