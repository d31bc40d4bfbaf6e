/* What FC-FS has a port refuse: ABTS that names no Exchange by BA_RJT, and in class 2 by P_RJT what it cannot
 * take. Payloads and Parameters are those of the tables of FC-FS for BA_RJT and P_RJT. */
#include "../rig.h"

#define ABTS(f_ctl) "81 010100 00 010200 00 " f_ctl " 07 00 0000 %04x %04x 00000000"
/* Logical error; invalid OX_ID-RX_ID combination */
#define BA_RJT(f_ctl) "85 010200 00 010100 00 " f_ctl " .. 00 0000 %04x %04x 00000000 00 03 03 00"
#define BA_ACC "84 010200 00 010100 00 990000 .. 00 0000 %04x %04x 00000000 0000 0000 %04x %04x 0000 ffff"

/* Frame cnt of a Send of three in the Exchange 0701h. */
static void piece(struct rig *r, uint32_t cnt)
{
    struct rqst q = {.id = 1, .cnt = cnt, .offset = 4 * cnt, .length = 4, .total = 12, .last = cnt == 2};
    rig_rqst(r, &q);
}

/* ---- BA_RJT ---- */

/* No such Exchange. _i: the responder's RX_ID was never given; the sender says that it responds, and to what
 * was never asked. An originator that knows no RX_ID has heard nothing: that is accepted (C.5.7.1). */
START_TEST(abts_of_no_exchange)
{
    struct rig *r = rig_begin(FCVI_RELIABLE_DELIVERY);
    if (_i == 0) {
        rig_hear(r, ABTS("090000"), 0x999, 0x8765);
        rig_next(r, BA_RJT("990000"), 0x999, 0x8765);
        rig_hear(r, ABTS("090000"), 0x999, 0xFFFF);
        rig_next(r, BA_ACC, 0x999, 0xFFFF, 0x999, 0xFFFF);
    } else {
        rig_hear(r, ABTS("890000"), 0x7777, _i == 1 ? 0x8765 : 0xFFFF);
        rig_next(r, BA_RJT("190000"), 0x7777, _i == 1 ? 0x8765 : 0xFFFF);
    }
    rig_silent(r);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* An Exchange that is open here with another RX_ID goes on. Class 2: ACK_1 tells the RX_ID. _i: the right
 * one. */
START_TEST(abts_with_an_rx_id)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.service_class = 2;
    rig_connect(r);
    uint8_t *slot = rig_receive(r);
    piece(r, 0);
    unsigned rx_id = rig_field(r, r->seen, 18, 2);
    rig_next(r, "c0 010200 00 010100 00 e00000 07 00 0000 0701 .... 00000001");
    unsigned said = _i == 0 ? rx_id ^ 1 : rx_id;
    rig_hear(r, ABTS("090000"), 0x701, said);
    rig_next(r, "c0 010200 00 010100 00 c90000 07 00 0000 0701 %04x 00000001", said);
    if (_i == 1) {
        rig_next(r, BA_ACC, 0x701, said, 0x701, said);
        rig_broken(r, 0x40);
    } else {
        rig_next(r, BA_RJT("990000"), 0x701, said);
        piece(r, 1);
        piece(r, 2);
        r->seen += 2; /* ACKs */
        w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, 12);
        rig_alive(r);
    }
    ck_assert_ptr_nonnull(slot);
    rig_end(r);
}
END_TEST

/* ... and so does one of our own that its responder aborts by another RX_ID than it gave. */
START_TEST(abts_of_our_own)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.service_class = 2;
    rig_connect(r);
    rig_post(r, FCVI_SEND, 4);
    unsigned nth = r->seen++, ox_id = rig_ox(r, nth);
    rig_hear(r, ABTS("890000"), ox_id, 0x8001); /* it has given none yet: accepted */
    rig_next(r, "c0 010200 00 010100 00 490000 07 00 0000 %04x 8001 00000001", ox_id);
    rig_next(r, "84 010200 00 010100 00 190000 .. 00 0000 %04x 8001 00000000 0000 0000 %04x 8001 0000 ffff",
             ox_id, ox_id);
    rig_broken(r, 0x40);
    rig_end(r);
}
END_TEST

