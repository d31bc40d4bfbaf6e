/* The reference port against frames and times worked out by hand from clauses 5, 6, 8 and Annexes C and D. */
#include "../../../codec/tests/golden.h"

#include "../../../codec/tests/quiet_check.h"
#include <fcvi/port.h>
#include <stdio.h>

enum { R_A_TOV = 10000000, FRAME = 24 + 2112, SENT = 64 };

/* A port with all it has said. */
struct bench {
    uint64_t *memory;
    size_t size;
    struct fcvi_port *port;
    uint64_t now;
    uint8_t frame[SENT][FRAME];
    size_t length[SENT];
    unsigned sent;
    struct fcvi_event event[256];
    unsigned events;
};

static const struct fcvi_port_limits limits = {.vis = 4,
                                               .connectionpoints = 4,
                                               .exchanges = 64,
                                               .regions = 4,
                                               .descriptors = 4,
                                               .events = 256,
                                               .memory = 1 << 16,
                                               .max_transfer_size = 32768};

static struct fcvi_port_config config_of(void)
{
    struct fcvi_port_config c = {
        .service_class = 3, .e_d_tov_us = 2000000, .r_a_tov_us = R_A_TOV, .receive_size = 2112, .seed = 1};
    c.self = (struct fcvi_port_identity){0x10000000c9000002, 0x20000000c9000002, 0x010200, 1, {{0}}};
    c.peer = (struct fcvi_port_identity){0x10000000c9000001, 0x20000000c9000001, 0x010100, 1, {{0}}};
    from_hex("fe800000000000000000000000 0000b2", c.self.host[0]);
    from_hex("fe800000000000000000000000 0000a1", c.peer.host[0]);
    return c;
}

static void setup_with(struct bench *b, const struct fcvi_port_config *c)
{
    memset(b, 0, sizeof *b);
    b->size = fcvi_port_size(&limits);
    b->memory = calloc(1, b->size);
    b->port = fcvi_port_init(b->memory, b->size, &limits, c);
    ck_assert_ptr_nonnull(b->port);
}

static void setup(struct bench *b)
{
    struct fcvi_port_config c = config_of();
    setup_with(b, &c);
}

/* Take all frames and events. No frame of the reference breaks a rule; it may repeat an id that it was sent
 * (E03). */
static void collect(struct bench *b)
{
    struct fcvi_transmitted meta;
    while (b->events < 256 && fcvi_port_event(b->port, &b->event[b->events]))
        b->events++;
    for (;;) {
        ck_assert_uint_lt(b->sent, SENT);
        size_t n = fcvi_port_transmit(b->port, b->now, b->frame[b->sent], FRAME, &meta);
        if (n == 0)
            break;
        struct fcvi_finding list[8];
        struct fcvi_findings findings = {list, 8, 0, 0};
        struct fcvi_frame view;
        struct fcvi_input in = {b->frame[b->sent], n, meta.sof, meta.eof, FCVI_CRC_OK};
        fcvi_decode(&in, &view, &findings);
        ck_assert_msg(findings.worst <= 1 + FCVI_NOTICE, "%s %s", list[0].requirement, list[0].message);
        b->length[b->sent++] = n;
    }
    while (b->events < 256 && fcvi_port_event(b->port, &b->event[b->events]))
        b->events++;
}

static void advance(struct bench *b, uint64_t us)
{
    b->now += us;
    fcvi_port_run(b->port, b->now);
    collect(b);
}

static void hear_bytes(struct bench *b, const uint8_t *bytes, size_t n)
{
    struct fcvi_input in = {bytes, n, FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_ABSENT};
    fcvi_port_receive(b->port, b->now, &in);
    collect(b);
}

static void hear(struct bench *b, const char *hex)
{
    uint8_t bytes[FRAME];
    hear_bytes(b, bytes, from_hex(hex, bytes));
}

/* The nth frame sent is this; "." stands for half a byte that the port chooses. */
static void expect(struct bench *b, unsigned nth, const char *hex)
{
    uint8_t wanted[FRAME], mask[FRAME];
    char value[4096], care[4096]; /* the literal with zeros for dots, and with ones for digits */
    size_t n = 0;
    bool repeat = false;
    for (; hex[n] != '\0'; n++) {
        repeat = hex[n] == '*' || (repeat && hex[n] != ' ');
        bool digit = hex[n] != ' ' && !repeat && hex[n] != '.';
        value[n] = hex[n] == '.' ? '0' : hex[n];
        care[n] = digit ? 'f' : value[n];
    }
    value[n] = care[n] = '\0';
    size_t length = from_hex(value, wanted);
    from_hex(care, mask);
    ck_assert_msg(nth < b->sent, "only %u frames were sent", b->sent);
    ck_assert_uint_eq(b->length[nth], length);
    for (size_t i = 0; i < length; i++)
        ck_assert_msg((b->frame[nth][i] & mask[i]) == wanted[i], "frame %u byte %zu is %02x, not %02x", nth,
                      i, b->frame[nth][i], wanted[i]);
}

