/* Frames of every kind, made from nothing; a frame turned into another kind; lengths around those that
 * matter. */
#include "mutator_internal.h"

enum { FC = 24, LOGIN_PAYLOAD = 116, FARP_PAYLOAD = 76, CT_PAYLOAD = 32 };

static const uint8_t els_commands[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x12, 0x20,
                                       0x52, 0x54, 0x55, 0x60, 0x61, 0x62};
static const uint8_t link_controls[] = {0xC0, 0xC1, 0xC2, 0xC3, 0xC4, 0xC5};
static const uint8_t basic_links[] = {0x81, 0x84, 0x85};

static uint8_t any_of(const uint8_t *list, size_t count, uint64_t *random)
{
    return list[below(random, count)];
}

/* Bytes up to `size`, new ones zero or anything. */
static void stretch(struct buffer *b, size_t size, uint64_t *random)
{
    size = size < b->room ? size : b->room;
    if (size > b->size && one_in(random, 2))
        memset(b->bytes + b->size, 0, size - b->size);
    else
        for (size_t i = b->size; i < size; i += 8) {
            uint64_t eight = draw(random);
            memcpy(b->bytes + i, &eight, size - i < 8 ? size - i : 8);
        }
    b->size = size;
}

static void put_addresses(uint8_t *payload, uint64_t *random)
{
    for (size_t at = 12; at <= 160; at += 148) {
        uint8_t *address = payload + at;
        memset(address, 0, 148);
        fcvi_set_ADDR_HOST_ADD_LEN(address, 16);
        fcvi_set_ADDR_DISCRIM_LEN(address, one_in(random, 8) ? 128 : 16);
        address[4] = 0xFE;
        address[5] = 0x80;
        address[19] = (uint8_t)(1 + below(random, 3));
        memset(address + 20, (int)below(random, 3), 16);
    }
}

static void put_connect(struct buffer *b, uint64_t *random)
{
    uint8_t *payload = b->bytes + FC + 32;
    stretch(b, FC + 32 + (one_in(random, 4) ? 596 : 340), random);
    if (b->size < FC + 32 + 340)
        return;
    memset(payload, 0, 340);
    fcvi_set_CONN_FCVI_REVISION(payload, 1);
    fcvi_set_CONN_FCVI_RQST_HANDLE(payload, 1 + below(random, 4));
    put_addresses(payload, random);
    uint8_t *attributes = payload + 308;
    fcvi_set_ATTRS_FCVI_RELIABILITY_LVL(attributes, 1 + below(random, 3));
    fcvi_set_ATTRS_EnRdmaWr(attributes, below(random, 2));
    fcvi_set_ATTRS_FCVI_MAX_TRANS_SIZE(attributes, 1ULL << (10 + below(random, 10)));
}

static void put_connect_rev1(struct buffer *b, uint64_t *random)
{
    uint8_t *payload = b->bytes + FC + 16;
    stretch(b, FC + 16 + FCVI_CONN_REV1_LENGTH, random);
    if (b->size < FC + 16 + FCVI_CONN_REV1_LENGTH)
        return;
    memset(payload, 0, FCVI_CONN_REV1_LENGTH);
    fcvi_set_CONN_REV1_VI_REVISION(payload, 1);
    fcvi_set_CONN_REV1_VI_RQST_HANDLE(payload, 1 + below(random, 4));
    for (size_t at = FCVI_CONN_REV1_VI_LOC_ADDR_BYTE; at <= FCVI_CONN_REV1_VI_REM_ADDR_BYTE;
         at += FCVI_ADDR_REV1_LENGTH) {
        uint8_t *address = payload + at;
        fcvi_set_ADDR_REV1_HOST_ADDR_LEN(address, FCVI_ADDR_REV1_HOST_IP_ADDR_SIZE);
        fcvi_set_ADDR_REV1_DISCRIM_LEN(address, one_in(random, 8) ? 128 : below(random, 17));
        address[19] = (uint8_t)(1 + below(random, 3));
        memset(address + 20, (int)below(random, 3), 16);
    }
    uint8_t *attributes = payload + FCVI_CONN_REV1_VI_LOC_ATTRS_BYTE;
    fcvi_set_ATTRS_REV1_RELIABILITY_LVL(attributes, 1u << below(random, 3));
    fcvi_set_ATTRS_REV1_EnRdmaWr(attributes, below(random, 2));
    fcvi_set_ATTRS_REV1_MAX_TRANS_SIZE(attributes, 1ULL << (10 + below(random, 10)));
}

