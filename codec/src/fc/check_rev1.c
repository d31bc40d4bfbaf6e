/* What FC-VI Rev 1.0 (1999) demands of one frame. The clauses are the draft's; R.. is its register of errata.
 */
#include "../core/report.h"
#include "fc.h"

/* What the table says of each IU besides its row in Table 1; a requirement that is NULL does not exist. */
static const struct {
    const char *no_payload; /* the payload is empty */
    const char *no_msg_id;  /* VI_MSG_ID is zero */
    const char *parameter;  /* VI_PARAMETER is zero, where no flag says otherwise */
    const char *r_ctl;      /* R_CTL, where the row of its Device_Header speaks of nothing else */
} rules[FCVI_IU_COUNT] = {
    [FCVI_IU_SEND_RQST] = {NULL, NULL, "FCVI-6.2.2-07", NULL},
    [FCVI_IU_WRITE_RQST] = {NULL, NULL, "FCVI-6.4.2-07", "FCVI-T01-WRITE_RQST-enc"},
    [FCVI_IU_READ_RQST] = {"REV1-6.5-02", NULL, "REV1-6.5-02", "FCVI-T01-READ_RQST-enc"},
    [FCVI_IU_SEND_RESP] = {"FCVI-6.3.1-04", NULL, "REV1-5.7.6-02", "FCVI-T01-SEND_RESP-enc"},
    [FCVI_IU_WRITE_RESP] = {"FCVI-6.5.1-04", NULL, "REV1-5.7.6-02", "FCVI-T01-WRITE_RESP-enc"},
    [FCVI_IU_READ_RESP] = {NULL, NULL, "REV1-5.7.6-02", NULL},
    [FCVI_IU_CONNECT_RQST] = {NULL, "REV1-6.7-03", "REV1-5.7.6-01", NULL},
    [FCVI_IU_DISCONNECT_RQST] = {"REV1-6.10-02", NULL, "REV1-5.7.6-01", NULL},
    /* their VI_MSG_ID is that of the IU before, whatever that is */
    [FCVI_IU_CONNECT_RESP1] = {NULL, NULL, "REV1-5.7.6-03", NULL},
    [FCVI_IU_CONNECT_RESP2] = {"REV1-6.9-01", NULL, "REV1-5.7.6-03", NULL},
    [FCVI_IU_DISCONNECT_RESP] = {"REV1-6.11-01", NULL, "REV1-5.7.6-03", NULL},
};

#define BASE(frame) ((uint16_t)((frame)->dh - (frame)->fc))

/* Table 1: why a frame of TYPE 58h is no IU of this edition. */
static void check_no_iu(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    if (frame->dh_length < 16) {
        fcvi_report(f, FCVI_AT(0, FC, Device_Header), fcvi_FC_Device_Header(frame->fc),
                    FCVI_BROKEN("FCVI-5.9.1-01", "there is no whole Device_Header", "16 or 32 bytes"));
        return;
    }
    uint64_t opcode = fcvi_DH_REV1_VI_OPCODE(frame->dh);
    for (unsigned iu = 0; iu < FCVI_IU_COUNT; iu++) {
        const struct fcvi_iu_info *row = fcvi_edition_iu(FCVI_EDITION_REV1, (enum fcvi_iu)iu);
        if (row == NULL || row->opcode != opcode)
            continue;
        fcvi_report(f, FCVI_AT(0, FC, Device_Header), frame->dh_length,
                    FCVI_BROKEN(row->encoding, "the Device_Header has the size of another edition",
                                row->dh_size == 16 ? "16 bytes" : "32 bytes"));
        return;
    }
    fcvi_report(f, FCVI_AT(BASE(frame), DH_REV1, VI_OPCODE), opcode,
                FCVI_BROKEN("REV1-5.1-09", "Rev 1.0 has no IU of this opcode", "an opcode of Table 1"));
}

static void check_table_1(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const struct fcvi_iu_info *row = fcvi_edition_iu(FCVI_EDITION_REV1, (enum fcvi_iu)frame->iu);
    const char *r_ctl = rules[frame->iu].r_ctl != NULL ? rules[frame->iu].r_ctl : row->encoding;
    if (fcvi_FC_R_CTL(frame->fc) != row->r_ctl)
        fcvi_report(f, FCVI_AT(0, FC, R_CTL), fcvi_FC_R_CTL(frame->fc),
                    FCVI_BREACH(r_ctl, "R_CTL is not that of the IU", row->r_ctl));
    struct fcvi_place place = {"Payload", (uint16_t)(frame->payload - frame->fc),
                               (uint16_t)frame->payload_length, 0, 0};
    fcvi_check_zero(f, place, frame->payload_length, rules[frame->iu].no_payload, "the IU has no payload");
}

