/* Work Requests, as the suite writes them: every member is given to the provider as it stands. */
#include "agent.h"
#include "words.h"

#include <stdlib.h>
#include <string.h>

/* A list of a post: WRs of either kind, their SGEs, and the things that have to stay until the call returns.
 */
struct list {
    const json_t *given;
    size_t entries, wrs, sges;
};

static struct list measure(struct params *p, const json_t *given)
{
    struct list l = {.given = given, .entries = json_array_size(given)};
    if (!json_is_array(given) || l.entries < 1 || l.entries > VERBS_WRS)
        params_wrong(p, "wrs", "a list of 1 to 4096 WRs");
    for (size_t i = 0; p->why[0] == '\0' && i < l.entries; i++) {
        struct params wr = {.object = json_array_get(given, i)};
        size_t sges = json_array_size(json_object_get(wr.object, "sges"));
        uint64_t times = params_number(&wr, "times", VERBS_ALL_WRS, true, 1);
        memcpy(p->why, wr.why, sizeof p->why);
        if (!json_is_object(wr.object))
            params_wrong(p, "wrs", "a list of objects");
        if (sges > VERBS_SGES)
            params_wrong(p, "sges", "at most 1024");
        l.sges += sges;
        l.wrs += times;
        if (l.wrs > VERBS_ALL_WRS)
            params_no_room(p, "WRs in one list");
    }
    return l;
}

static struct ibv_sge sge_of(struct verbs *v, struct params *p)
{
    struct ibv_sge sge = {.length = (uint32_t)params_number(p, "length", UINT32_MAX, false, 0)};
    if (params_has(p, "mem")) {
        struct thing *mem = things_take(v, p, "mem", KIND_MEM); /* it stays until the reset */
        uint64_t offset = params_number(p, "offset", (1ull << 53) - 1, true, 0);
        sge.addr = mem != NULL ? (uint64_t)(uintptr_t)mem->bytes + offset : 0;
        things_drop(v, mem);
    } else {
        sge.addr = params_hex64(p, "addr", false, 0);
    }
    if (params_has(p, "mr")) {
        struct thing *mr = things_take(v, p, "mr", KIND_MR);
        sge.lkey = mr != NULL ? mr->mr->lkey : 0;
        things_drop(v, mr);
    } else {
        sge.lkey = (uint32_t)params_number(p, "lkey", UINT32_MAX, false, 0);
    }
    return sge;
}

/* The SGEs of a WR, into the place for them; returns their number. */
static size_t sges_of(struct verbs *v, struct params *wr, struct ibv_sge *out)
{
    const json_t *list = json_object_get(wr->object, "sges");
    if (list != NULL && !json_is_null(list) && !json_is_array(list))
        params_wrong(wr, "sges", "a list");
    size_t count = json_array_size(list);
    for (size_t i = 0; wr->why[0] == '\0' && i < count; i++) {
        struct params sge = {.object = json_array_get(list, i)};
        if (!json_is_object(sge.object))
            params_wrong(wr, "sges", "a list of objects");
        else
            out[i] = sge_of(v, &sge);
        if (sge.why[0] != '\0')
            memcpy(wr->why, sge.why, sizeof wr->why);
    }
    return count;
}

static struct thing *held(struct verbs *v, struct params *p, struct send_list *list, const char *name,
                          enum kind kind)
{
    struct thing *t = things_take_or_none(v, p, name, kind);
    if (t != NULL)
        list->held[list->held_count++] = t;
    return t;
}

static void bind_of(struct verbs *v, struct params *wr, struct send_list *list, struct ibv_send_wr *out)
{
    struct params p = params_table(wr, "bind");
    if (wr->why[0] != '\0')
        return;
    const struct thing *mw = held(v, &p, list, "mw", KIND_MW), *mr = held(v, &p, list, "mr", KIND_MR);
    out->bind_mw.mw = mw != NULL ? mw->mw : NULL;
    out->bind_mw.rkey = (uint32_t)params_number(&p, "rkey", UINT32_MAX, false, 0);
    out->bind_mw.bind_info.mr = mr != NULL ? mr->mr : NULL;
    out->bind_mw.bind_info.addr = params_hex64(&p, "addr", true, 0);
    out->bind_mw.bind_info.length = params_number(&p, "length", (1ull << 53) - 1, true, 0);
    out->bind_mw.bind_info.mw_access_flags = words_flags(&p, "access", words_access, 0);
    if (p.why[0] == '\0' && mw == NULL) /* every provider reads through it */
        params_wrong(&p, "mw", "the number of a mw that is there");
    memcpy(wr->why, p.why, sizeof wr->why);
}

