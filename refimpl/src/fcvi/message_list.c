/* Lists of Exchanges, linked through their Messages. */
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
