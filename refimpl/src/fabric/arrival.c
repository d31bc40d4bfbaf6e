/* Frames that are due: to a port, or to a well-known address of the Fabric itself. */
#include "internal.h"

/* Between sending and arrival the link may have gone down, or the address to another port. */
static bool reachable(struct fcvi_fabric *f, const struct fabric_entry *e)
{
    if (e->to == FCVI_FABRIC_ITSELF)
        return true;
    const struct fabric_port *p = fabric_port_at(f, e->to);
    return p->up && p->epoch == e->epoch;
}

/* Copy a due frame out. `out` also serves the well-known addresses, so that their answers find a free entry.
 */
bool fcvi_fabric_take(struct fcvi_fabric *f, uint64_t now, uint32_t *from, uint32_t *to, uint8_t *out,
                      size_t capacity, struct fcvi_input *in)
{
    fabric_advance(f, now);
    while (f->heap_count > 0) {
        const struct fabric_entry *e = fabric_entry_at(f, *fabric_heap_at(f, 0));
        uint64_t due = e->due;
        if (due > now || e->length > capacity)
            return false;
        bool arrives = reachable(f, e);
        *from = e->from;
        *to = e->to;
        *in = (struct fcvi_input){out, e->length, e->sof, e->eof, e->crc};
        memcpy(out, e->bytes, e->length);
        fcvi_fabric_queue_pop(f);
        if (!arrives) {
            f->counters.dropped++;
        } else if (*to == FCVI_FABRIC_ITSELF) {
            f->counters.served++;
            fcvi_fabric_serve(f, due, *from, in);
        } else {
            f->counters.delivered++;
            return true;
        }
    }
    return false;
}

bool fcvi_fabric_deliver(struct fcvi_fabric *fabric, uint64_t now, uint32_t *to, uint8_t *out,
                         size_t capacity, struct fcvi_input *in)
{
    uint32_t from;
    return fcvi_fabric_take(fabric, now, &from, to, out, capacity, in);
}
