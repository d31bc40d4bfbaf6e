/* Every rule of the monitor: a conforming stream passes, and the same stream with one deviation breaks
 * exactly that requirement. Where the deviation shows without a whole view, a capture that may have holes and
 * may be out of order shows it too. */
#include "stream.h"

/* A and B set up a Connection of this level and move a Message of each kind both ways that the level allows.
 * The numbers in the table below are those of its frames, from 1. */
static void conversation(struct stream *s, uint8_t level)
{
    uint32_t hand_over = level == 3 ? INITIATIVE : LAST;
    struct made *f;
    *s = (struct stream){.sof_i = FCVI_SOF_I3, .sof_n = FCVI_SOF_N3};
    setup(s, 0x1001, 7, HA, HB, level); /* 1 to 4 */
    /* 5, 6: a Send of one IU in two frames */
    f = iu(s, 0x00, 0x01, A, B, FIRST | OFFSET, 0x1002, HB, 8);
    message(f, 1, 16);
    f = iu(s, 0x00, 0x01, A, B, FIRST | END | OFFSET | hand_over, 0x1002, HB, 8);
    message(f, 1, 16);
    counts(f, 1, 8);
    put(f->bytes, AT_SEQ_ID, 1, 5);
    f->sof = s->sof_n;
    if (level == 3) { /* 7 */
        f = iu(s, 0x08, 0x07, B, A, CONTEXT | LAST | END, 0x1002, HA, 0);
        put(f->bytes, AT_RX_ID, 2, 0x8002);
        message(f, 1, 0);
    }
    /* 8, 9: an RDMA Write of two IUs, the last of them with Immediate Data */
    f = iu(s, 0x01, 0x01, A, B, FIRST | END | OFFSET, 0x1003, HB, 8);
    message(f, 2, 16);
    region(f, 0x1000, 5);
    f = iu(s, 0x01, 0x01, A, B, END | OFFSET | hand_over, 0x1003, HB, 8);
    message(f, 2, 16);
    region(f, 0x1000, 5);
    counts(f, 1, 8);
    put(f->bytes, AT_FLAGS, 1, 1);
    put(f->bytes, AT_FCVI_PARAMETER, 4, 0xCAFE);
    if (level == 3) { /* 10 */
        f = iu(s, 0x09, 0x07, B, A, CONTEXT | LAST | END, 0x1003, HA, 0);
        message(f, 2, 0);
    }
    if (level != 1) { /* 11 to 13: an RDMA Read, answered by two IUs */
        f = iu(s, 0x02, 0x06, A, B, FIRST | END | INITIATIVE, 0x1004, HB, 0);
        message(f, 3, 16);
        region(f, 0x2000, 6);
        f = iu(s, 0x0A, 0x01, B, A, CONTEXT | END | OFFSET, 0x1004, HA, 8);
        message(f, 3, 16);
        region(f, 0x2000, 6);
        put(f->bytes, AT_RX_ID, 2, 0x8004);
        f = iu(s, 0x0A, 0x01, B, A, CONTEXT | LAST | END | OFFSET, 0x1004, HA, 8);
        message(f, 3, 16);
        region(f, 0x2000, 6);
        counts(f, 1, 8);
        put(f->bytes, AT_RX_ID, 2, 0x8004);
    }
    f = send_one(s, B, 0x2001, HA, 1, hand_over); /* 14: and one the other way */
    if (level == 3) {
        f = iu(s, 0x08, 0x07, A, B, CONTEXT | LAST | END, 0x2001, HB, 0);
        message(f, 1, 0);
    }
    f = disconnect(s, A, 0x1005, HB, false); /* 16 */
    put(f->bytes, AT_MSG_ID, 4, 1);
    f = disconnect(s, B, 0x1005, HA, true); /* 17 */
    put(f->bytes, AT_MSG_ID, 4, level == 1 ? 2 : 3);
}

START_TEST(conforming_streams_pass)
{
    static const uint8_t trusts[] = {WHOLE, 0, FCVI_TRUST_ALL | FCVI_TRUST_ORDER, FCVI_TRUST_ORDER,
                                     FCVI_TRUST_ALL};
    struct stream s;
    for (uint8_t level = 1; level <= 3; level++)
        for (unsigned t = 0; t < sizeof trusts; t++) {
            conversation(&s, level);
            expect(&s, trusts[t], NULL, 0, "a conforming conversation");
        }
}
END_TEST