static const struct fcvi_event *last(const struct bench *b, enum fcvi_event_kind kind)
{
    for (unsigned i = b->events; i-- > 0;)
        if (b->event[i].kind == kind)
            return &b->event[i];
    return NULL;
}

static uint8_t state_of(struct bench *b, uint32_t vi)
{
    struct fcvi_vi_info info;
    ck_assert_int_eq(fcvi_vip_query_vi(b->port, b->now, vi, &info), VIP_SUCCESS);
    return info.state;
}

static struct fcvi_address address(const char *host)
{
    struct fcvi_address a = {.discriminator_length = 16};
    from_hex(host, a.host);
    from_hex("000102030405060708090a0b0c0d0e0f", a.discriminator);
    return a;
}
#define OURS "fe8000000000000000000000000000b2"
#define THEIRS "fe8000000000000000000000000000a1"

static uint32_t new_vi(struct bench *b)
{
    struct fcvi_attributes a = {.reliability = FCVI_UNRELIABLE, .max_transfer_size = 32768};
    uint32_t vi;
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, b->now, &a, &vi), VIP_SUCCESS);
    return vi;
}

/* The peer's FCVI_CONNECT_RQST: handle 00000005h, FCVI_CONNECTION_ID 00000042h, OX_ID 1234h */
#define RQST                                                                                                 \
    "02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 "                                           \
    "ffffffff 10 01 0000 00000000 00000000 00*12 00000042 " CONNECT("00000005", ADDR_A, ADDR_B)

static uint32_t serve(struct bench *b, uint32_t *vi)
{
    struct fcvi_address local = address(OURS);
    ck_assert_int_eq(fcvi_vip_connect_wait(b->port, b->now, &local, FCVI_NEVER, 1), FCVI_VIP_PENDING);
    hear(b, RQST);
    const struct fcvi_event *e = last(b, FCVI_EVENT_CALL);
    ck_assert_int_eq(e->vip, VIP_SUCCESS);
    ck_assert_mem_eq(e->remote_address.host, address(THEIRS).host, 16);
    *vi = new_vi(b);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, e->conn, *vi, 2), FCVI_VIP_PENDING);
    collect(b);
    return (uint32_t)fcvi_load(b->frame[b->sent - 1] + 64, 4);
}

/* RESP2 of the peer to the handle that RESP1 gave */
static void send_resp2(struct bench *b, uint32_t handle, const char *flags_and_rest)
{
    char hex[256];
    snprintf(hex, sizeof hex, "03 010200 00 010100 58 090000 06 02 0001 1234 ffff 00000000 %08x 19 %s",
             handle, flags_and_rest);
    hear(b, hex);
}
#define GOOD "00 0000 00000000 00000000 00*12 00000042"

START_TEST(server_setup_byte_for_byte)
{
    struct bench b;
    uint32_t vi;
    setup(&b);
    uint32_t handle = serve(&b, &vi);
    /* Table 1: RESP1 is 03h, responder, End_Sequence, Sequence Initiative; SEQ_CNT of this side starts at 0
     * (E18) */
    expect(&b, 0,
           "03 010100 00 010200 58 890008 .. 02 0000 1234 .... 00000000 "
           "ffffffff 18 00 0000 00000000 00000000 00*12 00000042 " CONNECT("........", ADDR_B, ADDR_A));
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_PENDING_CONNECT);
    ck_assert_uint_eq(fcvi_port_deadline(b.port), 2 * R_A_TOV); /* T2 (8.3) */
    send_resp2(&b, handle, GOOD);
    expect(&b, 1,
           "03 010100 00 010200 58 980000 .. 02 0001 1234 .... 00000000 "
           "00000005 1a 00 0000 00000000 00000000 00*12 00000042");
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_CONNECTED);
    ck_assert_int_eq(last(&b, FCVI_EVENT_CALL)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(fcvi_port_deadline(b.port), FCVI_NEVER);
    free(b.memory);
}
END_TEST

START_TEST(server_gives_up_at_t2_and_not_before)
{
    struct bench b;
    uint32_t vi;
    setup(&b);
    uint32_t handle = serve(&b, &vi);
    advance(&b, 2 * R_A_TOV - 1);
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_PENDING_CONNECT);
    advance(&b, 1);
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(last(&b, FCVI_EVENT_CALL)->vip, VIP_TIMEOUT);
    ck_assert_int_eq(last(&b, FCVI_EVENT_ERROR)->vip, VIP_ERROR_CONN_LOST);
    unsigned before = b.sent;
    send_resp2(&b, handle, GOOD); /* C rule 1 */
    ck_assert_uint_eq(b.sent, before);
    free(b.memory);
}
END_TEST

