/* What the place where a capture was taken made of frames: a CRC that was not computed yet, delimiters that
 * an export made up. The whole capture shows it; no port is to be judged by it. */
#ifndef FCVI_POINT_H
#define FCVI_POINT_H

#include "capture.h"

#ifdef __cplusplus
extern "C" {
#endif

struct point;

/** NULL without memory. */
struct point *fcvi_point_open(void);
void fcvi_point_close(struct point *point);

/** A frame that makes one ask: its CRC is wrong, or a delimiter is none that FC-2 has or says that it is
 * invalid.
 */
bool fcvi_point_is_odd(const struct capture_record *record);

/** Look at a record of the capture, of which the first ones say enough. False: it has seen enough. */
bool fcvi_point_look(struct point *point, const struct capture_record *record);
/** What was looked at was all that can be had. is_whole: it was the capture; else only what each frame says
 * by itself can be told. */
void fcvi_point_conclude(struct point *point, bool is_whole);

/** Take from an odd frame what the capture point made, and count it. */
void fcvi_point_mask(struct point *point, struct capture_record *record);
/** What was taken from frames so far. */
const struct capture_artefacts *fcvi_point_artefacts(const struct point *point);

#ifdef __cplusplus
}
#endif

#endif
