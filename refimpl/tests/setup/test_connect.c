/* The IUs of a Connection Setup as frames: in pieces, in the wrong state, in the wrong Exchange, damaged
 * (5.8, 6.8 to 6.11, Tables 1 and 4, E44, E45). */
#include "../bench.h"

enum { OX = 0x1234, ID = 0x42, HANDLE = 5 };

/* FCVI_CONNECT_RQST and FCVI_CONNECT_RESP1 without their payload: F_CTL, SEQ_CNT, OX_ID, RX_ID, Relative
 * Offset, FCVI_FLAGS, FCVI_CONNECTION_ID */
#define RQST_FRAME(f_ctl)                                                                                    \
    "02 010200 00 010100 58 " f_ctl " 05 02 %04x %04x ffff %08x ffffffff 10 %02x 0000 00*20 %08x "
#define RESP1_FRAME(f_ctl)                                                                                   \
    "03 010200 00 010100 58 " f_ctl " 06 02 %04x %04x 8001 %08x ffffffff 18 %02x 0000 00*20 %08x "
#define RQST_PAYLOAD "00000000 0000 0001 00000005 " ADDR_A ADDR_B ATTRS
#define RESP1_PAYLOAD "00000000 0000 0001 0000abcd " ADDR_A ADDR_B ATTRS

/* The IU in frames of `piece` bytes; `skip` is the one that gets lost. F_CTL: First_Sequence on the request,
 * End_Sequence and Sequence Initiative on the last frame only (5.8.4). */
static void hear_in_pieces(struct bench *b, bool request, unsigned ox_id, uint32_t id, unsigned info,
                           uint32_t piece, unsigned skip)
{
    uint8_t bytes[FRAME], whole[1024] = {0};
    size_t length = from_hex(request ? RQST_PAYLOAD : RESP1_PAYLOAD, whole) + info;
    unsigned flags = (request ? 1u : 0) | (info == 0 ? 0 : request ? 8u : 2u);
    for (uint32_t at = 0, n = 0; at < length; at += piece, n++) {
        uint32_t part = length - at < piece ? (uint32_t)length - at : piece;
        bool last = at + part == length;
        char hex[512];
        const char *format = request ? (last ? RQST_FRAME("290008") : RQST_FRAME("200008"))
                                     : (last ? RESP1_FRAME("890008") : RESP1_FRAME("800008"));
        snprintf(hex, sizeof hex, format, n, ox_id, at, flags, id);
        size_t head = from_hex(hex, bytes);
        memcpy(bytes + head, whole + at, part);
        if (n != skip)
            hear_bytes(b, bytes, head + part);
    }
}

/* E44: any number of frames, with and without FCVI_CONNECT_INFO. */
static const struct {
    unsigned info;
    uint32_t piece;
} pieces[] = {{0, 340}, {0, 224}, {0, 170}, {0, 4}, {256, 596}, {256, 224}, {256, 340}};
enum { PIECES = sizeof pieces / sizeof pieces[0], ALL = 1000 };

START_TEST(setup_in_pieces)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), server = b_vi(b);
    uint32_t frames = (340 + pieces[_i].info + pieces[_i].piece - 1) / pieces[_i].piece;
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    hear_in_pieces(b, false, ox_of(b, 0), id_at(b, 0), pieces[_i].info, pieces[_i].piece, ALL);
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(b_return(b, 7)->remote_attributes.max_transfer_size, 32768);
    expect(b, 1, "03 010100 00 010200 58 090000 .. 02 0001 %04x 8001 00000000 0000abcd 19 00 0000 00*20 %08x",
           ox_of(b, 0), id_at(b, 0));
    hear(b, "03 010200 00 010100 58 980000 06 02 %04x %04x 8001 00000000 %08x 1a 00 0000 00*20 %08x", frames,
         ox_of(b, 0), own_handle_at(b, 0), id_at(b, 0)); /* SEQ_CNT goes on (E18) */
    ck_assert_uint_eq(counts(b).setups, 0);
    b_wait(b, FCVI_NEVER, 1);
    hear_in_pieces(b, true, OX, ID, pieces[_i].info, pieces[_i].piece, ALL);
    const struct fcvi_event *e = b_return(b, 1);
    ck_assert_int_eq(e->vip, VIP_SUCCESS);
    ck_assert_uint_eq(e->remote_attributes.reliability, FCVI_UNRELIABLE);
    ck_assert_uint_eq(e->remote_attributes.max_transfer_size, 32768);
    ck_assert_mem_eq(e->remote_address.host, address(THEIRS).host, 16);
    ck_assert_mem_eq(e->remote_address.discriminator, address(THEIRS).discriminator, 16);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, e->conn, server, 2), FCVI_VIP_PENDING);
    collect(b);
    hear(b, "03 010200 00 010100 58 090000 06 02 %04x 1234 ffff 00000000 %08x 19 00 0000 00*20 00000042",
         frames, own_handle_at(b, 2));
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(b->sent, 4);
    b_end(b);
}
END_TEST

