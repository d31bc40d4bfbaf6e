/* Whose turn it is to send: a ring of the VIs that have something, one Sequence each (4.1). */
#include "message.h"

static void ring_add(struct fcvi_port *p, struct vi *vi)
{
    FCVI_ASSERT(vi->used && !vi->ready);
    uint32_t index = vi_index(p, vi);
    if (p->ready == NONE) {
        p->ready = vi->ring_next = vi->ring_previous = index;
    } else {
        struct vi *first = vi_at(p, p->ready), *last = vi_at(p, first->ring_previous);
        vi->ring_next = p->ready;
        vi->ring_previous = first->ring_previous;
        last->ring_next = first->ring_previous = index;
    }
    vi->ready = true;
}

/* It has nothing to send. */
void fcvi_schedule_rest(struct fcvi_port *p, struct vi *vi)
{
    FCVI_ASSERT(p->ready != NONE && vi->ready);
    uint32_t index = vi_index(p, vi);
    vi_at(p, vi->ring_next)->ring_previous = vi->ring_previous;
    vi_at(p, vi->ring_previous)->ring_next = vi->ring_next;
    if (p->ready == index)
        p->ready = vi->ring_next == index ? NONE : vi->ring_next;
    vi->ready = false;
}

/* Something has changed that may let the VI send. */
void fcvi_schedule_wake(struct fcvi_port *p, struct vi *vi)
{
    if (vi->state == FCVI_STATE_CONNECTED && !vi->ready)
        ring_add(p, vi);
}

/* No Exchange, or no SEQ_ID, was free: the VI is woken when one is. What needs none goes on: FCVI_READ_RESP
 * may be what the other side waits for before it gives an Exchange back. */
void fcvi_schedule_starve(struct fcvi_port *p, struct vi *vi)
{
    if (vi->starved)
        return;
    vi->starved = true;
    vi->starved_next = p->starved;
    p->starved = vi_index(p, vi);
}

/* A VI that ceases to be does not wait for anything. */
void fcvi_schedule_forget(struct fcvi_port *p, struct vi *vi)
{
    if (vi->ready)
        fcvi_schedule_rest(p, vi);
    if (vi->starved)
        fcvi_schedule_wake_starved(p); /* the others come back to the list when they have to */
}

void fcvi_schedule_wake_starved(struct fcvi_port *p)
{
    while (p->starved != NONE) {
        struct vi *vi = vi_at(p, p->starved);
        p->starved = vi->starved_next;
        vi->starved = false;
        fcvi_schedule_wake(p, vi);
    }
}
