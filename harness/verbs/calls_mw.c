/* Memory Windows. */
#include "agent.h"
#include "words.h"

#include <string.h>

json_t *verb_allocate_mw(struct verbs *v, struct params *p)
{
    struct outcome o;
    json_t *result = NULL;
    enum ibv_mw_type type = (enum ibv_mw_type)params_number(p, "type", UINT16_MAX, false, 0);
    struct thing *pd = things_take(v, p, "pd", KIND_PD);
    struct thing *t = pd != NULL && p->why[0] == '\0' ? things_new(v, p, KIND_MW) : NULL;
    if (t != NULL) {
        outcome_begin(&o);
        struct ibv_mw *mw = ibv_alloc_mw(pd->pd, type);
        outcome_good(&o, mw != NULL);
        result = outcome_json(&o);
        if (mw != NULL) {
            json_object_set_new(result, "mw", things_publish(v, t, mw));
            json_object_set_new(result, "rkey", json_integer(mw->rkey));
        } else {
            things_forget(v, t);
        }
    }
    things_drop(v, pd);
    return result;
}

json_t *verb_bind_mw(struct verbs *v, struct params *p)
{
    struct ibv_mw_bind bind;
    struct outcome o;
    json_t *result = NULL;
    memset(&bind, 0, sizeof bind);
    bind.wr_id = params_hex64(p, "wr_id", false, 0);
    bind.send_flags = words_flags(p, "flags", words_send_flags, 0);
    bind.bind_info.addr = params_hex64(p, "addr", true, 0);
    bind.bind_info.length = params_number(p, "length", (1ull << 53) - 1, true, 0);
    bind.bind_info.mw_access_flags = words_flags(p, "access", words_access, 0);
    struct thing *qp = things_take(v, p, "qp", KIND_QP), *mw = things_take(v, p, "mw", KIND_MW);
    struct thing *mr = things_take_or_none(v, p, "mr", KIND_MR);
    if (qp != NULL && mw != NULL && p->why[0] == '\0') {
        bind.bind_info.mr = mr != NULL ? mr->mr : NULL;
        outcome_begin(&o);
        outcome_int(&o, ibv_bind_mw(qp->qp, mw->mw, &bind));
        result = outcome_json(&o);
        if (o.error == 0)
            json_object_set_new(result, "rkey", json_integer(mw->mw->rkey));
    }
    things_drop(v, mr);
    things_drop(v, mw);
    things_drop(v, qp);
    return result;
}

VERB_GIVES_BACK(verb_deallocate_mw, "mw", KIND_MW, ibv_dealloc_mw(t->mw))
