/* Artefacts of the capture point, told from damage by what the whole capture shows of a sender. */
#include "point.h"

#include <stdlib.h>

enum {
    LOOKED_AT = 200000, /* records */
    SENDERS = 256,
    FEW = 3,    /* frames that may be damaged by chance one after the other, */
    ALMOST = 2, /* and of which one would have to be good, since it was answered */
    HEADER = 24
};

/* What one N_Port_ID of a network sent. */
struct sender {
    uint64_t key; /* 0: free */
    uint64_t good, bad, constant;
    uint64_t valid, invalid; /* by the EOF */
    uint64_t answered;       /* good frames to it that go on with an Exchange: others took what it sent */
    uint32_t ox_id;          /* of its latest frame with a bad CRC */
    uint32_t confirms;       /* to whom one of them ended a Connection Setup; 0: none did */
    uint32_t handle;         /* the FCVI_HANDLE that one of them gave; 0: none did */
    uint32_t logged_in;      /* whose PLOGI one of them accepted, which was not sent again; 0: nobody's */
    bool took;               /* a good frame answered that one */
};

struct point {
    struct sender sender[SENDERS];
    unsigned senders;
    uint64_t records, frames;
    uint64_t known_sof, known_eof, valid_eof;
    uint64_t
        invalid_answers; /* frames that go on with an Exchange, and whose EOF says that they are invalid */
    bool is_whole, no_sof, no_eof, offloads, marks;
    struct capture_artefacts found;
};

struct point *fcvi_point_open(void)
{
    return calloc(1, sizeof(struct point));
}

void fcvi_point_close(struct point *point)
{
    free(point);
}

const struct capture_artefacts *fcvi_point_artefacts(const struct point *point)
{
    return &point->found;
}

/* ---- one frame ---- */

static bool is_sof(uint8_t sof)
{
    return sof == FCVI_SOF_I3 || sof == FCVI_SOF_N3 || sof == FCVI_SOF_I2 || sof == FCVI_SOF_N2 ||
           sof == FCVI_SOF_F || sof == 0x29 || sof == 0x31 || sof == 0x39; /* of class 4 and 1, FC-BB */
}

static bool is_valid(uint8_t eof)
{
    return eof == FCVI_EOF_N || eof == FCVI_EOF_T || eof == 0x44 || eof == 0x46; /* EOFrt, EOFdt */
}

static bool is_invalid(uint8_t eof)
{
    return eof == FCVI_EOF_NI || eof == FCVI_EOF_A || eof == FCVI_EOF_DTI || eof == FCVI_EOF_RTI;
}

bool fcvi_point_is_odd(const struct capture_record *r)
{
    const struct fcvi_input *f = &r->frame;
    return f->crc == FCVI_CRC_BAD || (f->sof != FCVI_SOF_NONE && !is_sof(f->sof)) ||
           (f->eof != FCVI_EOF_NONE && !is_valid(f->eof));
}

/* What an adapter leaves where it is to put the CRC: Linux writes ones, others nothing. No damage makes
 * either but once in 2^31 frames. */
static bool is_constant(const struct capture_record *r)
{
    return (r->unusual & CAPTURE_CRC_WORD) != 0 && (r->crc_word == 0 || r->crc_word == 0xFFFFFFFFu);
}

/* ---- senders ---- */

static struct sender *of(struct point *p, uint32_t network, uint32_t id)
{
    const uint64_t key = ((uint64_t)network << 24 | id) + 1;
    uint64_t hash = key * 0x9E3779B97F4A7C15u >> 32;
    for (unsigned tried = 0; tried < SENDERS; tried++, hash++) {
        struct sender *s = &p->sender[hash % SENDERS];
        if (s->key == key)
            return s;
        if (s->key == 0 && p->senders < SENDERS - 1) {
            p->senders++;
            s->key = key;
            return s;
        }
        if (s->key == 0)
            break;
    }
    return NULL;
}

