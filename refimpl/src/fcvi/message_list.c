/* Lists of Exchanges, linked through their Messages, and of held frames; and the end of all of them. */
#include "../block/timers.h"
#include "message.h"

/* Behind `after`; NONE is the front. */
void fcvi_message_list_insert(struct fcvi_port *p, struct list *list, uint32_t after, uint32_t exchange)
{
    FCVI_ASSERT(exchange != after && (list->head == NONE) == (list->tail == NONE));
    uint32_t *link = after == NONE ? &list->head : &message_at(p, after)->next;
    message_at(p, exchange)->next = *link;
    *link = exchange;
    if (list->tail == after)
        list->tail = exchange;
}

void fcvi_message_list_append(struct fcvi_port *p, struct list *list, uint32_t exchange)
{
    fcvi_message_list_insert(p, list, list->tail, exchange);
}

void fcvi_message_list_remove(struct fcvi_port *p, struct list *list, uint32_t exchange)
{
    uint32_t before = NONE, i = list->head;
    while (i != NONE && i != exchange) {
        before = i;
        i = message_at(p, i)->next;
    }
    if (i == NONE)
        return;
    uint32_t next = message_at(p, exchange)->next;
    if (before == NONE)
        list->head = next;
    else
        message_at(p, before)->next = next;
    if (list->tail == exchange)
        list->tail = before;
}

/* The frame as it came; it points into what is held. */
void fcvi_message_held_frame(const struct fcvi_port *p, const struct held *h, struct fcvi_frame *f)
{
    struct fcvi_input in = {h->bytes, h->length, FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_OK};
    fcvi_decode_edition(&in, (enum fcvi_edition)p->config.revision, f, NULL);
}

/* The frame is held no longer. */
void fcvi_message_held_free(struct fcvi_port *p, uint32_t i)
{
    held_at(p, i)->next = p->free_held;
    p->free_held = i;
    p->used.held_frames--;
}

static void free_list(struct fcvi_port *p, struct list *list)
{
    while (list->head != NONE) {
        uint32_t index = list->head;
        fcvi_message_list_remove(p, list, index);
        fcvi_message_run_drop(p, message_at(p, index));
        fcvi_fc2_exchange_free(p, index);
    }
}

/* The connection is over: own Exchanges that are open are aborted, those of the other side forgotten; what
 * still comes for them is discarded (8.4.2 f). */
void fcvi_message_drop_all(struct fcvi_port *p, struct vi *vi)
{
    while (vi->tx.list.head != NONE) {
        uint32_t index = vi->tx.list.head;
        fcvi_message_list_remove(p, &vi->tx.list, index);
        fcvi_message_run_drop(p, message_at(p, index));
        fcvi_fc2_exchange_abort(p, index);
    }
    vi->tx.current = NONE; /* fewer states to explore; connection_begin makes it anew in any case */
    vi->tx.reads = 0;
    free_list(p, &vi->tx.jobs);
    free_list(p, &vi->rx.unanswered);
    free_list(p, &vi->rx.list);
    while (vi->rx.held != NONE) {
        uint32_t i = vi->rx.held;
        vi->rx.held = held_at(p, i)->next;
        fcvi_message_held_free(p, i);
    }
    fcvi_timer_stop(p, TIMER_MISSING, vi_index(p, vi));
}