/* FCVI_CONNECT_RESP3 is of 2007 alone; what ends an Exchange of Rev 1.0 in its place has its opcode. */
static struct fcvi_iu_info row_of(enum fcvi_edition edition, enum fcvi_iu iu)
{
    const struct fcvi_iu_info *row = fcvi_edition_iu(edition, iu);
    return *(row != NULL ? row : fcvi_edition_iu(edition, FCVI_IU_DISCONNECT_RESP));
}

/* R_CTL, TYPE, DF_CTL, F_CTL and FCVI_OPCODE of an IU, with the Device_Header that it has. */
static void become_iu(struct buffer *b, enum fcvi_iu iu, uint64_t *random)
{
    const enum fcvi_edition edition =
        b->rev1 ? FCVI_EDITION_REV1 : fcvi_mutator_edition(b->bytes, b->size, false);
    const struct fcvi_iu_info row = row_of(edition, iu);
    if (b->size < FC + (size_t)row.dh_size)
        stretch(b, FC + (size_t)row.dh_size, random);
    if (b->size < FC + (size_t)row.dh_size)
        return;
    bool response = (row.opcode & 0x08) != 0;
    fcvi_set_FC_R_CTL(b->bytes, row.r_ctl);
    fcvi_set_FC_TYPE(b->bytes, FCVI_TYPE);
    fcvi_store(b->bytes + 13, 1, row.dh_size == 16 ? 1 : 2);
    fcvi_set_FC_Exchange_Context(b->bytes, response);
    fcvi_set_FC_First_Sequence(b->bytes, !response);
    fcvi_set_FC_End_Sequence(b->bytes, !one_in(random, 8));
    fcvi_set_DH_FCVI_OPCODE(b->bytes + FC, row.opcode);
    if (iu == FCVI_IU_CONNECT_RQST || iu == FCVI_IU_CONNECT_RESP1)
        (edition == FCVI_EDITION_REV1 ? put_connect_rev1 : put_connect)(b, random);
    else if (!row.has_payload)
        b->size = FC + (size_t)row.dh_size;
}

static void build_iu(struct buffer *b, uint64_t *random)
{
    enum fcvi_iu iu = (enum fcvi_iu)below(random, FCVI_IU_COUNT);
    const struct fcvi_iu_info row = row_of(b->rev1 ? FCVI_EDITION_REV1 : FCVI_EDITION_2007, iu);
    stretch(b, FC + 32, random);
    if (b->size < FC + 32)
        return;
    uint8_t *dh = b->bytes + FC;
    memset(dh, 0, 32);
    fcvi_set_DH_FCVI_HANDLE(dh, one_in(random, 4) ? FCVI_UNASSIGNED : 1 + below(random, 4));
    fcvi_set_DH_FCVI_MSG_ID(dh, below(random, 4));
    if (!b->rev1 && FCVI_IUS_CONNECTION >> iu & 1u)
        fcvi_set_DH_FCVI_CONNECTION_ID(dh, 1 + below(random, 4));
    become_iu(b, iu, random);
    if (!row.has_payload || iu == FCVI_IU_CONNECT_RQST || iu == FCVI_IU_CONNECT_RESP1)
        return;
    uint64_t length = below(random, 3) * 64 + below(random, 5);
    if (!b->rev1) /* there the word has no use, or is not there */
        fcvi_set_DH_FCVI_TOT_LEN(dh, length);
    fcvi_set_FC_Relative_Offset_Present(b->bytes, 1);
    b->size = FC + (b->rev1 ? row.dh_size : 32u);
    stretch(b, b->size + (size_t)((length + 3) & ~3ULL), random);
    fcvi_set_FC_Fill_Bytes(b->bytes, (4 - length) & 3);
}

static void build_els(struct buffer *b, uint64_t *random)
{
    uint8_t command = any_of(els_commands, sizeof els_commands, random);
    bool reply = command <= 0x02 || one_in(random, 4);
    size_t length = command >= 0x02 && command <= 0x04     ? LOGIN_PAYLOAD
                    : command >> 4 == 5 && command != 0x52 ? FARP_PAYLOAD
                                                           : 28;
    fcvi_set_FC_R_CTL(b->bytes, reply ? 0x23 : 0x22);
    fcvi_set_FC_TYPE(b->bytes, 0x01);
    fcvi_store(b->bytes + 9, 3, reply ? 0x990000 : 0x290000);
    stretch(b, FC + length, random);
    if (b->size > FC)
        b->bytes[FC] = command;
}

