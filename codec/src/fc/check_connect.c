/* Payload of FCVI_CONNECT_RQST and FCVI_CONNECT_RESP1: Tables 13 to 18 (6.8.3, 6.9.3, 7.2, 7.3). */
#include "../core/assert.h"
#include "../core/report.h"
#include "fc.h"

enum { INFO_LENGTH = FCVI_INFO_LENGTH, PLAIN_LENGTH = FCVI_CONN_LENGTH };

static void check_length(enum fcvi_iu iu, bool info, size_t length, uint16_t base, struct fcvi_findings *f)
{
    size_t wanted = (size_t)PLAIN_LENGTH + (info ? (size_t)INFO_LENGTH : 0);
    struct fcvi_place place = {"Payload", base, (uint16_t)length, 0, 0};
    const char *id = iu == FCVI_IU_CONNECT_RQST ? "FCVI-6.8.1-04" : "FCVI-6.9.1-04";
    if (length < PLAIN_LENGTH)
        fcvi_report(f, place, length, FCVI_BROKEN(id, "the connect payload is cut off", "340 or 596 bytes"));
    else if (length != wanted)
        fcvi_report(f, place, length, FCVI_BREACH(id, "the connect payload has the wrong length", wanted));
}

static void fixed(struct fcvi_findings *f, struct fcvi_place place, uint64_t seen, uint64_t wanted,
                  const char *id, const char *message)
{
    if (seen != wanted)
        fcvi_report(f, place, seen, FCVI_BREACH(id, message, wanted));
}

/* 7.2, Table 15; E30: the wire takes 10h to 80h; E31: left-justified and zero-padded */
static void check_address(const uint8_t *a, uint16_t base, struct fcvi_findings *f)
{
    fixed(f, FCVI_AT(base, ADDR, HOST_ADD_LEN), fcvi_ADDR_HOST_ADD_LEN(a), 16, "FCVI-7.2-13",
          "HOST_ADD_LEN is not that of an IPv6 address");
    uint64_t length = fcvi_ADDR_DISCRIM_LEN(a);
    if (length < 0x10 || length > 0x80) {
        fcvi_report(f, FCVI_AT(base, ADDR, DISCRIM_LEN), length,
                    FCVI_BREACH_IN_WORDS("FCVI-7.2-15", "DISCRIM_LEN is out of range", "10h to 80h"));
        return;
    }
    const uint8_t *discriminator = fcvi_ADDR_DISCRIM(a);
    unsigned any = 0;
    for (size_t i = length; i < FCVI_ADDR_DISCRIM_SIZE; i++)
        any |= discriminator[i];
    if (any == 0)
        return;
    size_t pad = length;
    while (discriminator[pad] == 0)
        pad++;
    struct fcvi_place place = {"DISCRIM", (uint16_t)(base + FCVI_ADDR_DISCRIM_BYTE + pad), 1, 7, 0};
    fcvi_report(f, place, discriminator[pad],
                (struct fcvi_rule){FCVI_NOTICE, "FCVI-7.2-16", "E31", "the Discriminator is not zero-padded",
                                   "zeros after DISCRIM_LEN bytes", 0});
}

static void check_attributes(const uint8_t *a, uint16_t base, struct fcvi_findings *f)
{
    uint64_t level = fcvi_ATTRS_FCVI_RELIABILITY_LVL(a);
    if (level < FCVI_RELIABILITY_UNRELIABLE_DELIVERY || level > FCVI_RELIABILITY_RELIABLE_RECEPTION)
        fcvi_report(f, FCVI_AT(base, ATTRS, FCVI_RELIABILITY_LVL), level,
                    FCVI_BREACH_IN_WORDS("FCVI-7.3-02",
                                         "the Reliability Level is reserved (VIPL codes differ, E32)",
                                         "01h, 02h or 03h"));
    const uint8_t *q = fcvi_ATTRS_FCVI_QOS(a);
    uint16_t qos = (uint16_t)(base + FCVI_ATTRS_FCVI_QOS_BYTE);
    uint64_t pref = fcvi_QOS_FCVI_PREF(q);
    if (pref != FCVI_PREF_PREFERENCE_NOT_USED && pref != FCVI_PREF_PREFERENCE_USED)
        fcvi_report(f, FCVI_AT(qos, QOS, FCVI_PREF), pref,
                    FCVI_BREACH_IN_WORDS("FCVI-7.3-06", "FCVI_PREF is a reserved value", "00h or 80h"));
    fixed(f, FCVI_AT(qos, QOS, FCVI_MAX_BANDWIDTH), fcvi_QOS_FCVI_MAX_BANDWIDTH(q), 0, "FCVI-7.3-10",
          "FCVI_MAX_BANDWIDTH is zero in this version");
    fixed(f, FCVI_AT(qos, QOS, FCVI_MIN_BANDWIDTH), fcvi_QOS_FCVI_MIN_BANDWIDTH(q), 0, "FCVI-7.3-12",
          "FCVI_MIN_BANDWIDTH is zero in this version");
    fixed(f, FCVI_AT(qos, QOS, FCVI_MAX_DELAY), fcvi_QOS_FCVI_MAX_DELAY(q), 0, "FCVI-7.3-13",
          "FCVI_MAX_DELAY is zero in this version");
}