/* 8.5.2 a: one piece is lost. The originator aborts; the responder has nothing to answer. */
START_TEST(piece_lost)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    unsigned lost = (unsigned)_i;
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    b_wait(b, R_A_TOV / 2, 1);
    hear_in_pieces(b, true, OX, ID, 0, 100, lost);
    ck_assert_uint_eq(b->sent, 1);
    ck_assert_ptr_null(b_return(b, 1));
    ck_assert_uint_eq(counts(b).setups, lost == 3 ? 2 : 1);
    hear_in_pieces(b, false, ox_of(b, 0), id_at(b, 0), 0, 100, lost);
    if (lost < 3) {
        ck_assert_uint_eq(b->frame[1][0], 0x81);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT_RETRY);
        hear_ba_acc(b, 0);
    } else { /* the last: nobody knows yet */
        ck_assert_uint_eq(b->sent, 1);
        advance(b, R_A_TOV);
        ck_assert_uint_eq(b->frame[1][0], 0x81);
        hear_ba_acc(b, 0);
        advance(b, R_A_TOV - 1);
        ck_assert_uint_eq(counts(b).setups, 2);
        advance(b, 1);
        ck_assert_uint_eq(counts(b).setups, 1); /* the retry */
    }
    b_end(b);
}
END_TEST

/* FC-FS: the Parameter field is a Relative Offset only when F_CTL says so, and of no frame without a payload.
 */
START_TEST(parameter_of_no_offset)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_wait(b, FCVI_NEVER, 1);
    uint8_t bytes[FRAME], whole[1024];
    size_t length = from_hex(RQST_PAYLOAD, whole);
    for (unsigned n = 0; n < 2; n++) {
        char hex[512];
        snprintf(hex, sizeof hex, n == 0 ? RQST_FRAME("200008") : RQST_FRAME("290000"), n, OX,
                 n == 0 ? 0 : 0x1234u, 1u, ID);
        size_t head = from_hex(hex, bytes), part = n == 0 ? 100 : length - 100;
        memcpy(bytes + head, whole + (n == 0 ? 0 : 100), part);
        hear_bytes(b, bytes, head + part);
    }
    ck_assert_ptr_nonnull(b_return(b, 1));
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, b_return(b, 1)->conn, vi, 2), FCVI_VIP_PENDING);
    collect(b);
    hear(b, "03 010200 00 010100 58 090008 06 02 0002 1234 ffff 00009999 %08x 19 00 0000 00*20 00000042",
         own_handle_at(b, 0));
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_SUCCESS);
    b_end(b);
}
END_TEST

/* FC-FS: the first frame of the answer tells its RX_ID; the second has another one here. */
START_TEST(rx_id_of_the_first_frame)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    uint8_t bytes[FRAME], whole[1024];
    size_t length = from_hex(RESP1_PAYLOAD, whole);
    for (unsigned n = 0; n < 2; n++) {
        char hex[512];
        snprintf(hex, sizeof hex, n == 0 ? RESP1_FRAME("800008") : RESP1_FRAME("890008"), n, ox_of(b, 0),
                 100 * n, 0u, id_at(b, 0));
        size_t head = from_hex(hex, bytes), part = n == 0 ? 100 : length - 100;
        bytes[19] = (uint8_t)(1 + n);
        memcpy(bytes + head, whole + 100 * n, part);
        hear_bytes(b, bytes, head + part);
    }
    expect(b, 1, "03 010100 00 010200 58 090000 .. 02 0001 %04x 8001 00000000 0000abcd 19 00 0000 00*20 %08x",
           ox_of(b, 0), id_at(b, 0));
    hear(b, "03 010200 00 010100 58 980000 06 02 0002 %04x 8001 00000000 %08x 1a 00 0000 00*20 %08x",
         ox_of(b, 0), own_handle_at(b, 0), id_at(b, 0));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* A piece of one byte is in its place, or not. _i: how far from it */
