/* The Device_Header of an FC-VI IU: handle, opcode, flags, FCVI_PARAMETER and words 4 to 7 (5.9, clause 6).
 */
#include "../core/report.h"
#include "fc.h"

#define BASE(frame) ((uint16_t)((frame)->dh - (frame)->fc))

/* The requirement ids of clause 6 for fields that have to be zero, or fixed, in each IU. NULL: no such rule.
 */
struct ids {
    const char *message_id, *parameter, *rmt_va, *rmt_va_handle, *payload;
};
static const struct ids rules[] = {
    [FCVI_IU_SEND_RQST] = {NULL, "FCVI-5.9.7.1-02", "FCVI-6.2.2-09", "FCVI-6.2.2-09", NULL},
    [FCVI_IU_WRITE_RQST] = {NULL, "FCVI-5.9.7.1-02", NULL, NULL, NULL},
    [FCVI_IU_READ_RQST] = {NULL, "FCVI-6.6.2-05", NULL, NULL, "FCVI-6.6.1-03"},
    [FCVI_IU_SEND_RESP] = {NULL, "FCVI-6.3.2-04", NULL, NULL, "FCVI-6.3.1-04"},
    [FCVI_IU_WRITE_RESP] = {NULL, "FCVI-6.5.2-05", NULL, NULL, "FCVI-6.5.1-04"},
    [FCVI_IU_READ_RESP] = {NULL, "FCVI-6.7.2-05", NULL, NULL, NULL},
    [FCVI_IU_CONNECT_RQST] = {"FCVI-6.8.2-04", "FCVI-6.8.2-05", "FCVI-6.8.2-06", "FCVI-6.8.2-07", NULL},
    [FCVI_IU_DISCONNECT_RQST] = {"FCVI-6.12.2-10", "FCVI-6.12.2-05", "FCVI-6.12.2-12", "FCVI-6.12.2-13",
                                 "FCVI-6.12.1-02"},
    [FCVI_IU_CONNECT_RESP1] = {"FCVI-6.9.2-04", "FCVI-6.9.2-05", "FCVI-6.9.2-07", "FCVI-6.9.2-08", NULL},
    [FCVI_IU_CONNECT_RESP2] = {"FCVI-6.10.2-04", "FCVI-6.10.2-05", "FCVI-6.10.2-07", "FCVI-6.10.2-08",
                               "FCVI-6.10.1-02"},
    [FCVI_IU_CONNECT_RESP3] = {"FCVI-6.11.2-04", "FCVI-6.11.2-05", "FCVI-6.11.2-07", "FCVI-6.11.2-08",
                               "FCVI-6.11.1-02"},
    [FCVI_IU_DISCONNECT_RESP] = {"FCVI-6.13.2-07", "FCVI-6.13.2-06", "FCVI-6.13.2-09", "FCVI-6.13.2-10",
                                 "FCVI-6.13.1-02"},
};

/* ---- FCVI_HANDLE (5.9.2) ---- */

static void check_handle(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    uint64_t seen = fcvi_DH_FCVI_HANDLE(frame->dh);
    struct fcvi_place place = FCVI_AT(BASE(frame), DH, FCVI_HANDLE);
    if (frame->iu == FCVI_IU_CONNECT_RQST && seen != FCVI_UNASSIGNED)
        fcvi_report(f, place, seen,
                    FCVI_BREACH("FCVI-5.3.2-04", "FCVI_HANDLE is not yet assigned here", FCVI_UNASSIGNED));
    if (frame->iu == FCVI_IU_CONNECT_RESP1 && seen != FCVI_UNASSIGNED)
        fcvi_report(f, place, seen,
                    FCVI_BREACH("FCVI-5.3.2-07", "FCVI_HANDLE is not yet assigned here", FCVI_UNASSIGNED));
    if (fcvi_iu_is_in(frame->iu, FCVI_IUS_MSG_RQST | FCVI_IUS_MSG_RESP) && seen == FCVI_UNASSIGNED)
        fcvi_report(f, place, seen,
                    FCVI_BREACH_IN_WORDS("FCVI-5.9.2-03", "a Message IU has no Endpoint's handle",
                                         "a handle other than FFFFFFFFh"));
}

/* ---- FCVI_FLAGS (5.9.4) and FCVI_PARAMETER (5.9.7) ---- */

