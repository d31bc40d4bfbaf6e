/* A port that is attached to a Fabric: what the Fabric says, and what has to follow. */
#ifndef FCVI_TEST_ATTACHED_H
#define FCVI_TEST_ATTACHED_H

#include "link.h"

/* The Fabric of a capture of another implementation: its names, and its LS_ACC to FLOGI (FC-FS; Word 2 is
 * R_A_TOV). */
#define FABRIC_NAMES "2000525400fc00fe 1000525400fc00fe"
#define ACCEPT(word1, r_a_tov, e_d_tov, names)                                                               \
    "02000000 2020000a " word1 " " r_a_tov " " e_d_tov " " names                                             \
    " 00*16 00*16 8800 0000 0000 0840 00ff0000 0001 0000 00*16 00*16"
#define CAPTURED ACCEPT("10000840", "00002710", "000007d0", FABRIC_NAMES)

static inline struct bench *with_login(enum fcvi_topology topology)
{
    struct fcvi_port_config c = b_config();
    c.topology = (uint8_t)topology;
    c.fabric_login = true;
    c.self.n_port_id = topology == FCVI_PUBLIC_LOOP ? 0x0102EF : 0x010200;
    return b_begin(&b_limits, &c);
}

/* The Fabric's reply to the nth frame, with the identifier that it assigns. */
static inline void hear_fabric(struct bench *b, unsigned nth, uint32_t id, const char *rest)
{
    hear(b, "23 %06x 00 fffffe 01 990000 00 00 0000 %04x 3000 00000000 %s", id, ox_of(b, nth), rest);
}

static inline void hear_fan(struct bench *b, uint32_t id, const char *names)
{
    hear(b, "22 %06x 00 fffffe 01 290000 01 00 0000 0bbb ffff 00000000 60000000 00fffffe %s", id, names);
}

static inline void expect_flogi(struct bench *b, unsigned nth, const char *s_id)
{
    expect(b, nth,
           "22 fffffe 00 %s 01 290000 .. 00 0000 .... ffff 00000000 04000000 "
           "2020.... 00000840 00000000 00000000 10000000c9000002 20000000c9000002 00*16 00*16 "
           "8800 00*14 00*16 00*16",
           s_id);
}

/* Logged in with the Fabric and connected with the peer. */
struct attached {
    struct bench *b;
    uint32_t vi;
    unsigned at; /* frames before the event */
};

static inline struct attached attached_to(enum fcvi_topology topology)
{
    struct attached a = {.b = with_login(topology)};
    fcvi_port_link(a.b->port, a.b->now, FCVI_LINK_UP);
    collect(a.b);
    hear_fabric(a.b, 0, fcvi_port_id(a.b->port), CAPTURED);
    a.vi = l_connected(a.b, THEIRS, 0x010100);
    a.at = a.b->sent;
    return a;
}

static inline void expect_everything_over(struct attached *a, unsigned at, uint32_t id)
{
    l_only(a->b, at, L_LOGO, 1);
    l_expect_logo(a->b, at, 0x010100, id);
    l_expect_lost(a->b, a->vi);
    ck_assert_uint_eq(fcvi_port_id(a->b->port), id);
    ck_assert_uint_eq(l_begins_with(a->b, THEIRS), L_FARP);
}

static inline void expect_resumed(struct attached *a, unsigned at)
{
    ck_assert_uint_eq(a->b->sent, at);
    ck_assert_uint_eq(state_of(a->b, a->vi), FCVI_STATE_CONNECTED);
    ck_assert(l_send(a->b, a->vi));
    ck_assert_uint_eq(l_begins_with(a->b, THEIRS), 0x10);
}

#endif
