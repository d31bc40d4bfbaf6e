/* Ports on a Fabric, driven in time order. */
#include "internal.h"

static void take_events(const struct fcvi_fabric *f, struct fcvi_port *port, uint32_t number,
                        const struct fcvi_fabric_observer *o)
{
    struct fcvi_event event;
    while (o != NULL && o->event != NULL && fcvi_port_event(port, &event))
        o->event(o->context, f->now, number, &event);
}

/* Send what a port has to send. True when there was anything. */
static bool pump(struct fcvi_fabric *f, struct fcvi_port *port, uint32_t number,
                 const struct fcvi_fabric_observer *o)
{
    uint8_t out[FCVI_FABRIC_FRAME];
    struct fcvi_transmitted meta;
    bool any = false;
    take_events(f, port, number, o);
    for (size_t n; (n = fcvi_port_transmit(port, f->now, out, sizeof out, &meta)) > 0; any = true) {
        struct fcvi_input in = {out, n, meta.sof, meta.eof, FCVI_CRC_OK};
        if (o != NULL && o->sent != NULL)
            o->sent(o->context, f->now, number, &in);
        fcvi_fabric_send(f, f->now, number, out, n, &meta);
        take_events(f, port, number, o); /* sending completes Descriptors of the unreliable level */
    }
    return any;
}

static void quiet(struct fcvi_fabric *f, struct fcvi_port *const *ports, uint32_t count,
                  const struct fcvi_fabric_observer *o)
{
    bool any = true;
    while (any) {
        any = false;
        for (uint32_t i = 0; i < count; i++)
            any |= ports[i] != NULL && pump(f, ports[i], i, o);
    }
}

static void deliver_one(struct fcvi_fabric *f, struct fcvi_port *const *ports, uint32_t count,
                        const struct fcvi_fabric_observer *o)
{
    uint8_t out[FCVI_FABRIC_FRAME];
    struct fcvi_input in;
    uint32_t from, to;
    if (!fcvi_fabric_take(f, f->now, &from, &to, out, sizeof out, &in))
        return; /* it went to a well-known address, or is lost */
    if (o != NULL && o->delivered != NULL)
        o->delivered(o->context, f->now, from, to, &in);
    if (to < count && ports[to] != NULL)
        fcvi_port_receive(ports[to], f->now, &in);
}

/* The port whose timer is due before `due`, and then its time. */
static uint32_t first_timer(struct fcvi_port *const *ports, uint32_t count, uint64_t *due)
{
    uint32_t first = FABRIC_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t deadline = ports[i] != NULL ? fcvi_port_deadline(ports[i]) : FCVI_NEVER;
        if (deadline >= *due)
            continue;
        *due = deadline;
        first = i;
    }
    return first;
}

bool fcvi_fabric_step(struct fcvi_fabric *fabric, struct fcvi_port *const *ports, uint32_t count,
                      uint64_t until_us, const struct fcvi_fabric_observer *observer)
{
    quiet(fabric, ports, count, observer);
    uint64_t due = fcvi_fabric_deadline(fabric);
    uint32_t timer = first_timer(ports, count, &due);
    if (due == FCVI_NEVER || due > until_us)
        return false;
    fabric_advance(fabric, due);
    if (timer != FABRIC_NONE)
        fcvi_port_run(ports[timer], fabric->now);
    else
        deliver_one(fabric, ports, count, observer);
    quiet(fabric, ports, count, observer);
    return true;
}

uint64_t fcvi_fabric_run(struct fcvi_fabric *fabric, struct fcvi_port *const *ports, uint32_t count,
                         uint64_t until_us, const struct fcvi_fabric_observer *observer)
{
    while (fcvi_fabric_step(fabric, ports, count, until_us, observer))
        continue;
    uint64_t due = fcvi_fabric_deadline(fabric);
    first_timer(ports, count, &due);
    if (due != FCVI_NEVER) /* it comes later than until_us */
        fabric_advance(fabric, until_us);
    return fabric->now;
}
