/* Taking FC-2 frames out of their envelopes, and putting them in. */
#ifndef FCVI_ENVELOPE_H
#define FCVI_ENVELOPE_H

#include "capture.h"

#ifdef __cplusplus
extern "C" {
#endif

void fcvi_envelope_open(int linktype, const uint8_t *bytes, size_t length, bool cut,
                        struct capture_record *out);
size_t fcvi_envelope_fcoe(const struct fcvi_input *frame, uint8_t *out, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
