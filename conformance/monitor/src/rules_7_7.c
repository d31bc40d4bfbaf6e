/* 7.7.1: logins that can be seen, and no FC-VI after a logout. */
#include "rules.h"

/* FC-FS (FCVI-5.8.1-01): a frame is no longer than its receiver said at login. Its sender has that
 * PLOGI or ACC. */
static void check_size(struct judged_frame *s, const struct pair *p)
{
    unsigned far = mon_pair_index(s->d_id, s->s_id);
    size_t length = s->f->input.length - 24;
    struct fcvi_place place = {"Data_Field", 24, (uint16_t)length, 0, 0};
    const struct login *l = &p->login[far];
    if (l->size != 0 && length > l->size && l->frame > s->m->last_gap)
        mon_report(s, place, length,
                   FCVI_BREACH("FCVI-5.8.1-01", "the Data_Field is longer than the receiver's login allows",
                               l->size),
                   l->frame);
}

/* FCVI-7.7.1-05: who has sent or accepted a LOGO has no Connection with that port, and sends it no
 * IU before another PLOGI. These are the sender's own frames; a PLOGI that was missed would excuse it. */
void mon_rules_7_7(struct judged_frame *s)
{
    const struct pair *p = mon_pair_here(s);
    if (p == NULL || !mon_exact(s->m, s->x))
        return;
    check_size(s, p);
    uint64_t out = p->logged_out[mon_pair_index(s->s_id, s->d_id)];
    if (out != 0 && out > s->m->last_gap)
        mon_report(s, FC(D_ID), s->d_id,
                   FCVI_BREACH_IN_WORDS("FCVI-7.7.1-05", "an FC-VI IU after the logout of the two ports",
                                        "another PLOGI before"),
                   out);
}

/* FC-FS: the larger of the common and the class 3 Receive Data_Field Size; either may be meant. */
static uint16_t largest(const uint8_t *login)
{
    uint64_t common = fcvi_LOGIN_Receive_Data_Field_Size(login),
             class_3 = fcvi_load(fcvi_LOGIN_Class_3(login) + 6, 2);
    uint64_t class_2 = fcvi_load(fcvi_LOGIN_Class_2(login) + 6, 2);
    uint64_t most = class_3 > class_2 ? class_3 : class_2;
    return (uint16_t)(common > most ? common : most);
}

enum { COMMON_FEATURES = 8 }; /* bytes up to them */

/* 5.6: what the service parameters say and lack. E17: which bit C is, is judged elsewhere. */
static struct login parameters(const struct judged_frame *s)
{
    struct login l = {.frame = s->in->number};
    if (s->f->payload_length < FCVI_ELS_LENGTH + COMMON_FEATURES)
        return l;
    const uint8_t *login = s->f->payload + FCVI_ELS_LENGTH;
    l.lacks = fcvi_LOGIN_SEQ_CNT_S(login) ? 0 : LACKS_S;
    if (!fcvi_LOGIN_CIRO(login))
        l.lacks |= fcvi_LOGIN_Random_Offset(login) ? LACKS_C_NOT_RANDOM : LACKS_C;
    if (s->f->payload_length >= FCVI_ELS_LENGTH + FCVI_LOGIN_LENGTH)
        l.size = largest(login);
    return l;
}

static void learn_name(const struct judged_frame *s, struct pair *p, unsigned me)
{
    if (s->f->payload_length >= FCVI_ELS_LENGTH + FCVI_LOGIN_LENGTH)
        p->name[me] = (struct name){fcvi_LOGIN_Port_Name(s->f->payload + FCVI_ELS_LENGTH), s->in->number};
}

/* The ACC of a PLOGI that was under way may come after the LOGO, and then the port is
 * logged in all the same: only a login that is older than any frame under way is certainly over. A
 * PLOGI that was not seen has its answer within 2 R_A_TOV or none (FC-FS). */
static void logged_out(const struct judged_frame *s, struct pair *p, unsigned me)
{
    const struct fcvi_monitor *m = s->m;
    uint64_t now = s->in->time_us, r_a_tov = m->config.r_a_tov_us;
    bool settled = p->used || ((p->plogi_time == 0 || now - p->plogi_time >= r_a_tov) &&
                               (!m->partial || now - m->resumed >= 2 * r_a_tov));
    p->logged_out[me] = settled ? s->in->number : 0;
    p->left[me] = p->used ? s->in->number : p->left[me];
}

static void request(struct judged_frame *s, struct pair *p, unsigned me, uint8_t command)
{
    p->used = command == FCVI_ELS_LOGO && mon_knows_all(s->m) && p->confirmed > p->voided &&
              p->els[me] != FCVI_ELS_PLOGI && p->els[1 - me] != FCVI_ELS_PLOGI;
    p->els[me] = command;
    p->els_ox_id[me] = (uint16_t)fcvi_FC_OX_ID(s->fc);
    p->epoch = p->voided = s->m->voided = s->in->number;
    if (command == FCVI_ELS_LOGO) {
        logged_out(s, p, me);
        return;
    }
    p->logged_out[0] = p->logged_out[1] = 0;
    p->login[0] = p->login[1] = (struct login){0};
    p->plogi_time = s->in->time_us;
    p->offered[me] = parameters(s);
    learn_name(s, p, me);
}

void mon_login_services(struct judged_frame *s)
{
    if (s->f->payload_length < FCVI_ELS_LENGTH)
        return;
    uint8_t command = (uint8_t)fcvi_ELS_ELS_Command(s->f->payload);
    uint64_t r_ctl = fcvi_FC_R_CTL(s->fc);
    if (r_ctl == FCVI_R_CTL_ELS_REQUEST && (command == FCVI_ELS_FARP_REQ || command == FCVI_ELS_FARP_REPLY))
        mon_rules_7_5(s, command);
    unsigned me = mon_pair_index(s->s_id, s->d_id), far = 1 - me;
    if (s->s_id == s->d_id)
        return;
    if (r_ctl == FCVI_R_CTL_ELS_REQUEST && (command == FCVI_ELS_PLOGI || command == FCVI_ELS_LOGO)) {
        request(s, mon_pair_of(s->m, s->in->network, s->s_id, s->d_id, true), me, command);
        return;
    }
    struct pair *p = mon_pair_here(s);
    if (p == NULL || r_ctl != FCVI_R_CTL_ELS_REPLY || p->els[far] == 0 ||
        p->els_ox_id[far] != fcvi_FC_OX_ID(s->fc))
        return;
    /* what the sender sent before the PLOGI or LOGO reached it is over as well (7.7.1) */
    p->epoch = p->voided = s->m->voided = s->in->number;
    if (command == FCVI_ELS_LS_ACC && p->els[far] == FCVI_ELS_PLOGI) {
        p->plogi_time = s->in->time_us;
        p->login[me] = parameters(s);
        learn_name(s, p, me);
        p->login[far] = p->offered[far];
        p->logged_out[0] = p->logged_out[1] = 0; /* a LOGO that crossed the PLOGI is past */
    } else if (command == FCVI_ELS_LS_ACC) {
        logged_out(s, p, me);
    }
    p->els[far] = 0;
}