START_TEST(piece_of_one_byte)
{
    struct bench *b = b_new();
    b_wait(b, R_A_TOV, 1);
    uint8_t whole[1024], bytes[FRAME];
    size_t length = from_hex(RQST_PAYLOAD, whole);
    for (uint32_t n = 0; n < 2; n++) {
        char hex[512];
        snprintf(hex, sizeof hex, n == 0 ? RQST_FRAME("200009") : RQST_FRAME("29000b"), n, OX,
                 n == 0 ? 0 : (uint32_t)(length - 1) + (uint32_t)_i, 1u, ID);
        size_t head = from_hex(hex, bytes), part = n == 0 ? length - 1 : 1;
        memcpy(bytes + head, whole + (n == 0 ? 0 : length - 1), part);
        memset(bytes + head + part, 0, 3);
        hear_bytes(b, bytes, head + part + (n == 0 ? 1 : 3));
    }
    ck_assert_int_eq(b_return(b, 1) != NULL, _i == 0);
    ck_assert_uint_eq(counts(b).setups, _i == 0);
    if (_i == 0)
        ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, b_return(b, 1)->conn), VIP_SUCCESS);
    else
        advance(b, R_A_TOV);
    collect(b);
    b_end(b);
}
END_TEST

/* A request of which something has come: aborted, or repeated, or followed by something else. */
START_TEST(request_not_complete)
{
    struct bench *b = b_new();
    b_wait(b, FCVI_NEVER, 1);
    hear(b, RQST_FRAME("200008") "00*100", 0u, OX, 0u, 1u, ID);
    ck_assert_uint_eq(counts(b).setups, 1);
    if (_i == 0) {
        hear_abts(b, OX);
        ck_assert_uint_eq(b->frame[0][0], 0x84);
    } else if (_i == 1) {
        hear(b, RQST_FRAME("200008") "00*100", 0u, OX, 0u, 1u, ID);
    } else if (_i == 2) { /* more than 596 bytes */
        hear(b, RQST_FRAME("290008") "00*500", 1u, OX, 100u, 1u, ID);
    } else {
        hear(b, RQST_FRAME("290008") "00*240", 1u, OX, 104u, 1u, ID);
    }
    ck_assert_uint_eq(counts(b).setups, 0);
    ck_assert_uint_eq(counts(b).exchanges, 0);
    hear_rqst(b, 1, OX, ID, HANDLE); /* and now in one piece */
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, b_return(b, 1)->conn), VIP_SUCCESS);
    collect(b);
    b_end(b);
}
END_TEST

/* What begins no setup: Table 1 has First_Sequence, the originator's side, SEQ_CNT and Relative Offset zero.
 */
START_TEST(request_that_does_not_begin)
{
    struct bench *b = b_new();
    b_wait(b, R_A_TOV, 1);
    hear(b, RQST_FRAME("290008") RQST_PAYLOAD, 1u, OX, 0u, 1u, ID);
    hear(b, RQST_FRAME("290008") RQST_PAYLOAD, 0u, OX, 4u, 1u, ID);
    hear(b, RQST_FRAME("090008") RQST_PAYLOAD, 0u, OX, 0u, 1u, ID);
    hear(b, RQST_FRAME("a90008") RQST_PAYLOAD, 0u, OX, 0u, 1u, ID);
    ck_assert_uint_eq(b->sent, 0);
    ck_assert_uint_eq(counts(b).setups, 0);
    ck_assert_ptr_null(b_return(b, 1));
    advance(b, R_A_TOV);
    b_end(b);
}
END_TEST

/* 6.8.3, 6.9.3: a port that tells of itself sends 596 bytes and says so in FCVI_CONN_INFO, which is another
 * bit in each (E23); and FCVI_PREF as the Endpoint has it (Table 18). */
START_TEST(connect_info_and_preference)
{
    struct fcvi_port_config c = b_config();
    c.connect_info = true;
    struct bench *b = b_begin(&b_limits, &c);
    struct fcvi_attributes a = {
        .reliability = FCVI_RELIABLE_DELIVERY, .max_transfer_size = 0x8000, .preference = true};
    uint32_t vi;
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, 0, &a, &vi), VIP_SUCCESS);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    ck_assert_uint_eq(b->length[0], 24 + 32 + 596);
    b->length[0] = 24 + 32 + 340;
    expect(b, 0,
           "02 010100 00 010200 58 290008 .. 02 0000 .... ffff 00000000 ffffffff 10 09 0000 00*20 ........ "
           "00000000 0000 0001 ........ " ADDR_B ADDR_A "0000 02 00 00008000 80 00*19 00*4");
    hear(b, RESP1_FRAME("890008") "00000000 0000 0001 0000abcd " ADDR_A ADDR_B "0000 02 00 00008000 80 00*23",
         0u, ox_of(b, 0), 0u, 0u, id_at(b, 0));
    ck_assert(b_return(b, 7)->remote_attributes.preference);
    hear_rqst(b, 1, OX, ID, HANDLE);
    ck_assert_uint_eq(b->length[2], 24 + 32 + 596);
    ck_assert_uint_eq(flags_at(b, 2), 3);
    hear_resp2(b, 0, 0, OX, ID, FCVI_UNASSIGNED);
    ck_assert_uint_eq(flags_at(b, 3), 0); /* no payload, no FCVI_CONN_INFO */
    b_end(b);
}
END_TEST

