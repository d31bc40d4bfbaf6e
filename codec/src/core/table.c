/* The field table as data, from fields.def. */
#include "../fc/codes_link.h"
#include "internal.h"

static const struct fcvi_code codes_R_CTL[] = {
    {0x00, "Uncategorized"},
    {0x01, "Solicited Data"},
    {0x02, "Unsolicited Control"},
    {0x03, "Solicited Control"},
    {0x04, "Unsolicited Data"},
    {0x05, "Data Descriptor"},
    {0x06, "Unsolicited Command"},
    {0x07, "Command Status"},
    {0x22, "ELS Request"},
    {0x23, "ELS Reply"},
    {0x32, "FC-4 LS Request"},
    {0x33, "FC-4 LS Reply"},
    {0x80, "NOP"},
    {0x81, "ABTS"},
    {0x82, "RMC"},
    {0x84, "BA_ACC"},
    {0x85, "BA_RJT"},
    {0x86, "PRMT"},
    {0xC0, "ACK_1"},
    {0xC1, "ACK_0"},
    {0xC2, "P_RJT"},
    {0xC3, "F_RJT"},
    {0xC4, "P_BSY"},
    {0xC5, "F_BSY to data"},
    {0xC6, "F_BSY to link control"},
    {0xC7, "LCR"},
    {0, NULL},
};
static const struct fcvi_code codes_TYPE[] = {
    {0x00, "Basic Link Service"},
    {0x01, "Extended Link Service"},
    {0x05, "IP over FC"},
    {0x08, "FCP"},
    {0x20, "FC-CT"},
    {0x22, "SW_ILS"},
    {0x28, "FC-NVMe"},
    {0x58, "FC-VI"},
    {0, NULL},
};
static const struct fcvi_code codes_ACK_FORM[] = {
    {0, "No assistance"}, {1, "ACK_1 required"}, {2, "Reserved"}, {3, "ACK_0 required"}, {0, NULL}};
static const struct fcvi_code codes_CONT_SEQ[] = {
    {0, "No information"}, {1, "Immediately"}, {2, "Soon"}, {3, "Delayed"}, {0, NULL}};
static const struct fcvi_code codes_DEVICE_HEADER[] = {
    {0, "None"}, {1, "16 bytes"}, {2, "32 bytes"}, {3, "64 bytes"}, {0, NULL}};
static const struct fcvi_code codes_OPCODE[] = {
#define OPCODE(ident, opcode, r_ctl, dh, payload, category) {opcode, "FCVI_" #ident},
    FCVI_IU_TABLE(OPCODE)
#undef OPCODE
        {0, NULL},
};
static const struct fcvi_code codes_CONN_MODE[] = {
    {1, "Client-Server Connect Request"}, {2, "Peer-to-Peer Connect Request"}, {0, NULL}};
static const struct fcvi_code codes_REASON[] = {
    {0x01, "No Discriminator Match"},
    {0x02, "Connect Timeout"},
    {0x03, "No Waiting Remote Connectionpoint"},
    {0x04, "Connect Reject"},
    {0x05, "Connect Reject - Concurrent Matching Peer Requests"},
    {0x20, "Connect Reject - Invalid Service Parm"},
    {0x21, "Connect Reject - Protocol Error"},
    {0x22, "Connect Reject - Transport Error"},
    {0x40, "Transport Error"},
    {0x41, "RDMA Protection Error"},
    {0x42, "Remote Descriptor Error"},
    {0x43, "Remote RDMA Write Protection Error"},
    {0x44, "Remote RDMA Write Data Error"},
    {0x45, "Remote RDMA Write Packet Abort"},
    {0x46, "Remote RDMA Transport Error"},
    {0x47, "Remote RDMA Read Protection Error"},
    {0x48, "Protocol Error"},
    {0x49, "Connection Setup Timeout"},
    {0x4A, "Connection Does Not Exist"},
    {0x4B, "Disconnect Accept"},
    {0, NULL},
};
static const struct fcvi_code codes_RELIABILITY[] = {
    {1, "Unreliable Delivery"}, {2, "Reliable Delivery"}, {3, "Reliable Reception"}, {0, NULL}};
