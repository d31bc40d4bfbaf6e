/* The two ports that benchmarks let talk to each other: class 3, a Fabric, each other's addresses. */
#ifndef FCVI_BENCH_PAIR_H
#define FCVI_BENCH_PAIR_H

#include <fcvi/port.h>
#include <string.h>

enum { PAIR_FRAME = 24 + 2112 };

static inline struct fcvi_port_identity pair_identity(unsigned i)
{
    struct fcvi_port_identity id = {
        0x10000000c9000001u + i, 0x20000000c9000001u + i, 0x010100u + i * 0x100u, 1, {{0}}};
    id.host[0][15] = (uint8_t)(1 + i);
    return id;
}

static inline struct fcvi_address pair_address(unsigned i)
{
    struct fcvi_address a = {.discriminator_length = 16};
    memcpy(a.host, pair_identity(i).host[0], 16);
    return a;
}

static inline struct fcvi_port_config pair_config(unsigned i)
{
    struct fcvi_port_config c = {.service_class = 3,
                                 .e_d_tov_us = 2000000,
                                 .r_a_tov_us = 10000000,
                                 .receive_size = 2112,
                                 .seed = i + 1};
    c.self = pair_identity(i);
    c.peer = pair_identity(1 - i);
    return c;
}

#endif
