/* Frames in words and as JSON, driven by the field table. */
#include "../core/assert.h"
#include "../core/table.h"
#include "../core/text.h"
#include "fc.h"
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- names of the frame as a whole ---- */

static const char *sof_name(uint8_t sof)
{
    switch (sof) {
    case FCVI_SOF_I2:
        return "i2";
    case FCVI_SOF_N2:
        return "n2";
    case FCVI_SOF_I3:
        return "i3";
    case FCVI_SOF_N3:
        return "n3";
    case FCVI_SOF_F:
        return "f";
    default:
        return sof == FCVI_SOF_NONE ? "" : "other";
    }
}

static const char *eof_name(uint8_t eof)
{
    switch (eof) {
    case FCVI_EOF_N:
        return "n";
    case FCVI_EOF_T:
        return "t";
    case FCVI_EOF_NI:
        return "ni";
    case FCVI_EOF_DTI:
        return "dti";
    case FCVI_EOF_RTI:
        return "rti";
    case FCVI_EOF_A:
        return "a";
    default:
        return eof == FCVI_EOF_NONE ? "" : "other";
    }
}

static const char *crc_name(uint8_t crc)
{
    static const char *const names[] = {"absent", "ok", "bad"};
    return names[crc <= FCVI_CRC_BAD ? crc : FCVI_CRC_ABSENT];
}

static void say_two(struct fcvi_text *t, const char *first, const char *second)
{
    fcvi_say_text(t, first);
    fcvi_say_text(t, second);
}

/* ---- one value ---- */

static void text_of_value(struct fcvi_text *t, const struct fcvi_frame *frame, const struct fcvi_field *field,
                          const struct fcvi_value *v)
{
    if (field->kind == FCVI_F_BLOB) {
        char words[FCVI_WORDS_MAX];
        size_t length = fcvi_words_of_bytes(v, words);
        fcvi_say_field(t, field, v->base);
        fcvi_say_bytes(t, v->bytes, field->size);
        if (length > 0 && (v->field == FCVI_INDEX_ADDR_DISCRIM || v->field == FCVI_INDEX_ADDR_REV1_DISCRIM))
            fcvi_say(t, "  \"%.*s\"", (int)length, words);
        else if (length > 0)
            fcvi_say(t, "  %.*s", (int)length, words);
    } else {
        const char *meaning = fcvi_meaning(frame, field, v->u);
        fcvi_say_field(t, field, v->base);
        fcvi_say_number(t, field, v->u);
        if (meaning != NULL)
            say_two(t, "  ", meaning);
    }
    fcvi_say_text(t, "\n");
}

static void say_rest(struct fcvi_text *t, const char *before, const uint8_t *bytes, size_t length)
{
    fcvi_say_text(t, before);
    fcvi_say_hex(t, bytes, length);
    fcvi_say_text(t, "\n");
}

size_t fcvi_print_text(const struct fcvi_frame *frame, char *out, size_t capacity)
{
    struct fcvi_text t = {out, capacity, 0};
    struct fcvi_values values;
    size_t count;
    const struct fcvi_field *table = fcvi_field_table(&count);
    const struct fcvi_structure_info *structures = fcvi_structure_table(&count);
    say_two(&t, fcvi_title(frame), ", ");
    fcvi_say_decimal(&t, frame->input.length);
    fcvi_say_text(&t, " bytes");
    if (frame->edition != FCVI_EDITION_2007)
        fcvi_say(&t, ", %s", fcvi_edition_name((enum fcvi_edition)frame->edition));
    if (frame->input.sof != FCVI_SOF_NONE)
        say_two(&t, ", SOF", sof_name(frame->input.sof));
    if (frame->input.eof != FCVI_EOF_NONE)
        say_two(&t, ", EOF", eof_name(frame->input.eof));
    if (frame->input.crc != FCVI_CRC_ABSENT)
        fcvi_say(&t, ", CRC %s", crc_name(frame->input.crc));
    fcvi_say_text(&t, "\n");
    if (fcvi_values_of(frame, &values) != 0) {
        say_rest(&t, "     0       bytes                        ", frame->input.bytes, frame->input.length);
        return t.length;
    }
    unsigned structure = FCVI_S_COUNT, base = 0;
    struct fcvi_places places = {{0}};
    for (size_t i = 0; i < values.count; i++) {
        const struct fcvi_value *v = &values.list[i];
        const struct fcvi_field *field = &table[v->field];
        if (field->structure != structure || v->base != base) {
            const char *place = fcvi_place_of(&places, field->structure, v->base);
            const struct fcvi_structure_info *info = &structures[field->structure];
            bool named = place != NULL && strcmp(place, info->name) != 0;
            say_two(&t, " ", named ? place : "");
            say_two(&t, named ? ": " : "", info->name);
            say_two(&t, " (", info->clause);
            fcvi_say_text(&t, ")\n");
        }
        structure = field->structure;
        base = v->base;
        bool silent = field->kind == FCVI_F_RSVD && v->u == 0;
        if (!silent)
            text_of_value(&t, frame, field, v);
    }
    if (values.rest_length > 0) {
        char before[64];
        snprintf(before, sizeof before, "  %4zu       data                         ", values.rest_offset);
        fcvi_say(&t, " %zu further bytes\n", values.rest_length);
        say_rest(&t, before, values.rest, values.rest_length);
    }
    return t.length;
}

