/* Which edition of FC-VI a frame is changed by: a field that has moved is changed where it stands. */
#include "mutator_internal.h"

enum fcvi_edition fcvi_mutator_edition(const uint8_t *bytes, size_t size, bool rev1)
{
    const struct fcvi_input in = {bytes, size, FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_ABSENT};
    struct fcvi_frame view;
    fcvi_decode(&in, &view, NULL);
    const enum fcvi_edition shown = fcvi_edition_shown(&view);
    if (shown != FCVI_EDITION_COUNT)
        return shown;
    return rev1 ? FCVI_EDITION_REV1 : FCVI_EDITION_2007;
}
