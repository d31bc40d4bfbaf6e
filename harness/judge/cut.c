/* Of an FC-VI frame the SOF, the Frame_Header and the Device_Header take 60 bytes: a capture of 64 bytes a
 * frame has all that most rules ask for. */
#include "cut.h"

#include <string.h>

enum { FC_HEADER = 24, ELS_COMMAND = 4 };

/* The view of the frame with so many bytes, of which those that are missing are zero. */
static void view(struct judge_cut *cut, const struct capture_record *r, size_t length,
                 struct fcvi_frame *frame, struct fcvi_findings *findings)
{
    struct fcvi_input in = {cut->bytes, length, r->frame.sof, FCVI_EOF_NONE, FCVI_CRC_ABSENT};
    fcvi_decode(&in, frame, findings);
}

/* The IU is this frame alone (E44). */
static bool is_one_frame(const struct fcvi_frame *f)
{
    return fcvi_FC_End_Sequence(f->fc) && fcvi_FC_Parameter(f->fc) == 0;
}

/* A login, or an answer that may be one's. */
static bool is_login(const struct fcvi_frame *f)
{
    enum { LS_ACC = 0x02, PLOGI = 0x03 };
    return f->payload == f->fc + FC_HEADER && f->payload_length >= ELS_COMMAND &&
           (f->payload[0] == LS_ACC || f->payload[0] == PLOGI);
}

/* Where the headers end that must be whole before the frame says anything; 0: it says nothing. */
static size_t needed(const struct fcvi_frame *f)
{
    if (f->kind == FCVI_KIND_IU)
        return f->dh == NULL ? 0 : (size_t)(f->payload - f->fc);
    if (f->kind == FCVI_KIND_ELS)
        return is_login(f) ? FC_HEADER + ELS_COMMAND : 0;
    return f->kind == FCVI_KIND_LINK_CONTROL || f->kind == FCVI_KIND_OTHER ? FC_HEADER : 0;
}

static bool is_connect(const struct fcvi_frame *f)
{
    return f->iu == FCVI_IU_CONNECT_RQST || f->iu == FCVI_IU_CONNECT_RESP1;
}

static bool same(const struct fcvi_finding *a, const struct fcvi_finding *b)
{
    return a->byte == b->byte && a->hi == b->hi && a->lo == b->lo &&
           strcmp(a->requirement, b->requirement) == 0 && strcmp(a->message, b->message) == 0;
}

static bool has(const struct fcvi_findings *list, const struct fcvi_finding *f)
{
    for (size_t i = 0; i < list->count && i < list->capacity; i++)
        if (same(&list->list[i], f))
            return true;
    return false;
}

static void put(struct fcvi_findings *out, const struct fcvi_finding *f)
{
    if (out->count < out->capacity)
        out->list[out->count] = *f;
    out->count++;
    if (out->worst < 1u + f->cls)
        out->worst = 1u + f->cls;
}

/* What is found whether the frame is as short as what is there or as long as any. */
static void judge_of_any_length(struct judge_cut *cut, const struct capture_record *r, size_t headers,
                                struct fcvi_findings *findings)
{
    struct fcvi_finding other[JUDGE_CUT_FINDINGS];
    struct fcvi_findings longest = {cut->list, JUDGE_CUT_FINDINGS, 0, 0},
                         shortest = {other, JUDGE_CUT_FINDINGS, 0, 0};
    struct fcvi_frame frame;
    view(cut, r, CAPTURE_LONGEST, &frame, &longest);
    view(cut, r, headers, &frame, &shortest);
    for (size_t i = 0; i < longest.count && i < longest.capacity; i++)
        if (has(&shortest, &longest.list[i]) &&
            (size_t)longest.list[i].byte + longest.list[i].size <= headers)
            put(findings, &longest.list[i]);
}

static void judge_whole_length(struct judge_cut *cut, const struct capture_record *r, size_t headers,
                               struct fcvi_findings *findings)
{
    struct fcvi_findings all = {cut->list, JUDGE_CUT_FINDINGS, 0, 0};
    struct fcvi_frame frame;
    view(cut, r, r->whole, &frame, &all);
    for (size_t i = 0; i < all.count && i < all.capacity; i++)
        if ((size_t)all.list[i].byte + all.list[i].size <= headers)
            put(findings, &all.list[i]);
}

enum judge_cut_extent fcvi_judge_cut(struct judge_cut *cut, const struct capture_record *r,
                                     struct fcvi_frame *frame, struct fcvi_findings *findings)
{
    size_t there = r->frame.length < CAPTURE_LONGEST ? r->frame.length : CAPTURE_LONGEST;
    bool known = r->whole != 0 && r->whole <= CAPTURE_LONGEST && r->whole >= there;
    if (there < FC_HEADER || r->frame.crc == FCVI_CRC_BAD)
        return JUDGE_CUT_NOTHING;
    memset(cut->bytes, 0, sizeof cut->bytes);
    memcpy(cut->bytes, r->frame.bytes, there);
    view(cut, r, there, frame, NULL);
    size_t headers = needed(frame);
    if (headers == 0 || headers > there)
        return JUDGE_CUT_NOTHING;
    if (frame->kind == FCVI_KIND_OTHER)
        return JUDGE_CUT_FOREIGN;
    if (known)
        judge_whole_length(cut, r, headers, findings);
    else
        judge_of_any_length(cut, r, headers, findings);
    view(cut, r, known ? r->whole : there, frame, NULL);
    if (!known || (is_connect(frame) && !is_one_frame(frame)))
        return JUDGE_CUT_ALONE;
    if (!is_connect(frame) && frame->kind != FCVI_KIND_ELS)
        return JUDGE_CUT_HEADERS;
    const size_t payload = there - (size_t)(frame->payload - frame->fc);
    frame->payload_length = (uint32_t)(payload < frame->payload_length ? payload : frame->payload_length);
    return JUDGE_CUT_VEILED;
}