START_TEST(server_hears_that_the_client_gave_up)
{
    struct bench b;
    uint32_t vi;
    setup(&b);
    uint32_t handle = serve(&b, &vi);
    send_resp2(&b, handle, "01 0000 00000000 00020000 00*12 00000042"); /* 02h Connect Timeout (C.5.6) */
    ck_assert_uint_eq(b.sent, 2);
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_IDLE);
    ck_assert_int_eq(last(&b, FCVI_EVENT_CALL)->vip, VIP_TIMEOUT);
    free(b.memory);
}
END_TEST

START_TEST(refusals_by_reason)
{
    struct bench b;
    struct fcvi_address other = address(OURS);
    setup(&b);
    hear(&b, RQST); /* none waits: 03h, FCVI_RESP_HANDLE FFFFFFFFh */
    ck_assert_uint_eq(b.frame[0][29], 1);
    ck_assert_uint_eq(b.frame[0][37], 0x03);
    ck_assert_uint_eq(fcvi_load(b.frame[0] + 64, 4), FCVI_UNASSIGNED);
    send_resp2(&b, FCVI_UNASSIGNED, GOOD);
    expect(&b, 1,
           "03 010100 00 010200 58 980000 .. 02 0001 1234 .... 00000000 "
           "00000005 1a 00 0000 00000000 00000000 00*12 00000042");
    other.discriminator[0] ^= 1;
    fcvi_vip_connect_wait(b.port, b.now, &other, FCVI_NEVER, 1);
    hear(&b, RQST); /* one waits for something else: 01h */
    ck_assert_uint_eq(b.frame[2][37], 0x01);
    hear(&b, "02 010200 00 010100 58 290008 05 02 0000 1235 ffff 00000000 "
             "ffffffff 10 02 0000 00000000 00000000 00*12 00000043 " CONNECT("00000006", ADDR_A, ADDR_B));
    ck_assert_uint_eq(b.frame[3][37], 0x01); /* a Peer does not meet a Server */
    hear(&b, "02 010200 00 010100 58 290008 05 02 0000 1236 ffff 00000000 "
             "ffffffff 10 03 0000 00000000 00000000 00*12 00000044 " CONNECT("00000006", ADDR_A, ADDR_B));
    ck_assert_uint_eq(b.frame[4][37], 0x21); /* a mode without meaning (E25) */
    free(b.memory);
}
END_TEST

static uint32_t request(struct bench *b, uint64_t timeout)
{
    struct fcvi_address local = address(OURS), remote = address(THEIRS);
    uint32_t vi = new_vi(b);
    ck_assert_int_eq(fcvi_vip_connect_request(b->port, b->now, vi, &local, &remote, timeout, 7),
                     FCVI_VIP_PENDING);
    collect(b);
    return vi;
}

/* The peer answers the nth frame (a request) with RESP1; flags, reason and handle as given. */
static void send_resp1(struct bench *b, unsigned nth, uint8_t flags, uint8_t reason)
{
    uint8_t out[FRAME];
    size_t n =
        from_hex("03 010200 00 010100 58 890008 06 02 0000 0000 8001 00000000 "
                 "ffffffff 18 00 0000 00000000 00000000 00*12 00000000 " CONNECT("0000abcd", ADDR_A, ADDR_B),
                 out);
    memcpy(out + 16, b->frame[nth] + 16, 2); /* OX_ID */
    memcpy(out + 52, b->frame[nth] + 52, 4); /* FCVI_CONNECTION_ID */
    out[29] = flags;
    out[37] = reason;
    hear_bytes(b, out, n);
}

static void send_simple(struct bench *b, unsigned nth, const char *hex)
{
    uint8_t out[FRAME];
    size_t n = from_hex(hex, out);
    memcpy(out + 16, b->frame[nth] + 16, 2);
    if (n >= 56)
        memcpy(out + 52, b->frame[nth] + 52, 4);
    hear_bytes(b, out, n);
}
#define RESP3                                                                                                \
    "03 010200 00 010100 58 980000 06 02 0001 0000 8001 00000000 00000005 1a 00 0000 00*8 00*12 00000000"
#define BA_ACC "84 010200 00 010100 00 990000 00 00 0000 0000 ffff 00000000 0000 0000 0000 ffff 0000 ffff"