struct fcvi_rule fcvi_reason_rule(uint8_t reason, bool connect)
{
    static const char wanted_connect[] = "01h to 05h, 20h to 22h or F0h to FFh";
    static const char wanted_disconnect[] = "40h to 4Bh or F0h to FFh";
    const char *wanted = connect ? wanted_connect : wanted_disconnect;
    static const char reserved[] = "the Reason Code is reserved";
    if (reason == 0)
        return FCVI_BREACH_IN_WORDS("FCVI-T12-00h", reserved, wanted);
    if (reason >= 0x06 && reason <= 0x1F)
        return FCVI_BREACH_IN_WORDS("FCVI-T12-06h", reserved, wanted);
    if (reason >= 0x23 && reason <= 0x3F)
        return FCVI_BREACH_IN_WORDS("FCVI-T12-23h", reserved, wanted);
    if (reason >= 0x4C && reason <= 0x5F)
        return FCVI_BREACH_IN_WORDS("FCVI-T12-4Ch", reserved, wanted);
    if (reason >= 0x60 && reason <= 0x6F)
        return (struct fcvi_rule){FCVI_NOTICE, "FCVI-T12-60h", "E11", reserved, wanted, 0};
    if (reason >= 0x70 && reason <= 0xEF)
        return FCVI_BREACH_IN_WORDS("FCVI-T12-60h", reserved, wanted);
    if (connect && reason >= FCVI_REASON_TRANSPORT_ERROR && reason <= FCVI_REASON_DISCONNECT_ACCEPT)
        return FCVI_BREACH_IN_WORDS("FCVI-5.9.7.1-06", "a Disconnect Reason Code in a Connect Response",
                                    wanted);
    if (!connect && reason <= FCVI_REASON_CONNECT_REJECT_TRANSPORT_ERROR)
        return FCVI_BREACH_IN_WORDS("FCVI-5.9.7.1-07", "a Connect Response Reason Code in a Disconnect IU",
                                    wanted);
    return (struct fcvi_rule){FCVI_NOTICE, NULL, NULL, NULL, NULL, 0};
}

/* Table 11: only bit CONN_STS decides whether FCVI_PARAMETER holds a status (E07). */
static void check_status(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const uint8_t *dh = frame->dh;
    bool disconnect = fcvi_iu_is_in(frame->iu, FCVI_IUS_DISCONNECT);
    bool status = disconnect ? fcvi_DH_DISC_CONN_STS(dh) : fcvi_DH_CONN_STS(dh);
    if (!status) {
        fcvi_check_zero(f, FCVI_AT(BASE(frame), DH, FCVI_PARAMETER), fcvi_DH_FCVI_PARAMETER(dh),
                        rules[frame->iu].parameter,
                        "FCVI_PARAMETER holds something although CONN_STS is zero");
        return;
    }
    uint8_t reason = (uint8_t)fcvi_DH_Reason_Code(dh);
    struct fcvi_rule rule = fcvi_reason_rule(reason, !disconnect);
    /* E40: the monitor knows what it may repeat */
    if (rule.cls == FCVI_VIOLATION &&
        fcvi_iu_is_in(frame->iu, FCVI_BIT(CONNECT_RESP2) | FCVI_BIT(CONNECT_RESP3)))
        rule = (struct fcvi_rule){
            FCVI_NOTICE,   rule.requirement,
            "E40",         "the Reason Code is reserved, unless it repeats that of the refusal",
            rule.required, 0};
    if (rule.requirement != NULL)
        fcvi_report(f, FCVI_AT(BASE(frame), DH, Reason_Code), reason, rule);
    if (fcvi_DH_Reason_Explanation(dh) != 0)
        fcvi_report(f, FCVI_AT(BASE(frame), DH, Reason_Explanation), fcvi_DH_Reason_Explanation(dh),
                    FCVI_TOLERATED("FCVI-T11-b2", NULL, "the Reason Explanation is a reserved value", 0));
}

