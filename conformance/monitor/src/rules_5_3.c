/* 5.3: the four IUs of a Connection Setup come in their order, each once. */
#include "rules.h"

/* FCVI-5.3.1-05. Who answers has got what it answers, so it was sent; only a whole view shows that it was
 * not. Parts of one IU (E44) are one IU. */
static const char *out_of_order(const struct judged_frame *s)
{
    const struct setup_facts *u = &s->x->setup;
    bool part = s->part;
    switch (s->iu) {
    case FCVI_IU_CONNECT_RQST:
        return u->rqst != 0 && !part ? "a second CONNECT_RQST in one Exchange" : NULL;
    case FCVI_IU_CONNECT_RESP1:
        if (u->rqst == 0)
            return "a CONNECT_RESP1 answers no CONNECT_RQST";
        return u->resp1 != 0 && !part ? "a second CONNECT_RESP1 in one Exchange" : NULL;
    case FCVI_IU_CONNECT_RESP2:
        if (u->resp1 == 0)
            return "a CONNECT_RESP2 answers no CONNECT_RESP1";
        return u->resp2 != 0 ? "a second CONNECT_RESP2 in one Exchange" : NULL;
    default:
        if (u->resp2 == 0)
            return "a CONNECT_RESP3 answers no CONNECT_RESP2";
        return u->resp3 != 0 ? "a second CONNECT_RESP3 in one Exchange" : NULL;
    }
}

bool mon_rules_5_3(struct judged_frame *s)
{
    const char *words = out_of_order(s);
    if (words == NULL)
        return true;
    if (!mon_exact(s->m, s->x)) {
        mon_unjudged(s->m, FCVI_UNJUDGED_REQUEST, s->in->number);
        return true;
    }
    if (mon_far_good(s))
        mon_report(s, DH(s, FCVI_OPCODE), fcvi_DH_FCVI_OPCODE(s->dh),
                   FCVI_BREACH_IN_WORDS("FCVI-5.3.1-05", words, "10h, 18h, 19h, 1Ah, each once"),
                   s->own->frame);
    return false;
}