START_TEST(client_setup_byte_for_byte)
{
    struct bench b;
    setup(&b);
    uint32_t vi = request(&b, FCVI_NEVER);
    expect(&b, 0,
           "02 010100 00 010200 58 290008 .. 02 0000 .... ffff 00000000 "
           "ffffffff 10 01 0000 00000000 00000000 00*12 ........ " CONNECT("........", ADDR_B, ADDR_A));
    ck_assert_uint_eq(fcvi_port_deadline(b.port), R_A_TOV); /* T3 (8.3) */
    send_resp1(&b, 0, 0, 0);
    expect(&b, 1,
           "03 010100 00 010200 58 090000 .. 02 0001 .... 8001 00000000 "
           "0000abcd 19 00 0000 00000000 00000000 00*12 ........");
    ck_assert_mem_eq(b.frame[1] + 52, b.frame[0] + 52, 4);
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_CONNECTED);
    send_simple(&b, 0, RESP3);
    ck_assert_uint_eq(fcvi_port_deadline(b.port), FCVI_NEVER);
    free(b.memory);
}
END_TEST

START_TEST(client_retries_once)
{
    struct bench b;
    setup(&b);
    uint32_t vi = request(&b, FCVI_NEVER);
    advance(&b, R_A_TOV - 1);
    ck_assert_uint_eq(b.sent, 1);
    advance(&b, 1);
    expect(&b, 1, "81 010100 00 010200 00 090000 .. 00 0000 .... ffff 00000000"); /* ABTS */
    ck_assert_mem_eq(b.frame[1] + 16, b.frame[0] + 16, 2);
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_PENDING_CONNECT_RETRY);
    send_simple(&b, 0, BA_ACC);
    ck_assert_uint_eq(b.sent, 3);
    ck_assert_uint_eq(b.frame[2][29], 0x11);               /* RETRY, Client-Server */
    ck_assert_mem_ne(b.frame[2] + 16, b.frame[0] + 16, 2); /* new Exchange */
    ck_assert_mem_ne(b.frame[2] + 52, b.frame[0] + 52, 4); /* new FCVI_CONNECTION_ID */
    ck_assert_mem_eq(b.frame[2] + 64, b.frame[0] + 64, 4); /* same handle (E37) */
    send_resp1(&b, 0, 0, 0);                               /* C rule 1: the first attempt is dead */
    ck_assert_uint_eq(b.sent, 3);
    advance(&b, R_A_TOV);
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(last(&b, FCVI_EVENT_CALL)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(b.sent, 5);              /* ABTS of the retry and, R_A_TOV after the BA_ACC, RRQ */
    fcvi_vip_disconnect(b.port, b.now, vi, 9); /* D rule 2, E04 */
    collect(&b);
    expect(&b, 5,
           "02 010100 00 010200 58 290000 .. 02 0000 .... ffff 00000000 "
           "ffffffff 12 07 0000 00000000 00490000 00*12 ........");
    ck_assert_mem_eq(b.frame[5] + 52, b.frame[2] + 52, 4);
    free(b.memory);
}
END_TEST

START_TEST(retry_without_ba_acc_waits_for_r_a_tov)
{
    struct bench b;
    setup(&b);
    request(&b, FCVI_NEVER);
    advance(&b, R_A_TOV);
    advance(&b, R_A_TOV - 1);
    ck_assert_uint_eq(b.sent, 2);
    advance(&b, 1);
    ck_assert_uint_eq(b.sent, 3);
    free(b.memory);
}
END_TEST

START_TEST(application_gives_up_first)
{
    struct bench b;
    setup(&b);
    uint32_t vi = request(&b, R_A_TOV / 4);
    advance(&b, R_A_TOV / 4);
    ck_assert_int_eq(last(&b, FCVI_EVENT_CALL)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_IDLE);
    send_resp1(&b, 0, 0, 0);
    ck_assert_uint_eq(b.frame[1][29], 1); /* CONN_STS, 02h */
    ck_assert_uint_eq(b.frame[1][37], 2);
    advance(&b, R_A_TOV); /* RESP3 never comes: ABTS, no retry (C rule 2) */
    ck_assert_uint_eq(b.frame[2][0], 0x81);
    advance(&b, 5 * (uint64_t)R_A_TOV);
    ck_assert_uint_eq(b.sent, 3);
    ck_assert_uint_eq(fcvi_port_deadline(b.port), FCVI_NEVER);
    free(b.memory);
}
END_TEST

static const struct {
    uint8_t reason;
    int vip;
    uint8_t state;
} answers[] = {{0x01, VIP_NO_MATCH, FCVI_STATE_IDLE},       {0x03, VIP_NO_MATCH, FCVI_STATE_IDLE},
               {0x04, VIP_REJECT, FCVI_STATE_IDLE},         {0x20, VIP_NOT_REACHABLE, FCVI_STATE_ERROR},
               {0x21, VIP_NOT_REACHABLE, FCVI_STATE_ERROR}, {0xF0, VIP_REJECT, FCVI_STATE_IDLE}};

START_TEST(refused_client)
{
    struct bench b;
    setup(&b);
    uint32_t vi = request(&b, FCVI_NEVER);
    send_resp1(&b, 0, 1, answers[_i].reason);
    ck_assert_uint_eq(b.frame[1][28], 0x19); /* RESP2 all the same (6.10.1) */
    ck_assert_int_eq(last(&b, FCVI_EVENT_CALL)->vip, answers[_i].vip);
    ck_assert_uint_eq(state_of(&b, vi), answers[_i].state);
    free(b.memory);
}
END_TEST