/* ---- IUs in every state (E45: no connection is changed) ---- */

enum state { OFFERED, ACCEPTED, REQUESTED, RESP2_SENT, CONNECTED, ABORTED, STATES };

/* The Exchange that the state is about is ours from REQUESTED on; frame 0 began it. */
static uint32_t bring_into(struct bench *b, enum state state)
{
    uint32_t vi = b_vi(b);
    if (state < REQUESTED) {
        b_wait(b, FCVI_NEVER, 1);
        hear_rqst(b, 1, OX, ID, HANDLE);
        if (state == ACCEPTED)
            fcvi_vip_connect_accept(b->port, 0, b_return(b, 1)->conn, vi, 2);
        collect(b);
        return vi;
    }
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    if (state == ABORTED)
        advance(b, R_A_TOV);
    if (state == RESP2_SENT || state == CONNECTED)
        hear_resp1(b, 0, 0, 0, 0xabcd);
    if (state == CONNECTED)
        hear_resp3(b, 0, 0, own_handle_at(b, 0));
    return vi;
}

/* Tables 1 and 2: opcode and the end of F_CTL of IUs that are due in one of the states at most */
static const struct {
    unsigned opcode, f_ctl;
    int due;
} undue[] = {{0x18, 0x09, REQUESTED}, {0x19, 0x09, ACCEPTED}, {0x1a, 0x18, RESP2_SENT}, {0x1b, 0x18, -1}};

START_TEST(iu_out_of_turn)
{
    enum state state = (enum state)(_i % STATES);
    unsigned which = (unsigned)_i / STATES;
    struct bench *b = b_new();
    uint32_t vi = bring_into(b, state);
    bool ours = state >= REQUESTED;
    unsigned sent = b->sent, events = b->events, seq_cnt = !ours || state == RESP2_SENT;
    struct fcvi_port_counts before = counts(b), after;
    if (undue[which].due != (int)state) /* other tests have those that are due */
        hear(b,
             "03 010200 00 010100 58 %02x0000 06 02 %04x %04x ffff 00000000 ffffffff %02x 00 0000 00*20 %08x",
             undue[which].f_ctl | (ours ? 0x80 : 0), seq_cnt, ours ? ox_of(b, 0) : OX, undue[which].opcode,
             ours ? id_at(b, 0) : ID);
    after = counts(b);
    ck_assert_uint_eq(b->sent, sent);
    ck_assert_uint_eq(b->events, events);
    ck_assert_mem_eq(&before, &after, sizeof before);
    if (state == OFFERED)
        ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, b_return(b, 1)->conn), VIP_SUCCESS);
    collect(b);
    if (state == REQUESTED)
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    if (state == ABORTED)
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT_RETRY);
    if (state == CONNECTED || state == RESP2_SENT)
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* ---- the payload, bit by bit (Tables 13 to 18) ---- */

/* _i: each attribute alone. Table 17: Reliability Level, then EnRdmaWr and EnRdmaRd; Table 18: FCVI_PREF and
 * FCVI_PIPELINE_DEPTH. */
START_TEST(attributes_on_the_wire)
{
    static const struct {
        struct fcvi_attributes a;
        const char *wire;
    } asked[] = {
        {{.reliability = FCVI_UNRELIABLE, .max_transfer_size = 1}, "0000 01 00 00000001 00*20 00*4"},
        {{.reliability = FCVI_RELIABLE_DELIVERY, .max_transfer_size = 1, .rdma_write = true},
         "0000 02 02 00000001 00*20 00*4"},
        {{.reliability = FCVI_RELIABLE_RECEPTION, .max_transfer_size = 1, .rdma_read = true},
         "0000 03 01 00000001 00*20 00*4"},
        {{.reliability = FCVI_UNRELIABLE, .max_transfer_size = 1, .preference = true},
         "0000 01 00 00000001 80000000 00*16 00*4"},
    };
    struct bench *b = b_new();
    uint32_t vi;
    struct fcvi_attributes a = asked[_i].a;
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, b->now, &a, &vi), VIP_SUCCESS);
    b->vis++;
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    expect(
        b, 0,
        "02 010100 00 010200 58 290008 .. 02 0000 .... ffff 00000000 ffffffff 10 01 0000 00*8 00*12 ........ "
        "00000000 0000 0001 ........ " ADDR_B ADDR_A "%s",
        asked[_i].wire);
    b_end(b);
}
END_TEST

