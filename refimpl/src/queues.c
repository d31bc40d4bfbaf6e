/* Work queues: Descriptors, their completion in order, and the memory they name (VI-DG 5, VI-ARCH 6). */
#include "internal.h"

static struct queue *queue_of(struct vi *vi, bool recv)
{
    return recv ? &vi->recv : &vi->send;
}

struct entry *queue_entry(struct fcvi_port *p, struct vi *vi, bool recv, uint32_t nth)
{
    size_t base = ((size_t)vi_index(p, vi) * 2 + recv) * p->limits.descriptors;
    uint32_t at = (queue_of(vi, recv)->head + nth) % p->limits.descriptors;
    return (struct entry *)(void *)((uint8_t *)p + p->entries) + base + at;
}

struct entry *queue_first(struct fcvi_port *p, struct vi *vi, bool recv, enum entry_state state)
{
    for (uint32_t i = 0; i < queue_of(vi, recv)->count; i++) {
        struct entry *e = queue_entry(p, vi, recv, i);
        if (e->state == state)
            return e;
    }
    return NULL;
}

void complete(struct fcvi_port *p, struct vi *vi, bool recv, struct entry *e, uint32_t status,
              uint32_t length)
{
    e->state = ENTRY_DONE;
    e->completion.status = status | FCVI_STATUS_DONE | (recv ? FCVI_STATUS_OP_RECEIVE : 0u);
    e->completion.length = length;
    struct fcvi_event *event = event_new(p, FCVI_EVENT_COMPLETION);
    event->vi = vi_index(p, vi);
    event->recv = recv;
    event->completion = e->completion;
}

void flush_queue(struct fcvi_port *p, struct vi *vi, bool recv)
{
    for (uint32_t i = 0; i < queue_of(vi, recv)->count; i++) {
        struct entry *e = queue_entry(p, vi, recv, i);
        if (e->state != ENTRY_DONE)
            complete(p, vi, recv, e, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    }
}

void flush(struct fcvi_port *p, struct vi *vi)
{
    vi->tx.active = false;
    vi->rx.active = vi->rx.placing = false;
    flush_queue(p, vi, false);
    flush_queue(p, vi, true);
}

/* ---- Descriptors ---- */

uint64_t descriptor_length(const struct fcvi_descriptor *d)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < d->segments; i++)
        sum += d->segment[i].length;
    return sum;
}

bool descriptor_in_memory(struct fcvi_port *p, const struct fcvi_descriptor *d)
{
    for (unsigned i = 0; i < d->segments; i++)
        if (fcvi_port_memory(p, d->segment[i].mem, d->segment[i].offset, d->segment[i].length) == NULL)
            return false;
    return true;
}

/* The longest piece of memory at `offset` of the Descriptor's data, at most `length` bytes; NULL when the
 * region was deregistered meanwhile. The caller has checked that the data go that far. */
static uint8_t *piece_at(struct fcvi_port *p, const struct fcvi_descriptor *d, uint32_t offset,
                         uint32_t length, uint32_t *piece)
{
    const struct fcvi_segment *s = d->segment;
    while (offset >= s->length) {
        offset -= s->length;
        s++;
    }
    *piece = s->length - offset < length ? s->length - offset : length;
    return fcvi_port_memory(p, s->mem, s->offset + offset, *piece);
}

void descriptor_place(struct fcvi_port *p, const struct fcvi_descriptor *d, uint32_t offset,
                      const uint8_t *bytes, uint32_t length)
{
    for (uint32_t done = 0, piece = 0; done < length; done += piece) {
        uint8_t *at = piece_at(p, d, offset + done, length - done, &piece);
        if (at != NULL)
            memcpy(at, bytes + done, piece);
    }
}

void descriptor_fetch(struct fcvi_port *p, const struct fcvi_descriptor *d, uint32_t offset, uint8_t *bytes,
                      uint32_t length)
{
    for (uint32_t done = 0, piece = 0; done < length; done += piece) {
        const uint8_t *at = piece_at(p, d, offset + done, length - done, &piece);
        if (at != NULL)
            memcpy(bytes + done, at, piece);
        else
            memset(bytes + done, 0, piece);
    }
}

/* ---- calls ---- */

static uint32_t reject_send(struct fcvi_port *p, const struct vi *vi, const struct fcvi_descriptor *d)
{
    uint64_t length = descriptor_length(d);
    if (d->op != FCVI_SEND)
        return FCVI_STATUS_FORMAT_ERROR; /* this port offers no RDMA */
    if (vi->state != FCVI_STATE_CONNECTED)
        return FCVI_STATUS_DESC_FLUSHED_ERROR; /* VI-ARCH 5: no outbound traffic */
    if (length > vi->attributes.max_transfer_size)
        return FCVI_STATUS_LENGTH_ERROR;
    return descriptor_in_memory(p, d) ? 0 : FCVI_STATUS_PROTECTION_ERROR;
}

static uint32_t reject_recv(const struct vi *vi, const struct fcvi_descriptor *d)
{
    if (d->op != FCVI_RECV)
        return FCVI_STATUS_FORMAT_ERROR;
    return vi->state == FCVI_STATE_ERROR ? FCVI_STATUS_DESC_FLUSHED_ERROR : 0;
}

int fcvi_vip_post(struct fcvi_port *port, uint64_t now, uint32_t vi_number, const struct fcvi_descriptor *d)
{
    fcvi_port_run(port, now);
    if (vi_number >= port->limits.vis || !vi_at(port, vi_number)->used || d->segments > FCVI_MAX_SEGMENTS)
        return VIP_INVALID_PARAMETER;
    struct vi *vi = vi_at(port, vi_number);
    bool recv = d->op == FCVI_RECV;
    struct queue *q = queue_of(vi, recv);
    if (q->count == port->limits.descriptors)
        return VIP_ERROR_RESOURCE;
    struct entry *e = queue_entry(port, vi, recv, q->count++);
    memset(e, 0, sizeof *e);
    e->descriptor = *d;
    uint32_t status = recv ? reject_recv(vi, d) : reject_send(port, vi, d);
    if (status != 0)
        complete(port, vi, recv, e, status, 0);
    return VIP_SUCCESS;
}

int fcvi_vip_done(struct fcvi_port *port, uint64_t now, uint32_t vi_number, bool recv,
                  struct fcvi_completion *out)
{
    fcvi_port_run(port, now);
    memset(out, 0, sizeof *out);
    if (vi_number >= port->limits.vis || !vi_at(port, vi_number)->used)
        return VIP_INVALID_PARAMETER;
    struct vi *vi = vi_at(port, vi_number);
    struct queue *q = queue_of(vi, recv);
    if (q->count == 0)
        return VIP_DESCRIPTOR_ERROR; /* status 0: the queue is empty (VI-DG 3.5) */
    const struct entry *e = queue_entry(port, vi, recv, 0);
    if (e->state != ENTRY_DONE)
        return VIP_NOT_DONE;
    *out = e->completion;
    q->head = (q->head + 1) % port->limits.descriptors;
    q->count--;
    return out->status & FCVI_STATUS_ERROR_MASK ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS;
}
