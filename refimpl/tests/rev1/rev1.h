/* One port of Rev 1.0 (1999) alone: the test plays its peer, with frames written out from the draft's tables.
 */
#ifndef FCVI_TEST_REV1_H
#define FCVI_TEST_REV1_H

#include "../bench.h"

/* Table 13: 16 bytes of Host Address, 16 of Discriminator */
#define R1_ADDR(host) "0010 0010 " host " 000102030405060708090a0b0c0d0e0f 00*112 "
/* Tables 14 and 15, Annex B: Unreliable Delivery, 32 KB */
#define R1_UD "01000000 00008000 00*16 00000000"
/* V9: Reliable Reception, 64 KB, Priority, both kinds of RDMA */
#define R1_V9 "04000000 00010000 01000000 00000000 00000000 00000000 03000000"
/* Tables 11 and 12, as the peer sees it; the handle is an argument */
#define R1_CONNECT "00000001 %08x " R1_ADDR(THEIRS) R1_ADDR(OURS)

enum { R1_OX = 0x123, R1_HANDLE = 0xbeef };

static inline struct bench *r1_begin(const struct fcvi_port_config *c)
{
    struct bench *b = b_begin(&b_limits, c);
    b->edition = FCVI_EDITION_REV1;
    return b;
}

static inline struct fcvi_port_config r1_config(void)
{
    struct fcvi_port_config c = b_config();
    c.revision = FCVI_EDITION_REV1;
    return c;
}

static inline struct bench *r1_new(void)
{
    struct fcvi_port_config c = r1_config();
    return r1_begin(&c);
}

static inline uint32_t r1_vi(struct bench *b, uint8_t level, bool preference)
{
    struct fcvi_attributes a = {.reliability = level,
                                .max_transfer_size = 32768,
                                .rdma_write = true,
                                .rdma_read = level != FCVI_UNRELIABLE,
                                .preference = preference};
    uint32_t vi;
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, b->now, &a, &vi), VIP_SUCCESS);
    return vi;
}

/* The handle that the port chose: bytes 4 to 7 of the payload, behind 16 bytes of Device_Header */
static inline uint32_t r1_handle_at(const struct bench *b, unsigned nth)
{
    return word_of(b, nth, 24 + 16 + 4, 4);
}

/* Attributes of that level, with both kinds of RDMA where it has them */
static inline const char *r1_attributes(uint8_t level)
{
    static const char *const all[] = {"01000000 00008000 00*16 02000000", "02000000 00008000 00*16 03000000",
                                      "04000000 00008000 00*16 03000000"};
    return all[level - 1];
}

/* FCVI_CONNECT_RQST (6.7): F_CTL First, End, Sequence Initiative, Relative Offset Present */
static inline void r1_hear_rqst(struct bench *b, unsigned mode, unsigned ox_id, uint32_t handle,
                                const char *attributes)
{
    hear(b,
         "02 010200 00 010100 58 290008 05 01 0000 %04x ffff 00000000 ffffffff 10 %02x 0000 00000000 "
         "00000000 " R1_CONNECT "%s",
         ox_id, mode, handle, attributes);
}

/* FCVI_CONNECT_RESP1 (6.8) to the nth frame */
static inline void r1_hear_resp1(struct bench *b, unsigned nth, unsigned flags, unsigned reason,
                                 uint32_t handle, const char *attributes)
{
    hear(b,
         "03 010200 00 010100 58 890008 06 01 0000 %04x 8001 00000000 ffffffff 18 %02x 0000 00000000 "
         "00%02x0000 " R1_CONNECT "%s",
         ox_of(b, nth), flags, reason, handle, attributes);
}

/* FCVI_CONNECT_RESP2 (6.9) in the peer's Exchange: Last, End */
static inline void r1_hear_resp2(struct bench *b, unsigned flags, unsigned reason, unsigned ox_id)
{
    hear(b,
         "03 010200 00 010100 58 180000 06 01 0001 %04x ffff 00000000 ffffffff 19 %02x 0000 00000000 "
         "00%02x0000",
         ox_id, flags, reason);
}

/* FCVI_DISCONNECT_RESP (6.11) to the nth frame: responder, Last, End */
static inline void r1_hear_disconnected(struct bench *b, unsigned nth)
{
    hear(b, "03 010200 00 010100 58 980000 06 01 0000 %04x 8001 00000000 00000000 1a 00 0000 %08x 00000000",
         ox_of(b, nth), word_of(b, nth, 32, 4));
}

static inline void r1_hear_disconnect(struct bench *b, unsigned mode, unsigned ox_id, uint32_t handle,
                                      uint32_t id)
{
    hear(b, "02 010200 00 010100 58 290000 09 01 0000 %04x ffff 00000000 %08x 12 %02x 0000 %08x 00000000",
         ox_id, handle, mode, id);
}

/* As the client: the VI is connected with the peer's R1_HANDLE. Returns the handle that the port gave. */
static inline uint32_t r1_connect(struct bench *b, uint32_t vi, uint8_t level)
{
    b_request(b, vi, THEIRS, FCVI_NEVER, 900 + vi);
    unsigned request = b->sent - 1;
    uint32_t handle = r1_handle_at(b, request);
    r1_hear_resp1(b, request, 0, 0, R1_HANDLE, r1_attributes(level));
    ck_assert_int_eq(b_return(b, 900 + vi)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    return handle;
}

/* Every VI goes back to Idle and away; then the port holds nothing. */
static inline void r1_end(struct bench *b)
{
    struct fcvi_vi_info info;
    struct fcvi_completion done;
    b->sent = 0;
    for (uint32_t vi = 0; vi < b_limits.vis; vi++) {
        if (fcvi_vip_query_vi(b->port, b->now, vi, &info) != VIP_SUCCESS)
            continue;
        unsigned first = b->sent;
        fcvi_vip_disconnect(b->port, b->now, vi, 0xE0D + vi);
        collect(b);
        for (unsigned i = first, last = b->sent; i < last; i++)
            if (b->frame[i][0] == 0x02 && opcode_at(b, i) == 0x12)
                r1_hear_disconnected(b, i);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
        for (int recv = 0; recv < 2; recv++)
            do
                fcvi_vip_done(b->port, b->now, vi, recv, &done);
            while (done.status != 0);
        ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, b->now, vi), VIP_SUCCESS);
    }
    advance(b, 10 * (uint64_t)R_A_TOV);
    struct fcvi_port_counts c = counts(b);
    ck_assert_uint_eq(c.vis + c.setups + c.points + c.exchanges + c.timers + c.frames, 0);
    ck_assert_uint_eq(c.entries + c.segments + c.held_frames + c.events_lost, 0);
    free(b->memory);
    free(b);
}

#endif
