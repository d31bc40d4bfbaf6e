/* PDUs in words and as JSON, driven by the field table and the profile. */
#include "../core/table.h"
#include "../core/text.h"
#include "vitcp.h"

#include <inttypes.h>

static const char *title(const struct fcvi_pdu *s)
{
    enum { KNOWN = FCVI_SEG_Segment_Length_BYTE + 2 };
    if (s->headers == 0)
        return s->there < KNOWN || s->length >= FCVI_SEG_LENGTH ? "part of a PDU" : "not a PDU";
    return s->pdu != FCVI_PDU_NONE ? fcvi_pdu_name((enum fcvi_pdu_type)s->pdu) : "VI/TCP, unknown Type";
}

/* What a value means under the profile; NULL when it has no name. */
static const char *meaning(const struct fcvi_pdu *s, size_t index, uint64_t u)
{
    if (index == FCVI_INDEX_SEG_Type && s->pdu != FCVI_PDU_NONE)
        return fcvi_pdu_name((enum fcvi_pdu_type)s->pdu);
    for (unsigned i = 0; index == FCVI_INDEX_SEG_VI_Error_Type && i < FCVI_VI_ERROR_COUNT; i++)
        if (s->profile->errors[i] == u)
            return fcvi_vi_error_name((enum fcvi_vi_error)i);
    return NULL;
}

/* A Discriminator of printable characters, without what ends it; 0 when it is none. */
static size_t words_of(const struct fcvi_pdu *s, const struct fcvi_value *v)
{
    uint64_t length = 0;
    if (v->field == FCVI_INDEX_CE_Calling_Discriminator)
        length = fcvi_CE_Calling_Discriminator_Length(s->ce);
    if (v->field == FCVI_INDEX_CE_Called_Discriminator)
        length = fcvi_CE_Called_Discriminator_Length(s->ce);
    if (length > VITCP_MOST_DISCRIMINATOR)
        return 0;
    while (length > 0 && v->bytes[length - 1] == 0)
        length--;
    for (size_t i = 0; i < length; i++)
        if (v->bytes[i] < ' ' || v->bytes[i] > '~')
            return 0;
    return (size_t)length;
}

static void text_of_value(struct fcvi_text *t, const struct fcvi_pdu *s, const struct fcvi_field *row,
                          const struct fcvi_value *v)
{
    fcvi_say_field(t, row, v->base);
    if (row->kind == FCVI_F_BLOB) {
        size_t length = words_of(s, v);
        fcvi_say_bytes(t, v->bytes, row->size);
        if (length > 0)
            fcvi_say(t, "  \"%.*s\"", (int)length, (const char *)v->bytes);
    } else {
        const char *name = meaning(s, v->field, v->u);
        fcvi_say_number(t, row, v->u);
        if (name != NULL) {
            fcvi_say_text(t, "  ");
            fcvi_say_text(t, name);
        }
    }
    fcvi_say_text(t, "\n");
}

size_t fcvi_pdu_print_text(const struct fcvi_pdu *s, char *out, size_t capacity)
{
    struct fcvi_text t = {out, capacity, 0};
    struct fcvi_values values;
    size_t count;
    const struct fcvi_structure_info *structures = fcvi_structure_table(&count);
    bool whole = fcvi_pdu_values_of(s, &values) == 0;
    fcvi_say(&t, "%s, %u bytes%s, profile %s\n", title(s), s->there, whole ? "" : " (not whole)",
             s->profile->name);
    if (!whole) {
        fcvi_say(&t, "     0       bytes                        ");
        fcvi_say_hex(&t, s->bytes, s->there);
        fcvi_say(&t, "\n");
        return t.length;
    }
    unsigned structure = FCVI_S_COUNT;
    for (size_t i = 0; i < values.count; i++) {
        const struct fcvi_value *v = &values.list[i];
        struct fcvi_field row = fcvi_profile_row(s->profile, v->field);
        if (row.structure != structure)
            fcvi_say(&t, " %s (%s)\n", structures[row.structure].name, structures[row.structure].clause);
        structure = row.structure;
        if (row.kind != FCVI_F_RSVD || v->u != 0)
            text_of_value(&t, s, &row, v);
    }
    if (values.rest_length > 0) {
        fcvi_say(&t, " %zu bytes of %s\n  %4zu       data                         ", values.rest_length,
                 s->ce != NULL ? "Security Information" : "data", values.rest_offset);
        fcvi_say_hex(&t, values.rest, values.rest_length);
        fcvi_say(&t, "\n");
    }
    return t.length;
}

