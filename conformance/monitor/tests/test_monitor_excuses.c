/* What excuses a sender: that which the rules must know not to accuse anyone wrongly, and what they must not
 * take for an excuse. */
#include "stream.h"

static struct stream stream(void)
{
    return (struct stream){.sof_i = FCVI_SOF_I3, .sof_n = FCVI_SOF_N3};
}

static void abort_exchange(struct stream *s, uint32_t from, uint16_t ox_id, uint32_t f_ctl)
{
    frame(s, 0x81, from, from == A ? B : A, 0, f_ctl | LAST | END, ox_id, 0);
}

/* The first frame of a Message of 16 bytes, whose Sequence stays open. */
static struct made *open_message(struct stream *s, uint32_t from, uint16_t ox_id, uint32_t handle,
                                 uint8_t seq_id)
{
    struct made *f = send_one(s, from, ox_id, handle, 1, 0);
    put(f->bytes, AT_F_CTL, 3, FIRST | OFFSET);
    put(f->bytes, AT_WORD_7, 4, 16);
    put(f->bytes, AT_SEQ_ID, 1, seq_id);
    f->eof = FCVI_EOF_N;
    return f;
}

/* ---- 5.5: an aborted Exchange closes the Sequences of both sides ---- */

START_TEST(an_abort_closes_the_sequence_of_its_originator)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    open_message(&s, A, 0x1002, HB, 0x55);
    for (unsigned i = 0; i < 2; i++) { /* another Sequence between is as before */
        abort_exchange(&s, A, (uint16_t)(0x1002 + i), FIRST);
        put(send_one(&s, A, (uint16_t)(0x1004 + i), HB, 2 + i, LAST)->bytes, AT_SEQ_ID, 1, 0x55);
        expect(&s, WHOLE, NULL, 0, "the SEQ_ID of an Exchange that was aborted");
    }
    s.count = 5;
    put(send_one(&s, A, 0x1004, HB, 2, LAST)->bytes, AT_SEQ_ID, 1, 0x55);
    expect(&s, WHOLE, "FCVI-5.5-02", 6, "the SEQ_ID of an Exchange that was not aborted");
}
END_TEST

START_TEST(an_abort_closes_the_sequence_of_its_responder)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    struct made *f = iu(&s, 0x02, 0x06, A, B, FIRST | END | INITIATIVE, 0x1002, HB, 0);
    message(f, 1, 16);
    f = iu(&s, 0x0A, 0x01, B, A, CONTEXT | OFFSET, 0x1002, HA, 8); /* half of the RDMA Read */
    message(f, 1, 16);
    uint8_t seq_id = f->bytes[AT_SEQ_ID];
    abort_exchange(&s, A, 0x1002, FIRST);
    put(send_one(&s, B, 0x2002, HA, 1, INITIATIVE)->bytes, AT_SEQ_ID, 1, seq_id);
    expect(&s, WHOLE, NULL, 0, "the responder's SEQ_ID of an Exchange that was aborted");
    remove_frame(&s, 7);
    expect(&s, WHOLE, "FCVI-5.5-02", 7, "the responder's SEQ_ID of an open Exchange");
}
END_TEST

/* An abort closes no Sequence of another Exchange, though it had the same SEQ_ID. */
START_TEST(an_abort_closes_nothing_else)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *f = open_message(&s, A, 0x1002, HB, 0x55);
    put(f->bytes, AT_F_CTL, 3, FIRST | END | OFFSET);
    f->eof = FCVI_EOF_T;
    put(open_message(&s, A, 0x1003, HB, 0x55)->bytes, AT_MSG_ID, 4, 2);
    abort_exchange(&s, A, 0x1002, FIRST);
    put(send_one(&s, A, 0x1004, HB, 3, LAST)->bytes, AT_SEQ_ID, 1, 0x55);
    expect(&s, WHOLE, "FCVI-5.5-02", 8, "the SEQ_ID of a Sequence that the abort did not close");
}
END_TEST

/* ---- 8.4.2 f: a handle that rested is as new ---- */