enum { BLS = 0x80, FCVI = 0x58, DATA = 0x01, CONTROL = 0x02, REPLY = 0x03, COMMAND = 0x06 }; /* R_CTL, TYPE */
enum { CONNECT_RQST = 0x10, RESP1 = 0x18, RESP3 = 0x1A };
enum { ELS_REQUEST = 0x22, ELS_REPLY = 0x23, LS_ACC = 0x02, PLOGI = 0x03, LOGIN_LENGTH = 140 };
enum { HANDLE_AT = 24, COMMAND_AT = 24, OPCODE_AT = 28, RESP_HANDLE_AT = 64 };

static uint32_t word(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* What a damaged frame would say, if it were not damaged, that its receiver needs to go on. */
static void keep(struct sender *by, const struct fcvi_input *f)
{
    by->ox_id = (uint32_t)fcvi_FC_OX_ID(f->bytes);
    if (f->bytes[0] == ELS_REPLY && f->length >= LOGIN_LENGTH && f->bytes[COMMAND_AT] == LS_ACC)
        by->logged_in = (uint32_t)fcvi_FC_D_ID(f->bytes);
    if (f->bytes[0] != REPLY || f->bytes[8] != FCVI || f->bytes[13] != 2 || f->length <= OPCODE_AT)
        return;
    if (f->bytes[OPCODE_AT] == RESP3)
        by->confirms = (uint32_t)fcvi_FC_D_ID(f->bytes);
    else if (f->bytes[OPCODE_AT] == RESP1 && f->length >= RESP_HANDLE_AT + 4)
        by->handle = word(f->bytes + RESP_HANDLE_AT);
}

/* A requester sends Messages only when FCVI_CONNECT_RESP3 came (8.2), and to the FCVI_HANDLE that
 * FCVI_CONNECT_RESP1 gave (6.9.3), and it asks for a Connection only when its PLOGI was accepted (7.7.1): who
 * does has taken them. */
static bool goes_on(const struct sender *to, const struct fcvi_input *f)
{
    const uint32_t s_id = (uint32_t)fcvi_FC_S_ID(f->bytes);
    if (f->bytes[8] != FCVI || f->length <= OPCODE_AT)
        return false;
    if (f->bytes[0] == CONTROL)
        return to->logged_in != 0 && to->logged_in == s_id && f->bytes[OPCODE_AT] == CONNECT_RQST;
    if (f->bytes[0] != DATA && f->bytes[0] != COMMAND)
        return false;
    return (to->confirms != 0 && to->confirms == s_id) ||
           (to->handle != 0 && to->handle == word(f->bytes + HANDLE_AT));
}

static void look_at(struct point *p, const struct capture_record *r)
{
    const struct fcvi_input *f = &r->frame;
    const bool good = f->crc == FCVI_CRC_OK && is_valid(f->eof);
    struct sender *by = of(p, r->network, (uint32_t)fcvi_FC_S_ID(f->bytes));
    if (by == NULL)
        return;
    by->good += f->crc == FCVI_CRC_OK;
    by->bad += f->crc == FCVI_CRC_BAD;
    by->constant += f->crc == FCVI_CRC_BAD && is_constant(r);
    if (f->crc == FCVI_CRC_BAD)
        keep(by, f);
    by->valid += is_valid(f->eof);
    by->invalid += is_invalid(f->eof);
    struct sender *to = of(p, r->network, (uint32_t)fcvi_FC_D_ID(f->bytes));
    if (to == NULL || f->crc == FCVI_CRC_BAD)
        return;
    to->took |= good && goes_on(to, f);
    if (f->bytes[0] == ELS_REQUEST && f->length > COMMAND_AT && f->bytes[COMMAND_AT] == PLOGI)
        to->logged_in = 0;
    if (fcvi_FC_First_Sequence(f->bytes) || (f->bytes[0] & 0xF0) == BLS)
        return;
    to->answered += good;
    to->took |= good && to->bad != 0 && to->ox_id == fcvi_FC_OX_ID(f->bytes);
    p->invalid_answers += is_invalid(f->eof);
}

bool fcvi_point_look(struct point *p, const struct capture_record *r)
{
    if (r->kind == CAPTURE_FRAME && r->frame.length >= HEADER) {
        p->frames++;
        p->known_sof += r->frame.sof == FCVI_SOF_NONE || is_sof(r->frame.sof);
        p->valid_eof += is_valid(r->frame.eof);
        p->known_eof += r->frame.eof == FCVI_EOF_NONE || is_valid(r->frame.eof) || is_invalid(r->frame.eof);
        look_at(p, r);
    }
    return ++p->records < LOOKED_AT;
}

/* None of its frames has a good CRC. Either the word is the one that adapters leave, or others went on with
 * what it had sent, which no receiver does with a damaged frame. */
static bool has_no_crc(const struct sender *s)
{
    if (s->good != 0 || s->bad == 0)
        return false;
    return s->constant == s->bad || s->took || (s->bad >= ALMOST && s->answered != 0);
}

/* All that it sent is marked as invalid, and others went on with it, which no receiver does. */
static bool marks_all(const struct sender *s)
{
    return s->valid == 0 && s->invalid >= FEW && s->answered >= FEW;
}

void fcvi_point_conclude(struct point *p, bool is_whole)
{
    p->is_whole = is_whole;
    p->no_sof = is_whole && p->frames >= FEW && p->known_sof == 0;
    p->no_eof = is_whole && p->frames >= FEW && p->known_eof == 0;
    for (unsigned i = 0; i < SENDERS; i++) {
        p->offloads |= p->sender[i].key != 0 && p->sender[i].bad >= FEW && has_no_crc(&p->sender[i]);
        p->marks |= p->sender[i].key != 0 && marks_all(&p->sender[i]);
    }
}

/* ---- masking ---- */

static bool lacks_crc(struct point *p, const struct capture_record *r, const struct sender *s)
{
    if (!p->is_whole || s == NULL)
        return is_constant(r);
    /* a host that leaves the CRC out does so under each of its names, FLOGI's 000000 too, which other hosts
     * send as well */
    const bool rare = s->good == 0 && s->bad < FEW;
    return has_no_crc(s) || (p->offloads && is_constant(r) && (rare || fcvi_FC_S_ID(r->frame.bytes) == 0));
}

static bool lacks_eof(const struct point *p, const struct capture_record *r, const struct sender *s)
{
    if (!is_invalid(r->frame.eof))
        return p->no_eof && r->frame.eof != FCVI_EOF_NONE;
    if (!p->is_whole || s == NULL)
        return false;
    if (fcvi_FC_S_ID(r->frame.bytes) == 0) /* FLOGI's, which such a host has, too */
        return p->marks;
    return marks_all(s) ||
           (s->valid == 0 && s->invalid >= FEW && p->valid_eof == 0 && p->invalid_answers >= FEW);
}

static void note(struct capture_artefact *a, const struct capture_record *r)
{
    if (a->frames++ == 0)
        a->first = r->number;
    const uint32_t id = (uint32_t)fcvi_FC_S_ID(r->frame.bytes);
    for (unsigned i = 0; i < a->senders && i < CAPTURE_SENDERS; i++)
        if (a->sender[i] == id)
            return;
    if (a->senders < CAPTURE_SENDERS)
        a->sender[a->senders] = id;
    a->senders++;
}

void fcvi_point_mask(struct point *p, struct capture_record *r)
{
    struct fcvi_input *f = &r->frame;
    if (f->length < HEADER)
        return;
    const struct sender *s = p->is_whole ? of(p, r->network, (uint32_t)fcvi_FC_S_ID(f->bytes)) : NULL;
    if (f->crc == FCVI_CRC_BAD && lacks_crc(p, r, s)) {
        p->found.word = is_constant(r) ? r->crc_word : p->found.word;
        p->found.is_constant |= is_constant(r);
        note(&p->found.crc, r);
        f->crc = FCVI_CRC_ABSENT;
    }
    if (p->no_sof && f->sof != FCVI_SOF_NONE) {
        note(&p->found.sof, r);
        f->sof = FCVI_SOF_NONE;
    }
    if (lacks_eof(p, r, s)) {
        note(&p->found.eof, r);
        f->eof = FCVI_EOF_NONE;
    }
}
