/* What one PDU shows to be wrong, whatever went before it (3.1, 3.2, 3.2.1).
 *
 * A number that the draft never assigned is the profile's: another one is a notice. So is what the draft
 * leaves open, with the erratum that tolerates it. */
#include "../core/report.h"
#include "vitcp.h"

#define NOT_THE_PROFILE(id, erratum, words, value)                                                           \
    FCVI_TOLERATED(id, erratum, "not the profile: " words, value)

/* The place of a field whose bits are the profile's. */
static struct fcvi_place place_of(const struct fcvi_pdu *s, unsigned base, size_t index)
{
    struct fcvi_field row = fcvi_profile_row(s->profile, index);
    return (struct fcvi_place){row.name, (uint16_t)(base + row.byte), row.size, row.hi, row.lo};
}

static uint64_t get(const struct fcvi_pdu *s, enum fcvi_profile_field field)
{
    return fcvi_profile_get(s->profile, field, s->bytes);
}

static bool is_later(const struct fcvi_pdu *s)
{
    return s->later || fcvi_SEG_Data_Offset(s->bytes) != 0;
}

static void check_numbers(const struct fcvi_pdu *s, struct fcvi_findings *f)
{
    uint64_t version = fcvi_SEG_Version(s->bytes), error = get(s, FCVI_P_SEG_VI_Error_Type);
    if (version != s->profile->version)
        fcvi_report(f, FCVI_AT(0, SEG, Version), version,
                    NOT_THE_PROFILE("VITCP-3.1-02", "V02", "Version", s->profile->version));
    if (s->pdu == FCVI_PDU_NONE)
        fcvi_report_parts(f, place_of(s, 0, FCVI_INDEX_SEG_Type), get(s, FCVI_P_SEG_Type), FCVI_NOTICE,
                          "VITCP-3.1-04", "V03", "not the profile: Type has a number without a PDU",
                          "the number of a PDU", 0);
    for (unsigned i = 0; i < FCVI_VI_ERROR_COUNT; i++)
        if (s->profile->errors[i] == error)
            return;
    fcvi_report_parts(f, place_of(s, 0, FCVI_INDEX_SEG_VI_Error_Type), error, FCVI_NOTICE, "VITCP-3.1-52",
                      "V06", "not the profile: VI Error Type has a number without a name",
                      "the number of one of three", 0);
}

/* 3: each RDMA type has its header, and the two CE PDUs that set up. A refusal has it or not (V08); a part of
 * one is neither. */
static void check_headers(const struct fcvi_pdu *s, struct fcvi_findings *f)
{
    enum fcvi_pdu_type pdu = (enum fcvi_pdu_type)s->pdu;
    struct fcvi_place place = FCVI_AT(0, SEG, Segment_Length);
    if (fcvi_pdu_needs_rdma(pdu) && s->rdma == NULL && pdu != FCVI_PDU_READ_REQUEST && is_later(s))
        fcvi_report_parts(f, place, s->length, FCVI_NOTICE, "VITCP-3-05", "V10",
                          "a segment behind the first has no RDMA Header", "40 or more", 0);
    else if (fcvi_pdu_needs_rdma(pdu) && s->rdma == NULL)
        fcvi_report(f, place, s->length,
                    FCVI_BROKEN("VITCP-3-05", "the RDMA Header is missing or cut off", "40 or more"));
    if (fcvi_pdu_needs_ce(pdu) && s->ce == NULL)
        fcvi_report(f, place, s->length,
                    FCVI_BROKEN("VITCP-3-06", "the CE Header is missing or cut off", "68 or more"));
    else if (fcvi_pdu_takes_ce(pdu) && s->ce == NULL && s->data_length != 0)
        fcvi_report_parts(f, place, s->length, FCVI_NOTICE, "VITCP-3-06", "V08",
                          "the CE Header of a refusal is cut off", "24, or 68 or more", 0);
}

static void check_flags(const struct fcvi_pdu *s, struct fcvi_findings *f)
{
    if (s->pdu == FCVI_PDU_NONE || s->pdu == FCVI_PDU_SEND || s->pdu == FCVI_PDU_WRITE ||
        get(s, FCVI_P_SEG_Immediate_Data_Valid) == 0)
        return;
    fcvi_report(f, place_of(s, 0, FCVI_INDEX_SEG_Immediate_Data_Valid), 1,
                FCVI_BREACH("VITCP-3.1-06", "only Send and RDMA Write have Immediate Data", 0));
}