START_TEST(a_handle_that_rested_is_as_new)
{
    enum { R_A_TOV = 600000 };
    struct stream s = stream();
    s.r_a_tov_us = R_A_TOV;
    setup(&s, 0x1001, 7, HA, HB, 3);
    send_one(&s, A, 0x1002, HB, 1, INITIATIVE);
    disconnect(&s, A, 0x1003, HB, false);
    disconnect(&s, B, 0x1003, HA, true);
    unsigned before = s.count;
    setup(&s, 0x1004, 8, HA, HB, 3);
    send_one(&s, A, 0x1005, HB, 1, INITIATIVE);
    send_one(&s, B, 0x2005, HA, 1, INITIATIVE);
    for (unsigned i = before; i < s.count; i++)
        s.frame[i].time += R_A_TOV;
    expect(&s, WHOLE, NULL, 0, "Messages over a Connection with the handles of one that was ended");
    s.count = before + 2;
    send_one(&s, A, 0x1005, HB, 1, INITIATIVE)->time += R_A_TOV;
    expect(&s, WHOLE, "FCVI-5.9.3-03", before + 3, "a Message before RESP2 of the second setup");
    s.count = before + 3;
    s.frame[before + 2] = s.frame[2];
    put(s.frame[before + 2].bytes, AT_OX_ID, 2, 0x1004);
    put(s.frame[before + 2].bytes, AT_WORD_7, 4, 8);
    s.frame[before + 2].time = s.frame[before + 1].time;
    send_one(&s, B, 0x2005, HA, 1, INITIATIVE)->time += R_A_TOV;
    expect(&s, WHOLE, "FCVI-5.9.3-03", before + 4, "a Message before RESP3 of the second setup");
}
END_TEST

/* ---- 5.2.1, 5.3.1: an answer of another kind is none that came again ---- */

START_TEST(a_setup_does_not_answer_a_message)
{
    enum { TWICE = WHOLE & ~FCVI_TRUST_ONCE };
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    send_one(&s, A, 0x1002, HB, 1, INITIATIVE);
    message(iu(&s, 0x08, 0x07, B, A, CONTEXT | LAST | END, 0x1002, HA, 0), 1, 0);
    struct made *f = iu(&s, 0x18, 0x03, B, A, CONTEXT | END | INITIATIVE | OFFSET, 0x1002, 0xFFFFFFFF, 340);
    connect_payload(f, HB + 1, 2);
    expect(&s, TWICE, "FCVI-T01-CONNECT_RESP1-pos", 7, "a CONNECT_RESP1 in the Exchange of a Message");
}
END_TEST

/* ---- E44: a connect payload in two frames is judged where its fields stand ---- */

/* The last frame as two, the first of them with 200 bytes of payload. */
static void split(struct stream *s)
{
    enum { FIRST_PART = 200 };
    struct made *f = &s->frame[s->count - 1], *g = &s->frame[s->count++];
    *g = *f;
    g->length -= FIRST_PART;
    memmove(g->bytes + AT_PAYLOAD, g->bytes + AT_PAYLOAD + FIRST_PART, g->length - AT_PAYLOAD);
    counts(g, 1, FIRST_PART);
    g->sof = FCVI_SOF_N3;
    f->length = AT_PAYLOAD + FIRST_PART;
    put(f->bytes, AT_F_CTL, 3, get(f->bytes, AT_F_CTL, 3) & ~(uint64_t)(END | INITIATIVE));
    f->eof = FCVI_EOF_N;
}

START_TEST(connect_fields_are_judged_where_they_stand)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *f = iu(&s, 0x10, 0x02, A, C, FIRST | END | INITIATIVE | OFFSET, 0x1002, 0xFFFFFFFF, 340);
    put(f->bytes, AT_FLAGS, 1, 1);
    put(f->bytes, AT_WORD_7, 4, 8);
    connect_payload(f, HA, 1);
    split(&s);
    expect(&s, WHOLE, "FCVI-4.2-09", 5, "a handle in use, in a request of two frames");
    put(s.frame[4].bytes, AT_CONN_HANDLE, 4, HA + 1);
    f = iu(&s, 0x18, 0x03, C, A, CONTEXT | END | INITIATIVE | OFFSET, 0x1002, 0xFFFFFFFF, 340);
    put(f->bytes, AT_RX_ID, 2, 0x8001);
    put(f->bytes, AT_WORD_7, 4, 8);
    connect_payload(f, HB, 2);
    split(&s);
    expect(&s, WHOLE, "FCVI-4.2-39", 8, "another Reliability Level, in the second of two frames");
    s.count = 6; /* a wrong Relative Offset moves no byte of the payload */
    f = iu(&s, 0x18, 0x03, C, A, CONTEXT | END | INITIATIVE | OFFSET, 0x1002, 0xFFFFFFFF, 340);
    put(f->bytes, AT_RX_ID, 2, 0x8001);
    put(f->bytes, AT_WORD_7, 4, 8);
    connect_payload(f, HB, 1);
    put(f->bytes, AT_LEVEL, 1, 2);
    counts(f, 0, 4);
    struct verdict v;
    struct fcvi_monitor_config config = {.trust = WHOLE};
    judge(&v, &s, &config);
    bool level = false;
    for (unsigned i = 0; i < v.found.count && i < 16; i++) {
        level |= strcmp(v.list[i].what.requirement, "FCVI-4.2-39") == 0;
        check_place(&s, &v.list[i]);
    }
    ck_assert(level);
    free_verdict(&v);
}
END_TEST

