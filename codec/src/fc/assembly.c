/* Connect IUs of several frames (E44). */
#include <fcvi/assembly.h>

#include "../core/assert.h"
#include "fc.h"
#include <string.h>

_Static_assert(FCVI_ASSEMBLY_ROOM == (int)FCVI_CONN_LENGTH + (int)FCVI_INFO_LENGTH,
               "the longest connect payload");

static void begin(struct fcvi_assembly *a, const struct fcvi_frame *frame)
{
    memset(a, 0, offsetof(struct fcvi_assembly, payload));
    a->byte = (uint16_t)(frame->payload - frame->fc);
    memcpy(a->dh, frame->dh, frame->dh_length < sizeof a->dh ? frame->dh_length : sizeof a->dh);
}

bool fcvi_assembly_add(struct fcvi_assembly *a, const struct fcvi_frame *frame)
{
    FCVI_ASSERT(frame->iu == FCVI_IU_CONNECT_RQST || frame->iu == FCVI_IU_CONNECT_RESP1);
    FCVI_ASSERT(frame->dh != NULL);
    uint64_t start = fcvi_FC_Parameter(frame->fc);
    if (start == 0)
        begin(a, frame);
    else if (a->parts == 0)
        return fcvi_FC_End_Sequence(frame->fc) != 0;
    a->iu = frame->iu;
    a->missing |= start != a->length;
    if (a->length < sizeof a->payload) {
        size_t room = sizeof a->payload - a->length;
        memcpy(a->payload + a->length, frame->payload,
               frame->payload_length < room ? frame->payload_length : room);
    }
    a->length += frame->payload_length;
    a->parts++;
    return fcvi_FC_End_Sequence(frame->fc) != 0;
}

void fcvi_assembly_check(const struct fcvi_assembly *a, struct fcvi_findings *findings)
{
    if (a->parts > 1 && !a->missing)
        fcvi_check_connect((enum fcvi_iu)a->iu, a->dh, a->payload, a->length, a->byte, findings);
}

const uint8_t *fcvi_assembly_part(const struct fcvi_frame *frame, uint64_t start, uint32_t byte,
                                  uint32_t size)
{
    FCVI_ASSERT(size > 0 && byte + size <= FCVI_ASSEMBLY_ROOM);
    if (byte < start || byte + size > start + frame->payload_length)
        return NULL;
    return frame->payload + (byte - start);
}
