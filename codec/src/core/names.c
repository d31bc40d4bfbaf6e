/* Names of the standard and of this codec. */
#include <fcvi/codec.h>

#include "table.h"
#include "version.h"

enum fcvi_iu fcvi_iu_of_opcode(uint8_t opcode)
{
    switch (opcode) {
#define IU_CASE(ident, code, r_ctl, dh, payload, category)                                                   \
    case code:                                                                                               \
        return FCVI_IU_##ident;
        FCVI_IU_TABLE(IU_CASE)
#undef IU_CASE
    default:
        return FCVI_IU_NONE;
    }
}

const char *fcvi_iu_name(enum fcvi_iu iu)
{
    static const char *const names[] = {
#define IU_NAME(ident, opcode, r_ctl, dh, payload, category) "FCVI_" #ident,
        FCVI_IU_TABLE(IU_NAME)
#undef IU_NAME
            ""};
    return names[iu <= FCVI_IU_NONE ? iu : FCVI_IU_NONE];
}

const char *fcvi_kind_name(enum fcvi_kind kind)
{
    static const char *const names[] = {"malformed", "iu", "bls", "link_control", "els", "other"};
    return kind <= FCVI_KIND_OTHER ? names[kind] : "";
}

const char *fcvi_class_name(enum fcvi_class cls)
{
    static const char *const names[] = {"notice", "violation", "malformed"};
    return cls <= FCVI_MALFORMED ? names[cls] : "";
}

const char *fcvi_code_name(const struct fcvi_code *codes, uint64_t value)
{
    for (; codes != NULL && codes->name != NULL; codes++)
        if (codes->value == value)
            return codes->name;
    return NULL;
}

const char *fcvi_reason_name(uint8_t reason)
{
    size_t count;
    const struct fcvi_field *field = &fcvi_field_table(&count)[FCVI_INDEX_DH_Reason_Code];
    const char *name = fcvi_code_name(field->codes, reason);
    if (name != NULL)
        return name;
    return reason >= 0xF0 ? "Vendor Unique Error" : "Reserved";
}

const char *fcvi_version(void)
{
    return FCVI_VERSION;
}
