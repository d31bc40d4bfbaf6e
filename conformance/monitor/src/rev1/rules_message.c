/* Rev 1.0, 5.2, 5.7.5 and 6.1 to 6.6: Messages, their VI_MSG_IDs and their responses. */
#include "rev1.h"

/* 5.7.4: nobody gave this handle. A port is asked only when all setups were seen. */
static void check_known(struct r1_judged_frame *r)
{
    struct judged_frame *s = r->s;
    const uint64_t handle = fcvi_DH_REV1_VI_HANDLE(s->dh);
    if (s->in->broken || handle == FCVI_UNASSIGNED || !mon_rev1_knows_all(s) ||
        mon_rev1_end(s, s->s_id, s->d_id, (uint32_t)handle) != NULL)
        return;
    mon_rev1_report(r, DH1(r, VI_HANDLE), handle,
                    FCVI_BREACH_IN_WORDS("REV1-5.7.4-02", "a handle that the other port did not give",
                                         "the handle of a Connection"),
                    0);
    fcvi_monitor_gap(s->m); /* of which Connection it was nobody knows: it may have taken a VI_MSG_ID */
}

/* 5.7.5, 6.1, 6.3, 6.5: from 0, and one more each; who repeats one may do so in a frame that comes again. */
static void check_id(struct r1_judged_frame *r, struct r1_end *end)
{
    struct judged_frame *s = r->s;
    const uint32_t id = r->x->id;
    const bool once = mon_rev1_once(s);
    const bool back = (int32_t)(id - end->next) < 0 && end->last != 0;
    if (end->counting && !s->in->broken && id != end->next && (!back || once)) {
        const char *next = s->iu == FCVI_IU_WRITE_RQST  ? "FCVI-6.4.2-08"
                           : s->iu == FCVI_IU_READ_RQST ? "FCVI-6.6.2-06"
                                                        : "REV1-6.1-02";
        mon_rev1_report(
            r, DH1(r, VI_MSG_ID), id,
            end->last == 0
                ? FCVI_BREACH("REV1-5.7.5-01", "the first Message of the Connection has another VI_MSG_ID", 0)
            : end->next == 0
                ? FCVI_BREACH("REV1-5.7.5-02", "VI_MSG_ID does not begin again after FFFFFFFFh", 0)
                : FCVI_BREACH(next, "VI_MSG_ID is not one more than in the Message before", end->next),
            end->last != 0 ? end->last : end->made);
    }
    if (back && !once)
        return;
    end->counting = !s->in->broken;
    end->next = id + 1;
    end->last = s->in->number;
}

/* 5.2.3: R14 */
static void check_read(struct r1_judged_frame *r)
{
    if (r->x->iu == FCVI_IU_READ_RQST && r->x->level == FCVI_REV1_RELIABILITY_UNRELIABLE_DELIVERY)
        mon_rev1_report(
            r, DH1(r, VI_OPCODE), fcvi_DH_REV1_VI_OPCODE(r->s->dh),
            ((struct fcvi_rule){FCVI_NOTICE, "REV1-5.2.3-01", "R14", "RDMA Read at Unreliable Delivery",
                                "Reliable Delivery or Reliable Reception", 0}),
            0);
}

static void take_request(struct r1_judged_frame *r)
{
    struct judged_frame *s = r->s;
    const bool first = r->own->frame == 0;
    if (!first && s->iu != r->x->iu)
        mon_rev1_report(r, DH1(r, VI_OPCODE), fcvi_DH_REV1_VI_OPCODE(s->dh),
                        FCVI_BREACH_IN_WORDS("FCVI-5.2.1-02",
                                             "the IUs of a Message Request are of different types",
                                             "the type of the first"),
                        r->own->frame);
    else if (!first && r->begins && fcvi_DH_REV1_VI_MSG_ID(s->dh) != r->x->id)
        mon_rev1_report(r, DH1(r, VI_MSG_ID), fcvi_DH_REV1_VI_MSG_ID(s->dh),
                        FCVI_BREACH("FCVI-4.2-02", "two Messages in one Exchange", r->x->id), r->own->frame);
    if (first)
        check_known(r);
    struct r1_end *end = mon_rev1_target(r);
    if (end == NULL)
        return;
    mon_rev1_pref(r, end);
    if (!first)
        return;
    if (!end->open) /* no row says that the setup ends first; its VI_MSG_ID is judged */
        mon_unjudged(s->m, FCVI_UNJUDGED_UNSAID, s->in->number);
    r->x->level = end->level;
    check_id(r, end);
    check_read(r);
}

/* By the request: its response, and what says so. */
static const char *wrong_response(uint8_t request, uint8_t response)
{
    if (response == FCVI_IU_SEND_RESP)
        return request == FCVI_IU_SEND_RQST ? NULL : "FCVI-6.3.1-01";
    if (response == FCVI_IU_WRITE_RESP)
        return request == FCVI_IU_WRITE_RQST ? NULL : "FCVI-6.5.1-01";
    return request == FCVI_IU_READ_RQST ? NULL : "REV1-6.6-01";
}

static void take_response(struct r1_judged_frame *r)
{
    struct judged_frame *s = r->s;
    const uint8_t level = r->x->level;
    if (!mon_rev1_far_good(r))
        return;
    const bool delivery = level == FCVI_REV1_RELIABILITY_UNRELIABLE_DELIVERY ||
                          level == FCVI_REV1_RELIABILITY_RELIABLE_DELIVERY;
    const char *wrong = wrong_response(r->x->iu, s->iu);
    const uint64_t id = fcvi_DH_REV1_VI_MSG_ID(s->dh);
    if (wrong != NULL)
        mon_rev1_report(r, DH1(r, VI_OPCODE), fcvi_DH_REV1_VI_OPCODE(s->dh),
                        FCVI_BREACH_IN_WORDS(wrong, "the response is not that of the request",
                                             "the request's own response"),
                        r->x->born);
    else if (s->iu != FCVI_IU_READ_RESP && delivery)
        mon_rev1_report(r, DH1(r, VI_OPCODE), fcvi_DH_REV1_VI_OPCODE(s->dh),
                        FCVI_BREACH_IN_WORDS(s->iu == FCVI_IU_SEND_RESP ? "REV1-6.2-01" : "FCVI-6.5.1-02",
                                             "a response at a Reliability Level that has none", "none"),
                        r->x->born);
    else if (s->iu != FCVI_IU_READ_RESP && r->own->frame != 0 && mon_rev1_once(s))
        mon_rev1_report(r, DH1(r, VI_OPCODE), fcvi_DH_REV1_VI_OPCODE(s->dh),
                        FCVI_BREACH_IN_WORDS(s->iu == FCVI_IU_SEND_RESP ? "REV1-6.2-01" : "FCVI-6.5.1-03",
                                             "a second response to the Message", "one"),
                        r->own->frame);
    if (id != r->x->id && r->begins)
        mon_rev1_report(r, DH1(r, VI_MSG_ID), id,
                        FCVI_BREACH(s->iu == FCVI_IU_READ_RESP ? "REV1-6.6-03" : "REV1-5.7.5-03",
                                    "the response has another VI_MSG_ID than the request", r->x->id),
                        r->x->born);
    struct r1_end *end = mon_rev1_target(r);
    if (end != NULL)
        mon_rev1_pref(r, end);
}

void mon_rev1_message(struct r1_judged_frame *r)
{
    if (r->s->who == 0)
        take_request(r);
    else
        take_response(r);
}
