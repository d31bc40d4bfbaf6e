/* GID_IPP and RIPP_ID at the Name Server (7.6, FC-GS). */
#include "fabric_bench.h"

#define PLOGI(size)                                                                                          \
    "22 fffffc 00 010100 01 290000 00 00 0000 1001 ffff 00000000 03000000 20200010 8002" size                \
    " 00ff00ce 000007d0 10000000c9000001 20000000c9000001 00*32 8800 00*14 00*32"
#define CT "02 fffffc 00 010100 20 290000 01 00 0000 2000 ffff 00000000 "
#define REPLY "03 010100 00 fffffc 20 990000 .. 00 0000 2000 ffff 00000000 01000000 fc020000 "
#define GID_IPP "01000000 fc020000 01b1 0000 00000000 "
#define RIPP_ID "01000000 fc020000 021b 0000 00000000 "
#define HOST(last) "fe800000 00*11 " last
#define ACCEPT REPLY "8002 0000 00000000 "
#define REJECT(reason, explanation) REPLY "8001 0000 00 " reason " " explanation " 00"
#define NOBODY REJECT("09", "0b")

static void log_in(struct net *n, const char *size)
{
    say(n, 0, I3, PLOGI("%s"), size);
    ck_assert(arrives(n));
    ck_assert_uint_eq(n->bytes[24], 0x02);
}

static struct net *logged_in(void)
{
    struct net *n = n_new();
    log_in(n, "0840");
    return n;
}

static void ask(struct net *n, const char *request, const char *reply)
{
    say(n, 0, I3, CT "%s", request);
    hear(n, 0, I3, "%s", reply);
    well_formed(n);
}

/* ---- one request ---- */

static const struct {
    const char *request, *reply;
} single[] = {
    {GID_IPP HOST("b2"), ACCEPT "80 010200"},
    {GID_IPP HOST("a1"), ACCEPT "80 010100"}, /* its own */
    {GID_IPP HOST("d4"), NOBODY},
    {GID_IPP "00*16", NOBODY},
    /* IN_ID and options come back, vendor bytes do not */
    {"01abcdef fc028000 01b1 0000 00000000 " HOST("c3"),
     "03 010100 00 fffffc 20 990000 .. 00 0000 2000 ffff 00000000 "
     "01abcdef fc028000 8002 0000 00000000 80 010300"},
    /* more than is needed does no harm */
    {GID_IPP HOST("b2") " 55*40", ACCEPT "80 010200"},
    /* version, then service, then command, then size */
    {"02000000 fc020000 01b1 0000 00000000 " HOST("b2"), REJECT("02", "00")},
    {"01000000 fa020000 01b1 0000 00000000 " HOST("b2"),
     "03 010100 00 fffffc 20 990000 .. 00 0000 2000 ffff 00000000 "
     "01000000 fa020000 8001 0000 00 0b 00 00"},
    {"01000000 fc030000 0156 0000 00000000 " HOST("b2"),
     "03 010100 00 fffffc 20 990000 .. 00 0000 2000 ffff 00000000 "
     "01000000 fc030000 8001 0000 00 0b 00 00"},
    {"01000000 fc020000 0100 0000 00000000 00010100", REJECT("0b", "00")},
    {GID_IPP "fe800000 00*11", REJECT("04", "00")},
    {GID_IPP, REJECT("04", "00")},
    {RIPP_ID "00 010200 " HOST("d4"), ACCEPT},
    {RIPP_ID "00 010200 fe800000 00*11", REJECT("04", "00")},
    {RIPP_ID "00 010900 " HOST("d4"), REJECT("09", "01")},
    {RIPP_ID "00 000000 " HOST("d4"), REJECT("09", "01")},
};
enum { SINGLE = sizeof single / sizeof *single };

START_TEST(one_request)
{
    struct net *n = logged_in();
    ask(n, single[_i].request, single[_i].reply);
    n_end(n);
}
END_TEST

/* ---- several ports with one address ---- */

START_TEST(several)
{
    struct net *n = logged_in();
    ck_assert_uint_eq(attach(n, 0x010700, 0xb2), 3);
    ask(n, GID_IPP HOST("b2"), ACCEPT "00 010200 80 010700");
    /* no more words than the request allows; the rest is counted */
    ask(n, "01000000 fc020000 01b1 0001 00000000 " HOST("b2"), REPLY "8002 0001 00000000 80 010200");
    ask(n, "01000000 fc020000 01b1 0002 00000000 " HOST("b2"), ACCEPT "00 010200 80 010700");
    ask(n, "01000000 fc020000 01b1 ffff 00000000 " HOST("b2"), ACCEPT "00 010200 80 010700");
    fcvi_fabric_link(n->f, 1, false);
    ask(n, GID_IPP HOST("b2"), ACCEPT "80 010700");
    fcvi_fabric_link(n->f, 3, false);
    ask(n, GID_IPP HOST("b2"), NOBODY);
    fcvi_fabric_link(n->f, 1, true);
    ask(n, GID_IPP HOST("b2"), ACCEPT "80 010200");
    n_end(n);
}
END_TEST

/* A port without an N_Port Identifier cannot be named. */
START_TEST(before_flogi)
{
    struct net *n = logged_in();
    ck_assert_uint_eq(attach(n, 0, 0xd4), 3);
    ask(n, GID_IPP HOST("d4"), NOBODY);
    fcvi_fabric_set_id(n->f, 3, 0x010700);
    ask(n, GID_IPP HOST("d4"), ACCEPT "80 010700");
    n_end(n);
}
END_TEST

