/* RSCN: a mapping may have changed by a remote link event, and has to be valid before it is used (7.7.1). */
#include "link.h"

#define OTHER "fe8000000000000000000000000000a7"
#define RSCN "22 010200 00 fffffd 01 290000 00 00 0000 4001 ffff 00000000 "

/* Connected with the peer 010100 and with 010700. */
struct ports {
    struct bench *b;
    uint32_t vi, other;
    unsigned at;
};

static struct ports connected_ports(void)
{
    struct ports s = {.b = l_begin(FCVI_FABRIC)};
    l_know(s.b, 0x010700, 0xa7);
    s.vi = l_connected(s.b, THEIRS, 0x010100);
    s.other = l_connected(s.b, OTHER, 0x010700);
    s.at = s.b->sent;
    return s;
}

/* An RSCN of a captured Fabric, but for the port that it names: accepted, and the port is asked who it is. */
START_TEST(port_is_validated)
{
    struct ports s = connected_ports();
    hear(s.b, RSCN "61040008 00010100");
    ck_assert_uint_eq(s.b->sent, s.at + 2);
    expect(s.b, s.at, "23 fffffd 00 010200 01 990000 .. 00 0000 4001 .... 00000000 02000000");
    expect(s.b, s.at + 1,
           "22 010100 00 010200 01 290000 .. 00 0000 .... ffff 00000000 "
           "52000000 00000000 10000000c9000002 20000000c9000002 00010200");
    ck_assert(!l_send(s.b, s.vi));
    ck_assert(l_send(s.b, s.other));
    unsigned at = s.b->sent;
    hear_reply(s.b, s.at + 1, "010100", "02000000 " L_PEER);
    ck_assert_uint_eq(s.b->sent, at + 1); /* the Message */
    ck_assert(l_send(s.b, s.vi));
    l_end(s.b);
}
END_TEST

/* It has gone: logged out, and the next request asks where its address is now. */
START_TEST(port_has_gone)
{
    struct ports s = connected_ports();
    hear(s.b, RSCN "61040008 00010100");
    advance(s.b, 2 * (uint64_t)R_A_TOV);
    l_expect_logo(s.b, s.at + 2, 0x010100, 0x010200);
    l_expect_lost(s.b, s.vi);
    ck_assert_uint_eq(state_of(s.b, s.other), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(l_begins_with(s.b, THEIRS), L_FARP);
    l_end(s.b);
}
END_TEST

/* Which of 010100, 010700 is asked: bits 1-0 of a page say how much of the identifier counts (FC-FS). */
START_TEST(formats)
{
    static const struct {
        const char *payload;
        bool peer, other;
    } pages[] = {
        {"61040008 00010700", false, true},
        {"61040008 14010700", false, true}, /* with an Event Qualifier */
        {"61040008 01010099", false, false},
        {"61040008 01010199", true, false},
        {"61040008 02019999", true, true},
        {"61040008 02029999", false, false},
        {"61040008 03000000", true, true},
        {"6104000c 00010100 00010700", true, true},
        {"6104000c 00010100 00010100", true, false}, /* asked once */
        {"61040008 00010100 00010700", true, false}, /* the second page is not part of it */
        {"61040004", false, false},
        {"61040008 00010200", false, false}, /* ourselves */
        {"61040008 00fffffc", false, false},
    };
    struct ports s = connected_ports();
    hear(s.b, RSCN "%s", pages[_i].payload);
    ck_assert_uint_eq(s.b->frame[s.at][24], 0x02);
    l_only(s.b, s.at + 1, L_ADISC, (unsigned)pages[_i].peer + (unsigned)pages[_i].other);
    ck_assert_uint_eq(l_send(s.b, s.vi), !pages[_i].peer);
    ck_assert_uint_eq(l_send(s.b, s.other), !pages[_i].other);
    l_end(s.b);
}
END_TEST

/* A port that is known and not logged in: its addresses are looked for again. */
START_TEST(mapping_is_forgotten)
{
    struct fcvi_port_config c = b_config();
    c.explicit_login = true;
    struct bench *b = b_begin(&b_limits, &c);
    l_know(b, 0x010700, 0xa7);
    hear(b, RSCN "61040008 00010100");
    ck_assert_uint_eq(b->sent, 1);
    ck_assert_uint_eq(l_begins_with(b, THEIRS), L_FARP);
    ck_assert_uint_eq(l_begins_with(b, OTHER), L_PLOGI);
    b_end(b);
}
END_TEST

/* The Name Server is no port that could be another one now. */
START_TEST(name_server_is_not_asked)
{
    struct fcvi_port_config c = b_config();
    c.name_server = true;
    struct bench *b = b_begin(&b_limits, &c);
    hear(b,
         ELS_FROM("fffffc") "03000000 " SERVICE("80020840", "2000000000fffffc", "1000000000000001", "0840"));
    hear(b, RSCN "61040008 03000000");
    ck_assert_uint_eq(b->frame[1][24], 0x02);
    l_only(b, 2, L_ADISC, 1);
    ck_assert_uint_eq(word_of(b, 2, 1, 3), 0x010100);
    l_end(b);
}
END_TEST

/* Lengths that cannot be: refused (protocol error, invalid payload length), and nothing happens. */
START_TEST(lengths_that_lie)
{
    static const char *const payloads[] = {"6104000c 00010100", "61080008 00010100", "61000008 00010100",
                                           "61040007 000101", "6104ffff 00010100"};
    struct ports s = connected_ports();
    hear(s.b, RSCN "%s", payloads[_i]);
    ck_assert_uint_eq(s.b->sent, s.at + 1);
    expect(s.b, s.at, "23 fffffd 00 010200 01 990000 .. 00 0000 4001 .... 00000000 01000000 00 07 2d 00");
    ck_assert(l_send(s.b, s.vi));
    b_end(s.b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("state change");
    TCase *t = tcase_create("state change");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, port_is_validated);
    tcase_add_test(t, port_has_gone);
    tcase_add_loop_test(t, formats, 0, 13);
    tcase_add_test(t, mapping_is_forgotten);
    tcase_add_test(t, name_server_is_not_asked);
    tcase_add_loop_test(t, lengths_that_lie, 0, 5);
    suite_add_tcase(s, t);
    return run_suite(s);
}
