/* Captures judged: batches of records through the codec and the monitor. */
#include "judge.h"

#include "ahead.h"
#include "cut.h"
#include "pairs.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEP = 1 << 16 }; /* records in which nothing is found, before the caller hears of it */

/* What fcvi_judge_next was given. */
struct judge_call {
    struct fcvi_findings *findings;
    struct fcvi_monitor *monitor;
    struct fcvi_monitor_findings *breaches;
    struct judge_tally *tally;
};

struct judge {
    struct capture *capture;
    uint64_t before;
    uint64_t number;             /* of the record that was counted last, */
    unsigned rank;               /* as what (enum rank), */
    struct judge_count *counted; /* and where */
    uint64_t usual; /* whole frames of IUs, each the only one of its record, that are not in the tally yet */
    bool begun;
    uint64_t first_us;         /* when the first record was taken */
    struct editions *editions; /* NULL: all is of 2007 */
    struct tcp_judge *tcp;     /* NULL: TCP is foreign */
    bool no_memory;
    struct ahead *ahead;              /* NULL: records are read as they are wanted */
    struct judge_call call;           /* that has not returned yet */
    struct judge_entry *next, *ready; /* of the batch: the one that is next, and behind the last */
    struct judge_entry batch[JUDGE_BATCH];
    struct judge_cut cut;
};

struct judge *fcvi_judge_open(struct capture *capture, uint64_t before)
{
    struct judge *j = calloc(1, sizeof *j);
    if (j == NULL)
        return NULL;
    j->capture = capture;
    j->before = before;
    j->next = j->ready = j->batch;
    return j;
}

void fcvi_judge_close(struct judge *judge)
{
    if (judge != NULL)
        fcvi_ahead_close(judge->ahead);
    free(judge);
}

void fcvi_judge_progress(const struct judge *judge, uint64_t *read, uint64_t *size)
{
    if (judge->ahead != NULL)
        fcvi_ahead_progress(judge->ahead, read, size);
    else
        fcvi_capture_progress(judge->capture, read, size);
}

void fcvi_judge_editions(struct judge *judge, struct editions *editions)
{
    judge->editions = editions;
}

void fcvi_judge_streams(struct judge *judge, struct tcp_judge *tcp)
{
    judge->tcp = tcp;
}

static void expect(const struct fcvi_monitor *monitor, struct judge_entry *e)
{
    if (monitor != NULL && e->record.kind == CAPTURE_FRAME)
        e->hint = fcvi_monitor_expect(monitor, &e->frame, e->record.network);
}

/* At least one record, which may have to be waited for, and those behind it that are there. */
static int fill(struct judge *j, const struct fcvi_monitor *monitor, char *error, size_t size)
{
    struct judge_entry *e = j->batch;
    int status = 1;
    j->next = e;
    do {
        status = fcvi_capture_next(j->capture, &e->record, error, size);
        if (status != 1)
            break;
        fcvi_judge_decode(e);
        expect(monitor, e);
        e++;
    } while (e < j->batch + JUDGE_BATCH && fcvi_capture_has_next(j->capture));
    j->ready = e;
    return e > j->batch ? 1 : status;
}

static void note_first(struct judge *j, const struct judge_entry *e)
{
    if (j->begun)
        return;
    j->begun = true;
    j->first_us = e->record.time_us;
}

/* A connect IU in several frames is put together and checked by the caller. */
static bool is_part(const struct fcvi_frame *f)
{
    return (f->iu == FCVI_IU_CONNECT_RQST || f->iu == FCVI_IU_CONNECT_RESP1) &&
           (!fcvi_FC_End_Sequence(f->fc) || fcvi_FC_Parameter(f->fc) != 0);
}

/* ---- what became of a record ---- */

/* Of the frames of one record the one that counts most says what the record is. */
enum rank { FOREIGN = 1, UNJUDGED, JUDGED };

static void count(struct judge_count *c, uint64_t number)
{
    if (c->records++ == 0)
        c->first = number;
}

