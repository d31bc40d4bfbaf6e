/* Captures judged, one record after the other: the record is a unit of a wire, a frame or a segment, which
 * goes to its codec, and then to its monitor. */
#include "judge.h"

#include "answers.h"
#include "cut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 1 << 16 /* records in which nothing is found, before the caller hears of it */, FINDINGS = 64 };

struct judge {
    struct capture *capture;
    struct judge_stream stream;
    uint64_t number;             /* of the record that was counted last, */
    unsigned rank;               /* as what (enum rank), */
    struct judge_count *counted; /* and where */
    bool begun, no_memory;
    struct judge_tally tally;
    struct judge_seen seen; /* the record at hand, */
    struct flows_unit unit; /* and what flows are told of it */
    struct fcvi_finding found[FINDINGS], whole[FINDINGS];
    struct fcvi_monitor_finding breach[FINDINGS];
    struct judge_cut cut;
    struct answers answers;
};

struct judge *fcvi_judge_open(struct capture *capture, const struct judge_stream *stream)
{
    struct judge *j = calloc(1, sizeof *j);
    if (j == NULL)
        return NULL;
    j->capture = capture;
    j->stream = *stream;
    j->seen.findings = (struct fcvi_findings){j->found, FINDINGS, 0, 0};
    j->seen.whole = (struct fcvi_findings){j->whole, FINDINGS, 0, 0};
    j->seen.breaches = (struct fcvi_monitor_findings){j->breach, FINDINGS, 0};
    j->unit.record = &j->seen.record;
    j->unit.frame = &j->seen.frame;
    return j;
}

void fcvi_judge_close(struct judge *judge)
{
    free(judge);
}

const struct judge_seen *fcvi_judge_seen(const struct judge *judge)
{
    return &judge->seen;
}

const struct judge_tally *fcvi_judge_tally(const struct judge *judge)
{
    return &judge->tally;
}

/* ---- what became of a record ---- */

/* Of the frames of one record the one that counts most says what the record is. */
enum rank { FOREIGN = 1, UNJUDGED, JUDGED };

static void count(struct judge_count *c, uint64_t number)
{
    if (c->records++ == 0)
        c->first = number;
}

static bool is_first(const struct capture_record *r)
{
    return (r->unusual & (CAPTURE_FURTHER | CAPTURE_LATE)) == 0;
}

/* With the records before that held parts of the frame. A frame that comes when the capture has ended is of
 * those alone. */
static void count_record(struct judge *j, enum rank rank, struct judge_count *c)
{
    const struct capture_record *r = &j->seen.record;
    if ((r->unusual & CAPTURE_PARTS) != 0)
        c->records += r->parts;
    if (j->number == r->number) {
        if (j->rank >= rank)
            return;
        j->counted->records--;
    } else if (!is_first(r)) {
        return;
    }
    j->number = r->number;
    j->rank = rank;
    j->counted = c;
    count(c, r->number);
}

static void count_foreign(struct judge *j, uint32_t protocol)
{
    struct judge_tally *t = &j->tally;
    uint32_t i = 0;
    while (i < t->protocols && t->foreign[i].protocol != protocol)
        i++;
    if (i < JUDGE_PROTOCOLS && i == t->protocols)
        t->foreign[t->protocols++].protocol = protocol;
    count_record(j, FOREIGN, i < JUDGE_PROTOCOLS ? &t->foreign[i].count : &t->others);
}

static bool is_farp(const struct fcvi_frame *f)
{
    enum { FARP_REQ = 0x54, FARP_REPLY = 0x55 };
    return f->kind == FCVI_KIND_ELS && f->payload_length > 0 &&
           (f->payload[0] == FARP_REQ || f->payload[0] == FARP_REPLY);
}

/* Whether frames of this kind are of FC-VI, or of what it builds on. */
static void count_frame(struct judge *j)
{
    const struct fcvi_frame *f = &j->seen.frame;
    j->tally.fcvi += f->kind == FCVI_KIND_IU;
    j->tally.services += is_farp(f);
    if (f->kind == FCVI_KIND_OTHER && j->seen.record.frame.crc != FCVI_CRC_BAD)
        count_foreign(j, (uint32_t)CAPTURE_FC_TYPE << 16 | (uint32_t)fcvi_FC_TYPE(f->fc));
    else
        count_record(j, JUDGED, &j->tally.judged);
}

/* ---- frames ---- */