/* From any frame on, and without any one frame: what is missing is never held against a sender. */
START_TEST(captures_with_holes_pass)
{
    struct stream whole, s;
    conversation(&whole, 3);
    for (unsigned first = 1; first <= whole.count; first++) {
        s = whole;
        for (unsigned n = 1; n < first; n++)
            remove_frame(&s, 1);
        expect(&s, 0, NULL, 0, "a capture that begins in the middle");
        expect(&s, FCVI_TRUST_ALL | FCVI_TRUST_ORDER, NULL, 0,
               "a capture that begins in the middle, whole from there");
    }
    for (unsigned a = 1; a <= whole.count; a++)
        for (unsigned b = a; b <= whole.count; b++) {
            s = whole;
            remove_frame(&s, b);
            if (a != b)
                remove_frame(&s, a);
            expect(&s, 0, NULL, 0, "a capture with holes");
            expect(&s, FCVI_TRUST_ORDER, NULL, 0, "a capture with holes, in order");
        }
    for (unsigned a = 1; a <= whole.count; a++)
        for (unsigned b = 1; b <= whole.count; b++) {
            s = whole;
            insert_copy(&s, a, b);
            expect(&s, 0, NULL, 0, "a capture with a frame twice");
            s = whole;
            struct made swap = s.frame[a - 1];
            s.frame[a - 1] = s.frame[b - 1];
            s.frame[b - 1] = swap;
            expect(&s, 0, NULL, 0, "a capture out of order");
        }
}
END_TEST

/* ---- one field of one frame is wrong ---- */

struct deviation {
    uint8_t level;
    unsigned frame;
    unsigned byte, size;
    uint64_t value;
    const char *requirement;
    const char *anyway; /* what is found without a whole view */
    bool cut;           /* later frames break it as well: the stream ends here */
    bool by_handle;     /* only a handle tells, which a logout that is missing may have freed (8.4.2 g) */
};

