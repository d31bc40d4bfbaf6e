/* Profiles: T0 as data, what a profile may be, and fields where a profile says that they are. */
#include "../core/assert.h"
#include "../core/table.h"
#include "vitcp.h"

#include <fcvi/access.h>

/* A field whose place is the profile's: its row in the table, its container, and its bits in T0. */
#define AS_PLACE(S, F, NAME, BYTE, SIZE, HI, LO, ...) {#S "_" #F, FCVI_INDEX_##S##_##F, BYTE, SIZE},
#define AS_BITS(S, F, NAME, BYTE, SIZE, HI, LO, ...) [FCVI_P_##S##_##F] = FCVI_MASK(HI, LO),

static const struct {
    const char *name;
    uint16_t index;
    uint8_t byte, size;
} places[] = {
#define PROFILE_BITS_TYPE AS_PLACE
#define PROFILE_BITS_ERROR AS_PLACE
#define PROFILE_BITS_ATTRIBUTES AS_PLACE
#include <fcvi/vitcp_profile.def>
};

static const struct fcvi_profile t0 = {
#define PROFILE_NAME(TEXT) .name = (TEXT),
#define PROFILE_VERSION(NUMBER) .version = (NUMBER),
#include <fcvi/vitcp_profile.def>
    .types =
        {
#define PROFILE_TYPE(IDENT, NUMBER, TEXT) NUMBER,
#include <fcvi/vitcp_profile.def>
        },
    .errors =
        {
#define PROFILE_ERROR(IDENT, NUMBER, TEXT) NUMBER,
#include <fcvi/vitcp_profile.def>
        },
    .bits =
        {
#define PROFILE_BITS_TYPE AS_BITS
#define PROFILE_BITS_ERROR AS_BITS
#define PROFILE_BITS_ATTRIBUTES AS_BITS
#include <fcvi/vitcp_profile.def>
        },
};

const struct fcvi_profile *fcvi_profile_t0(void)
{
    return &t0;
}

const char *fcvi_profile_field_name(enum fcvi_profile_field field)
{
    return field < FCVI_P_COUNT ? places[field].name : "";
}

const char *fcvi_pdu_name(enum fcvi_pdu_type pdu)
{
    static const char *const names[] = {
#define PROFILE_TYPE(IDENT, NUMBER, TEXT) TEXT,
#include <fcvi/vitcp_profile.def>
    };
    return pdu < FCVI_PDU_COUNT ? names[pdu] : "";
}

const char *fcvi_vi_error_name(enum fcvi_vi_error type)
{
    static const char *const names[] = {
#define PROFILE_ERROR(IDENT, NUMBER, TEXT) TEXT,
#include <fcvi/vitcp_profile.def>
    };
    return type < FCVI_VI_ERROR_COUNT ? names[type] : "";
}

enum fcvi_pdu_type fcvi_pdu_of_type(const struct fcvi_profile *profile, uint64_t type)
{
    unsigned pdu = 0;
    while (pdu < FCVI_PDU_COUNT && profile->types[pdu] != type)
        pdu++;
    return (enum fcvi_pdu_type)pdu;
}

unsigned fcvi_lowest_bit(uint16_t mask)
{
    FCVI_ASSERT(mask != 0);
    unsigned bit = 0;
    while (((unsigned)mask >> bit & 1u) == 0)
        bit++;
    return bit;
}

static unsigned width(uint16_t mask)
{
    unsigned bits = 0;
    for (; mask != 0; mask = (uint16_t)(mask & (mask - 1u)))
        bits++;
    return bits;
}

uint64_t fcvi_profile_get(const struct fcvi_profile *profile, enum fcvi_profile_field field,
                          const uint8_t *structure)
{
    FCVI_ASSERT(field < FCVI_P_COUNT);
    uint16_t mask = profile->bits[field];
    return (fcvi_load(structure + places[field].byte, places[field].size) & mask) >> fcvi_lowest_bit(mask);
}

void fcvi_profile_put(const struct fcvi_profile *profile, enum fcvi_profile_field field, uint8_t *structure,
                      uint64_t value)
{
    FCVI_ASSERT(field < FCVI_P_COUNT);
    uint64_t mask = profile->bits[field];
    uint8_t *at = structure + places[field].byte;
    uint64_t kept = fcvi_load(at, places[field].size) & ~mask;
    fcvi_store(at, places[field].size, kept | (value << fcvi_lowest_bit((uint16_t)mask) & mask));
}

/* ---- rows of the table ---- */