static void remote_of(struct params *wr, struct ibv_send_wr *out)
{
    struct params p = params_table(wr, "remote");
    if (wr->why[0] != '\0')
        return;
    out->wr.rdma.remote_addr = params_hex64(&p, "addr", false, 0);
    out->wr.rdma.rkey = (uint32_t)params_number(&p, "rkey", UINT32_MAX, false, 0);
    memcpy(wr->why, p.why, sizeof wr->why);
}

static struct ibv_send_wr send_of(struct verbs *v, struct params *wr, struct send_list *list,
                                  struct ibv_sge *sges)
{
    struct ibv_send_wr out;
    memset(&out, 0, sizeof out);
    out.wr_id = params_hex64(wr, "wr_id", false, 0);
    out.opcode = (enum ibv_wr_opcode)words_value(wr, "opcode", words_opcode, false, 0);
    out.send_flags = words_flags(wr, "flags", words_send_flags, 0);
    out.sg_list = sges;
    out.num_sge = (int)sges_of(v, wr, sges);
    if (params_has(wr, "invalidate"))
        out.invalidate_rkey = (uint32_t)params_number(wr, "invalidate", UINT32_MAX, false, 0);
    if (params_has(wr, "remote"))
        remote_of(wr, &out);
    if (params_has(wr, "bind"))
        bind_of(v, wr, list, &out);
    else if (wr->why[0] == '\0' && out.opcode == IBV_WR_BIND_MW)
        params_wrong(wr, "bind", "given");
    return out;
}

bool work_sends(struct verbs *v, struct params *p, const json_t *wrs, struct send_list *out)
{
    struct list l = measure(p, wrs);
    memset(out, 0, sizeof *out);
    if (p->why[0] != '\0')
        return false;
    out->wrs = calloc(l.wrs + 1, sizeof *out->wrs);
    out->sges = calloc(l.sges + 1, sizeof *out->sges);
    out->held = calloc(2 * l.entries, sizeof(struct thing *));
    if (out->wrs == NULL || out->sges == NULL || out->held == NULL) {
        params_no_room(p, "WRs");
        work_free_sends(v, out);
        return false;
    }
    for (size_t i = 0, sges = 0; p->why[0] == '\0' && i < l.entries; i++) {
        struct params wr = {.object = json_array_get(wrs, i)};
        uint64_t times = params_number(&wr, "times", VERBS_ALL_WRS, true, 1);
        struct ibv_send_wr one = send_of(v, &wr, out, out->sges + sges);
        memcpy(p->why, wr.why, sizeof p->why);
        sges += (size_t)one.num_sge;
        for (uint64_t n = 0; n < times; n++) {
            out->wrs[out->count] = one;
            out->wrs[out->count].wr_id = one.wr_id + n;
            if (out->count > 0)
                out->wrs[out->count - 1].next = &out->wrs[out->count];
            out->count++;
        }
    }
    if (p->why[0] == '\0' && out->count == 0)
        params_wrong(p, "wrs", "at least one WR");
    if (p->why[0] != '\0')
        work_free_sends(v, out);
    return p->why[0] == '\0';
}

void work_free_sends(struct verbs *v, struct send_list *list)
{
    for (size_t i = 0; i < list->held_count; i++)
        things_drop(v, list->held[i]);
    free(list->held);
    free(list->sges);
    free(list->wrs);
    memset(list, 0, sizeof *list);
}

struct recv_list {
    struct ibv_recv_wr *wrs;
    struct ibv_sge *sges;
    size_t count;
};

static void free_receives(struct recv_list *list)
{
    free(list->sges);
    free(list->wrs);
}