static bool first_of(const struct capture_record *r)
{
    return (r->unusual & (CAPTURE_FURTHER | CAPTURE_LATE)) == 0;
}

/* With the records before that held parts of the frame. A frame that comes when the capture has ended is of
 * those alone. */
static void count_record(struct judge *j, enum rank rank, struct judge_count *c,
                         const struct capture_record *r)
{
    if ((r->unusual & CAPTURE_PARTS) != 0)
        c->records += r->parts;
    if (j->number == r->number) {
        if (j->rank >= rank)
            return;
        j->counted->records--;
    } else if ((r->unusual & (CAPTURE_FURTHER | CAPTURE_LATE)) != 0) {
        return;
    }
    j->number = r->number;
    j->rank = rank;
    j->counted = c;
    count(c, r->number);
}

static void count_foreign(struct judge *j, struct judge_tally *t, uint32_t protocol,
                          const struct capture_record *r)
{
    uint32_t i = 0;
    while (i < t->protocols && t->foreign[i].protocol != protocol)
        i++;
    if (i < JUDGE_PROTOCOLS && i == t->protocols)
        t->foreign[t->protocols++].protocol = protocol;
    count_record(j, FOREIGN, i < JUDGE_PROTOCOLS ? &t->foreign[i].count : &t->others, r);
}

static bool is_farp(const struct fcvi_frame *f)
{
    enum { FARP_REQ = 0x54, FARP_REPLY = 0x55 };
    return f->kind == FCVI_KIND_ELS && f->payload_length > 0 &&
           (f->payload[0] == FARP_REQ || f->payload[0] == FARP_REPLY);
}

/* Whether frames of this kind are of FC-VI, or of what it builds on. */
static void classify(struct judge *j, const struct judge_entry *e, struct judge_tally *t)
{
    const struct fcvi_frame *f = &e->frame;
    t->fcvi += f->kind == FCVI_KIND_IU;
    t->services += is_farp(f);
    if (f->kind == FCVI_KIND_OTHER && e->record.frame.crc != FCVI_CRC_BAD)
        count_foreign(j, t, (uint32_t)CAPTURE_FC_TYPE << 16 | (uint32_t)fcvi_FC_TYPE(f->fc), &e->record);
    else
        count_record(j, JUDGED, &t->judged, &e->record);
}

/* Whether the IU is read by the edition of 1999. */
__attribute__((noinline)) static bool is_rev1(const struct judge *j, const struct judge_entry *e,
                                              struct judge_tally *tally)
{
    const struct capture_record *r = &e->record;
    if (j->editions == NULL || fcvi_judge_damaged(&r->frame)) /* what was damaged shows no edition */
        return false;
    bool known;
    const enum fcvi_edition edition =
        r->kind == CAPTURE_CUT ? fcvi_editions_of_part(j->editions, &e->frame, r->whole, r->network, &known)
                               : fcvi_editions_of(j->editions, &e->frame, r->network, &known);
    tally->undecided += !known;
    tally->rev1 += edition == FCVI_EDITION_REV1;
    tally->setups[edition] += e->frame.iu == FCVI_IU_CONNECT_RQST && fcvi_FC_Parameter(e->frame.fc) == 0;
    return edition == FCVI_EDITION_REV1;
}

/* A frame in which the codec of 2007 finds nothing, of ports that speak it: it changes nothing. */
static bool is_of_2007(const struct judge *j, const struct judge_entry *e)
{
    return j->editions == NULL || (!e->fault && e->frame.iu < FCVI_IU_CONNECT_RQST &&
                                   fcvi_editions_usual(j->editions, &e->frame, e->record.network));
}