/* V12: a Read Request is one segment without payload; the draft does not say so. */
static void check_read_request(const struct fcvi_pdu *s, struct fcvi_findings *f)
{
    if (fcvi_SEG_Data_Offset(s->bytes) != 0)
        fcvi_report(f, FCVI_AT(0, SEG, Data_Offset), fcvi_SEG_Data_Offset(s->bytes),
                    FCVI_TOLERATED("VITCP-3.1-13", "V12", "an RDMA Read Request is one segment", 0));
    if (s->data_length != 0)
        fcvi_report(f, FCVI_AT(0, SEG, Segment_Length), s->length,
                    FCVI_TOLERATED("VITCP-3.1-11", "V12", "an RDMA Read Request has no data", s->headers));
    if (get(s, FCVI_P_SEG_End_of_Message) == 0)
        fcvi_report(f, place_of(s, 0, FCVI_INDEX_SEG_End_of_Message), 0,
                    FCVI_TOLERATED("VITCP-3.1-07", "V12", "an RDMA Read Request is one segment", 1));
}

/* 3.2.1: RDMA Length counts the data of all segments. Behind the first segment a sender may leave the header
 * out (V10), so nothing is said there; and one that says Transmit Error may end before its length. */
static void check_write(const struct fcvi_pdu *s, struct fcvi_findings *f)
{
    uint64_t total = fcvi_RDMA_RDMA_Length(s->rdma);
    bool last = get(s, FCVI_P_SEG_End_of_Message) != 0 && get(s, FCVI_P_SEG_Transmit_Error) == 0;
    if (!is_later(s) && (s->data_length > total || (last && s->data_length < total)))
        fcvi_report(f, FCVI_AT(FCVI_SEG_LENGTH, RDMA, RDMA_Length), total,
                    FCVI_BREACH("VITCP-3.2.1-04", "RDMA Length is not the number of bytes of the message",
                                s->data_length));
}

/* 3.2: in a Connect Request the Discriminator is matched; elsewhere it decides nothing (V08, V47). */
static void check_discriminator(const struct fcvi_pdu *s, const uint8_t *bytes, uint64_t length,
                                struct fcvi_place of_length, struct fcvi_place of_bytes,
                                const char *requirement, struct fcvi_findings *f)
{
    bool decides = s->pdu == FCVI_PDU_CONNECT_REQUEST;
    if (length > VITCP_MOST_DISCRIMINATOR) {
        fcvi_report_parts(f, of_length, length, decides ? FCVI_VIOLATION : FCVI_NOTICE, requirement,
                          decides ? "V46" : "V47", "the Discriminator is longer than its field", "0 to 16",
                          0);
        return;
    }
    for (size_t i = (size_t)length; i < VITCP_MOST_DISCRIMINATOR; i++)
        if (bytes[i] != 0) {
            of_bytes.byte = (uint16_t)(of_bytes.byte + i);
            fcvi_report(f, of_bytes, bytes[i],
                        FCVI_TOLERATED(requirement, "V46", "the Discriminator goes on behind its length", 0));
            return;
        }
}

static void check_ce(const struct fcvi_pdu *s, struct fcvi_findings *f)
{
    enum { BASE = FCVI_SEG_LENGTH };
    uint16_t reserved = fcvi_profile_mask(s->profile, FCVI_INDEX_CE_Attributes_15_5);
    uint64_t seen = fcvi_CE_Calling_Attributes(s->ce) & reserved;
    if (seen != 0)
        fcvi_report(f, place_of(s, BASE, FCVI_INDEX_CE_Attributes_15_5), seen >> fcvi_lowest_bit(reserved),
                    NOT_THE_PROFILE("VITCP-3.2-01", "V05", "reserved Calling Attributes are set", 0));
    struct fcvi_place calling = {"Calling Discriminator", BASE + FCVI_CE_Calling_Discriminator_BYTE, 1, 7, 0};
    check_discriminator(s, fcvi_CE_Calling_Discriminator(s->ce), fcvi_CE_Calling_Discriminator_Length(s->ce),
                        FCVI_AT(BASE, CE, Calling_Discriminator_Length), calling, "VITCP-3.2-07", f);
    struct fcvi_place called = {"Called Discriminator", BASE + FCVI_CE_Called_Discriminator_BYTE, 1, 7, 0};
    check_discriminator(s, fcvi_CE_Called_Discriminator(s->ce), fcvi_CE_Called_Discriminator_Length(s->ce),
                        FCVI_AT(BASE, CE, Called_Discriminator_Length), called, "VITCP-3.2-08", f);
}

void fcvi_pdu_check(const struct fcvi_pdu *pdu, struct fcvi_findings *findings)
{
    check_numbers(pdu, findings);
    check_headers(pdu, findings);
    check_flags(pdu, findings);
    if (pdu->ce != NULL)
        check_ce(pdu, findings);
    if (pdu->rdma != NULL && pdu->pdu == FCVI_PDU_READ_REQUEST)
        check_read_request(pdu, findings);
    if (pdu->rdma != NULL && pdu->pdu == FCVI_PDU_WRITE)
        check_write(pdu, findings);
}