static bool receives(struct verbs *v, struct params *p, struct recv_list *out)
{
    const json_t *wrs = json_object_get(p->object, "wrs");
    struct list l = measure(p, wrs);
    memset(out, 0, sizeof *out);
    if (p->why[0] != '\0')
        return false;
    out->wrs = calloc(l.wrs + 1, sizeof *out->wrs);
    out->sges = calloc(l.sges + 1, sizeof *out->sges);
    if (out->wrs == NULL || out->sges == NULL) {
        params_no_room(p, "WRs");
        free_receives(out);
        return false;
    }
    for (size_t i = 0, sges = 0; p->why[0] == '\0' && i < l.entries; i++) {
        struct params wr = {.object = json_array_get(wrs, i)};
        uint64_t times = params_number(&wr, "times", VERBS_ALL_WRS, true, 1);
        uint64_t id = params_hex64(&wr, "wr_id", false, 0);
        size_t count = sges_of(v, &wr, out->sges + sges);
        memcpy(p->why, wr.why, sizeof p->why);
        for (uint64_t n = 0; n < times; n++) {
            out->wrs[out->count] = (struct ibv_recv_wr){id + n, NULL, out->sges + sges, (int)count};
            if (out->count > 0)
                out->wrs[out->count - 1].next = &out->wrs[out->count];
            out->count++;
        }
        sges += count;
    }
    if (p->why[0] == '\0' && out->count == 0)
        params_wrong(p, "wrs", "at least one WR");
    if (p->why[0] != '\0')
        free_receives(out);
    return p->why[0] == '\0';
}

/* ---- posts ---- */

/* How many WRs are before the bad one. When the provider named no WR of the list, it is 0, and `named` is
 * false. */
static void posted(json_t *result, const void *bad, const void *wrs, size_t count, size_t size)
{
    for (size_t i = 0; i <= count; i++)
        if (bad == (const char *)wrs + i * size) {
            json_object_set_new(result, "posted", json_integer((json_int_t)i));
            return;
        }
    json_object_set_new(result, "posted", json_integer(0));
    json_object_set_new(result, "named", json_false());
}

json_t *verb_post_sq(struct verbs *v, struct params *p)
{
    struct ibv_send_wr *bad = NULL;
    struct send_list list;
    struct outcome o;
    json_t *result = NULL;
    struct thing *qp = things_take(v, p, "qp", KIND_QP);
    if (qp != NULL && work_sends(v, p, json_object_get(p->object, "wrs"), &list)) {
        for (size_t i = 0; i < list.count; i++)
            things_post_bind(v, &list.wrs[i]);
        outcome_begin(&o);
        outcome_int(&o, v->layer->post_send(qp->qp, list.wrs, &bad));
        result = outcome_json(&o);
        posted(result, o.error == 0 ? list.wrs + list.count : bad, list.wrs, list.count, sizeof *list.wrs);
        work_free_sends(v, &list);
    }
    things_drop(v, qp);
    return result;
}

static json_t *post_receives(struct verbs *v, struct params *p, const char *name, enum kind kind)
{
    struct ibv_recv_wr *bad = NULL;
    struct recv_list list;
    struct outcome o;
    json_t *result = NULL;
    struct thing *t = things_take(v, p, name, kind);
    if (t != NULL && receives(v, p, &list)) {
        if (kind == KIND_QP)
            connection_may_receive(t);
        outcome_begin(&o);
        outcome_int(&o, kind == KIND_QP ? ibv_post_recv(t->qp, list.wrs, &bad)
                                        : ibv_post_srq_recv(t->srq, list.wrs, &bad));
        result = outcome_json(&o);
        posted(result, o.error == 0 ? list.wrs + list.count : bad, list.wrs, list.count, sizeof *list.wrs);
        free_receives(&list);
    }
    things_drop(v, t);
    return result;
}

json_t *verb_post_rq(struct verbs *v, struct params *p)
{
    return post_receives(v, p, "qp", KIND_QP);
}

json_t *verb_post_srq(struct verbs *v, struct params *p)
{
    return post_receives(v, p, "srq", KIND_SRQ);
}
