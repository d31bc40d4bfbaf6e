/* Extended Link Services as other implementations send them, and those that are not supported
 * (5.6, 5.8.1, 7.7). */
#include "link.h"

#define OTHER "fe8000000000000000000000000000a7"
#define STRANGER "fe8000000000000000000000000000c9"

/* ---- PLOGI of other implementations ---- */

/* The port that the captured PLOGI is sent to, with the reliability that it asks for. */
static struct bench *captured_port(uint32_t id)
{
    struct fcvi_port_config c = b_config();
    c.self.n_port_id = id;
    c.explicit_login = true;
    return b_begin(&b_limits, &c);
}

static const struct {
    uint32_t own, from;
    const char *frame;
    bool usable;
} plogis[] = {
    /* frame 1 of the crafted capture: C, S and alternate BB_Credit */
    {0x010400, 0x010203,
     "22 010400 00 010203 01 290000 11 00 0000 1001 ffff 00000000 03000000 2020000a 88020840 00ff001f "
     "000007d0 "
     "10000090fa000001 20000090fa000001 00*16 00*16 8800 0000 0000 0840 00ff0000 00010000 00*16 00*16",
     true},
    /* what a libfc initiator sends to its target: C without S (5.6) */
    {0x010200, 0x010101,
     "22 010200 00 010101 01 290000 00 00 0000 0000 ffff 00000000 03000000 2020000a 80000840 00ff001f "
     "000007d0 "
     "2000525400fc0001 1000525400fc0001 00*16 00*16 8800 0000 0000 0840 00ff0000 00010000 00*16 00*16",
     false},
    /* by the literal reading of 5.6, bit 30 is C (E17) */
    {0x010200, 0x010101,
     "22 010200 00 010101 01 290000 00 00 0000 0000 ffff 00000000 03000000 2020000a 40020840 00ff001f "
     "000007d0 "
     "2000525400fc0001 1000525400fc0001 00*16 00*16 8800 0000 0000 0840 00ff0000 00010000 00*16 00*16",
     true},
};

START_TEST(plogi_as_captured)
{
    struct bench *b = captured_port(plogis[_i].own);
    uint32_t vi = b_vi(b), from = plogis[_i].from;
    hear(b, "%s", plogis[_i].frame);
    expect(b, 0,
           "23 %06x 00 %06x 01 990000 .. 00 0000 %s .... 00000000 02000000 "
           "2020.... 80020840 00ff.... 000007d0 10000000c9000002 20000000c9000002 00*16 00*16 "
           "8800 0000 0000 0840 00ff 0000 0001 0000 00*16 00*16",
           from, plogis[_i].own, from == 0x010203 ? "1001" : "0000");
    b_request(b, vi, STRANGER, FCVI_NEVER, 1);
    hear(b,
         "22 %06x 00 %06x 01 290000 01 00 0000 0aaa ffff 00000000 55000000 04%06x 02%06x "
         "10000000c9000002 20000000c9000002 00*16 " OURS " " STRANGER,
         plogis[_i].own, from, plogis[_i].own, from);
    ck_assert_uint_eq(find(b, 0, L_ELS, L_PLOGI), b->sent); /* one login is enough */
    if (plogis[_i].usable)
        ck_assert_uint_eq(word_of(b, find(b, 0, L_FCVI, 0x10), 1, 3), from);
    else
        ck_assert_int_eq(b_return(b, 1)->vip, VIP_NOT_REACHABLE);
    b_end(b);
}
END_TEST

/* Class 2 (5.5, FC-FS): its Service Parameters are valid, class 3 is not offered, and ACK_0 is announced. */
START_TEST(plogi_in_class_2)
{
    struct fcvi_port_config c = b_config();
    c.service_class = 2;
    c.explicit_login = true;
    c.connect_info = true;
    c.ack_0 = _i == 1;
    struct bench *b = b_begin(&b_limits, &c);
    b_request(b, b_vi(b), THEIRS, FCVI_NEVER, 1);
    expect(b, 0,
           "22 010100 00 010200 01 290000 .. 00 0000 .... ffff 00000000 03000000 "
           "2020.... 80020840 00ff.... 000007d0 10000000c9000002 20000000c9000002 00*16 "
           "8800 %s 0840 .... 0040 0001 0000 00*16 00*16 00*16",
           _i == 1 ? "0800 8000" : "0000 0000");
    /* they take 512 bytes in class 2; what they say of class 3 does not matter */
    hear_reply(b, 0, "010100",
               "02000000 20200010 80020840 00ff00ce 000007d0 10000000c9000001 20000000c9000001 00*16 "
               "8800 0000 0000 0200 00ff 0010 0001 0000 8800 0000 0000 0100 00ff 0000 0001 0000 00*32");
    unsigned rqst = find(b, 0, L_FCVI, 0x10);
    ck_assert_uint_eq(b->length[rqst], 24 + 512);
    b_end(b);
}
END_TEST

/* ---- LOGO ---- */