static void gap(struct judge *j)
{
    fcvi_answers_forget(&j->answers);
    if (j->stream.monitor != NULL)
        fcvi_monitor_gap(j->stream.monitor);
}

static void follow(struct judge *j)
{
    struct judge_seen *s = &j->seen;
    const struct fcvi_monitor_frame given = {&s->frame, j->stream.before + s->record.number,
                                             s->record.time_us, s->record.network,
                                             s->findings.worst > 1u + FCVI_NOTICE};
    if (j->stream.monitor != NULL)
        fcvi_monitor_frame(j->stream.monitor, &given, &s->breaches);
}

/* The receiver drops the frame: its CRC is wrong, or its EOF says so. */
static bool is_damaged(const struct fcvi_input *f)
{
    return f->crc == FCVI_CRC_BAD || f->eof == FCVI_EOF_NI || f->eof == FCVI_EOF_DTI ||
           f->eof == FCVI_EOF_RTI || f->eof == FCVI_EOF_A;
}

/* Of what the codec finds in a frame that was damaged under way only the damage is told: its sender need not
 * have sent what it says. */
static void believe(struct fcvi_findings *findings)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->count && i < findings->capacity; i++) {
        const struct fcvi_finding *found = &findings->list[i];
        if (found->cls == FCVI_MALFORMED &&
            (strcmp(found->field, "CRC") == 0 || strcmp(found->field, "EOF") == 0))
            findings->list[kept++] = *found;
    }
    findings->count = kept != 0 ? kept : findings->count;
}

static void forget(struct fcvi_findings *findings)
{
    findings->count = 0;
    findings->worst = 0;
}

/* Whether the IU is read by the edition of 1999. What was damaged shows no edition. */
static bool is_rev1(struct judge *j)
{
    const struct capture_record *r = &j->seen.record;
    const struct fcvi_frame *f = &j->seen.frame;
    if (j->stream.editions == NULL || f->kind != FCVI_KIND_IU || is_damaged(&r->frame))
        return false;
    const struct editions_frame shown = {f, r->network, r->kind == CAPTURE_CUT, r->whole};
    bool known;
    const enum fcvi_edition edition = fcvi_editions_of(j->stream.editions, &shown, &known);
    j->tally.undecided += !known;
    j->tally.rev1 += edition == FCVI_EDITION_REV1;
    j->tally.setups[edition] += f->iu == FCVI_IU_CONNECT_RQST && fcvi_FC_Parameter(f->fc) == 0;
    return edition == FCVI_EDITION_REV1;
}

static bool has_found(const struct judge *j)
{
    return j->seen.findings.count != 0 || j->seen.breaches.count != 0 || j->seen.whole.count != 0;
}

static bool judge_frame(struct judge *j)
{
    struct judge_seen *s = &j->seen;
    const struct fcvi_input *in = &s->record.frame;
    fcvi_decode(in, &s->frame, &s->findings);
    j->unit.rev1 = is_rev1(j);
    if (j->unit.rev1) {
        forget(&s->findings);
        fcvi_decode_edition(in, FCVI_EDITION_REV1, &s->frame, &s->findings);
    }
    if (s->findings.count != 0 && is_damaged(in))
        believe(&s->findings);
    else if (s->frame.kind == FCVI_KIND_ELS)
        fcvi_answers_take(&j->answers, &s->record, &s->frame, &s->findings);
    j->tally.frames++;
    count_frame(j);
    follow(j);
    if (j->stream.connects != NULL && fcvi_connects_is_part(&s->frame) && in->crc != FCVI_CRC_BAD)
        fcvi_connects_take(j->stream.connects, &s->record, &s->frame, &s->whole);
    return has_found(j);
}

/* Frames that are cut off: their headers. */
static bool judge_cut(struct judge *j)
{
    struct judge_seen *s = &j->seen;
    const enum judge_cut_extent extent = fcvi_judge_cut(&j->cut, &s->record, &s->frame, &s->findings);
    j->tally.skipped += is_first(&s->record);
    j->unit.extent = (uint8_t)extent;
    if (extent == JUDGE_CUT_FOREIGN) {
        count_frame(j);
        return false;
    }
    j->unit.rev1 = extent != JUDGE_CUT_NOTHING && is_rev1(j);
    if (extent == JUDGE_CUT_NOTHING || j->unit.rev1) { /* the findings are by the tables of 2007 */
        forget(&s->findings);
        gap(j);
        count_record(j, UNJUDGED, &j->tally.unjudged[JUDGE_CUT]);
        return false;
    }
    j->tally.frames++;
    count_frame(j);
    count(&j->tally.part, s->record.number);
    if (extent == JUDGE_CUT_ALONE) {
        gap(j);
        return has_found(j);
    }
    follow(j);
    if (extent == JUDGE_CUT_VEILED && j->stream.monitor != NULL)
        fcvi_monitor_veiled(j->stream.monitor);
    return has_found(j);
}

