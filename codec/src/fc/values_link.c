/* The payloads of Extended Link Services and of the Name Server as values: which structures follow the
 * command word or the CT header (FC-FS, RFC 2625, FC-GS). */
#include "../core/assert.h"
#include "../core/values.h"
#include "fc.h"

enum { NAME_SERVER = 0x02 }; /* GS_Subtype of the Directory Service (FC-GS) */
enum { FREE_LEAVES = 4 };
enum { PROCESS_PAGE = 16 }; /* bytes of a page of PRLI and PRLO (FC-LS) */

/* What follows the command word; in_reply: the LS_ACC has the same. */
static const struct body {
    uint8_t command, structure;
    bool in_reply;
} bodies[] = {
    {FCVI_ELS_LS_RJT, FCVI_S_LS_RJT, false},   {FCVI_ELS_PLOGI, FCVI_S_LOGIN, true},
    {FCVI_ELS_FLOGI, FCVI_S_LOGIN, true},      {FCVI_ELS_PDISC, FCVI_S_LOGIN, true},
    {FCVI_ELS_FDISC, FCVI_S_LOGIN, true},      {FCVI_ELS_LOGO, FCVI_S_LOGO, false},
    {FCVI_ELS_RRQ, FCVI_S_RRQ, false},         {FCVI_ELS_REC, FCVI_S_RRQ, false},
    {FCVI_ELS_ADISC, FCVI_S_ADISC, true},      {FCVI_ELS_FARP_REQ, FCVI_S_FARP, false},
    {FCVI_ELS_FARP_REPLY, FCVI_S_FARP, false}, {FCVI_ELS_FAN, FCVI_S_FAN, false},
    {FCVI_ELS_SCR, FCVI_S_SCR, false},
};

/* Structure and its length; NULL when nothing is known of the command. */
static const struct body *body_of(uint16_t command, bool reply)
{
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        if (bodies[i].command == command && (bodies[i].in_reply || !reply))
            return &bodies[i];
    return NULL;
}

static size_t length_of(unsigned structure)
{
    size_t count;
    return fcvi_structure_table(&count)[structure].length;
}

size_t fcvi_els_page(uint16_t command)
{
    if (command == FCVI_ELS_RSCN)
        return FCVI_RSCN_PAGE_LENGTH;
    return command == FCVI_ELS_PRLI || command == FCVI_ELS_PRLO ? PROCESS_PAGE : 0;
}

size_t fcvi_els_least(uint16_t command)
{
    const struct body *body = body_of(command, false);
    return FCVI_ELS_LENGTH + (body == NULL ? fcvi_els_page(command) : length_of(body->structure));
}

/* Pages of an RSCN, as many as it says itself that there are; what finds no room stays with the rest. */
static size_t take_pages(struct fcvi_values *out, const uint8_t *bytes, size_t base, size_t end)
{
    FCVI_ASSERT(base >= FCVI_ELS_LENGTH && base <= end);
    const uint8_t *els = bytes + base - FCVI_ELS_LENGTH;
    uint64_t word = fcvi_ELS_ELS_Word_0(els);
    size_t said = base - FCVI_ELS_LENGTH + (word & 0xFFFF);
    if (word >> 16 != FCVI_RSCN_PAGE_LENGTH)
        return base;
    end = said < end ? said : end;
    while (base + FCVI_RSCN_PAGE_LENGTH <= end && out->count + FREE_LEAVES <= FCVI_MAX_VALUES) {
        fcvi_take(out, FCVI_S_RSCN_PAGE, FCVI_IU_NONE, base, bytes);
        base += FCVI_RSCN_PAGE_LENGTH;
    }
    return base;
}