/* Frames that are cut off: their headers. */
static bool judge_cut(struct judge *j, struct judge_entry *e, struct fcvi_findings *findings,
                      struct fcvi_monitor *monitor, struct fcvi_monitor_findings *breaches,
                      struct judge_tally *tally)
{
    const struct capture_record *r = &e->record;
    enum judge_cut_extent extent = fcvi_judge_cut(&j->cut, r, &e->frame, findings);
    tally->skipped += first_of(r);
    if (extent == JUDGE_CUT_FOREIGN) {
        classify(j, e, tally);
        return false;
    }
    if (extent != JUDGE_CUT_NOTHING && e->frame.kind == FCVI_KIND_IU && is_rev1(j, e, tally)) {
        findings->count = 0; /* they are by the tables of 2007 */
        findings->worst = 0;
        if (monitor != NULL)
            fcvi_monitor_gap(monitor);
        count_record(j, UNJUDGED, &tally->unjudged[JUDGE_CUT], r);
        return false;
    }
    const bool followed = extent == JUDGE_CUT_HEADERS || extent == JUDGE_CUT_VEILED;
    if (!followed && monitor != NULL)
        fcvi_monitor_gap(monitor);
    if (extent == JUDGE_CUT_NOTHING) {
        count_record(j, UNJUDGED, &tally->unjudged[JUDGE_CUT], r);
        return false;
    }
    tally->frames++;
    classify(j, e, tally);
    count(&tally->part, r->number);
    if (monitor != NULL && followed) {
        struct fcvi_monitor_frame seen = {&e->frame, j->before + r->number, r->time_us, r->network,
                                          findings->worst > 1u + FCVI_NOTICE};
        fcvi_monitor_frame(monitor, &seen, breaches);
        if (extent == JUDGE_CUT_VEILED)
            fcvi_monitor_veiled(monitor);
    }
    return findings->count != 0 || (monitor != NULL && breaches->count > 0);
}

static bool judge_tcp(struct judge *j, const struct capture_record *r)
{
    const int found = fcvi_tcp_take(j->tcp, r->frame.bytes, r->frame.length, r->whole, r->network,
                                    j->before + r->number, r->time_us);
    j->no_memory |= found < 0;
    return found != 0;
}

static bool judge_other(struct judge *j, const struct capture_record *r, struct fcvi_monitor *monitor,
                        struct judge_tally *tally)
{
    if (r->kind == CAPTURE_MALFORMED) {
        count_record(j, JUDGED, &tally->judged, r);
        if (monitor != NULL)
            fcvi_monitor_gap(monitor);
        return true;
    }
    tally->skipped += first_of(r);
    if (r->kind == CAPTURE_FOREIGN && r->protocol == CAPTURE_TCP && j->tcp != NULL)
        return judge_tcp(j, r);
    if (r->kind != CAPTURE_PART)
        count_foreign(j, tally, r->kind == CAPTURE_FIP ? 0 : r->protocol, r);
    return false;
}

static void note_unusual(const struct capture_record *r, struct fcvi_monitor *monitor,
                         struct judge_tally *tally)
{
    if ((r->unusual & CAPTURE_APPENDED) != 0)
        count(&tally->appended, r->number);
    if ((r->unusual & CAPTURE_GAP) == 0)
        return;
    count(&tally->gaps, r->number);
    if (monitor != NULL)
        fcvi_monitor_gap(monitor);
}

/* By the tables of 1999, and as a frame of the Connection that it belongs to. */
__attribute__((noinline, cold)) static bool
judge_rev1(struct judge *j, struct judge_entry *e, struct fcvi_findings *findings,
           struct fcvi_monitor *monitor, struct fcvi_monitor_findings *breaches, struct judge_tally *tally)
{
    const struct capture_record *r = &e->record;
    fcvi_decode_edition(&r->frame, FCVI_EDITION_REV1, &e->frame, findings);
    fcvi_judge_believe(&r->frame, findings);
    tally->records += first_of(r);
    note_unusual(r, monitor, tally);
    tally->frames++;
    classify(j, e, tally);
    if (monitor == NULL)
        return findings->count != 0;
    fcvi_judge_watch(monitor, j->before + r->number, e, findings->worst > 1u + FCVI_NOTICE, breaches);
    return findings->count != 0 || breaches->count > 0;
}

