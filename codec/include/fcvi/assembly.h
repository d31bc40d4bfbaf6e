/* A connect IU that comes in several frames (E44), put together again. One Sequence, in bounded memory. */
#ifndef FCVI_ASSEMBLY_H
#define FCVI_ASSEMBLY_H

#include <fcvi/codec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connect payload has 340 or 596 bytes (Table 13); of one that is longer only its length is kept. */
enum { FCVI_ASSEMBLY_ROOM = 596, FCVI_ASSEMBLY_DH = 32 };

/** The parts so far of one Sequence of FCVI_CONNECT_RQST or FCVI_CONNECT_RESP1. */
struct fcvi_assembly {
    uint32_t length; /* of the payload so far */
    uint32_t parts;  /* frames taken; 0: not begun */
    uint16_t byte;   /* of the first frame: where its payload begins */
    uint8_t iu;      /* enum fcvi_iu */
    bool missing;    /* a part did not begin where the one before it ended */
    uint8_t dh[FCVI_ASSEMBLY_DH];
    uint8_t payload[FCVI_ASSEMBLY_ROOM];
};

/** Take the next frame of the Sequence; one with Relative Offset 0 begins anew, before that the others say
 * nothing. The caller knows that the frames belong together and that each is one of a connect IU with its
 * Device_Header. Returns whether this one ends the Sequence. */
bool fcvi_assembly_add(struct fcvi_assembly *assembly, const struct fcvi_frame *frame);

/** Check what was put together, as fcvi_check_connect does. Says nothing when a part is missing, or when one
 * frame holds the whole: fcvi_decode has checked that. */
void fcvi_assembly_check(const struct fcvi_assembly *assembly, struct fcvi_findings *findings);

/** `size` bytes of the connect payload from `byte` on, in a frame whose part begins at `start`; NULL when the
 * frame lacks any of them. */
const uint8_t *fcvi_assembly_part(const struct fcvi_frame *frame, uint64_t start, uint32_t byte,
                                  uint32_t size);

#ifdef __cplusplus
}
#endif

#endif
