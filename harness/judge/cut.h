/* Frames of which the capture holds the beginning only. */
#ifndef FCVI_JUDGE_CUT_H
#define FCVI_JUDGE_CUT_H

#include <capture.h>

enum judge_cut_extent {
    JUDGE_CUT_NOTHING, /* the headers are not whole, or it is a link service, which says nothing without its
                          payload */
    JUDGE_CUT_FOREIGN, /* another FC-4's */
    JUDGE_CUT_ALONE,   /* by itself only: how long the frame was is not known, or it holds a part of a connect
                          payload */
    JUDGE_CUT_VEILED,  /* all but its payload, which would say of a login or a Connection more than others do;
                          the view has what is there of it */
    JUDGE_CUT_HEADERS  /* all but its payload */
};

enum { JUDGE_CUT_FINDINGS = 32 };
/* Room for a frame whose missing bytes are zero. */
struct judge_cut {
    uint8_t bytes[CAPTURE_LONGEST + 4];
    struct fcvi_finding list[JUDGE_CUT_FINDINGS];
};

/** Judge what is there. frame: a view as of the whole frame, but of the bytes that are missing, which are
 * zero; it points into cut. Findings are only of bytes that are there and of what does not depend on the
 * others. */
enum judge_cut_extent fcvi_judge_cut(struct judge_cut *cut, const struct capture_record *record,
                                     struct fcvi_frame *frame, struct fcvi_findings *findings);

#endif
