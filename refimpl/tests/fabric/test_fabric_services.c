/* F_Port and Name Server: their logins, and what they answer to other frames (FC-FS, 7.6). */
#include "fabric_bench.h"

/* FLOGI or PLOGI of a port: service parameters with that Receive Data_Field Size */
#define LOGIN(size)                                                                                          \
    "20200010 8002" size " 00ff00ce 000007d0 10000000c9000001 20000000c9000001 00*32 8800 0000 0000 " size   \
    " 00ff 0000 0001 0000 00*32"
#define FLOGI "22 fffffe 00 000000 01 290000 00 00 0000 1000 ffff 00000000 04000000 " LOGIN("0840")
#define TO_F_PORT "22 fffffe 00 010100 01 290000 00 00 0000 1000 ffff 00000000 "
#define TO_NAMES "22 fffffc 00 010100 01 290000 00 00 0000 1001 ffff 00000000 "
#define PLOGI TO_NAMES "03000000 " LOGIN("0840")
#define FROM_F_PORT "23 010100 00 fffffe 01 990000 .. 00 0000 1000 ffff 00000000 "
#define FROM_NAMES "23 010100 00 fffffc 01 990000 .. 00 0000 1001 ffff 00000000 "

/* LS_ACC to FLOGI: Word 1, Word 2 is R_A_TOV in ms, E_D_TOV, names, and both classes' options */
#define FLOGI_ACC(word1, options)                                                                            \
    "02000000 20200010 " word1 " 00002710 000007d0 10000000f0000001 20000000f0000001 "                       \
    "00*16 " options " 00*14 " options " 00*14 00*16 00*16"
#define PLOGI_ACC(options)                                                                                   \
    "02000000 20200010 80020840 00ff001f 000007d0 10000000f0000001 20000000f0000001 00*16 " options          \
    " 0000 0000 0840 00ff 0010 0001 0000 " options " 0000 0000 0840 00ff 0000 0001 0000 00*16 00*16"

static void log_in(struct net *n)
{
    say(n, 0, I3, PLOGI);
    hear(n, 0, I3, FROM_NAMES PLOGI_ACC("8800"));
}

/* GID_IPP for the address of port 1; only a port that is logged in is answered. */
#define QUERY                                                                                                \
    "02 fffffc 00 010100 20 290000 01 00 0000 2000 ffff 00000000 "                                           \
    "01000000 fc020000 01b1 0000 00000000 fe800000 00*11 b2"
#define ANSWER                                                                                               \
    "03 010100 00 fffffc 20 990000 .. 00 0000 2000 ffff 00000000 "                                           \
    "01000000 fc020000 8002 0000 00000000 80 010200"

/* ---- Fabric Login ---- */

START_TEST(flogi)
{
    struct fcvi_fabric_config c = n_config();
    c.topology = _i == 1 ? FCVI_PUBLIC_LOOP : FCVI_FABRIC;
    c.out_of_order = _i == 2;
    struct net *n = n_begin(&c);
    say(n, 0, I3, FLOGI);
    if (_i == 0)
        hear(n, 0, I3, FROM_F_PORT FLOGI_ACC("11000840", "8800"));
    else if (_i == 1) /* alternate BB_Credit */
        hear(n, 0, I3, FROM_F_PORT FLOGI_ACC("19000840", "8800"));
    else /* no sequential delivery */
        hear(n, 0, I3, FROM_F_PORT FLOGI_ACC("11000840", "8000"));
    well_formed(n);
    ck_assert_uint_eq(n->at, 2 * LATENCY);
    ck_assert_uint_eq(counters(n).served, 1);
    n_end(n);
}
END_TEST

/* Class 2: ACK_1 first, of which the last frame of the Sequence ends it; the reply is then for the port to
 * acknowledge. */
START_TEST(flogi_in_class_2)
{
    struct net *n = n_new();
    say(n, 0, I2, FLOGI);
    hear(n, 0, FCVI_SOF_N2, FCVI_EOF_T, "c0 000000 00 fffffe 00 e90000 00 00 0000 1000 ffff 00000001");
    hear(n, 0, I2, FROM_F_PORT FLOGI_ACC("11000840", "8800"));
    well_formed(n);
    say(n, 0, FCVI_SOF_N2, FCVI_EOF_T, "c0 fffffe 00 010100 00 590000 00 00 0000 1000 ffff 00000001");
    silence(n);
    ck_assert_uint_eq(counters(n).served, 2);
    n_end(n);
}
END_TEST

