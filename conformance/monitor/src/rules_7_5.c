/* 7.5: which ports a FARP names, and which fields a FARP-REPLY repeats from the FARP-REQ. */
#include "rules.h"

static void same(struct judged_frame *s, struct fcvi_place place, uint64_t seen, const char *id,
                 const char *words, uint64_t wanted, uint64_t other)
{
    if (seen != wanted)
        mon_report(s, place, seen, FCVI_BREACH(id, words, wanted), other);
}

/** What is known of the FARP-REQs of a port. */
static struct farp *known(struct fcvi_monitor *m, uint32_t network, uint32_t port)
{
    for (unsigned i = 0; i < MON_FARPS && m->farp[i].frame != 0; i++) {
        if (m->farp[i].network == network && m->farp[i].port == port)
            return &m->farp[i];
    }
    return NULL;
}

static void remember(struct judged_frame *s, const uint8_t *p)
{
    struct farp now = {
        s->in->number, fcvi_FARP_Requesting_Port_Name(p),       s->in->network,
        s->s_id,       (uint8_t)fcvi_FARP_Match_Code_Points(p), (uint8_t)fcvi_FARP_Responder_Action(p),
        false};
    struct farp *old = known(s->m, now.network, now.port);
    if (old != NULL) {
        old->several |= old->name != now.name || old->codes != now.codes || old->action != now.action;
        return;
    }
    for (unsigned i = 0; i < MON_FARPS; i++) {
        if (s->m->farp[i].frame == 0) {
            s->m->farp[i] = now;
            return;
        }
    }
}

enum {
    MATCH_IP = 0x04,
    ASKED = 0x02
}; /* 7.5, steps 12 and 13: the Match Address Code Points and Responder Action */

/* Only what FC-VI answers is judged: another FC-4 of the port may reply to other FARP-REQs in its own way
 * (7.5, note). No FC-4 may change these fields (RFC 2625 5.3), so it does not matter which FC-4 of the port
 * replies. Where the FARP-REQs of a port differ, the reply may be to any of them; two ports may also have had
 * the N_Port Identifier one after the other. The port that replies may know the name better, from a login. */
static void repeats(struct judged_frame *s, const uint8_t *p, uint16_t base)
{
    const struct farp *asked = mon_knows_all(s->m) ? known(s->m, s->in->network, s->d_id) : NULL;
    if (asked == NULL || asked->several || asked->codes != MATCH_IP || asked->action != ASKED)
        return;
    static const char words[] = "a FARP-REPLY repeats what the FARP-REQ has there";
    same(s, FCVI_AT(base, FARP, Match_Code_Points), fcvi_FARP_Match_Code_Points(p), "FCVI-7.5-17", words,
         asked->codes, asked->frame);
    same(s, FCVI_AT(base, FARP, Responder_Action), fcvi_FARP_Responder_Action(p), "FCVI-7.5-19", words,
         asked->action, asked->frame);
    const struct pair *pair = mon_pair_here(s);
    uint64_t name = fcvi_FARP_Requesting_Port_Name(p);
    if (pair == NULL || name != pair->name[mon_pair_index(s->d_id, s->s_id)].port_name)
        same(s, FCVI_AT(base, FARP, Requesting_Port_Name), name, "FCVI-7.5-21", words, asked->name,
             asked->frame);
}

void mon_rules_7_5(struct judged_frame *s, uint8_t command)
{
    if (s->f->payload_length < FCVI_ELS_LENGTH + FCVI_FARP_LENGTH)
        return;
    const uint8_t *p = s->f->payload + FCVI_ELS_LENGTH;
    uint16_t base = (uint16_t)(p - s->fc);
    bool reply = command == FCVI_ELS_FARP_REPLY;
    same(s, FCVI_AT(base, FARP, Requesting_N_Port_Identifier), fcvi_FARP_Requesting_N_Port_Identifier(p),
         reply ? "FCVI-7.5-18" : "FCVI-7.5-03", "the requesting N_Port is another", reply ? s->d_id : s->s_id,
         0);
    if (!reply) {
        remember(s, p);
        return;
    }
    same(s, FCVI_AT(base, FARP, Responding_N_Port_Identifier), fcvi_FARP_Responding_N_Port_Identifier(p),
         "FCVI-7.5-20", "the responding N_Port is not the sender", s->s_id, 0);
    repeats(s, p, base);
}
