/* Which edition of FC-VI two ports speak, as their frames show it: ISO/IEC 14165-331:2007 or Rev 1.0 of 1999.
 */
#ifndef FCVI_JUDGE_EDITIONS_H
#define FCVI_JUDGE_EDITIONS_H

#include <fcvi/codec.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum editions_mode {
    EDITIONS_AUTO, /* by the frames */
    EDITIONS_2007,
    EDITIONS_REV1,
};

struct editions;

/** What is known of ports, over all captures of a stream. seed: of the hash table, against captures that were
 * made to collide. NULL when there is no memory. */
struct editions *fcvi_editions_open(enum editions_mode mode, uint64_t seed);
void fcvi_editions_close(struct editions *editions);

/** An IU (kind FCVI_KIND_IU), decoded by the edition of 2007. */
struct editions_frame {
    const struct fcvi_frame *view;
    uint32_t network;
    bool cut;     /* the capture holds its beginning only */
    size_t whole; /* then: its bytes from its header on, 0 when that is not known */
};

/** By which edition to read an IU. A connect request fixes the edition of its two ports. Before one was seen
 * the first frame that only one edition has decides, and Rev 1.0 no longer when more frames showed that of
 * 2007. Nothing known: 2007, and *known is false; or Rev 1.0 from the first Write on that has data and the
 * length zero, which of the two only Rev 1.0 permits. Of a frame that is cut, a connect request with the
 * Device_Header of Rev 1.0 whose payload does not tell its edition gives Rev 1.0, and *known is false. */
enum fcvi_edition fcvi_editions_of(struct editions *editions, const struct editions_frame *frame,
                                   bool *known);

#ifdef __cplusplus
}
#endif

#endif