/* Whether the caller is to see it. */
static bool judge_entry(struct judge *j, struct judge_entry *e, struct fcvi_findings *findings,
                        struct fcvi_monitor *monitor, struct fcvi_monitor_findings *breaches,
                        struct judge_tally *tally)
{
    const struct capture_record *r = &e->record;
    if (r->kind == CAPTURE_FRAME && r->unusual == 0 && e->frame.kind == FCVI_KIND_IU && is_of_2007(j, e)) {
        j->usual++;
    } else if (r->kind == CAPTURE_FRAME && e->frame.kind == FCVI_KIND_IU && is_rev1(j, e, tally)) {
        return judge_rev1(j, e, findings, monitor, breaches, tally);
    } else {
        tally->records += first_of(r);
        note_unusual(r, monitor, tally);
        if (r->kind != CAPTURE_FRAME)
            return r->kind == CAPTURE_CUT ? judge_cut(j, e, findings, monitor, breaches, tally)
                                          : judge_other(j, r, monitor, tally);
        tally->frames++;
        classify(j, e, tally);
    }
    if (e->fault)
        fcvi_judge_fault(e, findings);
    const bool shown = e->fault || is_part(&e->frame);
    if (monitor == NULL)
        return shown;
    fcvi_judge_watch(monitor, j->before + r->number, e, findings->worst > 1u + FCVI_NOTICE, breaches);
    return shown || breaches->count > 0;
}

static void take_usual(struct judge *j, struct judge_tally *t)
{
    t->records += j->usual;
    t->frames += j->usual;
    t->fcvi += j->usual;
    t->judged.records += j->usual;
    j->usual = 0;
}

/* Up to the first record that is to be seen, which is the one before what is returned, or to the end. */
static struct judge_entry *judge_entries(struct judge *j, struct judge_entry *e,
                                         const struct judge_entry *end, bool *shown)
{
    const struct judge_call c = j->call; /* a copy: nothing that is written can change it */
    note_first(j, e);
    while (e < end && !*shown)
        *shown = judge_entry(j, e++, c.findings, c.monitor, c.breaches, c.tally);
    return e;
}

/* fcvi_ahead_take: records that are there already, as many at a time as can be fetched for. */
static size_t take(void *context, struct judge_entry *first, size_t count,
                   const struct fcvi_monitor_findings *found, bool *shown)
{
    struct judge *j = context;
    (void)found;
    const struct fcvi_monitor *monitor = j->call.monitor;
    const struct judge_entry *end = first + (count < JUDGE_BATCH ? count : JUDGE_BATCH);
    for (const struct judge_entry *f = first; monitor != NULL && f < end; f++)
        if (f->record.kind == CAPTURE_FRAME)
            fcvi_monitor_fetch(monitor, f->hint);
    return (size_t)(judge_entries(j, first, end, shown) - first);
}

bool fcvi_judge_ahead(struct judge *judge, const struct fcvi_monitor *monitor)
{
    if (fcvi_capture_is_file(judge->capture))
        judge->ahead = fcvi_ahead_open(judge->capture, monitor, NULL, take, judge);
    return judge->ahead != NULL;
}

/* As fcvi_ahead_next, by this thread alone. */
static int next_here(struct judge *j, struct judge_entry **shown, char *error, size_t size)
{
    for (unsigned step = 0; step < STEP; step += JUDGE_BATCH) {
        bool seen = false;
        int status = j->next < j->ready ? 1 : fill(j, j->call.monitor, error, size);
        if (status != 1)
            return status;
        j->next = judge_entries(j, j->next, j->ready, &seen);
        *shown = j->next - 1;
        if (seen)
            return 1;
    }
    return 2;
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
    struct judge_entry *e = NULL;
    j->call = (struct judge_call){findings, monitor, breaches, tally};
    int status =
        j->ahead != NULL ? fcvi_ahead_next(j->ahead, &e, error, size) : next_here(j, &e, error, size);
    take_usual(j, tally);
    tally->first_us = j->first_us;
    if (status == 1 && j->no_memory) {
        snprintf(error, size, "out of memory for TCP streams");
        return -1;
    }
    if (status == 1) {
        *out = e->record;
        *frame = e->frame;
    }
    return status;
}