static uint32_t connected_client(struct bench *b)
{
    setup(b);
    uint32_t vi = request(b, FCVI_NEVER);
    send_resp1(b, 0, 0, 0);
    send_simple(b, 0, RESP3);
    ck_assert_uint_eq(b->sent, 2);
    return vi;
}

START_TEST(disconnect_answered_and_not)
{
    struct bench b;
    uint32_t vi = connected_client(&b);
    fcvi_vip_disconnect(b.port, b.now, vi, 9);
    collect(&b);
    expect(&b, 2,
           "02 010100 00 010200 58 290000 .. 02 0000 .... ffff 00000000 "
           "0000abcd 12 02 0000 00000000 00000000 00*12 00000000");
    if (_i == 0) {
        send_simple(&b, 2,
                    "03 010200 00 010100 58 980000 06 02 0000 0000 8001 00000000 "
                    "00000000 1b 02 0000 00*8 00*12 00000000");
        ck_assert_int_eq(last(&b, FCVI_EVENT_CALL)->vip, VIP_SUCCESS);
        ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_IDLE);
    } else {
        advance(&b, R_A_TOV);
        ck_assert_uint_eq(b.sent, 5); /* ABTS and one more request (E59) */
        advance(&b, R_A_TOV);
        ck_assert_uint_eq(b.frame[5][0], 0x81);
        ck_assert_int_eq(last(&b, FCVI_EVENT_CALL)->vip, VIP_NOT_REACHABLE);
        ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_ERROR);
    }
    free(b.memory);
}
END_TEST

START_TEST(disconnected_by_the_peer)
{
    struct bench b;
    char hex[256];
    uint32_t vi = connected_client(&b);
    uint32_t handle = (uint32_t)fcvi_load(b.frame[0] + 64, 4);
    const char *format = "02 %s 00 %s 58 290000 09 02 %s 4321 ffff 00000000 %08x 12 %s 0000 00*8 00*12 %s";
    snprintf(hex, sizeof hex, format, "010200", "010300", "0000", handle, "02", "00000000");
    hear(&b, hex); /* a port that is not logged in */
    ck_assert_uint_eq(b.sent, 2);
    snprintf(hex, sizeof hex, format, "010200", "010100", "0001", handle, "02", "00000000");
    hear(&b, hex); /* 8.6.3 b: a damaged one is ignored */
    ck_assert_uint_eq(b.sent, 2);
    snprintf(hex, sizeof hex, format, "010200", "010100", "0000", handle, "04", "77777777");
    hear(&b, hex); /* D rule 6 */
    expect(&b, 2,
           "03 010100 00 010200 58 980000 .. 02 0000 4321 .... 00000000 "
           "0000abcd 1b 05 0000 00000000 00480000 00*12 77777777");
    snprintf(hex, sizeof hex, format, "010200", "010100", "0000", 0x11111111u, "06", "77777777");
    hear(&b, hex); /* D rule 3, E05 */
    expect(&b, 3,
           "03 010100 00 010200 58 980000 .. 02 0000 4321 .... 00000000 "
           "ffffffff 1b 07 0000 00000000 004a0000 00*12 77777777");
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_CONNECTED);
    snprintf(hex, sizeof hex, format, "010200", "010100", "0000", handle, "02", "00000000");
    hear(&b, hex);
    expect(&b, 4,
           "03 010100 00 010200 58 980000 .. 02 0000 4321 .... 00000000 "
           "0000abcd 1b 02 0000 00000000 00000000 00*12 00000000");
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(last(&b, FCVI_EVENT_ERROR)->vip, VIP_ERROR_CONN_LOST);
    unsigned events = b.events;
    hear(&b, hex); /* D.2: answered again, no second callback */
    ck_assert_uint_eq(b.sent, 6);
    ck_assert_uint_eq(b.events, events);
    free(b.memory);
}
END_TEST

/* ---- Messages ---- */

