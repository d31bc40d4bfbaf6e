/* One side breaks a rule; the other, which takes the frame for what it says and goes on, is accused of
 * nothing. */
#include "stream.h"

static struct stream stream(void)
{
    return (struct stream){.sof_i = FCVI_SOF_I3, .sof_n = FCVI_SOF_N3};
}

static bool accused(const struct verdict *v, uint32_t port)
{
    for (unsigned i = 0; i < v->found.count && i < 16; i++)
        if (v->list[i].sender == port)
            return true;
    return false;
}

/* Under every trust: A is innocent, and in a whole view the breach of B is found, unless the codec has it. */
static void a_is_innocent(const struct stream *s, bool found, const char *what)
{
    for (uint8_t trust = 0; trust <= WHOLE; trust++) {
        struct verdict v;
        struct fcvi_monitor_config config = {.trust = trust, .r_a_tov_us = s->r_a_tov_us};
        judge(&v, s, &config);
        ck_assert_msg(!accused(&v, A), "%s, trust %u: A is accused of %s in frame %llu", what, trust,
                      v.list[v.found.count - 1].what.requirement,
                      (unsigned long long)v.list[v.found.count - 1].frame);
        ck_assert_msg(!found || trust != WHOLE || accused(&v, B), "%s: nothing is found", what);
        free_verdict(&v);
    }
}

/* B answers the CONNECT_RQST of A with CONNECT_RESP3 and only then with CONNECT_RESP1 (5.3.1, 5.4). */
static struct stream early_resp3(void)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made last = s.frame[3];
    s.frame[3] = s.frame[2];
    s.frame[2] = s.frame[1];
    s.frame[1] = last;
    counts(&s.frame[1], 0, 0);
    counts(&s.frame[2], 1, 0);
    return s;
}

START_TEST(who_goes_on_after_an_early_resp3_is_innocent)
{
    struct stream s = early_resp3();
    a_is_innocent(&s, true, "RESP2 after an early RESP3");
    disconnect(&s, A, 0x1002, HB, false);
    a_is_innocent(&s, true, "a Disconnect to the handle of the late RESP1");
    s.count = 4;
    send_one(&s, A, 0x1002, HB, 1, LAST);
    a_is_innocent(&s, true, "a Message to the handle of the late RESP1");
}
END_TEST

/* Its handle serves another Connection already, with C. */
START_TEST(a_late_handle_that_another_port_has_is_not_judged)
{
    struct stream s = early_resp3();
    struct stream other = stream();
    setup(&other, 0x1001, 7, HA, HB, 1);
    for (unsigned i = 0; i < 4; i++) {
        struct made *f = &s.frame[s.count++];
        *f = other.frame[i];
        put(f->bytes, i % 2 == 0 ? 5 : 1, 3, C);
        f->time = 1000 * s.count;
    }
    send_one(&s, A, 0x1002, HB, 1, LAST);
    a_is_innocent(&s, true, "a Message to a handle of two Connections");
}
END_TEST

/* Without the early RESP3 a handle that nobody gave is a breach as before. */
START_TEST(a_handle_that_nobody_gave_is_a_breach)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    disconnect(&s, A, 0x1002, 0x77, false);
    expect(&s, WHOLE, "FCVI-6.12.2-02", 5, "a Disconnect to another handle");
}
END_TEST

/* 6.3.1: B does not mark its response as the end. A has its response and uses the OX_ID again (5.4). */
START_TEST(an_end_that_is_not_marked_is_an_end)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    send_one(&s, A, 0x1002, HB, 1, INITIATIVE);
    struct made *f = iu(&s, 0x08, 0x07, B, A, CONTEXT | END, 0x1002, HA, 0);
    put(f->bytes, AT_RX_ID, 2, 0x8002);
    message(f, 1, 0);
    send_one(&s, A, 0x1002, HB, 2, INITIATIVE);
    a_is_innocent(&s, false, "an OX_ID whose response has not Last_Sequence");
    f = &s.frame[5];
    put(f->bytes, AT_F_CTL, 3, CONTEXT | LAST | END);
    expect(&s, WHOLE, NULL, 0, "an OX_ID whose Exchange has ended");
}
END_TEST

/* 5.8.1: A names an RX_ID by itself, which the ACK of B repeats; B gives its own with CONNECT_RESP1. Where A
 * named nothing, B has changed its name. */
START_TEST(who_acknowledges_a_name_of_the_originator_is_innocent)
{
    for (unsigned odd = 0; odd < 2; odd++) {
        struct stream s = stream();
        s.sof_i = FCVI_SOF_I2;
        setup(&s, 0x1001, 7, HA, HB, 1);
        if (odd)
            put(s.frame[0].bytes, AT_RX_ID, 2, 0xFEFF);
        struct made *f = frame(&s, 0xC0, B, A, 0, CONTEXT | FIRST | END | INITIATIVE | 0x400000, 0x1001, 0);
        put(f->bytes, AT_SEQ_ID, 1, s.frame[0].bytes[AT_SEQ_ID]);
        put(f->bytes, AT_RX_ID, 2, 0xFEFF);
        insert_copy(&s, s.count, 2);
        s.count--;
        expect(&s, WHOLE, odd ? NULL : "FCVI-5.8.1-01", odd ? 0 : 3, "RESP1 with another RX_ID than the ACK");
    }
}
END_TEST

/* 5.8.1: RESP1 names 8001h, an ACK of B that the capture may have twice names 8002h, and RESP2 repeats one of
 * the two. Which of them is of this Exchange is not known, so neither is wrong. */
START_TEST(an_rx_id_that_two_frames_tell_differently_is_not_known)
{
    for (unsigned second = 0; second < 2; second++) {
        struct stream s = stream();
        s.sof_i = FCVI_SOF_I2;
        setup(&s, 0x1001, 7, HA, HB, 1);
        struct made *f = frame(&s, 0xC0, B, A, 0, CONTEXT | FIRST | END | INITIATIVE | 0x400000, 0x1001, 0);
        put(f->bytes, AT_SEQ_ID, 1, s.frame[0].bytes[AT_SEQ_ID]);
        put(f->bytes, AT_RX_ID, 2, 0x8002);
        insert_copy(&s, s.count, 3);
        s.count--;
        if (second)
            put(s.frame[3].bytes, AT_RX_ID, 2, 0x8002);
        expect(&s, WHOLE & ~(unsigned)FCVI_TRUST_ONCE, NULL, 0, "RESP2 with one of two names");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("monitor innocent");
    TCase *t = tcase_create("rules");
    tcase_add_test(t, who_goes_on_after_an_early_resp3_is_innocent);
    tcase_add_test(t, a_late_handle_that_another_port_has_is_not_judged);
    tcase_add_test(t, a_handle_that_nobody_gave_is_a_breach);
    tcase_add_test(t, an_end_that_is_not_marked_is_an_end);
    tcase_add_test(t, who_acknowledges_a_name_of_the_originator_is_innocent);
    tcase_add_test(t, an_rx_id_that_two_frames_tell_differently_is_not_known);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