/* 5.7.4; the handle of RESP1 and RESP2 is open (R03) */
static void check_handle(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    uint64_t seen = fcvi_DH_REV1_VI_HANDLE(frame->dh);
    struct fcvi_place place = FCVI_AT(BASE(frame), DH_REV1, VI_HANDLE);
    if (frame->iu == FCVI_IU_CONNECT_RQST && seen != FCVI_UNASSIGNED)
        fcvi_report(f, place, seen,
                    FCVI_BREACH("REV1-6.7-02", "VI_HANDLE is not yet assigned here", FCVI_UNASSIGNED));
    if (fcvi_iu_is_in(frame->iu, FCVI_IUS_MSG_RQST | FCVI_IUS_MSG_RESP) && seen == FCVI_UNASSIGNED)
        fcvi_report(f, place, seen,
                    FCVI_BREACH_IN_WORDS("REV1-5.7.4-02", "a Message IU has no VI's handle",
                                         "a handle other than FFFFFFFFh"));
}

/* 5.7.2, Table 7 */
static void check_mode(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    uint64_t mode = fcvi_DH_REV1_MODE(frame->dh);
    struct fcvi_place place = FCVI_AT(BASE(frame), DH_REV1, MODE);
    bool connects = mode == FCVI_REV1_MODE_CLIENT_SERVER || mode == FCVI_REV1_MODE_PEER_TO_PEER;
    bool disconnects =
        mode == FCVI_REV1_MODE_KERNEL_DISCONNECT || mode == FCVI_REV1_MODE_APPLICATION_DISCONNECT;
    if (frame->iu == FCVI_IU_CONNECT_RQST && !connects)
        fcvi_report(
            f, place, mode,
            FCVI_BREACH_IN_WORDS("REV1-5.7.2-04", "the mode is none of a connection setup", "01h or 02h"));
    if (frame->iu == FCVI_IU_DISCONNECT_RQST && !disconnects)
        fcvi_report(f, place, mode,
                    FCVI_BREACH_IN_WORDS("REV1-5.7.2-05", "the mode is none of a Disconnect", "04h or 05h"));
}

/* 5.7.6: with CONN_ERR a reason of Table 10, with IMM_DATA the Immediate Data, else zero */
static void check_parameter(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const uint8_t *dh = frame->dh;
    uint16_t base = BASE(frame);
    uint8_t iu = frame->iu;
    if (iu == FCVI_IU_READ_RQST)
        fcvi_check_zero(f, FCVI_AT(base, DH_REV1, IMM_DATA), fcvi_DH_REV1_IMM_DATA(dh), "REV1-6.5-02",
                        "Immediate Data in an RDMA Read request");
    if (fcvi_iu_is_in(iu, FCVI_IUS_MSG_RQST) && iu != FCVI_IU_READ_RQST && fcvi_DH_REV1_IMM_DATA(dh))
        return;
    if (!fcvi_iu_is_in(iu, FCVI_IUS_REV1_STATUS) || !fcvi_DH_REV1_CONN_ERR(dh)) {
        fcvi_check_zero(f, FCVI_AT(base, DH_REV1, NUMBER), fcvi_DH_REV1_NUMBER(dh), rules[iu].parameter,
                        "VI_PARAMETER holds something that no flag announces");
        return;
    }
    uint64_t reason = fcvi_DH_REV1_Reason_Code(dh);
    struct fcvi_place place = FCVI_AT(base, DH_REV1, Reason_Code);
    if (iu == FCVI_IU_CONNECT_RESP2 && reason > FCVI_REV1_REASON_DUPLICATE_ADDRESSES)
        fcvi_report(f, place, reason, /* the monitor knows what it may repeat */
                    ((struct fcvi_rule){FCVI_NOTICE, "REV1-5.7.2-09", "R08",
                                        "the Reason Code is reserved, unless it repeats that of the refusal",
                                        "01h to 07h", 0}));
    else if (reason == 0 || reason > FCVI_REV1_REASON_DUPLICATE_ADDRESSES)
        fcvi_report(f, place, reason,
                    FCVI_BREACH_IN_WORDS("REV1-5.7.2-09", "the Reason Code is reserved", "01h to 07h"));
    else if (reason == FCVI_REV1_REASON_DUPLICATE_ADDRESSES_READ)
        fcvi_report(f, place, reason,
                    FCVI_TOLERATED("REV1-5.3.4-03", "R05", "Duplicate Addresses is printed as 07h",
                                   FCVI_REV1_REASON_DUPLICATE_ADDRESSES));
}