START_TEST(message_of_several_frames)
{
    struct bench b;
    struct fcvi_port_config c = config_of();
    c.receive_size = 256; /* 224 bytes of data beside the Device_Header */
    setup_with(&b, &c);
    uint32_t vi = request(&b, FCVI_NEVER), mem, mem_handle;
    uint64_t va;
    unsigned parts = b.sent; /* the request itself needs two frames (E44) */
    ck_assert_uint_eq(parts, 2);
    send_resp1(&b, 0, 0, 0);
    ck_assert_int_eq(fcvi_vip_register_mem(b.port, b.now, 500, false, false, &mem, &va, &mem_handle),
                     VIP_SUCCESS);
    uint8_t *data = fcvi_port_memory(b.port, mem, 0, 500);
    for (unsigned i = 0; i < 500; i++)
        data[i] = (uint8_t)i;
    struct fcvi_descriptor d = {
        .op = FCVI_SEND, .segments = 2, .has_immediate = true, .immediate = 0x01020304};
    d.segment[0] = (struct fcvi_segment){mem, 0, 225};
    d.segment[1] = (struct fcvi_segment){mem, 225, 225};
    ck_assert_int_eq(fcvi_vip_post(b.port, b.now, vi, &d), VIP_SUCCESS);
    unsigned first = b.sent;
    collect(&b);
    ck_assert_uint_eq(b.sent - first, 3);
    static const char *const heads[] = {"01 010100 00 010200 58 200008 .. 02 0000 .... ffff 00000000 "
                                        "0000abcd 00 01 0000 00000001 01020304 00*12 000001c2",
                                        "01 010100 00 010200 58 200008 .. 02 0001 .... ffff 000000e0 "
                                        "0000abcd 00 01 0000 00000001 01020304 00*12 000001c2",
                                        "01 010100 00 010200 58 38000a .. 02 0002 .... ffff 000001c0 "
                                        "0000abcd 00 01 0000 00000001 01020304 00*12 000001c2"};
    for (unsigned i = 0; i < 3; i++) {
        size_t whole = b.length[first + i];
        b.length[first + i] = 56;
        expect(&b, first + i, heads[i]);
        size_t room = i < 2 ? 224 : 2;
        ck_assert_uint_eq(whole, 56 + (i < 2 ? 224 : 4));
        for (size_t k = 0; k < room; k++)
            ck_assert_uint_eq(b.frame[first + i][56 + k], (uint8_t)(224 * i + k));
    }
    ck_assert_ptr_null(last(&b, FCVI_EVENT_COMPLETION)); /* C.5.1: not before RESP3 */
    send_simple(&b, 0, RESP3);
    ck_assert_uint_eq(last(&b, FCVI_EVENT_COMPLETION)->completion.length, 450);
    free(b.memory);
}
END_TEST

/* Annex B on an In-Order Fabric, Unreliable Delivery: what is lost completes in error, what follows is
 * delivered. */
START_TEST(messages_with_a_gap)
{
    struct bench b;
    char hex[512];
    uint32_t vi = connected_client(&b), mem, mem_handle;
    uint32_t handle = (uint32_t)fcvi_load(b.frame[0] + 64, 4);
    uint64_t va;
    fcvi_vip_register_mem(b.port, b.now, 64, false, false, &mem, &va, &mem_handle);
    struct fcvi_descriptor d = {.op = FCVI_RECV, .segments = 1};
    d.segment[0] = (struct fcvi_segment){mem, 0, 64};
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(fcvi_vip_post(b.port, b.now, vi, &d), VIP_SUCCESS);
    static const struct {
        const char *f_ctl, *seq_cnt, *offset, *msg, *total, *data;
        unsigned events;
        uint32_t status;
    } frames[] = {
        {"200008", "0000", "00000000", "00000001", "0000000c", "11111111", 0, 0},
        {"380008", "0002", "00000008", "00000001", "0000000c", "33333333", 1,
         FCVI_STATUS_TRANSPORT_ERROR},                                            /* 6c */
        {"200008", "0001", "00000004", "00000001", "0000000c", "22222222", 0, 0}, /* rule 2 */
        {"380008", "0001", "00000004", "00000002", "00000008", "22222222", 0, 0}, /* E89 */
        {"380008", "0000", "00000000", "00000005", "00000004", "55555555", 1, 0}, /* 4a c */
        {"380008", "0000", "00000000", "00000004", "00000004", "44444444", 0, 0}, /* 5a */
        {"200008", "0000", "00000000", "00000006", "0000000c", "66666666", 0, 0},
        {"380008", "0003", "00000004", "00000007", "00000008", "77777777", 1,
         FCVI_STATUS_TRANSPORT_ERROR},                                            /* 4a b */
        {"380008", "0000", "00000000", "00000008", "00000004", "88888888", 0, 0}, /* none posted */
    };
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        unsigned events = b.events;
        snprintf(hex, sizeof hex,
                 "01 010200 00 010100 58 %s 07 02 %s 0700 ffff %s %08x 00 00 0000 %s 00*16 %s %s",
                 frames[i].f_ctl, frames[i].seq_cnt, frames[i].offset, handle, frames[i].msg, frames[i].total,
                 frames[i].data);
        hear(&b, hex);
        ck_assert_msg(b.events - events == frames[i].events, "frame %zu: %u events", i, b.events - events);
        if (frames[i].events == 1) {
            ck_assert_int_eq(b.event[events].kind, FCVI_EVENT_COMPLETION);
            ck_assert_uint_eq(b.event[events].completion.status & FCVI_STATUS_ERROR_MASK, frames[i].status);
        }
    }
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(fcvi_load(fcvi_port_memory(b.port, mem, 0, 4), 4), 0x66666666);
    free(b.memory);
}
END_TEST

