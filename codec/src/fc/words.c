/* What bytes of a frame say in words: addresses, Discriminators, and where a nested structure belongs. */
#include "words.h"
#include "../core/table.h"
#include "fc.h"

#include <arpa/inet.h>
#include <string.h>

_Static_assert(FCVI_ADDR_DISCRIM_SIZE <= (int)FCVI_WORDS_MAX, "room for a Discriminator");
_Static_assert(INET6_ADDRSTRLEN <= (int)FCVI_WORDS_MAX, "room for an address");

static size_t words_of_address(const uint8_t *bytes, char *out)
{
    out[0] = '\0';
    inet_ntop(AF_INET6, bytes, out, FCVI_WORDS_MAX); /* with room for the longest it cannot fail */
    return strlen(out);
}

/* 7.2: the Discriminator has DISCRIM_LEN bytes; programs end theirs with NUL bytes too */
static size_t words_of_discriminator(const uint8_t *bytes, size_t length, char *out)
{
    if (length > FCVI_ADDR_DISCRIM_SIZE)
        return 0;
    while (length > 0 && bytes[length - 1] == 0)
        length--;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] < ' ' || bytes[i] > '~')
            return 0;
        out[i] = (char)bytes[i];
    }
    return length;
}

size_t fcvi_words_of_bytes(const struct fcvi_value *value, char out[FCVI_WORDS_MAX])
{
    const uint8_t *address = NULL;
    switch (value->field) {
    case FCVI_INDEX_ADDR_HOST_ADD: /* of another length it is no IPv6 address (7.2) */
        address = value->bytes - fcvi_field_row(value->field)->byte;
        return fcvi_ADDR_HOST_ADD_LEN(address) == FCVI_ADDR_HOST_ADD_SIZE
                   ? words_of_address(value->bytes, out)
                   : 0;
    case FCVI_INDEX_ADDR_DISCRIM:
        address = value->bytes - fcvi_field_row(value->field)->byte;
        return words_of_discriminator(value->bytes, (size_t)fcvi_ADDR_DISCRIM_LEN(address), out);
    case FCVI_INDEX_ADDR_REV1_HOST_IP_ADDR:
        address = value->bytes - fcvi_field_row(value->field)->byte;
        return fcvi_ADDR_REV1_HOST_ADDR_LEN(address) == FCVI_ADDR_REV1_HOST_IP_ADDR_SIZE
                   ? words_of_address(value->bytes, out)
                   : 0;
    case FCVI_INDEX_ADDR_REV1_DISCRIM:
        address = value->bytes - fcvi_field_row(value->field)->byte;
        return words_of_discriminator(value->bytes, (size_t)fcvi_ADDR_REV1_DISCRIM_LEN(address), out);
    case FCVI_INDEX_FARP_Requesting_IP_Address:
    case FCVI_INDEX_FARP_Responding_IP_Address:
    case FCVI_INDEX_GID_IPP_GID_IPP_Address:
        return words_of_address(value->bytes, out);
    default:
        return 0;
    }
}

#define NEST(S, F, NAME, BYTE, SIZE, SUB, IUS, CLAUSE, REQ) {NAME, FCVI_S_##S, FCVI_S_##SUB, BYTE},
static const struct {
    const char *name;
    uint16_t structure, inside, byte;
} nests[] = {
#include <fcvi/fields.def>
};

const char *fcvi_place_of(struct fcvi_places *places, unsigned structure, uint16_t base)
{
    places->base[structure] = base;
    for (size_t i = 0; i < sizeof nests / sizeof nests[0]; i++) {
        unsigned around = nests[i].structure;
        if (nests[i].inside == structure && places->base[around] + nests[i].byte == base)
            return nests[i].name;
    }
    return NULL;
}