uint16_t fcvi_profile_mask(const struct fcvi_profile *profile, size_t index)
{
    uint16_t attributes = 0;
    for (unsigned i = 0; i < FCVI_P_COUNT; i++) {
        if (places[i].index == index)
            return profile->bits[i];
        if (i >= FCVI_P_CE_Peer_to_Peer)
            attributes |= profile->bits[i];
    }
    return index == FCVI_INDEX_CE_Attributes_15_5 ? (uint16_t)~attributes : 0;
}

struct fcvi_field fcvi_profile_row(const struct fcvi_profile *profile, size_t index)
{
    struct fcvi_field row = *fcvi_field_row(index);
    uint16_t mask = fcvi_profile_mask(profile, index);
    if (mask == 0)
        return row;
    row.lo = (uint8_t)fcvi_lowest_bit(mask);
    row.hi = row.lo;
    while (mask >> row.hi >> 1 != 0)
        row.hi++;
    return row;
}

/* ---- what a profile may be ---- */

static bool is_name(const char *name)
{
    size_t length = 0;
    for (; length <= FCVI_PROFILE_NAME_MAX && name[length] != '\0'; length++) {
        char c = name[length];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-')
            return false;
    }
    return length > 0 && length <= FCVI_PROFILE_NAME_MAX;
}

static bool is_run(uint16_t mask)
{
    if (mask == 0)
        return false;
    unsigned moved = (unsigned)mask >> fcvi_lowest_bit(mask);
    return (moved & (moved + 1u)) == 0;
}

/* Bits of the fields from `first` to `last` of one container; 0 when two share one. */
static uint16_t together(const struct fcvi_profile *profile, unsigned first, unsigned last)
{
    uint16_t all = 0;
    for (unsigned i = first; i <= last; i++) {
        if ((all & profile->bits[i]) != 0)
            return 0;
        all |= profile->bits[i];
    }
    return all;
}

static const char *problem_of_numbers(const struct fcvi_profile *profile)
{
    enum { TYPES = 32 };
    uint16_t largest = profile->bits[FCVI_P_SEG_VI_Error_Type];
    largest = (uint16_t)(largest >> fcvi_lowest_bit(largest));
    for (unsigned i = 0; i < FCVI_PDU_COUNT; i++)
        if (profile->types[i] >= TYPES || fcvi_pdu_of_type(profile, profile->types[i]) != i)
            return "each PDU needs a number of its own from 0 to 31";
    for (unsigned i = 0; i < FCVI_VI_ERROR_COUNT; i++) {
        if (profile->errors[i] > largest)
            return "a VI Error Type has a number that its bits do not hold";
        for (unsigned k = 0; k < i; k++)
            if (profile->errors[k] == profile->errors[i])
                return "each VI Error Type needs a number of its own";
    }
    return NULL;
}

const char *fcvi_profile_problem(const struct fcvi_profile *profile)
{
    enum { WHOLE_BYTE = 0xFF, WHOLE_WORD = 0xFFFF, TYPE_BITS = 5 };
    if (!is_name(profile->name))
        return "its name needs 1 to 31 letters, digits, dots, underlines and hyphens";
    if (!is_run(profile->bits[FCVI_P_SEG_Type]) || width(profile->bits[FCVI_P_SEG_Type]) != TYPE_BITS)
        return "Type needs five bits in a row (3.1)";
    if (together(profile, FCVI_P_SEG_Type, FCVI_P_SEG_Immediate_Data_Valid) != WHOLE_BYTE ||
        width(profile->bits[FCVI_P_SEG_Transmit_Error]) != 1 ||
        width(profile->bits[FCVI_P_SEG_End_of_Message]) != 1)
        return "each of the three flags needs one bit that Type leaves free (3.1)";
    if (!is_run(profile->bits[FCVI_P_SEG_VI_Error_Type]) ||
        !is_run(profile->bits[FCVI_P_SEG_IS_Error_Code]) ||
        together(profile, FCVI_P_SEG_VI_Error_Type, FCVI_P_SEG_IS_Error_Code) != WHOLE_WORD)
        return "VI Error Type and IS Error Code need the 16 bits of Remote Error Code between them (3.1)";
    for (unsigned i = FCVI_P_CE_Peer_to_Peer; i <= FCVI_P_CE_Reliable; i++)
        if (width(profile->bits[i]) != 1)
            return "each Calling Attribute needs one bit (3.2)";
    if (together(profile, FCVI_P_CE_Peer_to_Peer, FCVI_P_CE_Reliable) == 0)
        return "each Calling Attribute needs a bit of its own (3.2)";
    return problem_of_numbers(profile);
}
