/* Captures judged: batches of records through the codec and the monitor. */
#include "judge.h"

#include <stdlib.h>

enum { STEP = 1 << 16 }; /* records in which nothing is found, before the caller hears of it */

/* Records that are in the buffer already are taken together: what the monitor will want of one is fetched
 * while the others are decoded. */
enum { BATCH = 16 };
struct entry {
    struct capture_record record;
    struct fcvi_frame frame;
    struct fcvi_monitor_hint hint;
    bool fault; /* the codec has findings */
};

struct judge {
    struct capture *capture;
    uint64_t before;
    unsigned next, ready; /* of the batch */
    struct entry batch[BATCH];
};

struct judge *fcvi_judge_open(struct capture *capture, uint64_t before)
{
    struct judge *j = calloc(1, sizeof *j);
    if (j == NULL)
        return NULL;
    j->capture = capture;
    j->before = before;
    return j;
}

void fcvi_judge_close(struct judge *judge)
{
    free(judge);
}

static void decode(struct entry *e)
{
    struct fcvi_findings any = {NULL, 0, 0, 0};
    if (e->record.kind == CAPTURE_FRAME)
        fcvi_decode(&e->record.frame, &e->frame, &any);
    e->fault = any.count != 0;
}

/* At least one record, which may have to be waited for, and those behind it that are there. */
static int fill(struct judge *j, const struct fcvi_monitor *monitor, char *error, size_t size)
{
    j->next = j->ready = 0;
    do {
        struct entry *e = &j->batch[j->ready];
        int status = fcvi_capture_next(j->capture, &e->record, error, size);
        if (status != 1)
            return j->ready > 0 ? 1 : status;
        decode(e);
        if (monitor != NULL && e->record.kind == CAPTURE_FRAME)
            e->hint = fcvi_monitor_expect(monitor, &e->frame, e->record.network);
        j->ready++;
    } while (j->ready < BATCH && fcvi_capture_has_next(j->capture));
    return 1;
}

static void watch(struct fcvi_monitor *monitor, uint64_t number, const struct entry *e, bool broken,
                  struct fcvi_monitor_findings *breaches)
{
    struct fcvi_monitor_frame seen = {&e->frame, number, e->record.time_us, e->record.network, broken};
    fcvi_monitor_expected(monitor, &seen, e->hint, breaches);
}

/* A connect IU in several frames is put together and checked by the caller. */
static bool is_part(const struct fcvi_frame *f)
{
    return (f->iu == FCVI_IU_CONNECT_RQST || f->iu == FCVI_IU_CONNECT_RESP1) &&
           (!fcvi_FC_End_Sequence(f->fc) || fcvi_FC_Parameter(f->fc) != 0);
}

/* Whether the caller is to see it. */
static bool judge_entry(struct judge *j, const struct entry *e, struct fcvi_findings *findings,
                        struct fcvi_monitor *monitor, struct fcvi_monitor_findings *breaches,
                        struct judge_tally *tally)
{
    const struct capture_record *r = &e->record;
    tally->records++;
    if (monitor != NULL && (r->kind == CAPTURE_MALFORMED || r->kind == CAPTURE_CUT))
        fcvi_monitor_gap(monitor);
    if (r->kind != CAPTURE_FRAME) {
        tally->skipped += r->kind != CAPTURE_MALFORMED;
        return r->kind == CAPTURE_MALFORMED;
    }
    tally->frames++;
    tally->fcvi += e->frame.kind == FCVI_KIND_IU;
    if (e->fault) {
        struct fcvi_frame again;
        fcvi_decode(&r->frame, &again, findings);
    }
    if (monitor != NULL)
        watch(monitor, j->before + r->number, e, findings->worst > 1u + FCVI_NOTICE, breaches);
    return e->fault || is_part(&e->frame) || (monitor != NULL && breaches->count > 0);
}

int fcvi_judge_next(struct judge *j, struct capture_record *out, struct fcvi_frame *frame,
                    struct fcvi_findings *findings, struct fcvi_monitor *monitor,
                    struct fcvi_monitor_findings *breaches, struct judge_tally *tally, char *error,
                    size_t size)
{
    findings->count = 0;
    findings->worst = 0;
    if (monitor != NULL)
        breaches->count = 0;
    for (unsigned step = 0; step < STEP; step++) {
        int status = j->next < j->ready ? 1 : fill(j, monitor, error, size);
        if (status != 1)
            return status;
        const struct entry *e = &j->batch[j->next++];
        if (!judge_entry(j, e, findings, monitor, breaches, tally))
            continue;
        *out = e->record;
        *frame = e->frame;
        return 1;
    }
    return 2;
}