static void check_message_flags(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const uint8_t *dh = frame->dh;
    uint16_t base = BASE(frame);
    const char *message = "FCVI_PARAMETER is not zero";
    if (frame->iu == FCVI_IU_READ_RQST && fcvi_DH_IMM_DATA(dh))
        fcvi_report(f, FCVI_AT(base, DH, IMM_DATA), 1,
                    FCVI_BREACH("FCVI-6.6.2-04", "Immediate Data in an RDMA Read request", 0));
    if (fcvi_iu_is_in(frame->iu, FCVI_IUS_MSG_RQST) && fcvi_DH_IMM_DATA(dh) && frame->iu != FCVI_IU_READ_RQST)
        return; /* the word is Immediate Data */
    fcvi_check_zero(f, FCVI_AT(base, DH, MSG_PARAMETER), fcvi_DH_MSG_PARAMETER(dh),
                    rules[frame->iu].parameter, message);
    if (!fcvi_iu_is_in(frame->iu, FCVI_IUS_MSG_RESP))
        return;
    bool cause = fcvi_DH_TRANS_ERR(dh) || fcvi_DH_PROT_ERR(dh) || fcvi_DH_DESC_ERR(dh);
    if (cause && !fcvi_DH_RESP_ERR(dh))
        fcvi_report(f, FCVI_AT(base, DH, RESP_ERR), 0,
                    FCVI_BREACH("FCVI-T06-0", "a cause of failure without RESP_ERR", 1));
    if (!cause && fcvi_DH_RESP_ERR(dh))
        fcvi_report(f, FCVI_AT(base, DH, FCVI_FLAGS), fcvi_DH_FCVI_FLAGS(dh),
                    (struct fcvi_rule){FCVI_NOTICE, "FCVI-T06-0", "E22", "RESP_ERR without a cause",
                                       "TRANS_ERR, PROT_ERR or DESC_ERR as well", 0});
}

static void check_connect_flags(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const uint8_t *dh = frame->dh;
    uint16_t base = BASE(frame);
    if (frame->iu == FCVI_IU_CONNECT_RQST) {
        uint64_t mode = fcvi_DH_CONN_MODE(dh);
        if (mode != 1 && mode != 2)
            fcvi_report(
                f, FCVI_AT(base, DH, CONN_MODE), mode,
                FCVI_BREACH_IN_WORDS("FCVI-T08-rsvd", "the connection mode has no meaning", "001b or 010b"));
        fcvi_check_zero(f, FCVI_AT(base, DH, MSG_PARAMETER), fcvi_DH_MSG_PARAMETER(dh),
                        rules[frame->iu].parameter, "FCVI_PARAMETER is not zero");
        return;
    }
    bool empty = frame->iu == FCVI_IU_CONNECT_RESP2 || frame->iu == FCVI_IU_CONNECT_RESP3;
    if (empty && fcvi_DH_RESP_FCVI_CONN_INFO(dh)) /* Table 9 has the bit, the IU has no payload (E23) */
        fcvi_report(f, FCVI_AT(base, DH, RESP_FCVI_CONN_INFO), 1,
                    FCVI_BREACH("FCVI-T09-1", "FCVI_CONN_INFO in an IU without payload", 0));
    check_status(frame, f);
}

/* ---- words 2 and 4 to 7 ---- */

static void check_ids(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const uint8_t *dh = frame->dh;
    uint16_t base = BASE(frame);
    bool setup = !fcvi_iu_is_in(frame->iu, FCVI_IUS_DISCONNECT) || fcvi_DH_CONN_SETUP_ABORT(dh);
    if (setup)
        fcvi_check_zero(f, FCVI_AT(base, DH, FCVI_MSG_ID), fcvi_DH_FCVI_MSG_ID(dh),
                        rules[frame->iu].message_id, "FCVI_MSG_ID is not zero in a Connection Setup");
    fcvi_check_zero(f, FCVI_AT(base, DH, FCVI_RMT_VA), fcvi_DH_FCVI_RMT_VA(dh), rules[frame->iu].rmt_va,
                    "FCVI_RMT_VA is not zero");
    fcvi_check_zero(f, FCVI_AT(base, DH, FCVI_RMT_VA_HANDLE), fcvi_DH_FCVI_RMT_VA_HANDLE(dh),
                    rules[frame->iu].rmt_va_handle, "FCVI_RMT_VA_HANDLE is not zero");
}

