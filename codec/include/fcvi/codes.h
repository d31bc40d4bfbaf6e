/* The values that the standards give names, as constants: FCVI_<list>_<ident> of codes.def, say
 * FCVI_R_CTL_ABTS, FCVI_ELS_PLOGI, FCVI_LS_RJT_REASON_LOGICAL_ERROR or FCVI_REASON_CONNECT_REJECT. Opcodes
 * stand in iu.h. */
#ifndef FCVI_CODES_H
#define FCVI_CODES_H

enum fcvi_code_value {
#define CODES(LIST)
#define CODE(LIST, IDENT, VALUE, TEXT) FCVI_##LIST##_##IDENT = (VALUE),
#define CODES_END
#include <fcvi/codes.def>
    FCVI_CODES_ARE_BELOW = 0x10000
};

#endif