/* ---- login ---- */

#define PLOGI(features)                                                                                      \
    "22 010200 00 010100 01 290000 01 00 0000 0aaa ffff 00000000 03000000 20200010 " features                \
    " 00ff00ce 000007d0 10000000c9000001 20000000c9000001 00*80"

START_TEST(logout_and_login)
{
    struct bench b;
    uint32_t vi = connected_client(&b);
    hear(&b,
         "22 010200 00 010100 01 290000 01 00 0000 0aaa ffff 00000000 05000000 00010100 10000000c9000001");
    ck_assert_uint_eq(b.frame[2][24], 0x02);               /* LS_ACC */
    ck_assert_uint_eq(state_of(&b, vi), FCVI_STATE_ERROR); /* E86 */
    ck_assert_int_eq(last(&b, FCVI_EVENT_ERROR)->vip, VIP_ERROR_CONN_LOST);
    ck_assert_int_eq(fcvi_vip_disconnect(b.port, b.now, vi, 9), VIP_SUCCESS); /* nobody to tell */
    struct fcvi_address local = address(OURS), remote = address(THEIRS);
    fcvi_vip_connect_request(b.port, b.now, vi, &local, &remote, FCVI_NEVER, 10);
    collect(&b);
    ck_assert_uint_eq(b.frame[3][24], 0x03);                      /* PLOGI */
    ck_assert_uint_eq(fcvi_load(b.frame[3] + 32, 4), 0x80020840); /* C (bit 31, E17), S (bit 17), 2112 */
    uint8_t acc[FRAME];
    size_t n =
        from_hex("23 010200 00 010100 01 990000 01 00 0000 0000 ffff 00000000 02000000 20200010 80020840 "
                 "00ff00ce 000007d0 10000000c9000001 20000000c9000001 00*80",
                 acc);
    memcpy(acc + 16, b.frame[3] + 16, 2);
    hear_bytes(&b, acc, n);
    ck_assert_uint_eq(b.frame[4][28], 0x10); /* FCVI_CONNECT_RQST follows */
    hear(&b, PLOGI("80000840"));             /* without S: 5.6 */
    ck_assert_uint_eq(b.frame[5][24], 0x02);
    hear(&b, RQST);
    ck_assert_uint_eq(b.frame[6][37], 0x20);
    hear(&b, "22 010200 00 010100 01 290000 01 00 0000 0aab ffff 00000000 20100014 58*16");
    ck_assert_uint_eq(b.frame[7][24], 0x01); /* PRLI: LS_RJT, command not supported */
    ck_assert_uint_eq(b.frame[7][29], 0x0b);
    fcvi_port_link(b.port, b.now, FCVI_LINK_LOGO);
    collect(&b);
    ck_assert_uint_eq(b.frame[8][24], 0x05);
    hear(&b, RQST);
    ck_assert_uint_eq(b.sent, 9);
    free(b.memory);
}
END_TEST

/* ---- snapshots and hostile input ---- */

