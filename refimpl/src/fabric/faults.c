/* What a frame suffers on its way: rules, and chance with a seed. */
#include "internal.h"

enum { MILLION = 1000000 };

/* ---- chance ---- */

static bool chance(struct fcvi_fabric *f, uint32_t ppm)
{
    return ppm != 0 && fcvi_fabric_random(f, MILLION) < ppm;
}

static void random_faults(struct fcvi_fabric *f, struct fabric_verdict *v)
{
    v->drop = chance(f, f->config.loss);
    if (v->drop)
        return;
    v->duplicate = chance(f, f->config.duplication);
    if (chance(f, f->config.corruption))
        v->corruption = (uint8_t)(FABRIC_FLIPPED + fcvi_fabric_random(f, 3));
}

/* ---- rules ---- */

struct fcvi_fabric_rule fcvi_fabric_rule_any(enum fcvi_fabric_action action)
{
    return (struct fcvi_fabric_rule){.from = FCVI_FABRIC_ANY,
                                     .to = FCVI_FABRIC_ANY,
                                     .r_ctl = FCVI_FABRIC_ANY_BYTE,
                                     .opcode = FCVI_FABRIC_ANY_BYTE,
                                     .ox_id = FCVI_FABRIC_ANY,
                                     .seq_cnt = FCVI_FABRIC_ANY,
                                     .action = (uint8_t)action};
}

uint32_t fcvi_fabric_rule_add(struct fcvi_fabric *fabric, const struct fcvi_fabric_rule *rule)
{
    if (rule->action > FCVI_ACT_F_RJT || (rule->action == FCVI_ACT_F_BSY && rule->reason > 0xF) ||
        rule->delay_us > FCVI_FABRIC_LONGEST)
        return FABRIC_NONE;
    for (uint32_t i = 0; i < fabric->limits.rules; i++) {
        struct fabric_rule *r = fabric_rule_at(fabric, i);
        if (r->used)
            continue;
        *r = (struct fabric_rule){.used = true, .spec = *rule};
        return i;
    }
    return FABRIC_NONE;
}

static bool exists(const struct fcvi_fabric *f, uint32_t rule)
{
    return rule < f->limits.rules && fabric_rule_at_c(f, rule)->used;
}

bool fcvi_fabric_rule_clear(struct fcvi_fabric *fabric, uint64_t now, uint32_t rule)
{
    if (!exists(fabric, rule))
        return false;
    fcvi_fabric_release(fabric, now, rule);
    fabric_rule_at(fabric, rule)->used = false;
    return true;
}

uint32_t fcvi_fabric_release(struct fcvi_fabric *fabric, uint64_t now, uint32_t rule)
{
    fabric_advance(fabric, now);
    return exists(fabric, rule) ? fcvi_fabric_unhold(fabric, now, rule) : 0;
}

uint64_t fcvi_fabric_hits(const struct fcvi_fabric *fabric, uint32_t rule)
{
    return exists(fabric, rule) ? fabric_rule_at_c(fabric, rule)->hits : 0;
}

uint64_t fcvi_fabric_tag_hits(const struct fcvi_fabric *fabric, uint32_t tag)
{
    uint64_t hits = 0;
    for (uint32_t i = 0; i < fabric->limits.rules; i++)
        if (exists(fabric, i) && fabric_rule_at_c(fabric, i)->spec.tag == tag)
            hits += fabric_rule_at_c(fabric, i)->hits;
    return hits;
}

/* ---- a frame against a rule ---- */

static bool has_opcode(const struct fabric_parcel *p, uint16_t opcode)
{
    struct fcvi_input in = {p->bytes, p->length, p->sof, p->eof, FCVI_CRC_ABSENT};
    struct fcvi_frame view;
    if (opcode == FCVI_FABRIC_ANY_BYTE)
        return true;
    fcvi_decode(&in, &view, NULL);
    return view.kind == FCVI_KIND_IU && view.dh_length >= 16 && fcvi_DH_FCVI_OPCODE(view.dh) == opcode;
}

static bool matches(const struct fcvi_fabric_rule *r, const struct fabric_parcel *p, uint32_t to)
{
    const uint8_t *fc = p->bytes;
    return (r->from == FCVI_FABRIC_ANY || r->from == p->from) && (r->to == FCVI_FABRIC_ANY || r->to == to) &&
           (r->r_ctl == FCVI_FABRIC_ANY_BYTE || r->r_ctl == fcvi_FC_R_CTL(fc)) &&
           (r->ox_id == FCVI_FABRIC_ANY || r->ox_id == fcvi_FC_OX_ID(fc)) &&
           (r->seq_cnt == FCVI_FABRIC_ANY || r->seq_cnt == fcvi_FC_SEQ_CNT(fc)) && has_opcode(p, r->opcode);
}

/* Does the rule act on this frame? Counts it. */
static bool acts(struct fabric_rule *r, const struct fabric_parcel *p, uint32_t to)
{
    const struct fcvi_fabric_rule *s = &r->spec;
    if (!r->used || !matches(s, p, to))
        return false;
    uint64_t seen = r->seen++;
    if (seen < s->skip || (s->every > 1 && (seen - s->skip) % s->every != 0))
        return false;
    if (s->count != 0 && r->hits >= s->count)
        return false;
    r->hits++;
    return true;
}

static void apply(const struct fcvi_fabric_rule *s, uint32_t rule, struct fabric_verdict *v)
{
    v->drop = s->action == FCVI_ACT_DROP || s->action >= FCVI_ACT_F_BSY;
    v->reason = s->reason;
    switch (s->action) {
    case FCVI_ACT_DUPLICATE:
        v->duplicate = true;
        v->second_delay = s->delay_us;
        break;
    case FCVI_ACT_DELAY:
        v->delay = s->delay_us;
        break;
    case FCVI_ACT_CORRUPT:
        v->corruption = FABRIC_FLIPPED;
        break;
    case FCVI_ACT_BAD_CRC:
        v->corruption = FABRIC_BAD_CRC;
        break;
    case FCVI_ACT_EOF_NI:
        v->corruption = FABRIC_EOF_NI;
        break;
    case FCVI_ACT_HOLD:
        v->hold = rule;
        break;
    case FCVI_ACT_F_BSY:
        v->answer = FCVI_R_CTL_F_BSY_TO_DATA;
        break;
    case FCVI_ACT_F_RJT:
        v->answer = FCVI_R_CTL_F_RJT;
        break;
    default:
        break; /* DROP */
    }
}

struct fabric_verdict fcvi_fabric_judge(struct fcvi_fabric *f, const struct fabric_parcel *p, uint32_t to)
{
    struct fabric_verdict v = {.hold = FABRIC_NONE};
    for (uint32_t i = 0; i < f->limits.rules; i++) {
        struct fabric_rule *r = fabric_rule_at(f, i);
        if (!acts(r, p, to) || r->spec.action == FCVI_ACT_PASS)
            continue;
        apply(&r->spec, i, &v);
        return v;
    }
    random_faults(f, &v);
    return v;
}
