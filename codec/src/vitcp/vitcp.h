/* PDUs of VI/TCP: what the files of this folder share. */
#ifndef FCVI_CODEC_VITCP_H
#define FCVI_CODEC_VITCP_H

#include <fcvi/pdu.h>
#include <fcvi/table.h>

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

enum { VITCP_MOST_DISCRIMINATOR = 16 };

/** The PDU carries a CE Header or may (V08); it has to have one; it has to have an RDMA Header (3). */
static inline bool fcvi_pdu_takes_ce(enum fcvi_pdu_type pdu)
{
    return pdu >= FCVI_PDU_CONNECT_REQUEST && pdu <= FCVI_PDU_CONNECT_NO_MATCH;
}
static inline bool fcvi_pdu_needs_ce(enum fcvi_pdu_type pdu)
{
    return pdu == FCVI_PDU_CONNECT_REQUEST || pdu == FCVI_PDU_CONNECT_ACCEPT;
}
static inline bool fcvi_pdu_needs_rdma(enum fcvi_pdu_type pdu)
{
    return pdu >= FCVI_PDU_READ_REQUEST && pdu <= FCVI_PDU_WRITE;
}

/** Whether the whole PDU is there. */
static inline bool fcvi_pdu_is_whole(const struct fcvi_pdu *pdu)
{
    return pdu->headers != 0 && pdu->there == pdu->length;
}

/** The bits that the profile gives a field of the table, or leaves over for reserved ones; 0 for a field that
 * is no matter of a profile. */
uint16_t fcvi_profile_mask(const struct fcvi_profile *profile, size_t index);

/** Lowest bit of a mask that is not 0. */
unsigned fcvi_lowest_bit(uint16_t mask);

/** A row of the table with the bits that the profile gives it. */
struct fcvi_field fcvi_profile_row(const struct fcvi_profile *profile, size_t index);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
