/* Reference ports that know nothing of each other on each topology of clause 7.7, in both classes, with and
 * without Name Server. */
#ifndef FCVI_TEST_FABRIC_TOPOLOGY_H
#define FCVI_TEST_FABRIC_TOPOLOGY_H

#include "fabric_world.h"

enum { PLOGI = 0x03, FLOGI = 0x04, LOGO = 0x05, ADISC = 0x52, FARP_REQ = 0x54, FARP_REPLY = 0x55 };

struct setting {
    enum fcvi_topology topology;
    uint8_t service_class;
    bool name_server;
};
static const struct setting settings[] = {
    {FCVI_POINT_TO_POINT, 3, false}, {FCVI_POINT_TO_POINT, 2, false}, {FCVI_PRIVATE_LOOP, 3, false},
    {FCVI_PRIVATE_LOOP, 2, false},   {FCVI_PUBLIC_LOOP, 3, false},    {FCVI_PUBLIC_LOOP, 3, true},
    {FCVI_PUBLIC_LOOP, 2, true},     {FCVI_FABRIC, 3, true},          {FCVI_FABRIC, 2, true},
    {FCVI_FABRIC, 3, false},         {FCVI_FABRIC, 2, false},
};
enum { SETTINGS = sizeof settings / sizeof *settings };
/* Where the loops begin, the public loops, those with a Name Server, the Fabrics, and those without */
enum { LOOPS = 2, PUBLIC_LOOPS = 4, NAME_SERVERS = 5, FABRICS = 7, NO_NAME_SERVERS = 9 };

static inline bool has_fabric(const struct setting *s)
{
    return s->topology == FCVI_PUBLIC_LOOP || s->topology == FCVI_FABRIC;
}

/* What the Fabric, or Loop Initialization, gives port i; and what the port has before FLOGI. */
static inline uint32_t id_of(const struct setting *s, uint32_t i)
{
    static const uint32_t al_pa[] = {0xEF, 0xE8, 0xE4, 0xE2, 0xE1};
    if (s->topology == FCVI_PRIVATE_LOOP)
        return al_pa[i];
    return s->topology == FCVI_PUBLIC_LOOP ? 0x010100 | al_pa[i] : 0x010100 + i * 0x100;
}

static inline uint32_t id_before(const struct setting *s, uint32_t i)
{
    return s->topology == FCVI_FABRIC ? 0 : id_of(s, i) & (s->topology == FCVI_PUBLIC_LOOP ? 0xFF : 0xFFFFFF);
}

/* Ports that know nothing of each other, on a link that comes up. */
static inline struct fworld *begin_with(const struct setting *s, uint32_t ports,
                                        const struct fcvi_fabric_config *config)
{
    struct fworld *w = f_begin(&f_limits, config);
    for (uint32_t i = 0; i < ports; i++) {
        struct fcvi_port_config c = w_config(i);
        c.topology = (uint8_t)s->topology;
        c.service_class = s->service_class;
        c.out_of_order = config->out_of_order;
        c.name_server = s->name_server;
        c.explicit_login = true;
        c.fabric_login = has_fabric(s);
        c.peer = c.self;
        c.self.n_port_id = c.peer.n_port_id = id_before(s, i);
        f_add(w, &f_port_limits, &c, id_of(s, i), FCVI_PLACE_LOOP);
        fcvi_port_link(w->port[i], 0, FCVI_LINK_UP);
    }
    f_settle(w);
    return w;
}

static inline struct fworld *begin(const struct setting *s, uint32_t ports)
{
    struct fcvi_fabric_config config = f_config(s->topology);
    struct fworld *w = begin_with(s, ports, &config);
    for (uint32_t i = 0; i < ports; i++)
        ck_assert_uint_eq(fcvi_port_id(w->port[i]), id_of(s, i));
    return w;
}

static inline void finish(struct fworld *w, struct end a, struct end b)
{
    f_disconnect(w, a, b);
    f_nothing_left(w);
    f_free(w);
}

#endif
