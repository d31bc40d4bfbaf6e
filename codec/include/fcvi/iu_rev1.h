/* The Information Units of FC-VI Rev 1.0 (1999), its Table 1 (5.1). They have the names of enum fcvi_iu;
 * there is no FCVI_CONNECT_RESP3. */
#ifndef FCVI_IU_REV1_H
#define FCVI_IU_REV1_H

#include <fcvi/iu.h>

/** The editions of FC-VI that the codec knows. */
enum fcvi_edition {
    FCVI_EDITION_2007, /* ISO/IEC 14165-331:2007 */
    FCVI_EDITION_REV1, /* the working draft Rev 1.0 of 1999 */
    FCVI_EDITION_COUNT
};

/* One line per row, in its order: IU(ident, opcode, R_CTL, Device_Header size, has payload, requirement of
 * the encoding) */
#define FCVI_REV1_IU_TABLE(IU)                                                                               \
    IU(SEND_RQST, 0x00, FCVI_R_CTL_SOLICITED_DATA, 16, 1, "REV1-5.1-05")                                     \
    IU(WRITE_RQST, 0x01, FCVI_R_CTL_SOLICITED_DATA, 32, 1, "REV1-5.7-01")                                    \
    IU(READ_RQST, 0x02, FCVI_R_CTL_UNSOLICITED_COMMAND, 32, 0, "REV1-5.7-01")                                \
    IU(SEND_RESP, 0x08, FCVI_R_CTL_COMMAND_STATUS, 16, 0, "REV1-5.7-01")                                     \
    IU(WRITE_RESP, 0x09, FCVI_R_CTL_COMMAND_STATUS, 16, 0, "REV1-5.7-01")                                    \
    IU(READ_RESP, 0x0A, FCVI_R_CTL_SOLICITED_DATA, 16, 1, "REV1-5.1-06")                                     \
    IU(CONNECT_RQST, 0x10, FCVI_R_CTL_UNSOLICITED_CONTROL, 16, 1, "REV1-5.1-07")                             \
    IU(DISCONNECT_RQST, 0x12, FCVI_R_CTL_UNSOLICITED_CONTROL, 16, 0, "REV1-5.1-07")                          \
    IU(CONNECT_RESP1, 0x18, FCVI_R_CTL_SOLICITED_CONTROL, 16, 1, "REV1-5.1-07")                              \
    IU(CONNECT_RESP2, 0x19, FCVI_R_CTL_SOLICITED_CONTROL, 16, 0, "REV1-5.1-07")                              \
    IU(DISCONNECT_RESP, 0x1A, FCVI_R_CTL_SOLICITED_CONTROL, 16, 0, "REV1-5.1-08")

/* Masks over enum fcvi_iu, as those of iu.h */
#define FCVI_IUS_REV1_RQST (FCVI_BIT(CONNECT_RQST) | FCVI_BIT(DISCONNECT_RQST))
#define FCVI_IUS_REV1_STATUS (FCVI_IUS_CONN_RESP | FCVI_BIT(DISCONNECT_RESP))
#define FCVI_IUS_REV1_NO_STATUS (FCVI_IUS_ALL & ~FCVI_IUS_REV1_STATUS)
#define FCVI_IUS_REV1_DH32 (FCVI_BIT(WRITE_RQST) | FCVI_BIT(READ_RQST))

#endif
