/* The tables of ports and of Host Addresses when their places are used again (7.4, 7.7). */
#include "link.h"

/* Three places: ourselves as 010300, which we were not at first, the peer, and 010900 in the place of what we
 * were. */
static struct bench *renamed(void)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.remote_ports = 3;
    c.topology = FCVI_PRIVATE_LOOP;
    struct bench *b = b_begin(&l, &c);
    fcvi_port_lip(b->port, b->now, 0x010300); /* 7.7.3 */
    collect(b);
    l_only(b, 0, L_LOGO, 1);
    hear(b, "22 010300 00 010900 01 290000 01 00 0000 0aaa ffff 00000000 03000000 " SERVICE(
                "80020840", "10000000c9000009", "20000000c9000009", "0840"));
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(b->frame[1][24], 0x02);
    return b;
}

/* Each of the three keeps its own. */
START_TEST(everyone_has_a_place)
{
    struct bench *b = renamed();
    hear(b, "22 010300 00 010100 01 290000 01 00 0000 0aab ffff 00000000 03000000 " SERVICE(
                "80020840", "10000000c9000001", "20000000c9000001", "0840"));
    ck_assert_uint_eq(b->frame[2][24], 0x02);
    hear(b, "22 010300 00 010a00 01 290000 01 00 0000 0aac ffff 00000000 03000000 " SERVICE(
                "80020840", "10000000c900000a", "20000000c900000a", "0840"));
    expect(b, 3, "23 010a00 00 010300 01 990000 .. 00 0000 0aac .... 00000000 01000000 00 09 29 00");
    fcvi_port_link(b->port, b->now, FCVI_LINK_LOGO);
    collect(b);
    l_only(b, 4, L_LOGO, 2);
    l_expect_logo(b, 4, 0x010100, 0x010300);
    l_expect_logo(b, 4, 0x010900, 0x010300);
    b_end(b);
}
END_TEST

/* Sixty ports log in, and each logs out once the next is there: who is logged in keeps his place. */
START_TEST(ports_come_and_go)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.remote_ports = 4; /* ourselves, the peer and two of them */
    struct bench *b = b_begin(&l, &c);
    uint32_t vi = b_connected(b);
    for (unsigned id = 0x020001; id <= 0x020000 + 60; id++) {
        unsigned last = id - 1;
        b->sent = 0;
        hear(b,
             "22 010200 00 %06x 01 290000 01 00 0000 0aaa ffff 00000000 03000000 " SERVICE(
                 "80020840", "10000000c9%06x", "20000000c9%06x", "0840"),
             id, id, id);
        hear(b, ELS_FROM("010100") "52000000 " L_PEER); /* ADISC: of a port that is logged in */
        l_only(b, 0, 0x02, 2);
        hear(b,
             "22 010200 00 %06x 01 290000 01 00 0000 0aab ffff 00000000 52000000 00%06x 10000000c9%06x "
             "20000000c9%06x 00%06x",
             last, last, last, last, last);
        ck_assert_uint_eq(b->frame[2][24], last == 0x020000 ? 0x01 : 0x02);
        hear(b, "22 010200 00 %06x 01 290000 01 00 0000 0aac ffff 00000000 05000000 00%06x 10000000c9%06x",
             last, last, last);
        ck_assert_uint_eq(b->frame[3][24], 0x02);
    }
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* A LIP asks 010900, an RSCN names it, a LOGO of what it has become logs it out. */
START_TEST(the_first_place_is_like_any_other)
{
    static const char *const heard[] = {
        NULL,
        "22 010300 00 fffffd 01 290000 00 00 0000 4001 ffff 00000000 61040008 00010900",
        "22 010300 00 010a00 01 290000 00 00 0000 4001 ffff 00000000 05000000 00010a00 10000000c9000009",
    };
    struct bench *b = renamed();
    if (heard[_i] == NULL)
        fcvi_port_link(b->port, b->now, FCVI_LINK_LIP);
    else
        hear(b, "%s", heard[_i]);
    collect(b);
    unsigned asked = find(b, 2, L_ELS, L_ADISC);
    ck_assert_uint_eq(asked < b->sent, _i < 2);
    if (_i < 2)
        ck_assert_uint_eq(word_of(b, asked, 1, 3), 0x010900);
    unsigned at = b->sent;
    fcvi_port_link(b->port, b->now, FCVI_LINK_LOGO);
    collect(b);
    l_only(b, at, L_LOGO, _i < 2);
    b_end(b);
}
END_TEST

/* We get the identifier of the port that we were just logging in to, and lose it again. Nobody waits for that
 * reply then: the next request logs in anew. */