size_t fcvi_take_els(struct fcvi_values *out, const struct fcvi_frame *frame, size_t base)
{
    const uint8_t *bytes = frame->input.bytes;
    size_t end = base + frame->payload_length;
    FCVI_ASSERT(end <= frame->input.length);
    if (frame->payload_length < FCVI_ELS_LENGTH)
        return base;
    fcvi_take(out, FCVI_S_ELS, FCVI_IU_NONE, base, bytes);
    uint16_t command = (uint16_t)fcvi_ELS_ELS_Command(bytes + base);
    base += FCVI_ELS_LENGTH;
    bool reply = command == FCVI_ELS_LS_ACC;
    if (reply) /* an LS_ACC of their length has Service Parameters when nobody knows what it answers */
        command = frame->answers == 0 ? FCVI_ELS_PLOGI : frame->answers;
    if (command == FCVI_ELS_RSCN && !reply)
        return take_pages(out, bytes, base, end);
    const struct body *body = body_of(command, reply);
    if (body == NULL || end - base < length_of(body->structure))
        return base;
    fcvi_take(out, (enum fcvi_structure)body->structure, FCVI_IU_NONE, base, bytes);
    return base + length_of(body->structure);
}

/* ---- FC-CT ---- */

/* Only the first frame of a CT_IU has the header; without a SOF, SEQ_CNT has to tell. */
bool fcvi_has_ct(const struct fcvi_frame *frame)
{
    const uint8_t *fc = frame->fc;
    if (frame->kind != FCVI_KIND_OTHER || fcvi_FC_TYPE(fc) != FCVI_TYPE_CT || fcvi_FC_ESP_Header(fc))
        return false;
    bool first =
        frame->input.sof != FCVI_SOF_NONE ? fcvi_sof_initiates(frame->input.sof) : fcvi_FC_SEQ_CNT(fc) == 0;
    uint64_t r_ctl = fcvi_FC_R_CTL(fc);
    return first && (r_ctl == FCVI_R_CTL_UNSOLICITED_CONTROL || r_ctl == FCVI_R_CTL_SOLICITED_CONTROL) &&
           frame->payload_length >= FCVI_CT_LENGTH;
}

bool fcvi_is_name_server(const uint8_t *ct)
{
    return fcvi_CT_GS_Type(ct) == FCVI_GS_TYPE_DIRECTORY_SERVICE && fcvi_CT_GS_Subtype(ct) == NAME_SERVER;
}

/* The list that accepts GID_IPP: its last entry says so. */
static size_t take_ports(struct fcvi_values *out, const uint8_t *bytes, size_t base, size_t end)
{
    bool more = true;
    while (more && base + FCVI_PORT_ID_LENGTH <= end && out->count + FREE_LEAVES <= FCVI_MAX_VALUES) {
        fcvi_take(out, FCVI_S_PORT_ID, FCVI_IU_NONE, base, bytes);
        more = (fcvi_PORT_ID_PORT_ID_Control(bytes + base) & FCVI_PORT_ID_CONTROL_LAST) == 0;
        base += FCVI_PORT_ID_LENGTH;
    }
    return base;
}

size_t fcvi_take_ct(struct fcvi_values *out, const struct fcvi_frame *frame, size_t base)
{
    const uint8_t *bytes = frame->input.bytes, *ct = frame->payload;
    size_t end = base + frame->payload_length;
    FCVI_ASSERT(end <= frame->input.length && frame->payload_length >= FCVI_CT_LENGTH);
    fcvi_take(out, FCVI_S_CT, FCVI_IU_NONE, base, bytes);
    base += FCVI_CT_LENGTH;
    uint64_t command = fcvi_CT_CT_Command(ct);
    if (!fcvi_is_name_server(ct))
        return base;
    if (command == FCVI_CT_COMMAND_CT_ACC && frame->answers == FCVI_CT_COMMAND_GID_IPP)
        return take_ports(out, bytes, base, end);
    if (command == FCVI_CT_COMMAND_GID_IPP && end - base >= FCVI_GID_IPP_LENGTH) {
        fcvi_take(out, FCVI_S_GID_IPP, FCVI_IU_NONE, base, bytes);
        base += FCVI_GID_IPP_LENGTH;
    }
    return base;
}