/* 6.8.3: what a provider tells of itself is padded with zeros. */
START_TEST(provider_information)
{
    struct fcvi_port_config c = b_config();
    c.connect_info = true;
    struct bench *b = b_begin(&b_limits, &c);
    b_request(b, b_vi(b), THEIRS, FCVI_NEVER, 7);
    ck_assert_uint_eq(b->length[0], 56 + 596);
    ck_assert_str_eq((const char *)b->frame[0] + 56 + 340, "fcvi reference port");
    for (unsigned i = 56 + 340 + 20; i < 56 + 596; i++)
        ck_assert_uint_eq(b->frame[0][i], 0);
    b_end(b);
}
END_TEST

/* E30: Discriminators of 128 bytes, on both sides; a peer with an address of zeros is not this host. */
START_TEST(longest_discriminator)
{
    struct bench *b = b_new();
    struct fcvi_address local = address(OURS);
    local.discriminator_length = 128;
    memset(local.discriminator, 0x5a, 128);
    ck_assert_int_eq(fcvi_vip_connect_wait(b->port, b->now, &local, FCVI_NEVER, 1), FCVI_VIP_PENDING);
    uint8_t frame[FRAME];
    size_t n =
        from_hex("02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 ffffffff 10 01 0000 00*8 "
                 "00*12 00000042 00000000 0000 0001 00000005 " ADDR_A ADDR_B ATTRS,
                 frame);
    memset(frame + 56 + 12 + 4, 0, 16);
    frame[56 + 12 + 3] = frame[56 + 12 + 148 + 3] = 0x80;
    memset(frame + 56 + 12 + 20, 0x77, 128);
    memset(frame + 56 + 12 + 148 + 20, 0x5a, 128);
    hear_bytes(b, frame, n);
    const struct fcvi_event *e = b_return(b, 1);
    ck_assert_ptr_nonnull(e);
    ck_assert_int_eq(e->vip, VIP_SUCCESS);
    ck_assert_uint_eq(e->remote_address.discriminator_length, 128);
    ck_assert_uint_eq(e->remote_address.discriminator[127], 0x77);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, e->conn), VIP_SUCCESS);
    collect(b);
    b_end(b);
}
END_TEST

/* What the standard leaves open differs from seed to seed: OX_ID, RX_ID, handle and FCVI_CONNECTION_ID. */
START_TEST(choices_by_seed)
{
    uint32_t ox[2], rx[2], handle[2], id[2];
    for (uint32_t k = 0; k < 2; k++) {
        struct fcvi_port_config c = b_config();
        c.seed = 1 + k;
        struct bench *b = b_begin(&b_limits, &c);
        uint32_t vi = b_vi(b), server = b_vi(b);
        b_request(b, vi, THEIRS, FCVI_NEVER, 7);
        ox[k] = ox_of(b, 0);
        id[k] = id_at(b, 0);
        b_wait(b, FCVI_NEVER, 1);
        hear_rqst(b, 1, OX, ID, HANDLE);
        ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, b_return(b, 1)->conn, server, 2),
                         FCVI_VIP_PENDING);
        collect(b);
        rx[k] = word_of(b, 1, 18, 2);
        handle[k] = own_handle_at(b, 1);
        b_end(b);
    }
    ck_assert_uint_ne(ox[0], ox[1]);
    ck_assert_uint_ne(rx[0], rx[1]);
    ck_assert_uint_ne(handle[0], handle[1]);
    ck_assert_uint_ne(id[0], id[1]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("connect");
    TCase *t = tcase_create("one port");
    tcase_add_loop_test(t, setup_in_pieces, 0, PIECES);
    tcase_add_loop_test(t, piece_lost, 0, 4);
    tcase_add_test(t, parameter_of_no_offset);
    tcase_add_test(t, rx_id_of_the_first_frame);
    tcase_add_loop_test(t, piece_of_one_byte, 0, 2);
    tcase_add_loop_test(t, request_not_complete, 0, 4);
    tcase_add_test(t, request_that_does_not_begin);
    tcase_add_test(t, connect_info_and_preference);
    tcase_add_loop_test(t, iu_out_of_turn, 0, 4 * STATES);
    tcase_add_loop_test(t, attributes_on_the_wire, 0, 4);
    tcase_add_test(t, provider_information);
    tcase_add_test(t, choices_by_seed);
    tcase_add_test(t, longest_discriminator);
    suite_add_tcase(s, t);
    return run_suite(s);
}
