/* A record as the passes over a capture have it. */
#ifndef FCVI_JUDGE_ENTRY_H
#define FCVI_JUDGE_ENTRY_H

#include <capture.h>
#include <fcvi/monitor.h>
#include <string.h>

/** Records that are there already are taken together: what will be wanted of one is fetched while others are
 * decoded. */
enum { JUDGE_BATCH = 16 };

/** Whether the monitor has seen a record before it is judged (ahead.h), and found something. */
enum judge_watched { JUDGE_UNWATCHED, JUDGE_WATCHED, JUDGE_BROKEN };

struct judge_entry {
    struct capture_record record;
    struct fcvi_frame frame; /* of a CAPTURE_FRAME */
    struct fcvi_monitor_hint hint;
    uint32_t place;  /* for flows.c */
    bool fault;      /* the codec has findings */
    bool message;    /* for flows.c */
    bool rev1;       /* for flows.c: it was watched, and is of ports that speak Rev 1.0 */
    uint8_t watched; /* enum judge_watched */
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

/** The receiver drops the frame: its CRC is wrong, or its EOF says so. */
static inline bool fcvi_judge_damaged(const struct fcvi_input *f)
{
    return f->crc == FCVI_CRC_BAD || f->eof == FCVI_EOF_NI || f->eof == FCVI_EOF_A;
}

/** Of what the codec finds in a frame that was damaged under way only the damage is told: its sender need not
 * have sent what it says. */
static inline void fcvi_judge_believe(const struct fcvi_input *f, struct fcvi_findings *findings)
{
    size_t kept = 0;
    if (!fcvi_judge_damaged(f))
        return;
    for (size_t i = 0; i < findings->count && i < findings->capacity; i++) {
        const struct fcvi_finding *found = &findings->list[i];
        if (found->cls == FCVI_MALFORMED &&
            (strcmp(found->field, "CRC") == 0 || strcmp(found->field, "EOF") == 0))
            findings->list[kept++] = *found;
    }
    findings->count = kept != 0 ? kept : findings->count;
}

/** A frame to the monitor, which was told of its hint before. number: over all captures of a stream. broken:
 * the codec found a breach in it. */
static inline void fcvi_judge_watch(struct fcvi_monitor *monitor, uint64_t number,
                                    const struct judge_entry *e, bool broken,
                                    struct fcvi_monitor_findings *breaches)
{
    const struct fcvi_monitor_frame seen = {&e->frame, number, e->record.time_us, e->record.network, broken};
    fcvi_monitor_expected(monitor, &seen, e->hint, breaches);
}

/** What the codec finds in a frame with a fault. */
static inline void fcvi_judge_fault(const struct judge_entry *e, struct fcvi_findings *findings)
{
    struct fcvi_frame again;
    fcvi_decode(&e->record.frame, &again, findings);
    fcvi_judge_believe(&e->record.frame, findings);
}

#endif