/* A port without an N_Port Identifier gets the first that is free. */
START_TEST(flogi_chooses)
{
    struct fcvi_fabric_config c = n_config();
    c.topology = _i ? FCVI_PUBLIC_LOOP : FCVI_FABRIC;
    struct net *n = n_empty(&n_limits, &c);
    static const uint32_t wanted[2][2] = {{0x010200, 0x010300}, {0x010102, 0x010104}};
    ck_assert_uint_eq(attach(n, 0, 1), 0);
    ck_assert_uint_eq(attach(n, 0, 2), 1);
    ck_assert_uint_eq(attach(n, _i ? 0x010101 : 0x010100, 3), 2);
    struct fcvi_port_identity behind = n_identity(0, 4);
    ck_assert_uint_eq(fcvi_fabric_attach(n->f, &behind, FCVI_PLACE_FABRIC), 3);
    for (uint32_t from = 0; from < 2; from++) {
        say(n, from, I3, FLOGI);
        ck_assert(arrives(n));
        ck_assert_uint_eq(n->to, from);
        ck_assert_uint_eq(fcvi_FC_D_ID(n->bytes), wanted[_i][from]);
        ck_assert_uint_eq(fcvi_fabric_id(n->f, from), wanted[_i][from]);
        say(n, from, I3, FLOGI); /* and keeps it */
        ck_assert(arrives(n));
        ck_assert_uint_eq(fcvi_FC_D_ID(n->bytes), wanted[_i][from]);
    }
    say(n, 3, I3, FLOGI); /* behind the FL_Port no loop gives addresses */
    ck_assert(arrives(n));
    ck_assert_uint_eq(fcvi_FC_D_ID(n->bytes), _i ? 0x010100 : 0x010400);
    n_end(n);
}
END_TEST

START_TEST(renamed)
{
    struct net *n = n_new();
    fcvi_fabric_rename(n->f, 0x1111111111111111, 0x2222222222222222);
    say(n, 0, I3, FLOGI);
    hear(n, 0, I3,
         FROM_F_PORT "02000000 20200010 11000840 00002710 000007d0 11*8 22*8 00*16 8800 00*14 8800 00*46");
    n_end(n);
}
END_TEST

/* ---- other Extended Link Services ---- */

static const struct {
    bool logged_in;
    const char *request, *reply;
} services[] = {
    /* protocol error, invalid payload length */
    {false, TO_F_PORT "04000000 20200010", FROM_F_PORT "01000000 00 07 2d 00"},
    {false, TO_F_PORT "04000000 00*111", FROM_F_PORT "01000000 00 07 2d 00"},
    {false, TO_NAMES "03000000 00*111", FROM_NAMES "01000000 00 07 2d 00"},
    /* command not supported: PLOGI is not for the F_Port, nor FLOGI for the Name Server */
    {false, TO_F_PORT "03000000 " LOGIN("0840"), FROM_F_PORT "01000000 00 0b 00 00"},
    {false, TO_F_PORT "62000000 00000001", FROM_F_PORT "01000000 00 0b 00 00"},
    {true, TO_NAMES "04000000 " LOGIN("0840"), FROM_NAMES "01000000 00 0b 00 00"},
    {true, TO_NAMES "52000000 00*24", FROM_NAMES "01000000 00 0b 00 00"},
    /* unable to perform, N_Port Login required */
    {false, TO_NAMES "52000000 00*24", FROM_NAMES "01000000 00 09 1e 00"},
    {false, TO_NAMES "05000000 00010100 10000000c9000001", FROM_NAMES "01000000 00 09 1e 00"},
    {false, TO_F_PORT "05000000 00010100 10000000c9000001", FROM_F_PORT "02000000"},
    {true, TO_NAMES "05000000 00010100 10000000c9000001", FROM_NAMES "02000000"},
    /* Basic Link Services: the whole Exchange is aborted */
    {false, "81 fffffe 00 010100 00 090000 05 00 0000 1234 ffff 00000000",
     "84 010100 00 fffffe 00 990000 .. 00 0000 1234 ffff 00000000 0000 0000 1234 ffff 0000 ffff"},
    {true, "81 fffffc 00 010100 00 890000 05 00 0000 1234 5678 00000000",
     "84 010100 00 fffffc 00 190000 .. 00 0000 1234 5678 00000000 0000 0000 1234 5678 0000 ffff"},
    /* discarded: replies, other Basic Link Services, FC-4 frames, and what is cut off or not for that one */
    {false, "23 fffffe 00 010100 01 990000 00 00 0000 1000 ffff 00000000 02000000", NULL},
    {false, TO_F_PORT "0400", NULL},
    {false, "80 fffffe 00 010100 00 090000 05 00 0000 1234 ffff 00000000", NULL},
    {true, "02 fffffe 00 010100 20 290000 01 00 0000 2000 ffff 00000000 01000000 fc020000 01 b1 00*22", NULL},
    {true, "02 fffffc 00 010100 08 290000 01 00 0000 2000 ffff 00000000 01000000 fc020000 01 b1 00*22", NULL},
    {true, "01 fffffc 00 010100 20 290000 01 00 0000 2000 ffff 00000000 01000000 fc020000 01 b1 00*22", NULL},
    {true, "02 fffffc 00 010100 20 290000 01 00 0000 2000 ffff 00000000 01000000 fc020000 01 b1 00*5", NULL},
    {false, QUERY, NULL},
    {true, QUERY, ANSWER},
};
enum { SERVICES = sizeof services / sizeof *services };