static void check_connection_id(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const uint8_t *dh = frame->dh;
    uint64_t id = fcvi_DH_FCVI_CONNECTION_ID(dh);
    struct fcvi_place place = FCVI_AT(BASE(frame), DH, FCVI_CONNECTION_ID);
    if (frame->iu == FCVI_IU_CONNECT_RQST && id == FCVI_UNASSIGNED)
        fcvi_report(f, place, id,
                    FCVI_BREACH_IN_WORDS("FCVI-5.9.10-07", "FCVI_CONNECTION_ID is the value for unassigned",
                                         "any other value"));
    if (frame->iu == FCVI_IU_CONNECT_RQST && id == 0)
        fcvi_report(f, place, id,
                    (struct fcvi_rule){FCVI_NOTICE, "FCVI-6.8.2-08", "E47",
                                       "FCVI_CONNECTION_ID is the value for an established connection",
                                       "a value other than zero", 0});
    if (!fcvi_iu_is_in(frame->iu, FCVI_IUS_DISCONNECT) || fcvi_DH_CONN_SETUP_ABORT(dh) || id == 0)
        return;
    static const char message[] = "FCVI_CONNECTION_ID is not zero for an established connection";
    if (frame->iu == FCVI_IU_DISCONNECT_RESP) /* it may repeat what it was sent */
        fcvi_report(f, place, id, FCVI_TOLERATED("FCVI-6.13.2-12", "E03", message, 0));
    else if (id == FCVI_UNASSIGNED)
        fcvi_report(f, place, id, FCVI_TOLERATED("FCVI-6.12.2-15", "E03", message, 0));
    else
        fcvi_report(f, place, id, FCVI_BREACH("FCVI-6.12.2-15", message, 0));
}

/* ---- payload ---- */

static void check_payload(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    uint16_t base = (uint16_t)(frame->payload - frame->fc);
    struct fcvi_place place = {"Payload", base, (uint16_t)frame->payload_length, 0, 0};
    const char *empty = rules[frame->iu].payload;
    if (empty != NULL && frame->payload_length != 0)
        fcvi_report(f, place, frame->payload_length,
                    FCVI_BREACH_IN_WORDS(empty, "the IU has a payload", "an empty payload"));
    bool connect = fcvi_iu_is_in(frame->iu, FCVI_IUS_CONNECT_RQST | FCVI_IUS_CONNECT_RESP1);
    if (connect && fcvi_is_whole_iu(frame))
        fcvi_check_connect((enum fcvi_iu)frame->iu, frame->dh, frame->payload, frame->payload_length, base,
                           f);
    if (empty != NULL || connect || !fcvi_FC_Relative_Offset_Present(frame->fc))
        return;
    uint64_t end = fcvi_FC_Parameter(frame->fc) + frame->payload_length;
    uint64_t total = fcvi_DH_FCVI_TOT_LEN(frame->dh);
    if (frame->iu != FCVI_IU_READ_RESP && frame->payload_length != 0 && end > total)
        fcvi_report(f, FCVI_AT(BASE(frame), DH, FCVI_TOT_LEN), total,
                    FCVI_BREACH_IN_WORDS("FCVI-5.9.10-01", "the Message Data go beyond FCVI_TOT_LEN",
                                         "at least Relative Offset plus payload"));
}

void fcvi_check_device_header(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    struct fcvi_place place = {"Device_Header", FC_HEADER, (uint16_t)(frame->input.length - FC_HEADER), 0, 0};
    if (fcvi_FC_Device_Header(frame->fc) == 0) {
        fcvi_report(f, FCVI_AT(0, FC, Device_Header), 0,
                    FCVI_BREACH_IN_WORDS("FCVI-5.9.1-01", "an FC-VI frame without Device_Header", "1 or 2"));
        return;
    }
    if (frame->dh == NULL) {
        fcvi_report(f, place, place.size,
                    FCVI_BROKEN("FCVI-5.9.1-01", "the Device_Header is cut off", "16 or 32 bytes"));
        return;
    }
    if (frame->iu == FCVI_IU_NONE) {
        fcvi_report(
            f, FCVI_AT(BASE(frame), DH, FCVI_OPCODE), fcvi_DH_FCVI_OPCODE(frame->dh),
            FCVI_BREACH_IN_WORDS("FCVI-5.9.3-01", "Table 1 has no such FCVI_OPCODE", "an opcode of Table 1"));
        return;
    }
    bool connection = fcvi_iu_is_in(frame->iu, FCVI_IUS_CONNECTION);
    if (frame->dh_length < 32 && fcvi_iu_row((enum fcvi_iu)frame->iu)->dh_size == 32)
        return; /* words 4 to 7 are not there; check_header has said so */
    fcvi_check_reserved(FCVI_S_DH, (enum fcvi_iu)frame->iu, frame->dh, BASE(frame), f);
    check_handle(frame, f);
    if (fcvi_iu_is_in(frame->iu, FCVI_IUS_DISCONNECT))
        check_status(frame, f);
    else if (connection)
        check_connect_flags(frame, f);
    else
        check_message_flags(frame, f);
    if (!fcvi_iu_is_in(frame->iu, FCVI_IUS_DH16))
        check_ids(frame, f);
    if (connection)
        check_connection_id(frame, f);
    check_payload(frame, f);
}