static const struct deviation deviations[] = {
    /* 5.6, 5.8.6, 5.8.7 */
    {3, 2, AT_SEQ_CNT, 2, 9, "FCVI-5.6-01", NULL, true, false},
    {3, 3, AT_SEQ_CNT, 2, 9, "FCVI-5.8.6-01", NULL, false, false},
    {3, 6, AT_SEQ_CNT, 2, 0, "FCVI-5.8.6-01", "FCVI-5.8.6-02", false, false},
    {3, 9, AT_SEQ_CNT, 2, 0, "FCVI-5.8.6-01", "FCVI-5.8.6-01", false, false},
    {3, 6, AT_PARAMETER, 4, 4, "FCVI-5.8.7-02", "FCVI-5.8.7-02", false, false},
    {3, 13, AT_PARAMETER, 4, 0, "FCVI-5.6-09", "FCVI-5.6-09", false, false},
    /* 5.5 */
    {3, 6, AT_SEQ_ID, 1, 60, "FCVI-4.2-04", NULL, false, false},
    /* 5.1, First_Sequence of multi-frame kinds */
    {3, 9, AT_F_CTL, 3, FIRST | END | OFFSET | INITIATIVE, "FCVI-T01-WRITE_RQST-pos", NULL, false, false},
    {3, 5, AT_F_CTL, 3, OFFSET, "FCVI-T01-SEND_RQST-pos", NULL, false, false},
    /* 5.8.1 */
    {3, 3, AT_RX_ID, 2, 0x8009, "FCVI-5.8.1-01", "FCVI-5.8.1-01", false, false},
    {3, 4, AT_RX_ID, 2, 0x8009, "FCVI-5.8.1-01", "FCVI-5.8.1-01", false, false},
    {3, 13, AT_RX_ID, 2, 0x8009, "FCVI-5.8.1-01", "FCVI-5.8.1-01", false, false},
    /* 5.8.2: FCVI_PREF was 00h */
    {3, 5, AT_CS_CTL, 1, 0x80, "FCVI-5.8.2-04", "FCVI-5.8.2-04", false, true},
    /* 6.8 to 6.11 */
    {3, 2, AT_WORD_7, 4, 8, "FCVI-6.9.2-09", NULL, false, false},
    {3, 3, AT_WORD_7, 4, 8, "FCVI-6.10.2-09", NULL, false, false},
    {3, 4, AT_WORD_7, 4, 8, "FCVI-6.11.2-09", NULL, false, false},
    {3, 2, AT_FLAGS, 1, 4, "FCVI-5.9.4.5-06", "FCVI-5.9.4.5-06", false, false},
    {3, 3, AT_FLAGS, 1, 4, "FCVI-5.9.4.5-07", "FCVI-5.9.4.5-07", false, false},
    {3, 4, AT_FLAGS, 1, 4, "FCVI-5.9.4.5-06", "FCVI-5.9.4.5-06", false, false},
    {3, 3, AT_HANDLE, 4, 0x99, "FCVI-6.10.2-02", "FCVI-6.10.2-02", false, false},
    {3, 4, AT_HANDLE, 4, 0x99, "FCVI-6.11.2-02", "FCVI-6.11.2-02", false, false},
    {3, 2, AT_LEVEL, 1, 2, "FCVI-4.2-39", "FCVI-4.2-39", false, false},
    /* 5.9.2, 5.9.6 */
    {2, 8, AT_MSG_ID, 4, 7, "FCVI-4.2-02", NULL, false, false},
    {3, 14, AT_MSG_ID, 4, 0, "FCVI-5.9.6-03", NULL, false, false},
    {3, 11, AT_MSG_ID, 4, 9, "FCVI-5.9.6-04", NULL, false, false},
    {3, 11, AT_MSG_ID, 4, 2, "FCVI-5.9.6-04", "FCVI-4.2-12", true, true},
    {3, 14, AT_HANDLE, 4, 0x99, "FCVI-5.9.2-01", NULL, false, false},
    {3, 6, AT_HANDLE, 4, 0x99, "FCVI-5.9.2-01", NULL, false, false},
    /* 6.2, 6.4, 5.2.1: fields and kind within a Message */
    {3, 6, AT_WORD_7, 4, 32, "FCVI-6.2.2-10", "FCVI-6.2.2-10", false, false},
    {3, 9, AT_VA, 8, 0x3000, "FCVI-6.4.2-10", "FCVI-6.4.2-10", false, false},
    {3, 9, AT_VA_HANDLE, 4, 9, "FCVI-6.4.2-12", "FCVI-6.4.2-12", false, false},
    {3, 9, AT_OPCODE, 1, 0, "FCVI-5.2.1-02", "FCVI-5.2.1-02", false, false},
    /* the end of a Message: level 1 and 2 end the Exchange, level 3 hands over */
    {2, 6, AT_F_CTL, 3, FIRST | END | OFFSET, "FCVI-6.2.1-04", "FCVI-6.2.1-04", false, true},
    {2, 8, AT_F_CTL, 3, END | OFFSET, "FCVI-6.4.1-05", "FCVI-6.4.1-05", false, true},
    {3, 13, AT_F_CTL, 3, CONTEXT | END | OFFSET, "FCVI-6.7.1-05", "FCVI-6.7.1-05", false, false},
    /* responses */
    {3, 7, AT_MSG_ID, 4, 9, "FCVI-6.3.2-05", NULL, false, false},
    {3, 10, AT_MSG_ID, 4, 9, "FCVI-6.5.2-04", NULL, false, false},
    {3, 7, AT_HANDLE, 4, 0x99, "FCVI-6.3.2-02", NULL, false, false},
    {3, 10, AT_HANDLE, 4, 0x99, "FCVI-6.5.2-02", NULL, false, false},
    {3, 7, AT_OPCODE, 1, 0x09, "FCVI-6.5.1-01", "FCVI-6.5.1-01", false, true},
    {3, 10, AT_OPCODE, 1, 0x08, "FCVI-6.3.1-01", "FCVI-6.3.1-01", false, true},
    {3, 13, AT_VA, 8, 0x3000, "FCVI-6.7.2-08", "FCVI-6.7.2-08", false, false},
    {3, 13, AT_VA_HANDLE, 4, 9, "FCVI-6.7.2-10", "FCVI-6.7.2-10", false, false},
    {3, 13, AT_HANDLE, 4, 0x99, "FCVI-5.9.2-01", NULL, false, false},
    {3, 13, AT_MSG_ID, 4, 9, "FCVI-4.2-02", NULL, false, false},
    {3, 13, AT_WORD_7, 4, 32, "FCVI-6.7.2-12", "FCVI-6.7.2-12", false, false},
    /* 6.12, 6.13 */
    {3, 17, AT_FLAGS, 1, 0, "FCVI-5.9.4.6-04", "FCVI-5.9.4.6-04", false, true},
    {3, 17, AT_FLAGS, 1, 6, "FCVI-5.9.4.6-06", "FCVI-5.9.4.6-06", false, true},
    {3, 17, AT_WORD_7, 4, 7, "FCVI-6.13.2-11", NULL, false, false},
    {3, 17, AT_HANDLE, 4, 0x99, "FCVI-6.13.2-02", NULL, false, false},
    {3, 17, AT_MSG_ID, 4, 9, "FCVI-6.13.2-08", NULL, false, false},
    {3, 16, AT_MSG_ID, 4, 9, "FCVI-6.12.2-11", NULL, false, false},
    {3, 16, AT_HANDLE, 4, 0x99, "FCVI-6.12.2-02", NULL, false, false},
};

START_TEST(one_deviation_breaks_one_requirement)
{
    const struct deviation *d = &deviations[_i];
    struct stream s;
    char what[64];
    conversation(&s, d->level);
    struct made *f = &s.frame[d->frame - 1];
    ck_assert_uint_ne(get(f->bytes, d->byte, d->size), d->value);
    put(f->bytes, d->byte, d->size, d->value);
    if (d->byte == AT_F_CTL)
        f->eof = d->value & END ? FCVI_EOF_T : FCVI_EOF_N;
    snprintf(what, sizeof what, "frame %u, byte %u", d->frame, d->byte);
    if (d->cut)
        s.count = d->frame;
    expect(&s, WHOLE, d->requirement, d->frame, what);
    expect(&s, FCVI_TRUST_ALL, d->anyway, d->frame, what);
    s.answered = true;
    expect(&s, 0, d->by_handle ? NULL : d->anyway, d->by_handle ? 0 : d->frame, what);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("monitor");
    TCase *t = tcase_create("conversation");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, conforming_streams_pass);
    tcase_add_test(t, captures_with_holes_pass);
    tcase_add_loop_test(t, one_deviation_breaks_one_requirement, 0, sizeof deviations / sizeof *deviations);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