/* Reserved words beside the addresses and attributes */
static void check_own_reserved(enum fcvi_iu iu, const uint8_t *p, uint16_t base, struct fcvi_findings *f)
{
    size_t before = f->count;
    fcvi_check_reserved(FCVI_S_CONN, iu, p, base, f);
    /* Word 84 is allotted to the attributes and has no meaning: E10 wants a warning */
    for (size_t i = before; i < f->count && i < f->capacity; i++)
        if (f->list[i].byte == base + FCVI_CONN_ATTRS_WORD_84_BYTE) {
            f->list[i].erratum = "E10";
            f->list[i].requirement = iu == FCVI_IU_CONNECT_RQST ? "FCVI-T13-w77" : "FCVI-T14-w77";
        }
}

static void check_reserved(enum fcvi_iu iu, const uint8_t *p, uint16_t base, struct fcvi_findings *f)
{
    check_own_reserved(iu, p, base, f);
    fcvi_check_reserved(FCVI_S_ADDR, iu, fcvi_CONN_FCVI_LOC_ADDR(p),
                        (uint16_t)(base + FCVI_CONN_FCVI_LOC_ADDR_BYTE), f);
    fcvi_check_reserved(FCVI_S_ADDR, iu, fcvi_CONN_FCVI_REM_ADDR(p),
                        (uint16_t)(base + FCVI_CONN_FCVI_REM_ADDR_BYTE), f);
    const uint8_t *attributes = fcvi_CONN_FCVI_LOC_ATTRS(p);
    uint16_t at = (uint16_t)(base + FCVI_CONN_FCVI_LOC_ATTRS_BYTE);
    fcvi_check_reserved(FCVI_S_ATTRS, iu, attributes, at, f);
    fcvi_check_reserved(FCVI_S_QOS, iu, fcvi_ATTRS_FCVI_QOS(attributes),
                        (uint16_t)(at + FCVI_ATTRS_FCVI_QOS_BYTE), f);
}

void fcvi_check_connect(enum fcvi_iu iu, const uint8_t *dh, const uint8_t *payload, size_t length,
                        uint16_t base, struct fcvi_findings *f)
{
    FCVI_ASSERT(iu == FCVI_IU_CONNECT_RQST || iu == FCVI_IU_CONNECT_RESP1);
    FCVI_ASSERT(dh != NULL && (payload != NULL || length == 0));
    bool request = iu == FCVI_IU_CONNECT_RQST;
    bool info = request ? fcvi_DH_RQST_FCVI_CONN_INFO(dh) : fcvi_DH_RESP_FCVI_CONN_INFO(dh);
    check_length(iu, info, length, base, f);
    if (length < PLAIN_LENGTH)
        return;
    fixed(f, FCVI_AT(base, CONN, FCVI_REVISION), fcvi_CONN_FCVI_REVISION(payload), FCVI_REVISION_2007,
          request ? "FCVI-6.8.3-01" : "FCVI-6.9.3-01", "FCVI_REVISION is not the first revision");
    bool refusal = !request && fcvi_DH_CONN_STS(dh);
    if (refusal) {
        check_own_reserved(iu, payload, base, f);
        return; /* handle, addresses and attributes of a refusal say nothing (E40) */
    }
    if (fcvi_CONN_FCVI_RQST_HANDLE(payload) == FCVI_UNASSIGNED) {
        struct fcvi_place place =
            request ? FCVI_AT(base, CONN, FCVI_RQST_HANDLE) : FCVI_AT(base, CONN, FCVI_RESP_HANDLE);
        fcvi_report(f, place, FCVI_UNASSIGNED,
                    FCVI_BREACH_IN_WORDS("FCVI-5.9.2-03",
                                         "the Endpoint's own handle is the value for unassigned",
                                         "any other value"));
    }
    check_reserved(iu, payload, base, f);
    check_address(fcvi_CONN_FCVI_LOC_ADDR(payload), (uint16_t)(base + FCVI_CONN_FCVI_LOC_ADDR_BYTE), f);
    check_address(fcvi_CONN_FCVI_REM_ADDR(payload), (uint16_t)(base + FCVI_CONN_FCVI_REM_ADDR_BYTE), f);
    check_attributes(fcvi_CONN_FCVI_LOC_ATTRS(payload), (uint16_t)(base + FCVI_CONN_FCVI_LOC_ATTRS_BYTE), f);
}
