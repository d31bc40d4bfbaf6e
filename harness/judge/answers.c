/* LS_ACCs beside their requests. An OX_ID may come again, and the capture may lack the frames between: only
 * an answer that came at once is held against its request. */
#include "answers.h"

#include <string.h>

enum { AT_ONCE_US = 100000, LONGEST = 24 + 256, COMMAND_AT = 24 };
enum { REQUEST = 0x22, REPLY = 0x23, LS_ACC = 0x02 };

static bool is_answered_alike(uint8_t command)
{
    static const uint8_t commands[] = {0x03, 0x04, 0x50, 0x51, 0x52}; /* PLOGI, FLOGI, PDISC, FDISC, ADISC */
    return memchr(commands, command, sizeof commands) != NULL;
}

/* Who has just been given an N_Port_ID asked without one. */
static struct asked *find(struct answers *a, uint32_t network, uint32_t from, uint32_t to, uint16_t ox_id)
{
    for (unsigned i = 0; i < JUDGE_ASKED; i++) {
        struct asked *q = &a->asked[i];
        if (q->command != 0 && q->network == network && q->d_id == to && q->ox_id == ox_id &&
            (q->s_id == from || q->s_id == 0))
            return q;
    }
    return NULL;
}

static void ask(struct answers *a, const struct capture_record *r, const struct fcvi_frame *f)
{
    const uint32_t s_id = (uint32_t)fcvi_FC_S_ID(f->fc), d_id = (uint32_t)fcvi_FC_D_ID(f->fc);
    const uint16_t ox_id = (uint16_t)fcvi_FC_OX_ID(f->fc);
    const uint8_t command = f->payload[0];
    struct asked *q = find(a, r->network, s_id, d_id, ox_id);
    if (q != NULL)
        q->command = 0;
    if (!is_answered_alike(command))
        return;
    a->asked[a->next] = (struct asked){r->time_us, r->network, s_id, d_id, ox_id, command};
    a->next = (a->next + 1) % JUDGE_ASKED;
    a->any = true;
}

void fcvi_answers_take(struct answers *a, const struct capture_record *r, const struct fcvi_frame *f,
                       struct fcvi_findings *findings)
{
    const uint64_t r_ctl = fcvi_FC_R_CTL(f->fc);
    if (f->payload_length == 0 || f->payload != f->fc + COMMAND_AT || fcvi_FC_SEQ_CNT(f->fc) != 0)
        return;
    if (r_ctl == REQUEST) {
        ask(a, r, f);
        return;
    }
    struct asked *q = r_ctl != REPLY ? NULL
                                     : find(a, r->network, (uint32_t)fcvi_FC_D_ID(f->fc),
                                            (uint32_t)fcvi_FC_S_ID(f->fc), (uint16_t)fcvi_FC_OX_ID(f->fc));
    if (q == NULL)
        return;
    const uint8_t command = q->command;
    const bool at_once = r->time_us >= q->time_us && r->time_us - q->time_us <= AT_ONCE_US;
    q->command = 0;
    if (!at_once || findings->count != 0 || f->payload[0] != LS_ACC || f->input.length > LONGEST)
        return;
    /* it is as long as its request: the codec judges it by that */
    uint8_t as_request[LONGEST];
    memcpy(as_request, f->input.bytes, f->input.length);
    as_request[COMMAND_AT] = command;
    struct fcvi_input in = f->input;
    in.bytes = as_request;
    struct fcvi_frame view;
    fcvi_decode(&in, &view, findings);
    if (findings->worst != 1u + FCVI_MALFORMED)
        findings->count = findings->worst = 0;
}

void fcvi_answers_forget(struct answers *a)
{
    if (a->any)
        memset(a, 0, sizeof *a);
}
