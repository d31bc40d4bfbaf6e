/* Work queues: Descriptors from their posting to their completion, in order (VI-DG 5, VI-ARCH 6.3). */
#include "events.h"
#include "wire.h"

static struct queue *queue_of(struct vi *vi, bool recv)
{
    return recv ? &vi->recv : &vi->send;
}

struct entry *fcvi_vi_queue_head(struct fcvi_port *p, const struct queue *q)
{
    return q->fresh != NONE ? entry_at(p, q->fresh) : NULL;
}

/* The oldest Descriptor that nothing has taken is taken now. */
struct entry *fcvi_vi_queue_take(struct fcvi_port *p, struct queue *q)
{
    struct entry *e = fcvi_vi_queue_head(p, q);
    if (e == NULL)
        return NULL;
    q->fresh = e->next;
    return e;
}

static uint32_t operation_bits(const struct entry *e)
{
    static const uint32_t bits[] = {
        [FCVI_SEND] = 0,
        [FCVI_RDMA_WRITE] = FCVI_STATUS_OP_RDMA_WRITE,
        [FCVI_RDMA_READ] = FCVI_STATUS_OP_RDMA_READ,
        [FCVI_RECV] = FCVI_STATUS_OP_RECEIVE,
    };
    return bits[e->op];
}

/* A Descriptor has its result; the application hears of it when all before it have theirs. A status that
 * names an operation itself (an RDMA Write that took a receive Descriptor) keeps it. */
void fcvi_vi_entry_finish(struct fcvi_port *p, struct vi *vi, bool recv, struct entry *e, uint32_t status,
                          uint32_t length)
{
    bool named = recv && (status & FCVI_STATUS_OP_REMOTE_RDMA_WRITE) == FCVI_STATUS_OP_REMOTE_RDMA_WRITE;
    FCVI_ASSERT(e->state == ENTRY_POSTED);
    e->state = ENTRY_FINISHED;
    e->completion.status = status | FCVI_STATUS_DONE | (named ? 0 : operation_bits(e));
    e->completion.length = length;
    fcvi_vi_release(p, vi, recv);
}

/* VI-ARCH 2.5.2, Annex E: on a reliable VI nothing completes well after an error; the connection ends now. */
static bool last_word(const struct vi *vi, const struct entry *e)
{
    return reliable(vi) && vi->state == FCVI_STATE_CONNECTED && e->completion.status & FCVI_STATUS_ERROR_MASK;
}

void fcvi_vi_release(struct fcvi_port *p, struct vi *vi, bool recv)
{
    struct queue *q = queue_of(vi, recv);
    bool end = false;
    FCVI_ASSERT(vi->used);
    while (!end && q->pending != NONE && entry_at(p, q->pending)->state == ENTRY_FINISHED &&
           !p->wire->withheld(p, vi, recv)) {
        struct entry *e = entry_at(p, q->pending);
        e->state = ENTRY_DONE;
        q->pending = e->next;
        p->wire->completed(p, vi, e);
        struct fcvi_event *event = fcvi_event_new(p, FCVI_EVENT_COMPLETION);
        event->vi = vi_index(p, vi);
        event->recv = recv;
        event->completion = e->completion;
        end = last_word(vi, e);
    }
}

/* What has no result, or one that came after an error before it, is flushed (VI-DG 5.2, VI-ARCH 5.4). */
static void flush_queue(struct fcvi_port *p, struct vi *vi, bool recv)
{
    struct queue *q = queue_of(vi, recv);
    for (uint32_t i = q->pending; i != NONE; i = entry_at(p, i)->next) {
        struct entry *e = entry_at(p, i);
        if (e->state == ENTRY_FINISHED && e->completion.status & FCVI_STATUS_ERROR_MASK)
            continue;
        e->state = ENTRY_FINISHED;
        e->completion.status = FCVI_STATUS_DESC_FLUSHED_ERROR | FCVI_STATUS_DONE | operation_bits(e);
        e->completion.length = 0;
    }
    q->fresh = NONE;
    fcvi_vi_release(p, vi, recv);
}

/* The end of a connection for its Messages and its Descriptors. */
void fcvi_vi_flush(struct fcvi_port *p, struct vi *vi)
{
    p->wire->drop(p, vi);
    flush_queue(p, vi, false);
    flush_queue(p, vi, true);
}

/* ---- calls ---- */