START_TEST(several_addresses)
{
    struct net *n = logged_in();
    struct fcvi_port_identity identity = n_identity(0x010700, 0xd1);
    identity.hosts = 4;
    for (uint8_t i = 1; i < 4; i++) {
        memcpy(identity.host[i], identity.host[0], 16);
        identity.host[i][15] = (uint8_t)(0xd1 + i);
    }
    fcvi_fabric_attach(n->f, &identity, FCVI_PLACE_FABRIC);
    ask(n, GID_IPP HOST("d1"), ACCEPT "80 010700");
    ask(n, GID_IPP HOST("d4"), ACCEPT "80 010700");
    ask(n, GID_IPP HOST("d5"), NOBODY);
    n_end(n);
}
END_TEST

/* The answer fits into one Data_Field of the size that the port gave at PLOGI: 16 bytes and 4 for each. */
START_TEST(more_than_fit)
{
    static const struct {
        const char *size;
        unsigned told;
    } sizes[] = {{"0100", 60}, {"0110", 64}, {"0112", 64}, {"0128", 70},
                 {"0840", 70}, {"0000", 60}, {"00ff", 60}, {"0841", 60}};
    const struct fcvi_fabric_limits many = {.ports = 70, .frames = 4};
    struct fcvi_fabric_config c = n_config();
    struct net *n = n_empty(&many, &c);
    for (uint32_t i = 0; i < 70; i++)
        ck_assert_uint_eq(attach(n, 0x010100 + i * 0x100, 0xb2), i);
    log_in(n, sizes[_i].size);
    say(n, 0, I3, CT GID_IPP HOST("b2"));
    ck_assert(arrives(n));
    ck_assert_uint_eq(n->in.length, 24 + 16 + 4 * sizes[_i].told);
    ck_assert_uint_eq(fcvi_load(n->bytes + 24 + 10, 2), 70 - sizes[_i].told);
    for (unsigned i = 0; i < sizes[_i].told; i++)
        ck_assert_uint_eq(fcvi_load(n->bytes + 40 + (size_t)4 * i, 4),
                          (i + 1 == sizes[_i].told ? 0x80010100 : 0x00010100) + i * 0x100);
    n_end(n);
}
END_TEST

/* ---- registration ---- */

/* It comes beside what the port was attached with; a second one replaces the first. */
START_TEST(registered)
{
    struct net *n = logged_in();
    ask(n, RIPP_ID "00 010200 " HOST("d4"), ACCEPT);
    ask(n, GID_IPP HOST("d4"), ACCEPT "80 010200");
    ask(n, GID_IPP HOST("b2"), ACCEPT "80 010200");
    ask(n, RIPP_ID "00 010200 " HOST("d5"), ACCEPT);
    ask(n, GID_IPP HOST("d4"), NOBODY);
    ask(n, GID_IPP HOST("d5"), ACCEPT "80 010200");
    ask(n, RIPP_ID "00 010100 " HOST("d5"), ACCEPT);
    ask(n, GID_IPP HOST("d5"), ACCEPT "00 010100 80 010200");
    ask(n, RIPP_ID "00 010300 " HOST("d6"), REJECT("09", "f2")); /* there is room for two */
    ask(n, RIPP_ID "00 010100 " HOST("d7"), ACCEPT);
    n_end(n);
}
END_TEST

/* It ends with the link or the identifier, and makes room. */
START_TEST(forgotten)
{
    struct net *n = logged_in();
    ask(n, RIPP_ID "00 010200 " HOST("d4"), ACCEPT);
    ask(n, RIPP_ID "00 010300 " HOST("d5"), ACCEPT);
    if (_i == 0) {
        fcvi_fabric_link(n->f, 1, false);
        fcvi_fabric_link(n->f, 1, true);
    } else {
        fcvi_fabric_set_id(n->f, 1, 0x010900);
    }
    ask(n, GID_IPP HOST("d4"), NOBODY);
    ask(n, GID_IPP HOST("b2"), _i == 0 ? ACCEPT "80 010200" : ACCEPT "80 010900");
    ask(n, GID_IPP HOST("d5"), ACCEPT "80 010300");
    ask(n, RIPP_ID "00 010100 " HOST("d6"), ACCEPT);
    ask(n, GID_IPP HOST("d6"), ACCEPT "80 010100");
    n_end(n);
}
END_TEST

START_TEST(no_room_at_all)
{
    const struct fcvi_fabric_limits none = {.ports = 2, .frames = 4};
    struct fcvi_fabric_config c = n_config();
    struct net *n = n_empty(&none, &c);
    attach(n, 0x010100, 0xa1);
    log_in(n, "0840");
    ask(n, RIPP_ID "00 010100 " HOST("d4"), REJECT("09", "f2"));
    n_end(n);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_names");
    TCase *t = tcase_create("names");
    tcase_add_loop_test(t, one_request, 0, SINGLE);
    tcase_add_test(t, several);
    tcase_add_test(t, before_flogi);
    tcase_add_test(t, several_addresses);
    tcase_add_loop_test(t, more_than_fit, 0, 8);
    tcase_add_test(t, registered);
    tcase_add_loop_test(t, forgotten, 0, 2);
    tcase_add_test(t, no_room_at_all);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