/* ---- any record ---- */

static bool judge_tcp(struct judge *j)
{
    const int found = fcvi_tcp_take(j->stream.tcp, &j->seen.record, j->stream.before + j->seen.record.number);
    j->no_memory |= found < 0;
    return found != 0;
}

static bool judge_other(struct judge *j)
{
    const struct capture_record *r = &j->seen.record;
    if (r->kind == CAPTURE_MALFORMED) {
        count_record(j, JUDGED, &j->tally.judged);
        gap(j);
        return true;
    }
    j->tally.skipped += is_first(r);
    if (r->kind == CAPTURE_FOREIGN && r->protocol == CAPTURE_TCP && j->stream.tcp != NULL)
        return judge_tcp(j);
    if (r->kind != CAPTURE_PART)
        count_foreign(j, r->kind == CAPTURE_FIP ? 0 : r->protocol);
    return false;
}

static void note_unusual(struct judge *j)
{
    const struct capture_record *r = &j->seen.record;
    if ((r->unusual & CAPTURE_APPENDED) != 0)
        count(&j->tally.appended, r->number);
    if ((r->unusual & CAPTURE_BARE) != 0)
        count(&j->tally.bare, r->number);
    if ((r->unusual & CAPTURE_GAP) == 0)
        return;
    count(&j->tally.gaps, r->number);
    gap(j);
}

static void tick(struct judge_clock *c, const struct capture_record *r)
{
    const uint64_t us = r->time_us;
    if (r->kind == CAPTURE_FOREIGN && r->protocol >> 16 == CAPTURE_EMPTY)
        return; /* zeros are no time */
    if (us > c->heard_us && (r->kind <= CAPTURE_CUT || r->kind == CAPTURE_FIP))
        c->heard_us = us;
    if (us >= c->newest_us) {
        c->pause_us = c->newest_us != 0 && us - c->newest_us > c->pause_us ? us - c->newest_us : c->pause_us;
        c->newest_us = us;
        return;
    }
    c->first_late = c->late++ == 0 ? r->number : c->first_late;
    c->lag_us = c->newest_us - us > c->lag_us ? c->newest_us - us : c->lag_us;
}

/* Whether the caller is to see it. */
static bool judge_record(struct judge *j)
{
    struct judge_seen *s = &j->seen;
    struct capture_record *r = &s->record;
    if (!j->begun)
        j->tally.first_us = r->time_us;
    j->begun = true;
    tick(&j->tally.clock, r);
    s->findings.count = s->whole.count = s->breaches.count = 0;
    s->findings.worst = 0;
    j->unit.rev1 = false;
    j->tally.records += is_first(r);
    if (r->kind == CAPTURE_CUT && r->whole != 0 && r->frame.length == r->whole)
        r->kind = CAPTURE_FRAME; /* all but its CRC and EOF */
    if (r->unusual != 0)
        note_unusual(j);
    const bool shown = r->kind == CAPTURE_FRAME ? judge_frame(j)
                       : r->kind == CAPTURE_CUT ? judge_cut(j)
                                                : judge_other(j);
    if (j->stream.flows == NULL)
        return shown;
    j->unit.number = j->stream.before + r->number;
    j->unit.found = has_found(j);
    j->unit.damaged = is_damaged(&r->frame);
    return fcvi_flows_take(j->stream.flows, &j->unit, &s->flow);
}

int fcvi_judge_next(struct judge *j, char *error, size_t size)
{
    for (unsigned step = 0; step < STEP; step++) {
        const int status = fcvi_capture_next(j->capture, &j->seen.record, error, size);
        if (status != 1) {
            j->tally.fragments = fcvi_capture_fragments(j->capture);
            return status;
        }
        const bool shown = judge_record(j);
        if (j->no_memory) {
            snprintf(error, size, "out of memory for TCP streams");
            return -1;
        }
        if (shown)
            return 1;
    }
    return 2;
}
