/* 5.2 with 6.2 to 6.7: a Message is requests of one kind, then the responses that its Reliability Level and
 * kind demand, and no others; its last IU ends the Exchange. */
#include "rules.h"

struct answer {
    uint8_t response;
    const char *answers, *level;
};
static const struct answer answers[] = {
    [FCVI_IU_SEND_RQST] = {FCVI_IU_SEND_RESP, "FCVI-6.3.1-01", "FCVI-6.3.1-03"},
    [FCVI_IU_WRITE_RQST] = {FCVI_IU_WRITE_RESP, "FCVI-6.5.1-01", "FCVI-6.5.1-02"},
    [FCVI_IU_READ_RQST] = {FCVI_IU_READ_RESP, "FCVI-6.7.1-01", "FCVI-6.6.1-02"},
};

static void opcode_breach(struct judged_frame *s, const char *id, const char *words, const char *wanted,
                          uint64_t other)
{
    mon_report(s, DH(s, FCVI_OPCODE), fcvi_DH_FCVI_OPCODE(s->dh), FCVI_BREACH_IN_WORDS(id, words, wanted),
               other);
}

/* ---- what kind may come ---- */

/* FCVI-6.3.1-03, 6.5.1-02, 6.6.1-02: both ends know the level that their setup agreed on. */
static bool check_level(struct judged_frame *s)
{
    bool response = s->iu == FCVI_IU_SEND_RESP || s->iu == FCVI_IU_WRITE_RESP;
    if (!response && s->iu != FCVI_IU_READ_RQST)
        return true;
    const struct endpoint *e = mon_endpoint_known(s);
    if (e == NULL || e->level == 0)
        return true;
    uint8_t request = s->iu == FCVI_IU_SEND_RESP ? FCVI_IU_SEND_RQST : FCVI_IU_WRITE_RQST;
    if (response && e->level != 3) {
        opcode_breach(s, answers[request].level,
                      "a Message Response on a VI that is not of Reliable Reception", "no response",
                      e->bound);
        return false;
    }
    if (!response && e->level == 1) {
        opcode_breach(s, "FCVI-6.6.1-02", "an RDMA Read on a VI of Unreliable Delivery", "Send or RDMA Write",
                      e->bound);
        return false;
    }
    return true;
}

bool mon_may_be_due(struct judged_frame *s)
{
    if (s->who == 0 || !mon_is(s->iu, FCVI_BIT(SEND_RESP) | FCVI_BIT(WRITE_RESP)))
        return false;
    const struct endpoint *e = mon_endpoint_known(s);
    return e == NULL || e->level == 0;
}

/* FCVI-5.2.1-02, -03: all frames of one side of the Exchange carry one kind of IU. */
static bool check_one_kind(struct judged_frame *s)
{
    const struct message_facts *t = &s->x->message;
    bool request = s->who == 0;
    uint8_t first = request ? t->iu : t->resp_iu;
    if (s->own->frame == 0 || first == s->iu)
        return true;
    opcode_breach(s, request ? "FCVI-5.2.1-02" : "FCVI-5.2.1-03", "the IUs of one Message are of two kinds",
                  fcvi_iu_name((enum fcvi_iu)first), s->own->frame);
    return false;
}

/* A response in another Exchange than its request's: its receiver may have taken it, and waits no more. */
static void lose_response(struct judged_frame *s)
{
    const struct endpoint *mine = mon_endpoint_here(s);
    struct endpoint *e =
        mine == NULL ? NULL : mon_endpoint_find(s->m, s->in->network, s->s_id, mine->peer_handle);
    if (e != NULL && e->peer == s->d_id && e->unconfirmed > 0)
        e->unconfirmed--;
}

/* FCVI-5.2.1-01, 6.3.1-01, 6.5.1-01, 6.7.1-01: who answers has the request. */
static bool check_answer(struct judged_frame *s)
{
    const struct message_facts *t = &s->x->message;
    FCVI_ASSERT(t->iu < sizeof answers / sizeof answers[0]);
    if (s->who == 0)
        return true;
    if (t->request == 0 && s->own->frame == 0)
        lose_response(s);
    if (t->request == 0 && mon_exact(s->m, s->x)) {
        opcode_breach(s, "FCVI-5.2.1-01", "a Message Response without a Message Request", "a request before",
                      0);
        return false;
    }
    if (t->request == 0)
        mon_unjudged(s->m, FCVI_UNJUDGED_REQUEST, s->in->number);
    if (!mon_message_linked(s) || answers[t->iu].response == s->iu || !mon_far_good(s))
        return true;
    static const char *const ids[] = {[FCVI_IU_SEND_RESP] = "FCVI-6.3.1-01",
                                      [FCVI_IU_WRITE_RESP] = "FCVI-6.5.1-01",
                                      [FCVI_IU_READ_RESP] = "FCVI-6.7.1-01"};
    opcode_breach(s, ids[s->iu], "the response is not of the request's kind",
                  fcvi_iu_name((enum fcvi_iu)answers[t->iu].response), t->request);
    return false;
}

/* ---- how it ends ---- */

/* Bytes of the Message up to the end of this frame; false when it is not known. */
static bool reached(const struct judged_frame *s, uint64_t *bytes)
{
    bool here = s->f->payload_length != 0 && fcvi_FC_Relative_Offset_Present(s->fc);
    *bytes = s->own->payload ? (uint64_t)s->own->offset + s->own->length : 0;
    return here || mon_exact(s->m, s->x) || fcvi_DH_FCVI_TOT_LEN(s->dh) == 0;
}