static void free_entry(struct fcvi_port *p, uint32_t index)
{
    FCVI_ASSERT(p->used.entries > 0);
    struct entry *e = entry_at(p, index);
    while (e->first != NONE) {
        uint32_t node = e->first;
        e->first = segment_at(p, node)->next;
        segment_at(p, node)->next = p->free_segment;
        p->free_segment = node;
        p->used.segments--;
    }
    e->next = p->free_entry;
    p->free_entry = index;
    p->used.entries--;
}

/* Room for a Descriptor and its segments; NONE when there is none. */
static uint32_t new_entry(struct fcvi_port *p, const struct fcvi_descriptor *d)
{
    uint32_t index = p->free_entry;
    if (index == NONE || d->segments > p->limits.segments - p->used.segments)
        return NONE;
    struct entry *e = entry_at(p, index);
    p->free_entry = e->next;
    p->used.entries++;
    *e = (struct entry){
        .op = d->op,
        .segments = d->segments,
        .has_immediate = d->has_immediate,
        .fence = d->fence,
        .immediate = d->immediate,
        .remote_va = d->remote_va,
        .remote_handle = d->remote_handle,
        .next = NONE,
        .first = NONE,
        .completion = {.cookie = d->cookie},
    };
    uint64_t sum = 0;
    uint32_t *link = &e->first;
    for (unsigned i = 0; i < d->segments; i++) {
        uint32_t node = p->free_segment;
        FCVI_ASSERT(node != NONE);
        p->free_segment = segment_at(p, node)->next;
        p->used.segments++;
        segment_at(p, node)->segment = d->segment[i];
        segment_at(p, node)->next = NONE;
        *link = node;
        link = &segment_at(p, node)->next;
        sum += d->segment[i].length;
    }
    e->length = (uint32_t)sum;
    if (d->format_error)
        e->fault = FCVI_STATUS_FORMAT_ERROR;
    else if (d->length_error || sum > UINT32_MAX)
        e->fault = FCVI_STATUS_LENGTH_ERROR;
    return index;
}

int fcvi_vip_post(struct fcvi_port *port, uint64_t now, uint32_t vi_number, const struct fcvi_descriptor *d)
{
    fcvi_port_run(port, now);
    if (vi_number >= port->limits.vis || !vi_at(port, vi_number)->used || d->segments > FCVI_MAX_SEGMENTS ||
        d->op > FCVI_RECV)
        return VIP_INVALID_PARAMETER;
    struct vi *vi = vi_at(port, vi_number);
    bool recv = d->op == FCVI_RECV;
    struct queue *q = queue_of(vi, recv);
    uint32_t index = q->count < port->limits.descriptors ? new_entry(port, d) : NONE;
    if (index == NONE)
        return VIP_ERROR_RESOURCE;
    if (q->count++ == 0)
        q->head = index;
    else
        entry_at(port, q->tail)->next = index;
    q->tail = index;
    if (q->pending == NONE)
        q->pending = index;
    if (q->fresh == NONE)
        q->fresh = index;
    /* VI-ARCH 5: nothing goes out but when Connected, and nothing comes in when in Error */
    bool accepted = recv ? vi->state != FCVI_STATE_ERROR : vi->state == FCVI_STATE_CONNECTED;
    if (!accepted) {
        fcvi_vi_queue_take(port, q);
        fcvi_vi_entry_finish(port, vi, recv, entry_at(port, index), FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    } else {
        port->wire->posted(port, vi, recv);
    }
    return VIP_SUCCESS;
}

int fcvi_vip_done(struct fcvi_port *port, uint64_t now, uint32_t vi_number, bool recv,
                  struct fcvi_completion *out)
{
    fcvi_port_run(port, now);
    memset(out, 0, sizeof *out);
    if (vi_number >= port->limits.vis || !vi_at(port, vi_number)->used)
        return VIP_INVALID_PARAMETER;
    struct queue *q = queue_of(vi_at(port, vi_number), recv);
    if (q->count == 0)
        return VIP_DESCRIPTOR_ERROR; /* status 0: the queue is empty (VI-DG 3.5) */
    uint32_t index = q->head;
    const struct entry *e = entry_at(port, index);
    if (e->state != ENTRY_DONE)
        return VIP_NOT_DONE;
    *out = e->completion;
    q->head = e->next;
    q->count--;
    free_entry(port, index);
    return out->status & FCVI_STATUS_ERROR_MASK ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS;
}
