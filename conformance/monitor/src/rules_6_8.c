/* 6.8 to 6.11: what the answers of a setup repeat. The answering side has what it repeats, so these hold
 * whatever was lost; without a whole view two IUs belong together when OX_ID and FCVI_CONNECTION_ID agree. */
#include "rules.h"

static void repeat_id(struct judged_frame *s)
{
    static const char *const ids[] = {[FCVI_IU_CONNECT_RESP1] = "FCVI-6.9.2-09",
                                      [FCVI_IU_CONNECT_RESP2] = "FCVI-6.10.2-09",
                                      [FCVI_IU_CONNECT_RESP3] = "FCVI-6.11.2-09"};
    const struct setup_facts *u = &s->x->setup;
    uint64_t seen = fcvi_DH_FCVI_CONNECTION_ID(s->dh);
    if (u->rqst != 0 && seen != u->connection_id)
        mon_report(
            s, DH(s, FCVI_CONNECTION_ID), seen,
            FCVI_BREACH(ids[s->iu], "FCVI_CONNECTION_ID is not that of the CONNECT_RQST", u->connection_id),
            u->rqst);
}

/* FCVI-5.9.4.5-06, -07 */
static void repeat_retry(struct judged_frame *s)
{
    const struct setup_facts *u = &s->x->setup;
    uint64_t seen = fcvi_DH_RESP_RETRY(s->dh);
    if (u->rqst != 0 && seen != u->retry)
        mon_report(s, DH(s, RESP_RETRY), seen,
                   FCVI_BREACH(s->who == 1 ? "FCVI-5.9.4.5-06" : "FCVI-5.9.4.5-07",
                               "RETRY is not that of the CONNECT_RQST", u->retry),
                   u->rqst);
}

/* FCVI-6.10.2-02: the handle of RESP1. E40: of a refusal the field says nothing, so FFFFFFFFh is as good. */
static void handle_of_resp2(struct judged_frame *s)
{
    const struct setup_facts *u = &s->x->setup;
    uint64_t seen = fcvi_DH_FCVI_HANDLE(s->dh);
    if (u->has_resp_handle && seen != u->resp_handle && !(u->refused && seen == FCVI_UNASSIGNED))
        mon_report(s, DH(s, FCVI_HANDLE), seen,
                   FCVI_BREACH("FCVI-6.10.2-02", "FCVI_HANDLE is not the FCVI_RESP_HANDLE of CONNECT_RESP1",
                               u->resp_handle),
                   u->resp1);
}

/* FCVI-6.11.2-02: the handle of the request. E14: FFFFFFFFh is as good when no Connection comes about,
 * which only RESP1 and RESP2 tell; of two RESP1, to a request that came twice, the later may have refused. */
static void handle_of_resp3(struct judged_frame *s)
{
    const struct setup_facts *u = &s->x->setup;
    uint64_t seen = fcvi_DH_FCVI_HANDLE(s->dh);
    bool none = u->refused || u->gave_up || fcvi_DH_CONN_STS(s->dh) || u->resp1 == 0 || u->resp2 == 0 ||
                s->x->two_answers;
    if (u->has_rqst_handle && seen != u->rqst_handle && !(none && seen == FCVI_UNASSIGNED))
        mon_report(s, DH(s, FCVI_HANDLE), seen,
                   FCVI_BREACH("FCVI-6.11.2-02", "FCVI_HANDLE is not the FCVI_RQST_HANDLE of CONNECT_RQST",
                               u->rqst_handle),
                   u->rqst);
}

/* Table 12. E40: what follows a refusal may repeat its code, also one that is reserved. RESP3 has that of
 * RESP1, its own, or that of RESP2. Of two RESP1, to a request that came twice, it may be either's. The
 * breach contradicts no earlier frame: the code alone is wrong. */
static void reason_repeated(struct judged_frame *s)
{
    const struct setup_facts *u = &s->x->setup;
    if (!fcvi_DH_CONN_STS(s->dh) || u->resp1 == 0 || s->x->two_answers)
        return;
    const uint8_t reason = (uint8_t)fcvi_DH_Reason_Code(s->dh);
    const bool resp3 = s->iu == FCVI_IU_CONNECT_RESP3;
    if ((u->refused && u->reason == reason) || (resp3 && u->resp2 == 0) ||
        (resp3 && u->gave_up && u->later_reason == reason))
        return;
    const struct fcvi_rule rule = fcvi_reason_rule(reason, true);
    if (rule.requirement != NULL && rule.cls == FCVI_VIOLATION)
        mon_report(s, DH(s, Reason_Code), reason, rule, 0);
}

/* E44 and E43: the frames of one IU carry the same Device_Header. */
static void same_header(struct judged_frame *s)
{
    const struct setup_facts *u = &s->x->setup;
    uint64_t seen = fcvi_DH_FCVI_CONNECTION_ID(s->dh);
    if (s->iu == FCVI_IU_CONNECT_RQST && u->rqst != 0 && seen != u->connection_id)
        mon_report(s, DH(s, FCVI_CONNECTION_ID), seen,
                   FCVI_BREACH("FCVI-6.8.2-08", "FCVI_CONNECTION_ID changes within the IU", u->connection_id),
                   u->rqst);
}

void mon_rules_6_8(struct judged_frame *s)
{
    if (s->iu == FCVI_IU_CONNECT_RQST) {
        same_header(s);
        return;
    }
    if (s->iu != FCVI_IU_CONNECT_RESP1)
        reason_repeated(s); /* whatever else RESP1 had wrong */
    bool far_good = mon_far_good(s);
    if (s->who == 0 || far_good) {
        repeat_id(s);
        repeat_retry(s);
    }
    if (!far_good)
        return;
    if (s->iu == FCVI_IU_CONNECT_RESP2)
        handle_of_resp2(s);
    if (s->iu == FCVI_IU_CONNECT_RESP3)
        handle_of_resp3(s);
}