size_t fcvi_pdu_print_json(const struct fcvi_pdu *s, char *out, size_t capacity)
{
    struct fcvi_text t = {out, capacity, 0};
    struct fcvi_values values;
    size_t count;
    const struct fcvi_structure_info *structures = fcvi_structure_table(&count);
    bool whole = fcvi_pdu_values_of(s, &values) == 0;
    if (!whole)
        values = (struct fcvi_values){.rest = s->bytes, .rest_length = s->there};
    fcvi_say(&t, s->pdu != FCVI_PDU_NONE ? "{\"pdu\":\"%s\"" : "{\"pdu\":null",
             fcvi_pdu_name((enum fcvi_pdu_type)s->pdu));
    fcvi_say(&t, ",\"title\":\"%s\",\"profile\":\"%s\",\"length\":%u,\"whole\":%s,\"fields\":[", title(s),
             s->profile->name, s->there, whole ? "true" : "false");
    for (size_t i = 0; i < values.count; i++) {
        const struct fcvi_value *v = &values.list[i];
        struct fcvi_field row = fcvi_profile_row(s->profile, v->field);
        const struct fcvi_value_words w = {structures[row.structure].name, NULL, meaning(s, v->field, v->u),
                                           (const char *)v->bytes, words_of(s, v)};
        fcvi_say(&t, i > 0 ? "," : "");
        fcvi_say_json(&t, &row, v, &w);
    }
    fcvi_say(&t, "],\"data\":{\"byte\":%u,\"length\":%" PRIu32 "},\"rest\":{\"byte\":%zu,\"hex\":\"",
             s->headers, s->data_length, values.rest_offset);
    fcvi_say_hex(&t, values.rest, values.rest_length);
    fcvi_say(&t, "\"}}");
    return t.length;
}

/* ---- one line ---- */

static uint64_t get(const struct fcvi_pdu *s, enum fcvi_profile_field field, const uint8_t *structure)
{
    return fcvi_profile_get(s->profile, field, structure);
}

static void summarize_headers(struct fcvi_text *t, const struct fcvi_pdu *s)
{
    static const struct {
        enum fcvi_profile_field field;
        const char *word;
    } attributes[] = {{FCVI_P_CE_Reliable, "RELIABLE"},
                      {FCVI_P_CE_RDMA_Write_Enable, "WRITE"},
                      {FCVI_P_CE_RDMA_Read_Enable, "READ"},
                      {FCVI_P_CE_Flow_Control, "FLOW-CONTROL"},
                      {FCVI_P_CE_Peer_to_Peer, "PEER"}};
    if (s->rdma != NULL)
        fcvi_say(t, " ADDRESS %016" PRIX64 " HANDLE %08" PRIX64 " LEN %" PRIu64,
                 fcvi_RDMA_RDMA_Address(s->rdma), fcvi_RDMA_Registered_Memory_Handle(s->rdma),
                 fcvi_RDMA_RDMA_Length(s->rdma));
    if (s->ce == NULL)
        return;
    fcvi_say(t, " MTU %" PRIu64 " WINDOW %" PRIu64, fcvi_CE_MTU_Size(s->ce),
             fcvi_CE_Calling_RDMA_Read_Window(s->ce));
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        if (get(s, attributes[i].field, s->ce) != 0)
            fcvi_say(t, " %s", attributes[i].word);
}

size_t fcvi_pdu_print_summary(const struct fcvi_pdu *s, char *out, size_t capacity)
{
    struct fcvi_text t = {out, capacity, 0};
    fcvi_say(&t, "%s", title(s));
    if (s->headers == 0) {
        fcvi_say(&t, ", %u bytes", s->there);
        return t.length;
    }
    const uint8_t *h = s->bytes;
    if (!fcvi_pdu_takes_ce((enum fcvi_pdu_type)s->pdu) && s->pdu != FCVI_PDU_NOP)
        fcvi_say(&t, " MSG %" PRIu64 " OFFSET %" PRIu64 " DATA %" PRIu32, fcvi_SEG_Message_Number(h),
                 fcvi_SEG_Data_Offset(h), s->data_length);
    summarize_headers(&t, s);
    fcvi_say(&t, " ACK %" PRIu64 " RX %" PRIu64, fcvi_SEG_Message_ACK(h), fcvi_SEG_Rx_Descriptors_Posted(h));
    if (get(s, FCVI_P_SEG_Immediate_Data_Valid, h) != 0)
        fcvi_say(&t, " IMMEDIATE");
    if (get(s, FCVI_P_SEG_End_of_Message, h) != 0)
        fcvi_say(&t, " END");
    if (get(s, FCVI_P_SEG_Transmit_Error, h) != 0)
        fcvi_say(&t, " TRANSMIT-ERROR");
    uint64_t error = get(s, FCVI_P_SEG_VI_Error_Type, h), code = get(s, FCVI_P_SEG_IS_Error_Code, h);
    if (error != s->profile->errors[FCVI_VI_ERROR_NONE] || code != 0)
        fcvi_say(&t, " ERROR %" PRIu64 " CODE %" PRIu64, error, code);
    return t.length;
}
