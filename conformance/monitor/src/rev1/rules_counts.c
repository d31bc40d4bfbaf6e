/* Rev 1.0, 5.6.5, 5.6.6 and clause 6: what goes on from frame to frame of one side of an Exchange. */
#include "rev1.h"

/* R06: a side counts its own frames from 0, or goes on from the count of the other side where its Sequence
 * begins. If the other side counts its own frames alone, going on can mean two numbers: the one behind the
 * other side's last, or the number of frames that both have sent in the Exchange. Which frame of the other
 * side was the last to arrive is not known where they did not come in their order. */
static bool continues(const struct r1_judged_frame *r, uint16_t cnt)
{
    if (r->own->frame != 0 && cnt == (uint16_t)(r->own->cnt + 1))
        return true;
    if (r->own->frame == 0 && cnt == 0)
        return true;
    if (!r->begins || r->far->frame == 0)
        return false;
    if (r->far->strays && cnt != 0 && (int16_t)(cnt - 1 - r->far->most) <= 0)
        return true;
    return cnt == (uint16_t)(r->far->cnt + 1) || cnt == (uint16_t)(r->own->sent + r->far->sent);
}

/* 5.6.5. False: the frame is one that came before, sent or delivered again. */
static bool check_count(struct r1_judged_frame *r)
{
    const struct judged_frame *s = r->s;
    const uint16_t cnt = (uint16_t)fcvi_FC_SEQ_CNT(s->fc);
    /* asked first: the repeated end of an answer has the number that its beginning may have by the other's
     * count */
    const bool back = r->own->frame != 0 && (int16_t)(cnt - r->own->cnt) <= 0;
    if (back && !mon_rev1_once(s))
        return false;
    if (continues(r, cnt))
        return true;
    mon_rev1_report(r, FC(SEQ_CNT), cnt,
                    FCVI_BREACH("REV1-5.6.5-01",
                                "SEQ_CNT does not go on from the sender's previous frame of the Exchange",
                                r->own->frame != 0 ? (uint16_t)(r->own->cnt + 1) : 0),
                    r->own->frame);
    return true;
}

/* R02: over several IUs RLTV_OFF goes on, or begins again. Where VI_RMT_VA goes on with it, that is one
 * reading of two; else it is left to the order of the IUs. */
static void check_next_iu(struct r1_judged_frame *r, uint32_t offset, uint32_t wanted)
{
    const struct judged_frame *s = r->s;
    const bool write = s->iu == FCVI_IU_WRITE_RQST && r->own->dh_length == R1_DH_MOST;
    const uint64_t before = write ? fcvi_DH_REV1_VI_RMT_VA(r->own->dh) + r->own->offset : 0;
    if (write && fcvi_DH_REV1_VI_RMT_VA(s->dh) + offset == before + r->own->length)
        return;
    if (offset == 0)
        mon_rev1_report(
            r, FC(Parameter), offset,
            FCVI_TOLERATED("REV1-5.6.6-01", "R02", "RLTV_OFF begins again in the next IU", wanted),
            r->own->frame);
    else
        mon_rev1_report(r, FC(Parameter), offset,
                        FCVI_BREACH("REV1-5.6.6-01", "RLTV_OFF does not go on from the IU before", wanted),
                        r->own->frame);
}

/* R02: RLTV_OFF that goes on counts from one VI_RMT_VA. */
static void check_address(struct r1_judged_frame *r)
{
    const struct judged_frame *s = r->s;
    if (!r->begins || !r->own->payload || s->iu != FCVI_IU_WRITE_RQST || r->own->dh_length != R1_DH_MOST)
        return;
    const uint64_t seen = fcvi_DH_REV1_VI_RMT_VA(s->dh), before = fcvi_DH_REV1_VI_RMT_VA(r->own->dh);
    if (seen != before)
        mon_rev1_report(
            r, DH1(r, VI_RMT_VA), seen,
            FCVI_BREACH("REV1-5.7.7-01", "VI_RMT_VA and RLTV_OFF both go on in the next IU", before),
            r->own->frame);
}

