/* What a frame is called, and what a value of it means. */
#include "../core/table.h"
#include "fc.h"

static const char *els_name(const struct fcvi_frame *frame)
{
    size_t count;
    const struct fcvi_field *field = &fcvi_field_table(&count)[FCVI_INDEX_ELS_ELS_Command];
    const char *name = frame->payload_length > 0 ? fcvi_code_name(field->codes, frame->payload[0]) : NULL;
    return name != NULL ? name : "ELS";
}

/* The commands and explanations in the table are those of the Name Server; other services of FC-GS give the
 * same numbers another meaning. */
static bool has_meaning(const struct fcvi_frame *frame, size_t index, uint64_t u)
{
    enum { RESPONSES = 0x8000 };
    if (index == FCVI_INDEX_CT_CT_Command && u >= RESPONSES)
        return true;
    return (index != FCVI_INDEX_CT_CT_Command && index != FCVI_INDEX_CT_CT_Explanation) ||
           fcvi_is_name_server(frame->payload);
}

const char *fcvi_meaning(const struct fcvi_frame *frame, const struct fcvi_field *field, uint64_t u)
{
    size_t index = (size_t)(field - fcvi_field_table(&(size_t){0}));
    const char *name = has_meaning(frame, index, u) ? fcvi_code_name(field->codes, u) : NULL;
    if (name == NULL && index == FCVI_INDEX_DH_Reason_Code && u != 0)
        return fcvi_reason_name((uint8_t)u);
    if (name == NULL && index == FCVI_INDEX_DH_REV1_Reason_Code && u != 0)
        return "Reserved"; /* Table 10 of Rev 1.0 */
    return name;
}

static const char *ct_name(const struct fcvi_frame *frame)
{
    size_t count;
    const struct fcvi_field *field = &fcvi_field_table(&count)[FCVI_INDEX_CT_CT_Command];
    const char *name = fcvi_meaning(frame, field, fcvi_CT_CT_Command(frame->payload));
    return name != NULL ? name : "FC-CT";
}

const char *fcvi_title(const struct fcvi_frame *frame)
{
    size_t count;
    const struct fcvi_field *table = fcvi_field_table(&count);
    const char *name = NULL;
    switch (frame->kind) {
    case FCVI_KIND_MALFORMED:
        return "not a frame";
    case FCVI_KIND_IU:
        return frame->iu != FCVI_IU_NONE ? fcvi_iu_name((enum fcvi_iu)frame->iu) : "FC-VI, unknown IU";
    case FCVI_KIND_ELS:
        return els_name(frame);
    case FCVI_KIND_OTHER:
        if (fcvi_has_ct(frame))
            return ct_name(frame);
        name = fcvi_code_name(table[FCVI_INDEX_FC_TYPE].codes, fcvi_FC_TYPE(frame->fc));
        return name != NULL ? name : "other";
    default:
        name = fcvi_code_name(table[FCVI_INDEX_FC_R_CTL].codes, fcvi_FC_R_CTL(frame->fc));
        return name != NULL ? name : "link service";
    }
}