size_t fcvi_print_json(const struct fcvi_frame *frame, char *out, size_t capacity)
{
    struct fcvi_text t = {out, capacity, 0};
    struct fcvi_values values;
    size_t count;
    const struct fcvi_field *table = fcvi_field_table(&count);
    const struct fcvi_structure_info *structures = fcvi_structure_table(&count);
    const struct fcvi_input *in = &frame->input;
    fcvi_say(&t, "{\"kind\":\"%s\",\"iu\":", fcvi_kind_name((enum fcvi_kind)frame->kind));
    fcvi_say(&t, frame->iu != FCVI_IU_NONE ? "\"%s\"" : "null", fcvi_iu_name((enum fcvi_iu)frame->iu));
    /* 2007 is the rule and is not said */
    if (frame->edition != FCVI_EDITION_2007)
        fcvi_say(&t, ",\"edition\":\"%s\"", fcvi_edition_name((enum fcvi_edition)frame->edition));
    fcvi_say(&t, ",\"title\":\"%s\",\"length\":%zu,\"sof\":\"%s\",\"eof\":\"%s\",\"crc\":\"%s\",\"fields\":[",
             fcvi_title(frame), in->length, sof_name(in->sof), eof_name(in->eof), crc_name(in->crc));
    if (fcvi_values_of(frame, &values) != 0)
        values = (struct fcvi_values){.rest = in->bytes, .rest_length = in->length};
    struct fcvi_places places = {{0}};
    const char *place = NULL;
    char words[FCVI_WORDS_MAX];
    for (size_t i = 0; i < values.count; i++) {
        const struct fcvi_value *v = &values.list[i];
        const struct fcvi_field *field = &table[v->field];
        fcvi_say(&t, i > 0 ? "," : "");
        if (i == 0 || field->structure != table[v[-1].field].structure || v->base != v[-1].base)
            place = fcvi_place_of(&places, field->structure, v->base);
        const bool blob = field->kind == FCVI_F_BLOB;
        const size_t length = blob ? fcvi_words_of_bytes(v, words) : 0;
        const struct fcvi_value_words w = {structures[field->structure].name, place,
                                           blob ? NULL : fcvi_meaning(frame, field, v->u), words, length};
        fcvi_say_json(&t, field, v, &w);
    }
    fcvi_say(&t, "],\"payload\":{\"byte\":%zu,\"length\":%u},\"rest\":{\"byte\":%zu,\"hex\":\"",
             frame->payload != NULL ? (size_t)(frame->payload - in->bytes) : 0, frame->payload_length,
             values.rest_offset);
    fcvi_say_hex(&t, values.rest, values.rest_length);
    fcvi_say(&t, "\"}}");
    return t.length;
}

/* ---- one line ---- */

static void say_digits(struct fcvi_text *t, const char *before, uint64_t u, unsigned width)
{
    fcvi_say_text(t, before);
    fcvi_say_digits(t, u, width);
}

