/* Shared Receive Queues. */
#include "agent.h"

#include <string.h>

json_t *verb_create_srq(struct verbs *v, struct params *p)
{
    struct ibv_srq_init_attr init;
    struct outcome o;
    json_t *result = NULL;
    memset(&init, 0, sizeof init);
    init.attr.max_wr = (uint32_t)params_number(p, "size", UINT32_MAX, false, 0);
    init.attr.max_sge = (uint32_t)params_number(p, "sges", UINT32_MAX, false, 0);
    init.attr.srq_limit = (uint32_t)params_number(p, "limit", UINT32_MAX, true, 0);
    struct thing *pd = things_take(v, p, "pd", KIND_PD);
    struct thing *t = pd != NULL && p->why[0] == '\0' ? things_new(v, p, KIND_SRQ) : NULL;
    if (t != NULL) {
        outcome_begin(&o);
        struct ibv_srq *srq = ibv_create_srq(pd->pd, &init);
        outcome_good(&o, srq != NULL);
        result = outcome_json(&o);
        if (srq != NULL) {
            json_object_set_new(result, "srq", things_publish(v, t, srq));
            json_object_set_new(result, "size", json_integer(init.attr.max_wr));
            json_object_set_new(result, "sges", json_integer(init.attr.max_sge));
        } else {
            things_forget(v, t);
        }
    }
    things_drop(v, pd);
    return result;
}

json_t *verb_query_srq(struct verbs *v, struct params *p)
{
    struct ibv_srq_attr attr;
    struct outcome o;
    struct thing *t = things_take(v, p, "srq", KIND_SRQ);
    if (t == NULL)
        return NULL;
    memset(&attr, 0, sizeof attr);
    outcome_begin(&o);
    outcome_int(&o, ibv_query_srq(t->srq, &attr));
    json_t *result = outcome_json(&o);
    if (o.error == 0) {
        json_object_set_new(result, "size", json_integer(attr.max_wr));
        json_object_set_new(result, "sges", json_integer(attr.max_sge));
        json_object_set_new(result, "limit", json_integer(attr.srq_limit));
    }
    things_drop(v, t);
    return result;
}

json_t *verb_modify_srq(struct verbs *v, struct params *p)
{
    struct ibv_srq_attr attr;
    struct outcome o;
    json_t *result = NULL;
    int mask = 0;
    memset(&attr, 0, sizeof attr);
    if (params_has(p, "size")) {
        attr.max_wr = (uint32_t)params_number(p, "size", UINT32_MAX, false, 0);
        mask |= IBV_SRQ_MAX_WR;
    }
    if (params_has(p, "limit")) {
        attr.srq_limit = (uint32_t)params_number(p, "limit", UINT32_MAX, false, 0);
        mask |= IBV_SRQ_LIMIT;
    }
    struct thing *t = things_take(v, p, "srq", KIND_SRQ);
    if (t != NULL && p->why[0] == '\0') {
        outcome_begin(&o);
        outcome_int(&o, ibv_modify_srq(t->srq, &attr, mask));
        result = outcome_json(&o);
    }
    things_drop(v, t);
    return result;
}

VERB_GIVES_BACK(verb_destroy_srq, "srq", KIND_SRQ, ibv_destroy_srq(t->srq))