static uint32_t step(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* One random thing happens to the port. */
static void shake(struct bench *b, uint32_t *seed)
{
    static const char *const frames[] = {RQST, RESP3, BA_ACC, PLOGI("80020840")};
    struct fcvi_address local = address(OURS), remote = address(THEIRS);
    uint8_t bytes[FRAME];
    b->sent = b->events = 0;
    switch (step(seed) % 8) {
    case 0:
        fcvi_vip_connect_wait(b->port, b->now, &local, step(seed) % 50000000, step(seed));
        break;
    case 1:
        fcvi_vip_connect_request(b->port, b->now, step(seed) % 5, &local, &remote, step(seed) * 9,
                                 step(seed));
        break;
    case 2:
        fcvi_vip_connect_accept(b->port, b->now, step(seed) % 8, step(seed) % 4, step(seed));
        break;
    case 3:
        fcvi_vip_disconnect(b->port, b->now, step(seed) % 4, step(seed));
        break;
    case 4:
        advance(b, step(seed) % 30000000);
        return;
    case 5: {
        struct fcvi_attributes a = {.reliability = 1, .max_transfer_size = 32768};
        uint32_t vi;
        fcvi_vip_create_vi(b->port, b->now, &a, &vi);
        break;
    }
    default: {
        size_t n = from_hex(frames[step(seed) % 4], bytes);
        for (unsigned flips = step(seed) % 3; flips > 0; flips--)
            bytes[step(seed) % n] ^= (uint8_t)(1u << step(seed) % 8);
        hear_bytes(b, bytes, n);
        return;
    }
    }
    collect(b);
}

START_TEST(snapshot_goes_on_as_the_original)
{
    struct bench b, copy;
    setup(&b);
    setup(&copy);
    uint32_t seed = (uint32_t)_i + 1;
    for (int i = 0; i < 50; i++)
        shake(&b, &seed);
    memcpy(copy.memory, b.memory, b.size);
    copy.now = b.now;
    uint32_t same = seed;
    for (int i = 0; i < 50; i++) {
        shake(&b, &seed);
        shake(&copy, &same);
        ck_assert_uint_eq(b.sent, copy.sent);
        ck_assert_uint_eq(b.events, copy.events);
        for (unsigned k = 0; k < b.sent; k++)
            ck_assert_mem_eq(b.frame[k], copy.frame[k], b.length[k]);
        ck_assert_uint_eq(fcvi_port_deadline(b.port), fcvi_port_deadline(copy.port));
    }
    ck_assert_mem_eq(b.memory, copy.memory, b.size);
    free(b.memory);
    free(copy.memory);
}
END_TEST

/* Every cut and every flipped bit of the frames of a setup, in the state in which they are expected. */
START_TEST(damaged_frames_do_no_harm)
{
    struct bench b;
    uint8_t bytes[FRAME];
    uint32_t vi;
    setup(&b);
    serve(&b, &vi);
    request(&b, FCVI_NEVER);
    uint64_t *checkpoint = malloc(b.size);
    memcpy(checkpoint, b.memory, b.size);
    const char *hex = golden[_i].hex;
    size_t n = from_hex(hex, bytes);
    for (size_t i = 0; i < n + 8 * n; i++) {
        memcpy(b.memory, checkpoint, b.size);
        b.sent = b.events = 0;
        if (i >= n)
            bytes[(i - n) / 8] ^= (uint8_t)(0x80 >> i % 8);
        struct fcvi_input in = {bytes, i < n ? i : n, 0, 0, 0};
        fcvi_port_receive(b.port, b.now, &in);
        collect(&b);
        advance(&b, 100 * (uint64_t)R_A_TOV);
        b.now = 0;
        if (i >= n)
            bytes[(i - n) / 8] ^= (uint8_t)(0x80 >> i % 8);
    }
    free(checkpoint);
    free(b.memory);
}
END_TEST

START_TEST(limits_and_configuration_are_checked)
{
    struct fcvi_port_limits bad = limits;
    struct fcvi_port_config c = config_of();
    uint64_t memory[4];
    bad.vis = 0;
    ck_assert_uint_eq(fcvi_port_size(&bad), 0);
    ck_assert_ptr_null(fcvi_port_init(memory, sizeof memory, &limits, &c));
    size_t size = fcvi_port_size(&limits);
    void *block = calloc(1, size);
    c.receive_size = 255;
    ck_assert_ptr_null(fcvi_port_init(block, size, &limits, &c));
    c = config_of();
    c.self.n_port_id = 0x1000000;
    ck_assert_ptr_null(fcvi_port_init(block, size, &limits, &c));
    free(block);
    ck_assert_str_eq(fcvi_vip_name(VIP_NOT_REACHABLE), "VIP_NOT_REACHABLE");
    ck_assert_str_eq(fcvi_vip_name(99), "");
    ck_assert_str_eq(fcvi_vip_error_name(VIP_ERROR_CONN_LOST), "VIP_ERROR_CONN_LOST");
    ck_assert_str_eq(fcvi_vip_error_name(-1), "");
    ck_assert_str_eq(fcvi_vi_state_name(FCVI_STATE_PENDING_CONNECT_RETRY), "pending-connect-retry");
    ck_assert_str_eq(fcvi_vi_state_name(9), "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("refimpl");
    TCase *tc = tcase_create("port");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, server_setup_byte_for_byte);
    tcase_add_test(tc, server_gives_up_at_t2_and_not_before);
    tcase_add_test(tc, server_hears_that_the_client_gave_up);
    tcase_add_test(tc, refusals_by_reason);
    tcase_add_test(tc, client_setup_byte_for_byte);
    tcase_add_test(tc, client_retries_once);
    tcase_add_test(tc, retry_without_ba_acc_waits_for_r_a_tov);
    tcase_add_test(tc, application_gives_up_first);
    tcase_add_loop_test(tc, refused_client, 0, sizeof answers / sizeof answers[0]);
    tcase_add_loop_test(tc, disconnect_answered_and_not, 0, 2);
    tcase_add_test(tc, disconnected_by_the_peer);
    tcase_add_test(tc, message_of_several_frames);
    tcase_add_test(tc, messages_with_a_gap);
    tcase_add_test(tc, logout_and_login);
    tcase_add_loop_test(tc, snapshot_goes_on_as_the_original, 0, 20);
    tcase_add_loop_test(tc, damaged_frames_do_no_harm, 0, GOLDEN_COUNT);
    tcase_add_test(tc, limits_and_configuration_are_checked);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