/* Frame 20 of the crafted capture: LOGO of 010203, whose Port_Name is 10:00:00:90:fa:00:00:01. */
START_TEST(logo_as_captured)
{
    struct fcvi_port_config c = b_config();
    c.self.n_port_id = 0x010400;
    c.peer = (struct fcvi_port_identity){0x10000090fa000001, 0x20000090fa000001, 0x010203, 1, {{0}}};
    from_hex(THEIRS, c.peer.host[0]);
    struct bench *b = b_begin(&b_limits, &c);
    uint32_t vi = l_connected(b, THEIRS, 0x010203);
    unsigned at = b->sent;
    hear(b, "22 010400 00 010203 01 290000 17 00 0000 1007 ffff 00000000 05000000 00010203 10000090fa000001");
    ck_assert_uint_eq(b->sent, at + 1);
    expect(b, at, "23 010203 00 010400 01 990000 .. 00 0000 1007 .... 00000000 02000000");
    l_expect_lost(b, vi);
    b_end(b);
}
END_TEST

/* LOGO from an identifier that nobody had: the Port_Name says which port it was (7.7.1, 7.7.3). _i: the
 * peer's name; no name; a name nobody has; a payload too short for one. */
START_TEST(logo_after_a_move)
{
    static const char *const names[] = {"00010900 10000000c9000001", "00010900 0000000000000000",
                                        "00010900 10000000c9000099", "00010900 10000000"};
    struct bench *b = b_new();
    l_know(b, 0x010700, 0xa7);
    struct fcvi_port_identity nameless = {0, 0, 0x010800, 0, {{0}}};
    ck_assert(fcvi_port_know(b->port, b->now, &nameless));
    uint32_t vi = b_connected(b), other = l_connected(b, OTHER, 0x010700);
    unsigned at = b->sent;
    hear(b, "22 010200 00 010900 01 290000 01 00 0000 0aaa ffff 00000000 05000000 %s", names[_i]);
    expect(b, at, "23 010900 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 02000000");
    ck_assert_uint_eq(state_of(b, other), FCVI_STATE_CONNECTED);
    if (_i == 0) {
        l_expect_lost(b, vi);
        ck_assert_uint_eq(l_begins_with(b, THEIRS), L_FARP);
    } else {
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
        ck_assert_uint_eq(l_begins_with(b, THEIRS), 0x10);
    }
    b_end(b);
}
END_TEST

/* Nobody else logs us out of ourselves. */
START_TEST(frames_in_our_own_name)
{
    struct bench *b = b_new();
    b_wait(b, FCVI_NEVER, 1);
    hear(b, ELS_FROM("010200") "05000000 00010200 10000000c9000002");
    hear(b,
         ELS_FROM("010200") "03000000 " SERVICE("00000840", "10000000c9000002", "20000000c9000002", "0840"));
    ck_assert_uint_eq(b->sent, 0);
    b_request(b, b_vi(b), OURS, FCVI_NEVER, 2);
    ck_assert_ptr_nonnull(b_return(b, 1)); /* 5.3.4: a connection within the port is still possible */
    b_end(b);
}
END_TEST

/* ---- what is not supported ---- */

/* Every command that fc_els and FC-FS know and this port does not; PRLI and REC as captured. */
START_TEST(commands_not_supported)
{
    static const char *const requests[] = {"20100014 08002000 00000000 00000000 000001a2",
                                           "20100014 58002000 00000000 00000000 cafe0001",
                                           "13000000 00010101 0001ffff",
                                           "04000000",
                                           "06000000",
                                           "07000000",
                                           "08000000",
                                           "09000000",
                                           "0a000000",
                                           "0e000000",
                                           "0f000000",
                                           "10000000",
                                           "14000000",
                                           "21100014 00*16",
                                           "22000000",
                                           "23000000",
                                           "24000000",
                                           "50000000",
                                           "51000000",
                                           "53000000",
                                           "56000000",
                                           "57000000",
                                           "62000000 00000003",
                                           "63000000",
                                           "70000000",
                                           "72000000",
                                           "78000000",
                                           "79000000",
                                           "7a000000",
                                           "7b000000",
                                           "7d000000",
                                           "80000000",
                                           "90000000",
                                           "ff000000"};
    struct bench *b = b_new();
    uint32_t vi = b_connected(b);
    for (unsigned i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        unsigned at = b->sent;
        hear(b, ELS_FROM("010100") "%s", requests[i]);
        ck_assert_uint_eq(b->sent, at + 1);
        expect(b, at, "23 010100 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 01000000 00 0b .. 00");
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    }
    b_end(b);
}
END_TEST

/* ADISC from a port that is known but not logged in: N_Port Login required (FC-FS). */
START_TEST(adisc_without_a_login)
{
    struct fcvi_port_config c = b_config();
    c.explicit_login = true;
    struct bench *b = b_begin(&b_limits, &c);
    hear(b, ELS_FROM("010100") "52000000 " L_PEER);
    expect(b, 0, "23 010100 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 01000000 00 03 1e 00");
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("els");
    TCase *t = tcase_create("els");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, plogi_as_captured, 0, 3);
    tcase_add_loop_test(t, plogi_in_class_2, 0, 2);
    tcase_add_test(t, logo_as_captured);
    tcase_add_loop_test(t, logo_after_a_move, 0, 4);
    tcase_add_test(t, frames_in_our_own_name);
    tcase_add_test(t, commands_not_supported);
    tcase_add_test(t, adisc_without_a_login);
    suite_add_tcase(s, t);
    return run_suite(s);
}
