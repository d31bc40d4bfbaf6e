/* A record as the passes over a capture have it. */
#ifndef FCVI_JUDGE_ENTRY_H
#define FCVI_JUDGE_ENTRY_H

#include <capture.h>
#include <fcvi/monitor.h>

/** Records that are there already are taken together: what will be wanted of one is fetched while others are
 * decoded. */
enum { JUDGE_BATCH = 16 };

struct judge_entry {
    struct capture_record record;
    struct fcvi_frame frame; /* of a CAPTURE_FRAME */
    struct fcvi_monitor_hint hint;
    uint32_t place; /* for flows.c */
    bool fault;     /* the codec has findings */
    bool message;   /* for flows.c */
};

/** The parts of a frame, once its record is there. */
static inline void fcvi_judge_decode(struct judge_entry *e)
{
    struct capture_record *r = &e->record;
    struct fcvi_findings any = {NULL, 0, 0, 0};
    if (r->kind == CAPTURE_CUT && r->whole != 0 && r->frame.length == r->whole)
        r->kind = CAPTURE_FRAME; /* all but its CRC and EOF */
    if (r->kind == CAPTURE_FRAME)
        fcvi_decode(&r->frame, &e->frame, &any);
    e->fault = any.count != 0;
}

#endif