START_TEST(service)
{
    struct net *n = n_new();
    if (services[_i].logged_in)
        log_in(n);
    say(n, 0, I3, "%s", services[_i].request);
    if (services[_i].reply != NULL) {
        hear(n, 0, I3, "%s", services[_i].reply);
        well_formed(n);
    }
    n_end(n);
}
END_TEST

START_TEST(service_in_class_2)
{
    struct net *n = n_new();
    log_in(n);
    say(n, 0, I2, QUERY);
    hear(n, 0, FCVI_SOF_N2, FCVI_EOF_T, "c0 010100 00 fffffc 00 e90000 01 00 0000 2000 ffff 00000001");
    well_formed(n);
    hear(n, 0, I2, ANSWER);
    n_end(n);
}
END_TEST

/* What is not valid is discarded without an answer, an ACK_1 included. */
START_TEST(not_valid)
{
    struct net *n = n_new();
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(_i ? FCVI_ACT_EOF_NI : FCVI_ACT_BAD_CRC);
    rule.to = FCVI_FABRIC_ITSELF;
    rule.count = 1;
    fcvi_fabric_rule_add(n->f, &rule);
    say(n, 0, I2, FLOGI);
    silence(n);
    say(n, 0, FCVI_SOF_I3, FCVI_EOF_NI, FLOGI);
    say(n, 0, FCVI_SOF_I3, FCVI_EOF_A, FLOGI);
    say(n, 0, FCVI_SOF_I3, FCVI_EOF_NONE, FLOGI);
    silence(n);
    say(n, 0, FCVI_SOF_I3, FCVI_EOF_N, FLOGI);
    hear(n, 0, I3, FROM_F_PORT FLOGI_ACC("11000840", "8800"));
    n_end(n);
}
END_TEST

/* Rules name the Fabric itself: its answers, and what is sent to it. */
START_TEST(rules_for_the_fabric)
{
    struct net *n = n_new();
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(FCVI_ACT_DROP);
    *(_i ? &rule.from : &rule.to) = FCVI_FABRIC_ITSELF;
    rule.count = 1;
    uint32_t number = fcvi_fabric_rule_add(n->f, &rule);
    say_data(n, 0, 1, 1);
    say(n, 0, I3, FLOGI);
    hear_data(n, 0, 1, 1);
    silence(n);
    ck_assert_uint_eq(fcvi_fabric_hits(n->f, number), 1);
    say(n, 0, I3, FLOGI);
    hear(n, 0, I3, FROM_F_PORT FLOGI_ACC("11000840", "8800"));
    n_end(n);
}
END_TEST

/* ---- the end of a login with the Name Server ---- */

START_TEST(logged_out)
{
    struct net *n = n_new();
    log_in(n);
    switch (_i) {
    case 0:
        say(n, 0, I3, TO_NAMES "05000000 00010100 10000000c9000001");
        break;
    case 1:
        say(n, 0, I3, TO_F_PORT "05000000 00010100 10000000c9000001");
        break;
    case 2:
        say(n, 0, I3, FLOGI);
        break;
    case 3:
        fcvi_fabric_link(n->f, 0, false);
        fcvi_fabric_link(n->f, 0, true);
        break;
    default:
        fcvi_fabric_set_id(n->f, 0, 0x010900);
        fcvi_fabric_set_id(n->f, 0, 0x010100);
        break;
    }
    ck_assert_uint_eq(arrives(n), _i < 3);
    say(n, 0, I3, QUERY);
    silence(n);
    log_in(n);
    say(n, 0, I3, QUERY);
    hear(n, 0, I3, ANSWER);
    n_end(n);
}
END_TEST

/* An answer of the Fabric needs an entry of its own: the request has given its back by then. */
START_TEST(one_entry_is_enough)
{
    const struct fcvi_fabric_limits one = {.ports = 1, .frames = 1};
    struct fcvi_fabric_config c = n_config();
    struct net *n = n_empty(&one, &c);
    ck_assert_uint_eq(attach(n, 0x010100, 1), 0);
    say(n, 0, I3, FLOGI);
    hear(n, 0, I3, FROM_F_PORT FLOGI_ACC("11000840", "8800"));
    n_end(n);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_services");
    TCase *t = tcase_create("services");
    tcase_add_loop_test(t, flogi, 0, 3);
    tcase_add_test(t, flogi_in_class_2);
    tcase_add_loop_test(t, flogi_chooses, 0, 2);
    tcase_add_test(t, renamed);
    tcase_add_loop_test(t, service, 0, SERVICES);
    tcase_add_test(t, service_in_class_2);
    tcase_add_loop_test(t, not_valid, 0, 2);
    tcase_add_loop_test(t, rules_for_the_fabric, 0, 2);
    tcase_add_loop_test(t, logged_out, 0, 5);
    tcase_add_test(t, one_entry_is_enough);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