/* ---- 5.8.6, 5.8.7 where frames may be missing or out of order ---- */

/* The second of two frames of one Sequence, with this SEQ_CNT, Relative Offset and length; the first has
 * SEQ_CNT 4 and bytes 32 to 39. */
static struct stream beside(uint16_t cnt, uint32_t offset, uint32_t length)
{
    struct stream s = stream();
    for (unsigned i = 0; i < 2; i++) {
        struct made *f = iu(&s, 0x00, 0x01, A, B, FIRST | OFFSET, 0x1002, HB, i == 0 ? 8 : length);
        message(f, 1, 0x2000000);
        counts(f, i == 0 ? 4 : cnt, i == 0 ? 32 : offset);
        f->bytes[AT_SEQ_ID] = 9;
        f->sof = FCVI_SOF_N3;
    }
    return s;
}

START_TEST(frames_beside_each_other_fit)
{
    static const struct {
        const char *requirement;
        uint32_t offset, length;
        uint16_t cnt;
    } cases[] = {
        {NULL, 40, 8, 5},
        {"FCVI-5.8.7-02", 44, 8, 5},
        {"FCVI-5.8.7-02", 36, 8, 5},
        {NULL, 24, 8, 3},
        {"FCVI-5.8.7-02", 24, 4, 3},
        {"FCVI-5.8.7-02", 20, 8, 3},
        {"FCVI-5.8.7-02", 28, 8, 3},
        {NULL, 64, 8, 6},
        {NULL, 0, 8, 2},
        {"FCVI-5.8.6-01", 24, 8, 5},
        {"FCVI-5.8.6-01", 24, 8, 6},
        {"FCVI-5.8.6-01", 48, 8, 2},
        {"FCVI-5.8.6-02", 40, 8, 4},
        {NULL, 32, 8, 4},
        {NULL, 0x1000000, 8, 3}, /* so far apart that SEQ_CNT may have wrapped */
    };
    struct stream s = beside(cases[_i].cnt, cases[_i].offset, cases[_i].length);
    s.answered = true;
    char what[80];
    snprintf(what, sizeof what, "SEQ_CNT %u with bytes from %u, %u of them, beside SEQ_CNT 4 with 32 to 39",
             cases[_i].cnt, (unsigned)cases[_i].offset, (unsigned)cases[_i].length);
    expect(&s, 0, cases[_i].requirement, cases[_i].requirement != NULL ? 2 : 0, what);
}
END_TEST

START_TEST(an_empty_message_ends_with_its_frame)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *f = iu(&s, 0x00, 0x01, A, B, FIRST | END, 0x1002, HB, 0);
    message(f, 1, 0);
    expect(&s, FCVI_TRUST_ALL, "FCVI-6.2.1-04", 5, "an empty Message whose Exchange goes on");
    expect(&s, 0, NULL, 0, "the same, where the handle may have been freed");
    put(f->bytes, AT_F_CTL, 3, FIRST | LAST | END);
    expect(&s, 0, NULL, 0, "an empty Message");
    message(f, 1, 8);
    put(f->bytes, AT_F_CTL, 3, FIRST | END);
    expect(&s, 0, NULL, 0, "an IU without bytes of a Message of which others may be missing");
}
END_TEST

/* ---- tables ---- */

enum { ROOM = 16, BACK = 7, ROUNDS = 20000 };

static void show(struct fcvi_monitor *m, struct made *f, uint64_t number, struct fcvi_monitor_findings *found)
{
    struct fcvi_input in = {f->bytes, f->length, f->sof, f->eof, f->crc};
    struct fcvi_frame view;
    fcvi_decode(&in, &view, NULL);
    struct fcvi_monitor_frame shown = {&view, number, number, 0, false};
    fcvi_monitor_frame(m, &shown, found);
}