/* 5.7.9, 6.3, 6.5: what the draft says of the total length contradicts itself, or is not there. */
static void check_total(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    struct fcvi_place place = FCVI_AT(BASE(frame), DH_REV1, VI_RMT_TOT_LEN);
    if (frame->iu != FCVI_IU_WRITE_RQST && frame->iu != FCVI_IU_READ_RQST)
        return;
    const uint64_t seen = fcvi_DH_REV1_VI_RMT_TOT_LEN(frame->dh);
    if (frame->iu == FCVI_IU_WRITE_RQST && seen != 0)
        fcvi_report(f, place, seen,
                    FCVI_TOLERATED("REV1-6.3-01", "R09", "an RDMA Write with a total length, as of 2007", 0));
    if (frame->iu == FCVI_IU_READ_RQST && seen == 0)
        fcvi_report(
            f, place, seen,
            ((struct fcvi_rule){FCVI_NOTICE, "REV1-5.7.9-01", "R04",
                                "an RDMA Read without a total length reads nothing", "the length", 0}));
}

/* ---- the connect payload (Tables 11 to 15) ---- */

static void check_address(const uint8_t *a, uint16_t base, struct fcvi_findings *f)
{
    uint64_t length = fcvi_ADDR_REV1_HOST_ADDR_LEN(a);
    if (length != FCVI_ADDR_REV1_HOST_IP_ADDR_SIZE)
        fcvi_report(f, FCVI_AT(base, ADDR_REV1, HOST_ADDR_LEN), length,
                    FCVI_BREACH("REV1-7.1-02", "HOST_ADDR_LEN is not that of an IPv6 address",
                                FCVI_ADDR_REV1_HOST_IP_ADDR_SIZE));
    uint64_t discriminator = fcvi_ADDR_REV1_DISCRIM_LEN(a);
    if (discriminator > FCVI_ADDR_REV1_DISCRIM_SIZE)
        fcvi_report(f, FCVI_AT(base, ADDR_REV1, DISCRIM_LEN), discriminator,
                    FCVI_BREACH_IN_WORDS("REV1-7.1-03", "DISCRIM_LEN is out of range", "0 to 128"));
}

enum { PRIORITY_OF_RFC_791 = 0x20, PRIORITY_OF_2007 = 0x80 };

static void check_attributes(const uint8_t *a, uint16_t base, struct fcvi_findings *f)
{
    uint64_t level = fcvi_ATTRS_REV1_RELIABILITY_LVL(a);
    if (level != FCVI_REV1_RELIABILITY_UNRELIABLE_DELIVERY &&
        level != FCVI_REV1_RELIABILITY_RELIABLE_DELIVERY && level != FCVI_REV1_RELIABILITY_RELIABLE_RECEPTION)
        fcvi_report(
            f, FCVI_AT(base, ATTRS_REV1, RELIABILITY_LVL), level,
            FCVI_BREACH_IN_WORDS("REV1-7.2-01", "there is no such Reliability Level", "01h, 02h or 04h"));
    const uint8_t *q = fcvi_ATTRS_REV1_VIP_QOS(a);
    uint16_t qos = (uint16_t)(base + FCVI_ATTRS_REV1_VIP_QOS_BYTE);
    if (fcvi_QOS_REV1_Precedence(q) > FCVI_REV1_PRECEDENCE_PRIORITY)
        fcvi_report(f, FCVI_AT(qos, QOS_REV1, Precedence), fcvi_QOS_REV1_Precedence(q),
                    FCVI_TOLERATED("REV1-B-01", "R13", "the Precedence is reserved in one order of its bits",
                                   FCVI_REV1_PRECEDENCE_PRIORITY));
    fcvi_check_zero(f, FCVI_AT(qos, QOS_REV1, MaxBandwidth), fcvi_QOS_REV1_MaxBandwidth(q), "REV1-B-02",
                    "MaxBandwidth is zero in this version");
    fcvi_check_zero(f, FCVI_AT(qos, QOS_REV1, MinBandwidth), fcvi_QOS_REV1_MinBandwidth(q), "REV1-B-02",
                    "MinBandwidth is zero in this version");
    fcvi_check_zero(f, FCVI_AT(qos, QOS_REV1, MaxDelay), fcvi_QOS_REV1_MaxDelay(q), "REV1-B-02",
                    "MaxDelay is zero in this version");
    fcvi_check_reserved(FCVI_S_ATTRS_REV1, FCVI_IU_CONNECT_RQST, a, base, f);
    const size_t before = f->count;
    fcvi_check_reserved(FCVI_S_QOS_REV1, FCVI_IU_CONNECT_RQST, q, qos, f);
    const bool priority = q[0] == PRIORITY_OF_RFC_791 || q[0] == PRIORITY_OF_2007;
    for (size_t i = before; priority && i < f->count && i < f->capacity; i++)
        if (f->list[i].byte == qos)
            f->list[i].erratum = "R13"; /* the order of its bits is open: these are Priority, too */
}

