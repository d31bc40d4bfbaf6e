/* SEQ_IDs, and the Sequences that are open (4.1, 5.5). */
#include "fc2.h"

/* One that no open Sequence has (5.5). There is one: Messages leave one free (4.1). */
uint8_t fcvi_fc2_seq_id_new(struct fcvi_port *p)
{
    FCVI_ASSERT(p->open_sequences <= 255);
    while (p->seq_ids[p->next_seq_id / 64] >> p->next_seq_id % 64 & 1u)
        p->next_seq_id++;
    return p->next_seq_id++;
}

/* 255 Sequences may be open at once (4.1). In class 3 one is closed as soon as it is sent (5.5). */
bool fcvi_fc2_sequences_left(const struct fcvi_port *p)
{
    return p->open_sequences < 255;
}

/* A SEQ_ID for the next Sequence of a Message; false when there is none. */
bool fcvi_fc2_sequence_open(struct fcvi_port *p, struct exchange *x)
{
    if (!fcvi_fc2_sequences_left(p))
        return false;
    x->seq_id = fcvi_fc2_seq_id_new(p);
    x->sequence_open = true;
    if (class2(p)) {
        p->seq_ids[x->seq_id / 64] |= 1ULL << x->seq_id % 64;
        p->open_sequences++;
    }
    return true;
}

/* The Sequence is closed, or recovered after an error: its SEQ_ID may be used again (5.5). */
void fcvi_fc2_sequence_close(struct fcvi_port *p, struct exchange *x)
{
    if (x->sequence_open && class2(p)) {
        p->seq_ids[x->seq_id / 64] &= ~(1ULL << x->seq_id % 64);
        FCVI_ASSERT(p->open_sequences > 0);
        p->open_sequences--;
    }
    x->sequence_open = false;
    x->unacked = x->resend = 0;
    p->fc4->exchange_left(p);
}
