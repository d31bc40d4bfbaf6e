/* The length of an LS_ACC, which what it answers has: logins and ADISC are answered in their own form
 * (FC-FS). */
#ifndef FCVI_JUDGE_ANSWERS_H
#define FCVI_JUDGE_ANSWERS_H

#include <capture.h>

enum { JUDGE_ASKED = 64 };

/** The latest requests of that kind. All zero at first, and where frames are missing. */
struct answers {
    unsigned next;
    bool any;
    struct asked {
        uint64_t time_us;
        uint32_t network, s_id, d_id;
        uint16_t ox_id;
        uint8_t command; /* 0: nobody asks */
    } asked[JUDGE_ASKED];
};

/** Take an undamaged ELS. findings: what was found in it; of an LS_ACC without one, that it is cut off. */
void fcvi_answers_take(struct answers *answers, const struct capture_record *record,
                       const struct fcvi_frame *frame, struct fcvi_findings *findings);

/** Frames are missing here. */
void fcvi_answers_forget(struct answers *answers);

#endif