static void check_connect(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const uint8_t *p = frame->payload;
    bool request = frame->iu == FCVI_IU_CONNECT_RQST;
    const char *id = request ? "REV1-6.7-04" : "REV1-6.8-02";
    uint16_t base = (uint16_t)(p - frame->fc);
    if (frame->payload_length != FCVI_CONN_REV1_LENGTH) {
        struct fcvi_place place = {"Payload", base, (uint16_t)frame->payload_length, 0, 0};
        fcvi_report(f, place, frame->payload_length,
                    FCVI_BROKEN(id, "the connect payload has another length", "332 bytes"));
        return;
    }
    uint64_t revision = fcvi_CONN_REV1_VI_REVISION(p);
    if (revision != 1)
        fcvi_report(f, FCVI_AT(base, CONN_REV1, VI_REVISION), revision,
                    request ? FCVI_BREACH("REV1-6.7-05", "VI_REVISION is not the first", 1)
                            : FCVI_TOLERATED("REV1-6.8-02", "R30", "VI_REVISION is not the first", 1));
    if (!request && fcvi_DH_REV1_CONN_ERR(frame->dh))
        return; /* what a refusal holds means nothing (R11) */
    check_address(fcvi_CONN_REV1_VI_LOC_ADDR(p), (uint16_t)(base + FCVI_CONN_REV1_VI_LOC_ADDR_BYTE), f);
    check_address(fcvi_CONN_REV1_VI_REM_ADDR(p), (uint16_t)(base + FCVI_CONN_REV1_VI_REM_ADDR_BYTE), f);
    check_attributes(fcvi_CONN_REV1_VI_LOC_ATTRS(p), (uint16_t)(base + FCVI_CONN_REV1_VI_LOC_ATTRS_BYTE), f);
}

void fcvi_check_rev1(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    fcvi_check_fc2(frame, f);
    if (frame->kind != FCVI_KIND_IU)
        return;
    if (frame->iu == FCVI_IU_NONE) {
        check_no_iu(frame, f);
        return;
    }
    check_table_1(frame, f);
    fcvi_check_header_rev1(frame, f);
    check_handle(frame, f);
    if (fcvi_iu_is_in(frame->iu, FCVI_IUS_REV1_RQST))
        check_mode(frame, f);
    check_parameter(frame, f);
    check_total(frame, f);
    fcvi_check_zero(f, FCVI_AT(BASE(frame), DH_REV1, VI_MSG_ID), fcvi_DH_REV1_VI_MSG_ID(frame->dh),
                    rules[frame->iu].no_msg_id, "VI_MSG_ID is zero in a connection setup");
    fcvi_check_reserved(FCVI_S_DH_REV1, (enum fcvi_iu)frame->iu, frame->dh, BASE(frame), f);
    if (fcvi_iu_is_in(frame->iu, FCVI_IUS_CONNECT_RQST | FCVI_IUS_CONNECT_RESP1) && fcvi_is_whole_iu(frame))
        check_connect(frame, f);
}
