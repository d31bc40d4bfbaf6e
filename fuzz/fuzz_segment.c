/* Any bytes as the beginning of a VI/TCP stream: what stands there is taken, checked, put together again and
 * printed, by profile T0 or by one that has every number elsewhere. */
#include "oracle.h"
#include <fcvi/pdu.h>
#include <fcvi_mutator.h>

enum { LONGEST = 4096, MOST_FINDINGS = 4, TEXT = 1 << 16, GUARD = '~' };

const struct fcvi_mutator_format fcvi_fuzz_format = {.pdus = true, .trailer = 1};

static struct fcvi_profile elsewhere(void)
{
    struct fcvi_profile p = {.name = "elsewhere", .version = 2, .errors = {3, 1, 0}};
    static const uint16_t bits[] = {0x1F,   0x80,   0x20,   0x40,   0x0003, 0xFFFC,
                                    0x0001, 0x0010, 0x0100, 0x1000, 0x8000};
    memcpy(p.bits, bits, sizeof p.bits);
    for (unsigned i = 0; i < FCVI_PDU_COUNT; i++)
        p.types[i] = (uint8_t)(3 * i + 2);
    return p;
}

static void demand_findings(const struct fcvi_pdu *pdu, const struct fcvi_findings *findings)
{
    DEMAND((findings->count == 0) == (findings->worst == 0));
    for (size_t i = 0; i < findings->count && i < findings->capacity; i++) {
        const struct fcvi_finding *f = &findings->list[i];
        DEMAND(f->requirement != NULL && f->field != NULL && f->message != NULL && f->lo <= f->hi);
        DEMAND(findings->worst > f->cls && f->byte + f->size <= (pdu->there < 4 ? 4 : pdu->there));
    }
}

static void demand_parts(enum fcvi_stream_step step, const struct fcvi_pdu *pdu, size_t size)
{
    DEMAND(pdu->there <= size);
    DEMAND(step != FCVI_STREAM_MORE || (pdu->there == size && pdu->length > size));
    DEMAND(step != FCVI_STREAM_PDU || (pdu->there == pdu->length && pdu->length >= 24 && pdu->headers != 0));
    DEMAND(step != FCVI_STREAM_BROKEN || (pdu->length < 24 && pdu->headers == 0));
    DEMAND(pdu->headers == 0 || pdu->headers == 24 || pdu->headers == 40 || pdu->headers == 68);
    DEMAND((pdu->ce != NULL) == (pdu->headers == 68) && (pdu->rdma != NULL) == (pdu->headers == 40));
    DEMAND((pdu->data != NULL) == (pdu->headers != 0));
    DEMAND(pdu->headers == 0 ||
           (pdu->data == pdu->bytes + pdu->headers && pdu->data_length == (size_t)pdu->there - pdu->headers));
}

static void demand_encoded(const struct fcvi_pdu *pdu, enum fcvi_stream_step step)
{
    static uint8_t out[LONGEST];
    struct fcvi_values values;
    DEMAND((fcvi_pdu_values_of(pdu, &values) == 0) == (step == FCVI_STREAM_PDU));
    if (step != FCVI_STREAM_PDU)
        return;
    DEMAND(fcvi_pdu_encode(pdu->profile, &values, out, sizeof out) == pdu->length);
    DEMAND(memcmp(out, pdu->bytes, pdu->length) == 0);
    DEMAND(fcvi_pdu_encode(pdu->profile, &values, out, pdu->length - 1u) == 0);
}

static void demand_words(const struct fcvi_pdu *pdu, uint8_t choice)
{
    static char text[TEXT], part[TEXT];
    static size_t (*const printers[])(const struct fcvi_pdu *, char *, size_t) = {
        fcvi_pdu_print_text, fcvi_pdu_print_json, fcvi_pdu_print_summary};
    size_t length = printers[choice % 3](pdu, text, sizeof text), room = ((size_t)choice << 4) % (length + 2);
    DEMAND(length < sizeof text && strlen(text) == length);
    for (const char *c = text; *c != '\0'; c++)
        DEMAND((*c >= ' ' && *c <= '~') || *c == '\n');
    part[room] = GUARD;
    DEMAND(printers[choice % 3](pdu, part, room) == length && part[room] == GUARD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fcvi_finding list[MOST_FINDINGS];
    struct fcvi_pdu pdu, quiet;
    if (size < 1 || size > LONGEST)
        return 0;
    uint8_t tail = data[--size];
    struct fcvi_findings findings = {list, 1 + tail % MOST_FINDINGS, 0, 0};
    struct fcvi_profile other = elsewhere();
    DEMAND(fcvi_profile_problem(&other) == NULL);
    const struct fcvi_profile *profile = tail < 192 ? fcvi_profile_t0() : &other;
    enum fcvi_stream_step step = fcvi_pdu_first(profile, data, size, &pdu, &findings);
    DEMAND(fcvi_pdu_first(profile, data, size, &quiet, NULL) == step && quiet.pdu == pdu.pdu &&
           quiet.length == pdu.length && quiet.there == pdu.there && quiet.data == pdu.data);
    demand_parts(step, &pdu, size);
    demand_findings(&pdu, &findings);
    demand_encoded(&pdu, step);
    demand_words(&pdu, tail);
    return 0;
}