static uint16_t ox_id_of(unsigned round)
{
    return (uint16_t)(round * 40503u); /* odd: none comes twice in 65,536 rounds */
}

/* Nothing is lost that is not older than the room there is, whatever made room before. Each round begins an
 * Exchange, and ends one of the last BACK, so that between are fewer than ROOM. */
START_TEST(what_is_in_use_is_found)
{
    struct fcvi_monitor_config config = {
        .limits = {.exchanges = ROOM}, .trust = WHOLE, .seed = 1 + (uint64_t)_i};
    size_t size = fcvi_monitor_size(&config.limits);
    struct fcvi_monitor *m = fcvi_monitor_init(malloc(size), size, &config);
    ck_assert_ptr_nonnull(m);
    struct fcvi_monitor_finding list[1];
    struct fcvi_monitor_findings found = {list, 1, 0};
    uint64_t chance = 12345, number = 0;
    for (unsigned round = BACK; round < ROUNDS; round++) {
        static struct stream s;
        s = stream();
        put(open_message(&s, A, ox_id_of(round), HB, 1)->bytes, AT_MSG_ID, 4, ox_id_of(round));
        show(m, &s.frame[0], ++number, &found);
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        unsigned back = (unsigned)(chance >> 40) % BACK;
        if (round < 2 * BACK)
            continue;
        struct made *f = iu(&s, 0x00, 0x01, A, B, END | LAST | OFFSET, ox_id_of(round - back), HB, 8);
        message(f, ox_id_of(round - back), 16);
        counts(f, 1, 8);
        put(f->bytes, AT_SEQ_ID, 1, 1);
        show(m, f, ++number, &found);
    }
    uint64_t lost = fcvi_monitor_unjudged(m, FCVI_UNJUDGED_EXCHANGE).frames;
    ck_assert_msg(lost == 0, "%llu frames of Exchanges that were forgotten", (unsigned long long)lost);
    free(m);
}
END_TEST

/* 5.4, 8.4.2 g, 8.5.3 c: a port that logs in again may use every name of before at once. Where the capture
 * has missed the login and what followed, only time tells whether two frames are of one Message: ACC, RESP1
 * and RESP2 come between, and the ports here take 1,000 us for an answer. */
START_TEST(a_login_that_was_missed_frees_all_names)
{
    static const struct {
        const char *anyway, *trusted;
        uint32_t later;
        bool answered;
    } cases[] = {
        {"FCVI-5.8.7-02", "FCVI-5.8.7-02", 1000, true},
        {"FCVI-5.8.7-02", "FCVI-5.8.7-02", 1999, true},
        {NULL, "FCVI-5.8.7-02", 2000, true},
        {NULL, "FCVI-5.8.7-02", 9999999, true},
        {NULL, NULL, 10000000, true}, /* R_A_TOV */
        {NULL, "FCVI-5.8.7-02", 0, false},
        {NULL, "FCVI-5.8.7-02", 1, false},
    };
    struct stream s = beside(5, 44, 8);
    s.frame[1].time = s.frame[0].time + cases[_i].later;
    s.answered = cases[_i].answered;
    expect(&s, 0, cases[_i].anyway, cases[_i].anyway != NULL ? 2 : 0, "frames of one name, some time apart");
    expect(&s, FCVI_TRUST_ALL, cases[_i].trusted, cases[_i].trusted != NULL ? 2 : 0,
           "the same where no login can be missing");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("monitor excuses");
    TCase *t = tcase_create("rules");
    tcase_add_test(t, an_abort_closes_the_sequence_of_its_originator);
    tcase_add_test(t, an_abort_closes_the_sequence_of_its_responder);
    tcase_add_test(t, an_abort_closes_nothing_else);
    tcase_add_test(t, a_handle_that_rested_is_as_new);
    tcase_add_test(t, a_setup_does_not_answer_a_message);
    tcase_add_test(t, connect_fields_are_judged_where_they_stand);
    tcase_add_loop_test(t, frames_beside_each_other_fit, 0, 15);
    tcase_add_test(t, an_empty_message_ends_with_its_frame);
    tcase_add_loop_test(t, what_is_in_use_is_found, 0, 4);
    tcase_add_loop_test(t, a_login_that_was_missed_frees_all_names, 0, 7);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