/* ---- P_RJT ---- */

static void hear_in(struct rig *r, unsigned class, const char *hex)
{
    uint8_t bytes[256];
    rig_hear_as(r, bytes, from_hex(hex, bytes), class == 2 ? FCVI_SOF_I2 : FCVI_SOF_I3,
                class == 2 ? FCVI_EOF_N : FCVI_EOF_T);
}

/* Who is not logged in: login required, retryable. What is of no TYPE that we know: TYPE not supported, not
 * retryable. In class 3 neither is answered. */
static const struct {
    const char *frame, *reject;
} refused[] = {
    {"01 010100 00 010900 58 290008 07 02 0000 0701 ffff 00000000 00000001 00 00 0000 00000001 00*16 00*4",
     "c2 010900 00 010100 00 e90000 07 00 0000 0701 ffff 01160000"},
    {"81 010100 00 010900 00 090000 05 00 0003 0701 1234 00000000",
     "c2 010900 00 010100 00 c90000 05 00 0003 0701 1234 01160000"},
    {"02 010100 00 010200 08 290000 09 00 0000 0555 ffff 00000000 00*32", /* SCSI-FCP */
     "c2 010200 00 010100 00 e90000 09 00 0000 0555 ffff 02070000"},
    {"04 010100 00 010200 05 380000 0a 00 0002 0556 ffff 00000000 00*32", /* IP */
     "c2 010200 00 010100 00 f80000 0a 00 0002 0556 ffff 02070000"},
};

START_TEST(rejected_in_class_2)
{
    unsigned row = (unsigned)_i / 2;
    struct rig *r = rig_begin(FCVI_RELIABLE_DELIVERY);
    hear_in(r, _i % 2 == 0 ? 2 : 3, refused[row].frame);
    if (_i % 2 == 0) {
        unsigned nth = rig_next(r, "%s", refused[row].reject);
        ck_assert_uint_eq(r->sof[nth], FCVI_SOF_N2);
        ck_assert_uint_eq(r->eof[nth], FCVI_EOF_T);
    }
    rig_silent(r);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* After LOGO the sender is a stranger; a PLOGI is answered and makes it known again. */
START_TEST(rejected_until_the_login)
{
    static const char *const message =
        "01 010100 00 010200 58 290008 07 02 0000 0701 ffff 00000000 00000001 00 00 0000 00000001 00*16 00*4";
    struct rig *r = rig_begin(FCVI_RELIABLE_DELIVERY);
    rig_hear(
        r, "22 010100 00 010200 01 290000 01 00 0000 0aaa ffff 00000000 05000000 00010200 10000000c9000002");
    r->seen = r->sent;
    hear_in(r, 2, message);
    rig_next(r, "c2 010200 00 010100 00 e90000 07 00 0000 0701 ffff 01160000");
    rig_hear(
        r,
        "22 010100 00 010200 01 290000 01 00 0000 0aab ffff 00000000 03000000 20200010 90000840 00ff00ce "
        "000007d0 10000000c9000002 20000000c9000002 00*16 00*16 80000000 00000840 00ff0000 00010000 00*32");
    ck_assert_uint_eq(rig_field(r, r->seen, 24, 1), 0x02);
    r->seen = r->sent;
    hear_in(r, 2, message);
    /* it is taken, and its FCVI_HANDLE names no connection any more: ABTS is asked for (8.4.2 h) */
    rig_next(r, "c0 010200 00 010100 00 e90010 07 00 0000 0701 ffff 00000001");
    rig_silent(r);
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("refusals");
    TCase *t = tcase_create("BA_RJT");
    tcase_add_loop_test(t, abts_of_no_exchange, 0, 3);
    tcase_add_loop_test(t, abts_with_an_rx_id, 0, 2);
    tcase_add_test(t, abts_of_our_own);
    suite_add_tcase(s, t);
    t = tcase_create("P_RJT");
    tcase_add_loop_test(t, rejected_in_class_2, 0, 2 * (int)(sizeof refused / sizeof refused[0]));
    tcase_add_test(t, rejected_until_the_login);
    suite_add_tcase(s, t);
    return rig_run(s);
}