START_TEST(identifier_of_a_login_under_way)
{
    struct fcvi_port_config c = b_config();
    c.topology = FCVI_PRIVATE_LOOP;
    c.explicit_login = true;
    struct bench *b = b_begin(&b_limits, &c);
    ck_assert_uint_eq(l_begins_with(b, THEIRS), L_PLOGI);
    fcvi_port_lip(b->port, b->now, 0x010100);
    fcvi_port_lip(b->port, b->now, 0x010400);
    collect(b);
    unsigned at = b->sent;
    ck_assert_uint_eq(l_begins_with(b, THEIRS), L_FARP);
    hear(b, "22 010400 00 010100 01 290000 01 00 0000 0aaa ffff 00000000 55000000 04010400 02010100 "
            "10000000c9000002 10000000c9000001 00*16 " OURS THEIRS);
    at = find(b, at, L_ELS, L_PLOGI);
    ck_assert_uint_eq(word_of(b, at, 1, 3), 0x010100);
    l_end(b);
}
END_TEST

/* Our own addresses are ours under any identifier, and known without asking (7.4). _i: the first, the last.
 */
START_TEST(our_own_addresses)
{
    static const char *const ours[] = {OURS, "fe8000000000000000000000000000b9"};
    struct fcvi_port_config c = b_config();
    c.topology = FCVI_PRIVATE_LOOP;
    c.self.hosts = 2;
    from_hex(ours[1], c.self.host[1]);
    struct bench *b = b_begin(&b_limits, &c);
    fcvi_port_lip(b->port, b->now, 0x010300);
    collect(b);
    unsigned at = b->sent;
    struct fcvi_address here = address(ours[_i]), none = address("00*16");
    ck_assert_int_eq(fcvi_vip_connect_wait(b->port, b->now, &none, R_A_TOV, 1), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_connect_wait(b->port, b->now, &here, R_A_TOV, 1), FCVI_VIP_PENDING);
    uint32_t vi = b_vi(b);
    b_request(b, vi, ours[_i], FCVI_NEVER, 2);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, b_return(b, 1)->conn), VIP_SUCCESS);
    collect(b);
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_REJECT);
    ck_assert_uint_eq(b->sent, at);
    ck_assert_uint_eq(l_begins_with(b, "00*16"), L_FARP); /* what stands behind the last is none */
    l_end(b);
}
END_TEST

/* Eight places for Host Addresses, and sixty that all belong to the peer. */
enum { ALL = 60, PLACES = 2 * FCVI_MAX_HOSTS };

static struct bench *many_addresses(void)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.remote_ports = 2;
    c.peer.hosts = 0;
    c.topology = FCVI_PRIVATE_LOOP;
    struct bench *b = b_begin(&l, &c);
    for (unsigned host = 1; host <= ALL; host++)
        l_know(b, 0x010100, (uint8_t)host);
    return b;
}

/* Requests to the last of them: the first `known` of these ask nobody where that is. */
static void look_them_up(struct bench *b, unsigned known)
{
    for (unsigned host = ALL, done = 0; done < 2 * PLACES; host--, done++) {
        char name[33];
        snprintf(name, sizeof name, "fe80%026x%02x", 0, host);
        uint32_t vi = b_vi(b);
        b_request(b, vi, name, FCVI_NEVER, host);
        unsigned at = b->sent - 1;
        ck_assert_uint_eq(b->frame[at][8], done < known ? L_FCVI : L_ELS);
        ck_assert(done < known || b->frame[at][24] == L_FARP);
        ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, 100 + host),
                         done < known ? FCVI_VIP_PENDING : VIP_SUCCESS);
        collect(b);
        unsigned rqst = find(b, at, L_FCVI, 0x12);
        if (rqst < b->sent)
            hear_disconnected(b, rqst);
        ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, b->now, vi), VIP_SUCCESS);
    }
}

START_TEST(last_addresses_are_known)
{
    struct bench *b = many_addresses();
    look_them_up(b, PLACES);
    b_end(b);
}
END_TEST

/* 7.7.3: no mapping holds any more, nor after their LOGO with another identifier than we know (7.7.1). */
START_TEST(all_addresses_are_forgotten)
{
    struct bench *b = many_addresses();
    if (_i == 0)
        fcvi_port_lip(b->port, b->now, 0x010300);
    else
        hear(
            b,
            "22 010200 00 010a00 01 290000 00 00 0000 4001 ffff 00000000 05000000 00010a00 10000000c9010100");
    collect(b);
    look_them_up(b, 0);
    b_end(b);
}
END_TEST

/* What fcvi_port_know takes: 24 bits (FC-FS) and four addresses. */
START_TEST(most_that_can_be_known)
{
    struct fcvi_port_identity most = {
        0x10000000c9000009, 0x20000000c9000009, 0xFFFFFF, FCVI_MAX_HOSTS, {{0}}};
    struct bench *b = b_new();
    ck_assert(fcvi_port_know(b->port, b->now, &most));
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("places");
    TCase *t = tcase_create("places");
    tcase_add_test(t, everyone_has_a_place);
    tcase_add_test(t, ports_come_and_go);
    tcase_add_loop_test(t, the_first_place_is_like_any_other, 0, 3);
    tcase_add_test(t, identifier_of_a_login_under_way);
    tcase_add_loop_test(t, our_own_addresses, 0, 2);
    tcase_add_test(t, last_addresses_are_known);
    tcase_add_loop_test(t, all_addresses_are_forgotten, 0, 2);
    tcase_add_test(t, most_that_can_be_known);
    suite_add_tcase(s, t);
    return run_suite(s);
}