static void build_ct(struct buffer *b, uint64_t *random)
{
    bool reply = one_in(random, 2);
    static const uint8_t gid_ipp[] = {1, 0, 0, 0, 0xFC, 2, 0, 0, 0x01, 0xB1, 0, 0};
    fcvi_set_FC_R_CTL(b->bytes, reply ? 0x03 : 0x02);
    fcvi_set_FC_TYPE(b->bytes, 0x20);
    fcvi_store(b->bytes + 9, 3, reply ? 0x990000 : 0x290000);
    stretch(b, FC + CT_PAYLOAD, random);
    if (b->size >= FC + sizeof gid_ipp)
        memcpy(b->bytes + FC, gid_ipp, sizeof gid_ipp);
    if (reply && b->size >= FC + sizeof gid_ipp)
        fcvi_store(b->bytes + FC + 8, 2, one_in(random, 2) ? 0x8001 : 0x8002);
}

void fcvi_mutator_build_frame(struct buffer *b, uint64_t *random)
{
    if (b->room < FC)
        return;
    memset(b->bytes, 0, FC);
    b->size = FC;
    fcvi_set_FC_D_ID(b->bytes,
                     one_in(random, 16) ? 0xFFFFFC + below(random, 4) : 0x010100 + below(random, 2) * 0x100);
    fcvi_set_FC_S_ID(b->bytes,
                     one_in(random, 16) ? 0xFFFFFC + below(random, 4) : 0x010100 + below(random, 2) * 0x100);
    fcvi_set_FC_SEQ_ID(b->bytes, below(random, 4));
    fcvi_set_FC_OX_ID(b->bytes, below(random, 4));
    fcvi_set_FC_RX_ID(b->bytes, one_in(random, 2) ? FC_X_ID_UNASSIGNED : below(random, 4));
    switch (below(random, 8)) {
    case 0:
        build_els(b, random);
        break;
    case 1:
        fcvi_set_FC_R_CTL(b->bytes, any_of(link_controls, sizeof link_controls, random));
        break;
    case 2:
        fcvi_set_FC_R_CTL(b->bytes, any_of(basic_links, sizeof basic_links, random));
        stretch(b,
                fcvi_FC_R_CTL(b->bytes) == 0x84   ? FC + 12
                : fcvi_FC_R_CTL(b->bytes) == 0x85 ? FC + 4
                                                  : FC,
                random);
        break;
    case 3:
        build_ct(b, random);
        break;
    default:
        build_iu(b, random);
        break;
    }
}

void fcvi_mutator_retype(struct buffer *b, uint64_t *random)
{
    if (b->size < FC)
        fcvi_mutator_build_frame(b, random);
    else
        become_iu(b, (enum fcvi_iu)below(random, FCVI_IU_COUNT), random);
}

/* The frame becomes one that the other side might send in answer: the other way, the other context. */
void fcvi_mutator_answer_to(struct buffer *b, uint64_t *random)
{
    if (b->size < FC)
        return;
    uint64_t s_id = fcvi_FC_S_ID(b->bytes);
    fcvi_set_FC_S_ID(b->bytes, fcvi_FC_D_ID(b->bytes));
    fcvi_set_FC_D_ID(b->bytes, s_id);
    fcvi_set_FC_Exchange_Context(b->bytes, !fcvi_FC_Exchange_Context(b->bytes));
    if (fcvi_FC_TYPE(b->bytes) != FCVI_TYPE || b->size < FC + 8)
        return;
    uint8_t opcode = (uint8_t)fcvi_DH_FCVI_OPCODE(b->bytes + FC);
    static const uint8_t next[] = {0x00, 0x08, 0x01, 0x09, 0x02, 0x0A, 0x10,
                                   0x18, 0x18, 0x19, 0x19, 0x1A, 0x12, 0x1B};
    for (size_t i = 0; i < sizeof next; i += 2) {
        if (next[i] != opcode)
            continue;
        become_iu(b, (enum fcvi_iu)fcvi_iu_of_opcode(next[i + 1]), random);
        return;
    }
}

/* Lengths at which something ends, and their neighbours. */
void fcvi_mutator_resize_payload(struct buffer *b, uint64_t *random)
{
    static const uint16_t ends[] = {0,   4,   8,   12,  16,   28,   32,   64,  76,
                                    116, 128, 340, 596, 1024, 2048, 2080, 2112};
    size_t from = one_in(random, 2) ? FC : FC + 32;
    size_t size = from + ends[below(random, sizeof ends / sizeof ends[0])] + below(random, 3);
    size -= size > 0;
    if (size < b->size)
        b->size = size;
    else
        stretch(b, size, random);
}
