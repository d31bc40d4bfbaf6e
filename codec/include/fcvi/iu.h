/* The Information Units of Table 1 and the masks of IUs that the field table uses (clause 5.1). */
#ifndef FCVI_IU_H
#define FCVI_IU_H

#include <fcvi/codes.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One line per row of Table 1, in its order:
 * IU(ident, opcode, R_CTL, Device_Header size, has payload, category) */
#define FCVI_IU_TABLE(IU)                                                                                    \
    IU(SEND_RQST, 0x00, FCVI_R_CTL_SOLICITED_DATA, 32, 1, MSG_RQST)                                          \
    IU(WRITE_RQST, 0x01, FCVI_R_CTL_SOLICITED_DATA, 32, 1, MSG_RQST)                                         \
    IU(READ_RQST, 0x02, FCVI_R_CTL_UNSOLICITED_COMMAND, 32, 0, MSG_RQST)                                     \
    IU(SEND_RESP, 0x08, FCVI_R_CTL_COMMAND_STATUS, 16, 0, MSG_RESP)                                          \
    IU(WRITE_RESP, 0x09, FCVI_R_CTL_COMMAND_STATUS, 16, 0, MSG_RESP)                                         \
    IU(READ_RESP, 0x0A, FCVI_R_CTL_SOLICITED_DATA, 32, 1, MSG_RESP)                                          \
    IU(CONNECT_RQST, 0x10, FCVI_R_CTL_UNSOLICITED_CONTROL, 32, 1, CONNECT_RQST)                              \
    IU(DISCONNECT_RQST, 0x12, FCVI_R_CTL_UNSOLICITED_CONTROL, 32, 0, DISCONNECT)                             \
    IU(CONNECT_RESP1, 0x18, FCVI_R_CTL_SOLICITED_CONTROL, 32, 1, CONN_RESP)                                  \
    IU(CONNECT_RESP2, 0x19, FCVI_R_CTL_SOLICITED_CONTROL, 32, 0, CONN_RESP)                                  \
    IU(CONNECT_RESP3, 0x1A, FCVI_R_CTL_SOLICITED_CONTROL, 32, 0, CONN_RESP)                                  \
    IU(DISCONNECT_RESP, 0x1B, FCVI_R_CTL_SOLICITED_CONTROL, 32, 0, DISCONNECT)

enum fcvi_iu {
#define FCVI_IU_ENUM(ident, opcode, r_ctl, dh, payload, category) FCVI_IU_##ident,
    FCVI_IU_TABLE(FCVI_IU_ENUM)
#undef FCVI_IU_ENUM
        FCVI_IU_COUNT,
    FCVI_IU_NONE = FCVI_IU_COUNT /* not an FC-VI IU, or an opcode that Table 1 does not have */
};

enum fcvi_opcode {
#define FCVI_OPCODE_ENUM(ident, opcode, r_ctl, dh, payload, category) FCVI_OP_##ident = (opcode),
    FCVI_IU_TABLE(FCVI_OPCODE_ENUM)
#undef FCVI_OPCODE_ENUM
};

#define FCVI_TYPE ((unsigned)FCVI_TYPE_FC_VI) /* 5.8.3 */
#define FCVI_UNASSIGNED                                                                                      \
    0xFFFFFFFFu                    /* FCVI_HANDLE or FCVI_CONNECTION_ID not assigned (5.9.2, 5.9.10, E12)    \
                                    */
#define FCVI_REVISION_2007 0x0001u /* 6.8.3 */
#define FC_X_ID_UNASSIGNED 0xFFFFu

/* Masks over enum fcvi_iu; bit FCVI_IU_COUNT stands for "no such opcode". */
#define FCVI_BIT(ident) (1u << FCVI_IU_##ident)
#define FCVI_IUS_ALL 0x1FFFu
#define FCVI_IUS_MSG_RQST (FCVI_BIT(SEND_RQST) | FCVI_BIT(WRITE_RQST) | FCVI_BIT(READ_RQST))
#define FCVI_IUS_MSG_RESP (FCVI_BIT(SEND_RESP) | FCVI_BIT(WRITE_RESP) | FCVI_BIT(READ_RESP))
#define FCVI_IUS_CONNECT_RQST FCVI_BIT(CONNECT_RQST)
#define FCVI_IUS_CONNECT_RESP1 FCVI_BIT(CONNECT_RESP1)
#define FCVI_IUS_CONN_RESP (FCVI_BIT(CONNECT_RESP1) | FCVI_BIT(CONNECT_RESP2) | FCVI_BIT(CONNECT_RESP3))
#define FCVI_IUS_DISCONNECT (FCVI_BIT(DISCONNECT_RQST) | FCVI_BIT(DISCONNECT_RESP))
#define FCVI_IUS_CONNECTION (FCVI_IUS_CONNECT_RQST | FCVI_IUS_CONN_RESP | FCVI_IUS_DISCONNECT)
#define FCVI_IUS_STATUS (FCVI_IUS_CONN_RESP | FCVI_IUS_DISCONNECT)
#define FCVI_IUS_NO_STATUS (FCVI_IUS_ALL & ~FCVI_IUS_STATUS)
#define FCVI_IUS_DH16 (FCVI_BIT(SEND_RESP) | FCVI_BIT(WRITE_RESP))
#define FCVI_IUS_DH32 (FCVI_IUS_ALL & ~FCVI_IUS_DH16)
#define FCVI_IUS_DH32_MSG (FCVI_IUS_DH32 & (FCVI_IUS_MSG_RQST | FCVI_IUS_MSG_RESP))

/** The IU of an FCVI_OPCODE; FCVI_IU_NONE for a value that Table 1 does not have. */
enum fcvi_iu fcvi_iu_of_opcode(uint8_t opcode);

#ifdef __cplusplus
}
#endif

#endif
