/* A VI that waits for an Exchange when it goes away, and another that takes its place (4.1, 7.7.1). */
#include "link.h"

#define OTHER "fe8000000000000000000000000000a7"

enum { OPEN = 3 };

/* Three Messages of the peer that have begun, of four Exchanges: one is kept back (4.1). */
static void begin_messages(struct bench *b, uint32_t handle)
{
    for (uint32_t id = 1; id <= OPEN; id++)
        hear(b,
             "01 010200 00 010100 58 200008 07 02 0000 %04x ffff 00000000 %08x 00 00 0000 %08x 00*16 "
             "00000008 00*4",
             0x700 + id, handle, id);
    ck_assert_uint_eq(counts(b).exchanges, OPEN);
}

/* The VI waits when its port logs out. The next one of its number waits as well, before FCVI_CONNECT_RESP3.
 */
START_TEST(place_is_taken)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    struct fcvi_completion done;
    l.exchanges = OPEN + 1;
    l.vis = 2;
    c.out_of_order = true;
    struct bench *b = b_begin(&l, &c);
    l_know(b, 0x010700, 0xa7);
    b_connected(b);
    uint32_t other = l_connected(b, OTHER, 0x010700);
    begin_messages(b, own_handle_at(b, 0));
    ck_assert(!l_send(b, other));
    hear(b, "22 010200 00 010700 01 290000 01 00 0000 0aaa ffff 00000000 05000000 00010700 10000000c9010700");
    l_expect_lost(b, other);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, other, 9), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_done(b->port, 0, other, false, &done), VIP_DESCRIPTOR_ERROR);
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, other), VIP_SUCCESS);

    l_know(b, 0x010700, 0xa7);
    ck_assert_uint_eq(b_vi(b), other);
    b_request(b, other, OTHER, FCVI_NEVER, 10);
    unsigned at = b->sent - 1;
    hear(b,
         "03 010200 00 010700 58 890008 06 02 0000 %04x 8001 00000000 "
         "ffffffff 18 00 0000 00*8 00*12 %08x 00000000 0000 0001 00000abc " ADDR_A ADDR_B ATTRS,
         ox_of(b, at), id_at(b, at));
    ck_assert_uint_eq(state_of(b, other), FCVI_STATE_CONNECTED);
    ck_assert(!l_send(b, other));
    hear(b, "03 010200 00 010700 58 980000 06 02 0001 %04x 8001 00000000 %08x 1a 00 0000 00*20 %08x",
         ox_of(b, at), own_handle_at(b, at), id_at(b, at));
    at = b->sent;
    hear(b, "81 010200 00 010100 00 090000 07 00 0000 0701 ffff 00000000");
    ck_assert_uint_eq(b->sent, at + 2); /* BA_ACC, and what has waited */
    ck_assert_uint_eq(b->frame[at + 1][8], L_FCVI);
    ck_assert_uint_eq(word_of(b, at + 1, 1, 3), 0x010700);
    free(b->memory);
    free(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("starved");
    TCase *t = tcase_create("4.1");
    tcase_add_test(t, place_is_taken);
    suite_add_tcase(s, t);
    return run_suite(s);
}