static const struct fcvi_code codes_PREF[] = {
    {0x00, "Preference not used"}, {0x80, "Preference used"}, {0, NULL}};
static const struct fcvi_code codes_BA_RJT_REASON[] = {
    {0x01, "Invalid command code"},
    {0x03, "Logical error"},
    {0x05, "Logical busy"},
    {0x07, "Protocol error"},
    {0x09, "Unable to perform"},
    {0xFF, "Vendor unique"},
    {0, NULL},
};
static const struct fcvi_code codes_BA_RJT_EXPLANATION[] = {
    {0x00, "No additional explanation"},
    {0x03, "Invalid OX_ID/RX_ID combination"},
    {0x05, "Sequence aborted, no Sequence information"},
    {0, NULL},
};
#define codes_NONE NULL

static const struct fcvi_field fields[] = {
#define STRUCT(S, NAME, LENGTH, CLAUSE)
#define FIELD(S, F, NAME, BYTE, SIZE, HI, LO, KIND, VALUES, IUS, CLAUSE, REQ)                                \
    {#F,   NAME, CLAUSE, REQ, codes_##VALUES, FCVI_S_##S,    FCVI_S_COUNT,                                   \
     BYTE, SIZE, HI,     LO,  FCVI_F_##KIND,  FCVI_IUS_##IUS},
#define RSVD(S, F, BYTE, SIZE, HI, LO, IUS, CLAUSE, REQ)                                                     \
    {#F,   "Reserved", CLAUSE, REQ, NULL,        FCVI_S_##S,    FCVI_S_COUNT,                                \
     BYTE, SIZE,       HI,     LO,  FCVI_F_RSVD, FCVI_IUS_##IUS},
#define GROUP(S, F, NAME, BYTE, SIZE, IUS, CLAUSE)                                                           \
    {#F,   NAME, CLAUSE,       "", NULL,         FCVI_S_##S,    FCVI_S_COUNT,                                \
     BYTE, SIZE, 8 * (SIZE)-1, 0,  FCVI_F_GROUP, FCVI_IUS_##IUS},
#define BLOB(S, F, NAME, BYTE, SIZE, IUS, CLAUSE, REQ)                                                       \
    {#F, NAME, CLAUSE, REQ, NULL, FCVI_S_##S, FCVI_S_COUNT, BYTE, SIZE, 0, 0, FCVI_F_BLOB, FCVI_IUS_##IUS},
#define NEST(S, F, NAME, BYTE, SIZE, SUB, IUS, CLAUSE, REQ)                                                  \
    {#F, NAME, CLAUSE, REQ, NULL, FCVI_S_##S, FCVI_S_##SUB, BYTE, SIZE, 0, 0, FCVI_F_NEST, FCVI_IUS_##IUS},
#include <fcvi/fields.def>
#undef STRUCT
#undef FIELD
#undef RSVD
#undef GROUP
#undef BLOB
#undef NEST
    {.structure = FCVI_S_COUNT}, /* ends the last structure */
};

static const struct fcvi_structure_info structures[] = {
#define STRUCT(S, NAME, LENGTH, CLAUSE) {#S, NAME, CLAUSE, LENGTH, FCVI_FIRST_##S},
#define FIELD(...)
#define RSVD(...)
#define GROUP(...)
#define BLOB(...)
#define NEST(...)
#include <fcvi/fields.def>
#undef STRUCT
#undef FIELD
#undef RSVD
#undef GROUP
#undef BLOB
#undef NEST
};

const struct fcvi_field *fcvi_field_row(size_t index)
{
    return &fields[index];
}

const struct fcvi_field *fcvi_field_table(size_t *count)
{
    *count = sizeof fields / sizeof fields[0] - 1;
    return fields;
}

const struct fcvi_structure_info *fcvi_structure_table(size_t *count)
{
    *count = sizeof structures / sizeof structures[0];
    return structures;
}