static void summarize_iu(struct fcvi_text *t, const struct fcvi_frame *frame)
{
    const uint8_t *dh = frame->dh;
    unsigned bit = 1u << frame->iu;
    say_digits(t, " H ", fcvi_DH_FCVI_HANDLE(dh), 8);
    if (bit & (FCVI_IUS_MSG_RQST | FCVI_IUS_MSG_RESP))
        fcvi_say(t, " MSG %" PRIu64, fcvi_DH_FCVI_MSG_ID(dh));
    if (frame->dh_length < 32)
        return;
    if (bit & FCVI_IUS_CONNECTION)
        say_digits(t, " ID ", fcvi_DH_FCVI_CONNECTION_ID(dh), 8);
    else
        fcvi_say(t, " LEN %u/%" PRIu64, frame->payload_length, fcvi_DH_FCVI_TOT_LEN(dh));
    if ((bit & FCVI_IUS_CONNECT_RQST && fcvi_DH_RQST_RETRY(dh)) ||
        (bit & FCVI_IUS_CONN_RESP && fcvi_DH_RESP_RETRY(dh)))
        fcvi_say(t, " RETRY");
    if (bit & FCVI_IUS_DISCONNECT && fcvi_DH_CONN_SETUP_ABORT(dh))
        fcvi_say(t, " CONN_SETUP_ABORT");
    bool status = (bit & FCVI_IUS_CONN_RESP && fcvi_DH_CONN_STS(dh)) ||
                  (bit & FCVI_IUS_DISCONNECT && fcvi_DH_DISC_CONN_STS(dh));
    if (status)
        fcvi_say(t, " %02" PRIX64 "h %s", fcvi_DH_Reason_Code(dh),
                 fcvi_reason_name((uint8_t)fcvi_DH_Reason_Code(dh)));
}

static void summarize_rev1(struct fcvi_text *t, const struct fcvi_frame *frame)
{
    const uint8_t *dh = frame->dh;
    unsigned bit = 1u << frame->iu;
    fcvi_say(t, " H %08" PRIX64, fcvi_DH_REV1_VI_HANDLE(dh));
    if (bit & (FCVI_IUS_MSG_RQST | FCVI_IUS_MSG_RESP | FCVI_IUS_DISCONNECT))
        fcvi_say(t, " MSG %" PRIu64, fcvi_DH_REV1_VI_MSG_ID(dh));
    if (bit & (FCVI_IUS_MSG_RQST | FCVI_IUS_MSG_RESP))
        fcvi_say(t, " LEN %u", frame->payload_length);
    uint64_t reason = fcvi_DH_REV1_Reason_Code(dh);
    const struct fcvi_field *field = fcvi_field_row(FCVI_INDEX_DH_REV1_Reason_Code);
    if (bit & FCVI_IUS_REV1_STATUS && fcvi_DH_REV1_CONN_ERR(dh)) {
        const char *name = fcvi_code_name(field->codes, reason);
        fcvi_say(t, " %02" PRIX64 "h %s", reason, name != NULL ? name : "Reserved");
    }
    fcvi_say(t, " %s", fcvi_edition_name(FCVI_EDITION_REV1));
}

size_t fcvi_print_summary(const struct fcvi_frame *frame, char *out, size_t capacity)
{
    struct fcvi_text t = {out, capacity, 0};
    fcvi_say_text(&t, fcvi_title(frame));
    if (frame->kind != FCVI_KIND_MALFORMED) {
        const uint8_t *fc = frame->fc;
        say_digits(&t, " ", fcvi_FC_S_ID(fc), 6);
        say_digits(&t, ">", fcvi_FC_D_ID(fc), 6);
        say_digits(&t, " OX ", fcvi_FC_OX_ID(fc), 4);
        say_digits(&t, " RX ", fcvi_FC_RX_ID(fc), 4);
        fcvi_say_text(&t, " CNT ");
        fcvi_say_decimal(&t, fcvi_FC_SEQ_CNT(fc));
        if (frame->iu != FCVI_IU_NONE && frame->edition == FCVI_EDITION_REV1)
            summarize_rev1(&t, frame);
        else if (frame->iu != FCVI_IU_NONE)
            summarize_iu(&t, frame);
    }
    return t.length;
}
