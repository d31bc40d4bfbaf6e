/* 6.2 to 6.7: fields that are the same in all IUs of a Message, and what a response repeats. */
#include "rules.h"

/* Requirements by IU; NULL: the field is not there, or zero in any case. */
struct same {
    const char *total, *va, *va_handle, *immediate, *parameter;
};
static const struct same same[] = {
    [FCVI_IU_SEND_RQST] = {"FCVI-6.2.2-10", NULL, NULL, "FCVI-6.2.2-05", "FCVI-6.2.2-06"},
    [FCVI_IU_WRITE_RQST] = {"FCVI-6.4.2-14", "FCVI-6.4.2-10", "FCVI-6.4.2-12", "FCVI-6.4.2-05",
                            "FCVI-6.4.2-06"},
    [FCVI_IU_READ_RESP] = {"FCVI-6.7.2-12", "FCVI-6.7.2-08", "FCVI-6.7.2-10", NULL, NULL},
};
static const struct same echo = {"FCVI-6.7.2-11", "FCVI-6.7.2-07", "FCVI-6.7.2-09", NULL, NULL};

static void compare(struct judged_frame *s, const struct same *ids, uint32_t total, uint64_t va,
                    uint32_t va_handle, const char *words, uint64_t other)
{
    uint64_t seen = fcvi_DH_FCVI_TOT_LEN(s->dh);
    if (ids->total != NULL && seen != total)
        mon_report(s, DH(s, FCVI_TOT_LEN), seen, FCVI_BREACH(ids->total, words, total), other);
    seen = fcvi_DH_FCVI_RMT_VA(s->dh);
    if (ids->va != NULL && seen != va)
        mon_report(s, DH(s, FCVI_RMT_VA), seen, FCVI_BREACH(ids->va, words, va), other);
    seen = fcvi_DH_FCVI_RMT_VA_HANDLE(s->dh);
    if (ids->va_handle != NULL && seen != va_handle)
        mon_report(s, DH(s, FCVI_RMT_VA_HANDLE), seen, FCVI_BREACH(ids->va_handle, words, va_handle), other);
}

/* One Exchange, one Message (FCVI-4.2-02), one Connection (5.9.2-01). */
static void same_message(struct judged_frame *s, uint32_t handle, uint32_t id)
{
    uint64_t seen = fcvi_DH_FCVI_HANDLE(s->dh);
    if (seen != handle)
        mon_report(s, DH(s, FCVI_HANDLE), seen,
                   FCVI_BREACH("FCVI-5.9.2-01", "FCVI_HANDLE changes within the Message", handle),
                   s->own->frame);
    seen = fcvi_DH_FCVI_MSG_ID(s->dh);
    if (seen != id)
        mon_report(s, DH(s, FCVI_MSG_ID), seen,
                   FCVI_BREACH("FCVI-4.2-02", "FCVI_MSG_ID changes within the Exchange", id), s->own->frame);
}

/* E43: an IU has Immediate Data or has none, so its frames agree. What is missing or out of order shows that
 * two frames have one SEQ_ID, and not that they are of one Sequence. False: they disagree. */
static bool same_immediate(struct judged_frame *s, bool has, uint32_t value)
{
    const struct message_facts *t = &s->x->message;
    bool frames = t->frame_has != has, values = t->frame_value != value;
    if (!s->part || !mon_exact(s->m, s->x) || !(frames || values))
        return true;
    if (frames)
        mon_report(s, DH(s, IMM_DATA), has,
                   FCVI_BREACH(same[s->iu].immediate, "IMM_DATA changes within the IU", t->frame_has),
                   s->own->frame);
    else
        mon_report(s, DH(s, MSG_PARAMETER), value,
                   FCVI_BREACH(same[s->iu].parameter, "FCVI_PARAMETER changes within the IU", t->frame_value),
                   s->own->frame);
    return false;
}

/* E43: Immediate Data may stand in all IUs or in the last only; the last has to have it. */
static void immediate_of_message(struct judged_frame *s, bool has, uint32_t value)
{
    struct message_facts *t = &s->x->message;
    uint64_t bytes = s->own->payload ? (uint64_t)s->own->offset + s->own->length : 0;
    bool final = s->end_sequence && bytes == fcvi_DH_FCVI_TOT_LEN(s->dh);
    if (t->has_immediate && !has && final)
        mon_report(
            s, DH(s, IMM_DATA), 0,
            FCVI_BREACH(same[s->iu].immediate, "the last IU lacks the Immediate Data of the Message", 1),
            s->own->frame);
    if (t->has_immediate && has && value != t->immediate)
        mon_report(
            s, DH(s, MSG_PARAMETER), value,
            FCVI_BREACH(same[s->iu].parameter, "the Immediate Data change within the Message", t->immediate),
            s->own->frame);
}