static void check_bit(struct judged_frame *s, struct fcvi_place place, uint64_t seen, uint64_t wanted,
                      const char *id, const char *words)
{
    if (seen != wanted)
        mon_report(s, place, seen, FCVI_BREACH(id, words, wanted), 0);
}

/* FCVI-6.2.1-04, -05, 6.4.1-05, -06, 5.8.4-02: the IU with the last byte ends the Exchange, or hands over the
 * Sequence Initiative where a response is due. An IU without bytes moves no part of a Message (6.2.1-01), so
 * none can follow. */
static void check_last_request(struct judged_frame *s)
{
    bool send = s->iu == FCVI_IU_SEND_RQST;
    const struct endpoint *e = mon_endpoint_known(s);
    if (e == NULL || e->level == 0)
        return;
    if (e->level != 3) {
        check_bit(s, FC(Last_Sequence), s->last, 1, send ? "FCVI-6.2.1-04" : "FCVI-6.4.1-05",
                  "the last IU of the Message does not end the Exchange");
        return;
    }
    if (s->last)
        check_bit(s, FC(Last_Sequence), s->last, 0, send ? "FCVI-6.2.1-05" : "FCVI-6.4.1-06",
                  "the Exchange ends where a response is due");
    else
        check_bit(s, FC(Sequence_Initiative), fcvi_FC_Sequence_Initiative(s->fc), 1, "FCVI-5.8.4-02",
                  "Sequence Initiative is not passed though a response is due");
}

/* FCVI-5.9.10-01: the data of the Message are as many as FCVI_TOT_LEN says. */
static void check_length(struct judged_frame *s, uint64_t bytes, uint64_t total, bool ends)
{
    if (bytes == total || (bytes < total && !ends))
        return;
    if (bytes > total && s->iu != FCVI_IU_READ_RESP)
        return; /* the codec's finding */
    mon_report(s, DH(s, FCVI_TOT_LEN), total,
               FCVI_BREACH_IN_WORDS("FCVI-5.9.10-01",
                                    bytes < total ? "the Message ends before FCVI_TOT_LEN bytes"
                                                  : "the Message goes beyond FCVI_TOT_LEN bytes",
                                    "as many bytes as are sent"),
               0);
}

static void check_end(struct judged_frame *s)
{
    const struct message_facts *t = &s->x->message;
    if (s->iu == FCVI_IU_SEND_RESP || s->iu == FCVI_IU_WRITE_RESP || s->iu == FCVI_IU_READ_RQST)
        return;
    uint64_t bytes, total = fcvi_DH_FCVI_TOT_LEN(s->dh);
    bool changes = s->own->frame != 0 && total != (s->who == 0 ? t->total : t->resp_total);
    if (changes || s->misplaced || !reached(s, &bytes)) /* that it changes is a finding of 6.2 */
        return;
    bool hands_over = s->end_sequence && fcvi_FC_Sequence_Initiative(s->fc) && s->who == 0;
    bool ends = s->end_sequence && (s->last || hands_over);
    if (s->iu == FCVI_IU_READ_RESP) { /* E42: a failed one may end anywhere */
        if (!fcvi_DH_RESP_ERR(s->dh))
            check_length(s, bytes, total, ends);
        if (s->end_sequence && bytes == total && !s->last)
            check_bit(s, FC(Last_Sequence), 0, 1, "FCVI-6.7.1-05",
                      "the last FCVI_READ_RESP does not end the Exchange");
        return;
    }
    check_length(s, bytes, total, ends);
    if (s->end_sequence && bytes == total)
        check_last_request(s);
}

/* FCVI-8.4.2-e: at Reliable Reception a port that has answered with RESP_ERR is in Error, and no later
 * Message succeeds. Both are its own frames. What a READ_RESP says is of the memory that is read. */
static void check_after_error(struct judged_frame *s)
{
    const struct exchange *x = s->x;
    if (s->who == 0 || (s->iu != FCVI_IU_SEND_RESP && s->iu != FCVI_IU_WRITE_RESP) ||
        x->message.request == 0 || !mon_exact(s->m, x) || s->in->broken)
        return;
    struct endpoint *e = mon_endpoint_find(s->m, x->network, x->responder, x->message.handle);
    if (e == NULL || e->level != 3 || e->bound == 0 || e->bound > x->born || e->tainted ||
        e->peer != x->originator || e->bound <= s->m->last_gap)
        return;
    const uint32_t id = x->message.id;
    if (fcvi_DH_RESP_ERR(s->dh)) {
        if (e->failed <= e->bound) {
            e->failed = s->in->number;
            e->failed_id = id;
        }
    } else if (e->failed > e->bound && e->failed_id != 0 && (int32_t)(id - e->failed_id) > 0) {
        mon_report(s, DH(s, RESP_ERR), 0,
                   FCVI_BREACH_IN_WORDS("FCVI-8.4.2-e", "a Message succeeds behind one that failed",
                                        "no response: the Endpoint is in Error"),
                   e->failed);
    }
}

bool mon_rules_5_2(struct judged_frame *s)
{
    if (!check_one_kind(s) || !check_answer(s) || !check_level(s))
        return false;
    check_end(s);
    check_after_error(s);
    return true;
}
