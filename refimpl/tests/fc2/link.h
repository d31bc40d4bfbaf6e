/* What tests of link events (7.7) have in common: a connection with the peer, one with a second port, and
 * Messages that show whether anything goes to them. */
#ifndef FCVI_TEST_LINK_H
#define FCVI_TEST_LINK_H

#include "../full.h"

enum {
    L_PLOGI = 0x03,
    L_FLOGI = 0x04,
    L_LOGO = 0x05,
    L_ADISC = 0x52,
    L_FARP = 0x54,
    L_ELS = 0x01,
    L_FCVI = 0x58
};

/* ADISC, and the LS_ACC to it, of the peer as it is known */
#define L_PEER "00010100 10000000c9000001 20000000c9000001 00010100"

static inline struct bench *l_begin(enum fcvi_topology topology)
{
    struct fcvi_port_config c = b_config();
    c.topology = (uint8_t)topology;
    return b_begin(&b_limits, &c);
}

/* A further port, its last byte of the address given as a number. */
static inline void l_know(struct bench *b, uint32_t id, uint8_t host)
{
    struct fcvi_port_identity other = {0x10000000c9000000u + id, 0x20000000c9000000u + id, id, 1, {{0}}};
    from_hex(THEIRS, other.host[0]);
    other.host[0][15] = host;
    ck_assert(fcvi_port_know(b->port, b->now, &other));
}

/* Connected with port `id` at that address; its handle is 00000abc. */
static inline uint32_t l_connected(struct bench *b, const char *host, uint32_t id)
{
    uint32_t vi = b_vi(b);
    b_request(b, vi, host, FCVI_NEVER, 800 + vi);
    unsigned at = b->sent - 1;
    ck_assert_uint_eq(word_of(b, at, 1, 3), id);
    uint32_t us = word_of(b, at, 5, 3);
    hear(b,
         "03 %06x 00 %06x 58 890008 06 02 0000 %04x 8001 00000000 "
         "ffffffff 18 00 0000 00*8 00*12 %08x 00000000 0000 0001 00000abc " ADDR_A ADDR_B ATTRS,
         us, id, ox_of(b, at), id_at(b, at));
    hear(b, "03 %06x 00 %06x 58 980000 06 02 0001 %04x 8001 00000000 %08x 1a 00 0000 00*20 %08x", us, id,
         ox_of(b, at), own_handle_at(b, at), id_at(b, at));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    return vi;
}

/* Post one Send without data. True when it leaves. */
static inline bool l_send(struct bench *b, uint32_t vi)
{
    static const struct fcvi_descriptor d = {.op = FCVI_SEND, .has_immediate = true, .immediate = 7};
    unsigned at = b->sent;
    ck_assert_int_eq(fcvi_vip_post(b->port, b->now, vi, &d), VIP_SUCCESS);
    collect(b);
    ck_assert(b->sent == at || b->frame[at][8] == L_FCVI);
    return b->sent > at;
}

/* The connection has ended, as 7.7.1 and E86 have it. */
static inline void l_expect_lost(struct bench *b, uint32_t vi)
{
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
}

/* A request to that address; returns what it begins with: an ELS command, or the opcode of an FC-VI IU. */
static inline unsigned l_begins_with(struct bench *b, const char *host)
{
    unsigned at = b->sent;
    b_request(b, b_vi(b), host, FCVI_NEVER, 700 + at);
    ck_assert_uint_eq(b->sent, at + 1);
    return b->frame[at][b->frame[at][8] == L_FCVI ? 28 : 24];
}

/* Each of the frames from `from` on is an ELS of that command. */
static inline void l_only(struct bench *b, unsigned from, unsigned command, unsigned count)
{
    ck_assert_uint_eq(b->sent, from + count);
    for (unsigned i = from; i < b->sent; i++) {
        ck_assert_uint_eq(b->frame[i][8], L_ELS);
        ck_assert_uint_eq(b->frame[i][24], command);
    }
}

/* The number of the frame from `from` on that goes to that port. */
static inline unsigned l_to(const struct bench *b, unsigned from, uint32_t id)
{
    while (from < b->sent && word_of(b, from, 1, 3) != id)
        from++;
    ck_assert_msg(from < b->sent, "nothing was sent to %06x", id);
    return from;
}

/* An explicit LOGO to that port, from `own` (FC-FS; 7.7.3 to 7.7.5) */
static inline void l_expect_logo(struct bench *b, unsigned from, uint32_t id, uint32_t own)
{
    expect(b, l_to(b, from, id),
           "22 %06x 00 %06x 01 290000 .. 00 0000 .... ffff 00000000 05000000 00%06x 10000000c9000002", id,
           own, own);
}

/* The end of a test in which a port may still have to be validated: it is logged out first. */
static inline void l_end(struct bench *b)
{
    fcvi_port_link(b->port, b->now, FCVI_LINK_LOGO);
    collect(b);
    b_end(b);
}

#endif