static void immediate(struct judged_frame *s)
{
    struct message_facts *t = &s->x->message;
    bool has = fcvi_DH_IMM_DATA(s->dh);
    uint32_t value = (uint32_t)fcvi_DH_MSG_PARAMETER(s->dh);
    if (same_immediate(s, has, value))
        immediate_of_message(s, has, value);
    if (has && !t->has_immediate) {
        t->has_immediate = true;
        t->immediate = value;
    }
    t->frame_has = has;
    t->frame_value = value;
}

static void request(struct judged_frame *s)
{
    struct message_facts *t = &s->x->message;
    if (s->own->frame == 0) {
        t->iu = s->iu;
        t->handle = (uint32_t)fcvi_DH_FCVI_HANDLE(s->dh);
        t->id = (uint32_t)fcvi_DH_FCVI_MSG_ID(s->dh);
        t->total = (uint32_t)fcvi_DH_FCVI_TOT_LEN(s->dh);
        t->va = fcvi_DH_FCVI_RMT_VA(s->dh);
        t->va_handle = (uint32_t)fcvi_DH_FCVI_RMT_VA_HANDLE(s->dh);
    } else {
        same_message(s, t->handle, t->id);
        compare(s, &same[s->iu], t->total, t->va, t->va_handle, "the field changes within the Message",
                s->own->frame);
    }
    t->request = s->in->number;
    if (s->iu != FCVI_IU_READ_RQST)
        immediate(s);
}

/* ---- responses ---- */

bool mon_message_linked(struct judged_frame *s)
{
    return mon_endpoint_linked(s, s->x->message.request, s->x->message.handle);
}

/* FCVI-6.3.2-02, 6.5.2-02, 6.7.2-02: the handle that the requester gave for the Connection of the request. */
static void response_handle(struct judged_frame *s, uint32_t seen)
{
    static const char *const ids[] = {[FCVI_IU_SEND_RESP] = "FCVI-6.3.2-02",
                                      [FCVI_IU_WRITE_RESP] = "FCVI-6.5.2-02",
                                      [FCVI_IU_READ_RESP] = "FCVI-6.7.2-02"};
    const struct endpoint *mine = mon_endpoint_find(s->m, s->in->network, s->s_id, s->x->message.handle);
    bool known = mine != NULL && mine->bound != 0 && mine->bound > s->m->last_gap &&
                 mine->bound < s->x->born && mine->peer == s->d_id && !mine->tainted &&
                 !mon_endpoint_gone(s, mine);
    if (known && mine->peer_handle != seen)
        mon_report(
            s, DH(s, FCVI_HANDLE), seen,
            FCVI_BREACH(ids[s->iu], "FCVI_HANDLE is not that of the requesting Endpoint", mine->peer_handle),
            s->x->message.request);
}

static void answer(struct judged_frame *s)
{
    static const char *const ids[] = {[FCVI_IU_SEND_RESP] = "FCVI-6.3.2-05",
                                      [FCVI_IU_WRITE_RESP] = "FCVI-6.5.2-04",
                                      [FCVI_IU_READ_RESP] = "FCVI-6.7.2-04"};
    const struct message_facts *t = &s->x->message;
    uint64_t id = fcvi_DH_FCVI_MSG_ID(s->dh);
    if (!mon_message_linked(s) || !mon_far_good(s))
        return;
    if (id != t->id)
        mon_report(s, DH(s, FCVI_MSG_ID), id,
                   FCVI_BREACH(ids[s->iu], "FCVI_MSG_ID is not that of the request", t->id), t->request);
    if (s->iu == FCVI_IU_READ_RESP)
        compare(s, &echo, t->total, t->va, t->va_handle, "the field is not that of the FCVI_READ_RQST",
                t->request);
    if (mon_exact(s->m, s->x))
        response_handle(s, (uint32_t)fcvi_DH_FCVI_HANDLE(s->dh));
}

static void response(struct judged_frame *s)
{
    struct message_facts *t = &s->x->message;
    if (s->own->frame == 0) {
        answer(s);
        t->resp_iu = s->iu;
        t->resp_handle = (uint32_t)fcvi_DH_FCVI_HANDLE(s->dh);
        t->resp_id = (uint32_t)fcvi_DH_FCVI_MSG_ID(s->dh);
        if (s->iu == FCVI_IU_READ_RESP) {
            t->resp_total = (uint32_t)fcvi_DH_FCVI_TOT_LEN(s->dh);
            t->resp_va = fcvi_DH_FCVI_RMT_VA(s->dh);
            t->resp_va_handle = (uint32_t)fcvi_DH_FCVI_RMT_VA_HANDLE(s->dh);
        }
    } else {
        same_message(s, t->resp_handle, t->resp_id);
        if (s->iu == FCVI_IU_READ_RESP)
            compare(s, &same[s->iu], t->resp_total, t->resp_va, t->resp_va_handle,
                    "the field changes within the Message", s->own->frame);
    }
}

void mon_rules_6_2(struct judged_frame *s)
{
    FCVI_ASSERT(s->x->group == G_MESSAGE);
    if (s->who == 0)
        request(s);
    else
        response(s);
}