/* 5.6.6 */
static void check_offset(struct r1_judged_frame *r)
{
    const struct judged_frame *s = r->s;
    if (s->f->payload_length == 0 || !fcvi_FC_Relative_Offset_Present(s->fc) || r->own->unplaced)
        return;
    const uint32_t offset = (uint32_t)fcvi_FC_Parameter(s->fc);
    const uint32_t wanted = r->own->payload ? r->own->offset + r->own->length : 0;
    if (offset == wanted || (!r->own->payload && fcvi_FC_First_Sequence(s->fc))) {
        check_address(r);
        return; /* the codec has the first of an Exchange */
    }
    if (r->begins && r->own->payload)
        check_next_iu(r, offset, wanted);
    else
        mon_rev1_report(
            r, FC(Parameter), offset,
            FCVI_BREACH("REV1-5.6.6-01", "RLTV_OFF does not go on from the payload before", wanted),
            r->own->frame);
}

/* 6.3: of a Write the fields have their own requirements. */
static void check_same_write(struct r1_judged_frame *r)
{
    static const struct {
        const char *id;
        uint16_t byte, size, index;
    } fields[] = {
        {"REV1-5.7.4-02", FCVI_DH_REV1_VI_HANDLE_BYTE, 4, FCVI_INDEX_DH_REV1_VI_HANDLE},
        {"FCVI-6.4.2-08", FCVI_DH_REV1_VI_MSG_ID_BYTE, 4, FCVI_INDEX_DH_REV1_VI_MSG_ID},
        {"FCVI-6.4.2-06", FCVI_DH_REV1_NUMBER_BYTE, 4, FCVI_INDEX_DH_REV1_NUMBER},
        {"REV1-5.7.7-01", FCVI_DH_REV1_VI_RMT_VA_BYTE, 8, FCVI_INDEX_DH_REV1_VI_RMT_VA},
        {"REV1-5.7.8-01", FCVI_DH_REV1_VI_RMT_VA_HANDLE_BYTE, 4, FCVI_INDEX_DH_REV1_VI_RMT_VA_HANDLE},
    };
    const struct judged_frame *s = r->s;
    if (r->begins || r->own->dh_length != R1_DH_MOST || s->f->dh_length != R1_DH_MOST)
        return;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const uint64_t seen = fcvi_load(s->dh + fields[i].byte, fields[i].size);
        const uint64_t wanted = fcvi_load(r->own->dh + fields[i].byte, fields[i].size);
        if (seen == wanted)
            continue;
        struct fcvi_place place = {NULL, (uint16_t)(s->base + fields[i].byte), fields[i].index, 0, 0};
        mon_rev1_report(r, place, seen,
                        FCVI_BREACH(fields[i].id, "the Device_Header changes within the IU", wanted),
                        r->own->frame);
        return;
    }
}

/* 6.1, 6.6 */
static void check_same_header(struct r1_judged_frame *r)
{
    const struct judged_frame *s = r->s;
    const char *id = s->iu == FCVI_IU_SEND_RQST   ? "REV1-6.1-01"
                     : s->iu == FCVI_IU_READ_RESP ? "REV1-6.6-03"
                                                  : NULL;
    if (r->begins || id == NULL || r->own->dh_length != s->f->dh_length ||
        memcmp(r->own->dh, s->dh, r->own->dh_length) == 0)
        return;
    static const struct {
        uint16_t byte, size, index;
    } words[] = {{FCVI_DH_REV1_VI_HANDLE_BYTE, 4, FCVI_INDEX_DH_REV1_VI_HANDLE},
                 {FCVI_DH_REV1_VI_MSG_ID_BYTE, 4, FCVI_INDEX_DH_REV1_VI_MSG_ID},
                 {FCVI_DH_REV1_NUMBER_BYTE, 4, FCVI_INDEX_DH_REV1_NUMBER}};
    struct fcvi_place place = {"Device_Header word 1", (uint16_t)(s->base + 4), 4, 31, 0};
    uint64_t seen = fcvi_load(s->dh + 4, 4), wanted = fcvi_load(r->own->dh + 4, 4);
    for (size_t i = 0; i < sizeof words / sizeof words[0] && seen == wanted; i++) {
        place = (struct fcvi_place){NULL, (uint16_t)(s->base + words[i].byte), words[i].index, 0, 0};
        seen = fcvi_load(s->dh + words[i].byte, 4);
        wanted = fcvi_load(r->own->dh + words[i].byte, 4);
    }
    mon_rev1_report(r, place, seen, FCVI_BREACH(id, "the Device_Header changes within the IU", wanted),
                    r->own->frame);
}

bool mon_rev1_counts(struct r1_judged_frame *r)
{
    if (!check_count(r))
        return false;
    check_offset(r);
    if (r->s->iu == FCVI_IU_WRITE_RQST)
        check_same_write(r);
    else
        check_same_header(r);
    return true;
}
