/* What only who sees everything can prove, and beside each breach the nearest stream that breaks nothing. */
#include "stream.h"

static struct stream stream(void)
{
    return (struct stream){.sof_i = FCVI_SOF_I3, .sof_n = FCVI_SOF_N3};
}

enum { R_A_TOV = 10000000, BODY = 24 + 4 }; /* of an ELS, behind its command word */

static struct made *request(struct stream *s, uint16_t ox_id, uint32_t id, uint32_t from, uint32_t handle,
                            uint8_t mode)
{
    struct made *f =
        iu(s, 0x10, 0x02, from, from == A ? B : A, FIRST | END | INITIATIVE | OFFSET, ox_id, 0xFFFFFFFF, 340);
    put(f->bytes, AT_FLAGS, 1, mode);
    put(f->bytes, AT_WORD_7, 4, id);
    connect_payload(f, handle, 2);
    return f;
}

static struct made *answer(struct stream *s, uint16_t ox_id, uint32_t id, uint32_t from, uint32_t handle,
                           uint8_t reason)
{
    struct made *f = iu(s, 0x18, 0x03, from, from == A ? B : A, CONTEXT | END | INITIATIVE | OFFSET, ox_id,
                        0xFFFFFFFF, 340);
    put(f->bytes, AT_RX_ID, 2, 0x8001);
    put(f->bytes, AT_WORD_7, 4, id);
    connect_payload(f, handle, 2);
    put(f->bytes, AT_FLAGS, 1, reason != 0);
    put(f->bytes, AT_FCVI_PARAMETER + 1, 1, reason);
    return f;
}

static struct made *resp2(struct stream *s, uint16_t ox_id, uint32_t id, uint32_t from, uint32_t handle)
{
    struct made *f = iu(s, 0x19, 0x03, from, from == A ? B : A, END | INITIATIVE, ox_id, handle, 0);
    put(f->bytes, AT_RX_ID, 2, 0x8001);
    put(f->bytes, AT_WORD_7, 4, id);
    counts(f, 1, 0);
    return f;
}

static struct made *els(struct stream *s, uint8_t command, uint32_t from, bool reply, size_t length)
{
    struct made *f = frame(s, reply ? 0x23 : 0x22, from, from == A ? B : A, 0x01,
                           reply ? CONTEXT | LAST | END : FIRST | END | INITIATIVE, 0x5001, length);
    f->bytes[24] = command;
    return f;
}

/* PLOGI and ACC with S and with C in bit 31. */
static void login(struct stream *s)
{
    put(els(s, 0x03, A, false, 116)->bytes, BODY + 4, 4, 0x80020000);
    put(els(s, 0x02, B, true, 116)->bytes, BODY + 4, 4, 0x80020000);
}

/* Give the first `bytes` of the payload of the frame to one of its own. */
static void cut(struct stream *s, unsigned number, size_t bytes)
{
    insert_copy(s, number, number + 1);
    struct made *f = &s->frame[number - 1], *g = f + 1;
    f->length = AT_PAYLOAD + bytes;
    put(f->bytes, AT_F_CTL, 3, get(f->bytes, AT_F_CTL, 3) & ~(uint64_t)(END | INITIATIVE));
    f->eof = FCVI_EOF_N;
    g->length -= bytes;
    memmove(g->bytes + AT_PAYLOAD, g->bytes + AT_PAYLOAD + bytes, g->length - AT_PAYLOAD);
    counts(g, (uint16_t)(get(g->bytes, AT_SEQ_CNT, 2) + 1), (uint32_t)bytes);
    g->sof = FCVI_SOF_N3;
}

/* ---- E44: a handle that comes late, or in two frames ---- */

START_TEST(handles_may_be_cut)
{
    for (size_t bytes = 4; bytes < 340; bytes += 4 - bytes % 4 + (bytes == 8)) {
        struct stream s = stream();
        setup(&s, 0x1001, 7, HA, HB, 3);
        cut(&s, 2, bytes);
        cut(&s, 1, bytes);
        counts(&s.frame[4], 2, 0); /* RESP2 and RESP3 go on from two frames */
        counts(&s.frame[5], 2, 0);
        send_one(&s, A, 0x1002, HB, 1, INITIATIVE);
        expect(&s, WHOLE, NULL, 0, "a setup whose payloads are cut");
        send_one(&s, B, 0x2002, HA + 1, 1, INITIATIVE);
        expect(&s, WHOLE, "FCVI-5.9.2-01", 8, "a handle that the setup did not give");
    }
    struct stream s = stream();
    request(&s, 0x1001, 7, A, HA, 1);
    cut(&s, 1, 4);
    struct made *f = disconnect(&s, A, 0x1002, 0xFFFFFFFF, false);
    put(f->bytes, AT_FLAGS, 1, 6);
    put(f->bytes, AT_WORD_7, 4, 7);
    expect(&s, WHOLE, NULL, 0, "the abort of a setup whose first frame has no handle");
    s.count = 1;
    expect(&s, WHOLE, NULL, 0, "the first frame alone");
    f = disconnect(&s, A, 0x1002, 0xFFFFFFFF, false);
    put(f->bytes, AT_FLAGS, 1, 6);
    put(f->bytes, AT_WORD_7, 4, 8);
    expect(&s, WHOLE, "FCVI-6.12.2-14", 2, "the abort of another setup");
}
END_TEST

/* ---- 5.5: an abort or a logout closes every Sequence of its Exchange ---- */

START_TEST(aborts_and_logouts_close_all_sequences)
{
    struct stream s = stream();
    s.sof_i = FCVI_SOF_I2;
    setup(&s, 0x1001, 7, HA, HB, 1);
    for (unsigned i = 0; i < 4; i++) { /* every frame of the setup has its ACK */
        const struct made *of = &s.frame[i];
        uint32_t from = (uint32_t)get(of->bytes, 1, 3), to = (uint32_t)get(of->bytes, 5, 3);
        uint32_t f_ctl = (uint32_t)(get(of->bytes, AT_F_CTL, 3) ^ CONTEXT) & ~(uint32_t)OFFSET;
        struct made *f = frame(&s, 0xC0, from, to, 0, f_ctl | 0x400000, 0x1001, 0);
        put(f->bytes, AT_SEQ_ID, 1, of->bytes[AT_SEQ_ID]);
        put(f->bytes, AT_SEQ_CNT, 2, get(of->bytes, AT_SEQ_CNT, 2));
        put(f->bytes, AT_RX_ID, 2, 0x8001);
    }
    for (unsigned i = 0; i < 2; i++) { /* a Message of two IUs, neither acknowledged */
        struct made *f = send_one(&s, A, 0x1002, HB, 1, i == 1 ? LAST : 0);
        put(f->bytes, AT_F_CTL, 3, (i == 0 ? FIRST : LAST) | END | OFFSET);
        put(f->bytes, AT_WORD_7, 4, 16);
        counts(f, (uint16_t)i, 8 * i);
        put(f->bytes, AT_SEQ_ID, 1, 0x50 + i);
    }
    frame(&s, 0x81, A, B, 0, FIRST | LAST | END, 0x1002, 0);
    put(send_one(&s, A, 0x1003, HB, 2, LAST)->bytes, AT_SEQ_ID, 1, 0x50);
    expect(&s, WHOLE, NULL, 0, "the first SEQ_ID of an Exchange that was aborted");
    remove_frame(&s, 11);
    expect(&s, WHOLE, "FCVI-5.5-05", 11, "the same, not aborted");
    s = stream();
    request(&s, 0x1001, 7, A, HA, 1);
    cut(&s, 1, 100);
    s.count = 1;
    login(&s);
    put(request(&s, 0x1001, 7, A, HA, 1)->bytes, AT_SEQ_ID, 1, s.frame[0].bytes[AT_SEQ_ID]);
    expect(&s, WHOLE, NULL, 0, "OX_ID, SEQ_ID and handle of a setup that a login has ended");
}
END_TEST

/* ---- 5.8.1, 5.8.3: classes and TYPE ---- */

/* The two frames of a Message of one IU. */
static void two_frames(struct stream *s)
{
    for (unsigned i = 0; i < 2; i++) {
        struct made *f = send_one(s, A, 0x1002, HB, 1, i == 1 ? LAST : 0);
        put(f->bytes, AT_F_CTL, 3, FIRST | OFFSET | (i == 1 ? END | LAST : 0));
        put(f->bytes, AT_WORD_7, 4, 16);
        put(f->bytes, AT_SEQ_ID, 1, 0x50);
        counts(f, (uint16_t)i, 8 * i);
        f->sof = i == 0 ? FCVI_SOF_I3 : FCVI_SOF_N3;
        f->eof = i == 0 ? FCVI_EOF_N : FCVI_EOF_T;
    }
}

START_TEST(sequences_have_one_class_and_one_type)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    two_frames(&s);
    expect(&s, WHOLE, NULL, 0, "a Message of two frames");
    s.frame[5].sof = FCVI_SOF_N2;
    expect(&s, WHOLE, "FCVI-5.8.1-01", 6, "a frame of class 2 in a Sequence of class 3");
    s.frame[5].sof = FCVI_SOF_N3;
    s.frame[5].bytes[8] = 0x08;
    send_one(&s, A, 0x1003, HB, 2, LAST);
    expect(&s, WHOLE, "FCVI-5.8.3-01", 6, "another TYPE within the Sequence");
    expect(&s, 0, NULL, 0, "another FC-4, as far as a capture with holes tells");
    put(s.frame[5].bytes, AT_SEQ_ID, 1, 0x51);
    put(s.frame[5].bytes, AT_OX_ID, 2, 0x1009);
    s.frame[4].eof = FCVI_EOF_T;
    put(s.frame[4].bytes, AT_F_CTL, 3, FIRST | OFFSET | END | LAST);
    put(s.frame[4].bytes, AT_WORD_7, 4, 8);
    expect(&s, WHOLE, NULL, 0, "another FC-4 in an Exchange of its own");
}
END_TEST

START_TEST(nobody_acknowledges_class_3)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    two_frames(&s);
    struct made *f = frame(&s, 0xC0, B, A, 0, CONTEXT | 0x400000 | FIRST, 0x1002, 0);
    put(f->bytes, AT_SEQ_ID, 1, 0x50);
    expect(&s, WHOLE, "FCVI-5.8.1-01", 7, "an ACK in class 3");
    expect(&s, 0, NULL, 0, "the ACK of an Exchange of which a part is missing");
}
END_TEST

START_TEST(resp2_has_the_name_of_the_responder)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    s.count = 3;
    put(s.frame[2].bytes, AT_RX_ID, 2, 0xFFFF);
    expect(&s, WHOLE, "FCVI-5.8.1-01", 3, "RESP2 without the RX_ID");
    expect(&s, WHOLE & ~FCVI_TRUST_ONCE, NULL, 0, "RESP2, where the request may have come twice");
    put(s.frame[1].bytes, AT_RX_ID, 2, 0xFFFF);
    expect(&s, WHOLE, NULL, 0, "a responder that gives no RX_ID");
    put(s.frame[2].bytes, AT_RX_ID, 2, 0x1234);
    expect(&s, WHOLE, "FCVI-5.8.1-01", 3, "RESP2 with an RX_ID that nobody gave");
}
END_TEST

/* ---- 5.6: who lacks S or C ---- */

START_TEST(fcvi_ports_log_in_with_s_and_c)
{
    static const struct {
        uint32_t word;
        const char *requirement;
    } ports[] = {{0x80020000, NULL},
                 {0xC0020000, NULL},
                 {0x80000000, "FCVI-5.6-03"},
                 {0x00020000, "FCVI-5.6-08"},
                 {0x40020000, "FCVI-5.6-08"}};
    for (unsigned i = 0; i < sizeof ports / sizeof *ports; i++) {
        struct stream s = stream();
        login(&s);
        put(s.frame[0].bytes, BODY + 4, 4, ports[i].word);
        expect(&s, WHOLE, NULL, 0, "the login of a port that may be of another FC-4");
        request(&s, 0x1001, 7, A, HA, 1);
        expect(&s, WHOLE, ports[i].requirement, 3, "the login of a port that asks for a Connection");
        expect(&s, 0, NULL, 0, "a login after which another may be missing");
        answer(&s, 0x1001, 7, B, HB, 0x20);
        expect(&s, WHOLE, ports[i].requirement, 3, "a refusal with 20h, which excuses nothing");
    }
}
END_TEST

/* ---- 6.9.3, 7.3: addresses, sizes and rights ---- */

START_TEST(accepts_exchange_the_addresses)
{
    enum { LOCAL = AT_PAYLOAD + 12, REMOTE = LOCAL + 148, HOST = 4, NAME = 20 };
    struct stream s = stream();
    request(&s, 0x1001, 7, A, HA, 1);
    answer(&s, 0x1001, 7, B, HB, 0);
    put(s.frame[0].bytes, LOCAL + NAME, 2, 0x4141);
    put(s.frame[0].bytes, REMOTE + HOST, 2, 0x2001);
    put(s.frame[1].bytes, REMOTE + NAME, 2, 0x4141);
    put(s.frame[1].bytes, LOCAL + HOST, 2, 0x2001);
    s.frame[1].bytes[REMOTE + 3] = 17; /* a zero more says nothing */
    expect(&s, WHOLE, NULL, 0, "addresses exchanged");
    struct stream t = s;
    cut(&t, 2, 100);
    cut(&t, 1, 200);
    expect(&t, WHOLE, NULL, 0, "addresses exchanged, in parts");
    put(s.frame[1].bytes, LOCAL + HOST, 2, 0x2002);
    expect(&s, WHOLE, "FCVI-6.9.3-04", 2, "another host than was asked for");
    put(s.frame[1].bytes, LOCAL + HOST, 2, 0x2001);
    put(s.frame[1].bytes, REMOTE + NAME, 2, 0x4142);
    expect(&s, WHOLE, "FCVI-6.9.3-05", 2, "another Discriminator than the requester's");
    s.frame[0].bytes[AT_FLAGS] = 2;
    expect(&s, WHOLE, NULL, 0, "the Discriminator of a Peer, E140");
    s.frame[0].bytes[AT_FLAGS] = 1;
    put(s.frame[1].bytes, AT_FLAGS, 1, 1);
    put(s.frame[1].bytes, AT_FCVI_PARAMETER + 1, 1, 3);
    expect(&s, WHOLE, NULL, 0, "a refusal, whose addresses say nothing (E40)");
}
END_TEST

/* Table 12 and E40: what follows a refusal may repeat its code, also one that is reserved. */
START_TEST(a_reserved_reason_is_repeated)
{
    enum { REASON = AT_FCVI_PARAMETER + 1, RESP1 = 1, RESP2, RESP3 };
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    put(s.frame[RESP2].bytes, AT_FLAGS, 1, 1);
    put(s.frame[RESP2].bytes, REASON, 1, 0x23);
    expect(&s, WHOLE, "FCVI-T12-23h", 3, "RESP2 with a reserved code after an acceptance");
    put(s.frame[RESP2].bytes, REASON, 1, 0x41);
    expect(&s, WHOLE, "FCVI-5.9.7.1-06", 3, "RESP2 with a code of a Disconnect after an acceptance");
    put(s.frame[RESP1].bytes, AT_FLAGS, 1, 1);
    put(s.frame[RESP1].bytes, REASON, 1, 0x20);
    put(s.frame[RESP3].bytes, AT_FLAGS, 1, 1);
    put(s.frame[RESP3].bytes, REASON, 1, 0x20);
    expect(&s, WHOLE, "FCVI-5.9.7.1-06", 3, "RESP2 with another code than the refusal");
    put(s.frame[RESP2].bytes, REASON, 1, 0x20);
    put(s.frame[RESP3].bytes, REASON, 1, 0x72);
    expect(&s, WHOLE, "FCVI-T12-60h", 4, "RESP3 with another code than both");
    put(s.frame[RESP1].bytes, REASON, 1, 0x23);
    put(s.frame[RESP2].bytes, REASON, 1, 0x23);
    put(s.frame[RESP3].bytes, REASON, 1, 0x23);
    expect(&s, WHOLE, NULL, 0, "both repeat the code of the refusal");
    put(s.frame[RESP1].bytes, REASON, 1, 0x20);
    put(s.frame[RESP2].bytes, REASON, 1, 0x21);
    put(s.frame[RESP3].bytes, REASON, 1, 0x21);
    expect(&s, WHOLE, NULL, 0, "RESP3 repeats the code of RESP2");
}
END_TEST

/* What RESP1 said is not known: nothing is held against who may repeat it. */
START_TEST(a_reserved_reason_without_the_refusal)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    put(s.frame[2].bytes, AT_FLAGS, 1, 1);
    put(s.frame[2].bytes, AT_FCVI_PARAMETER + 1, 1, 0x23);
    remove_frame(&s, 2);
    expect(&s, 0, NULL, 0, "RESP2 with a reserved code, without RESP1");
}
END_TEST

/* Who took an RESP1 for whole that did not end its Sequence may use the Connection. */
START_TEST(an_answer_that_does_not_end)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    send_one(&s, A, 0x1002, HB, 1, INITIATIVE);
    disconnect(&s, A, 0x1003, HB, false);
    s.frame[1].bytes[AT_F_CTL] &= (uint8_t) ~(END >> 16);
    expect(&s, WHOLE, "FCVI-4.2-04", 4, "RESP1 without End_Sequence, which its receiver took for whole");
}
END_TEST

START_TEST(messages_keep_to_the_attributes)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    send_one(&s, A, 0x1002, HB, 1, INITIATIVE);
    put(s.frame[0].bytes, AT_LEVEL + 2, 4, 8);
    expect(&s, WHOLE, NULL, 0, "a Message of FCVI_MAX_TRANS_SIZE bytes");
    put(s.frame[1].bytes, AT_LEVEL + 2, 4, 7);
    expect(&s, WHOLE, NULL, 0, "a Message above what the other end sends itself");
    put(s.frame[0].bytes, AT_LEVEL + 2, 4, 7);
    expect(&s, WHOLE, "FCVI-7.3-04", 5, "a Message above FCVI_MAX_TRANS_SIZE");
    put(s.frame[0].bytes, AT_LEVEL + 2, 4, 0);
    expect(&s, WHOLE, NULL, 0, "a Message, where no size is given");
    s = stream();
    setup(&s, 0x1001, 7, HA, HB, 2);
    struct made *f = iu(&s, 0x02, 0x06, A, B, FIRST | END | INITIATIVE, 0x1002, HB, 0);
    message(f, 1, 8);
    f = iu(&s, 0x0A, 0x01, B, A, CONTEXT | OFFSET | END | LAST, 0x1002, HA, 8);
    message(f, 1, 8);
    expect(&s, WHOLE, NULL, 0, "an RDMA Read");
    s.frame[0].bytes[AT_LEVEL + 1] = 0;
    expect(&s, WHOLE, NULL, 0, "an RDMA Read by who would serve none");
    s.frame[1].bytes[AT_LEVEL + 1] = 2;
    expect(&s, WHOLE, "FCVI-T17-0", 6, "an RDMA Read served without EnRdmaRd");
    put(f->bytes, AT_FLAGS, 1, 5);
    expect(&s, WHOLE, NULL, 0, "an RDMA Read refused");
}
END_TEST

/* ---- 5.3.4, Table 2 ---- */

/* A has the higher name. Both ask; A answers B, and B, that has confirmed an accept, answers A. */
static struct stream peers(uint8_t first, uint8_t second)
{
    struct stream s = stream();
    s.name_a = 2;
    s.name_b = 1;
    request(&s, 0x1001, 7, A, HA, 2);
    request(&s, 0x2001, 9, B, HB, 2);
    answer(&s, 0x2001, 9, A, HA, first);
    if (first == 0)
        resp2(&s, 0x2001, 9, B, HA);
    answer(&s, 0x1001, 7, B, HB, second);
    return s;
}

START_TEST(lower_names_answer_by_table_2)
{
    static const struct {
        uint8_t first, second;
        const char *requirement;
    } rows[] = {
        {0x00, 0x05, NULL},
        {0x01, 0x00, NULL},
        {0x03, 0x00, NULL},
        {0x22, 0x04, NULL},
        {0x21, 0x04, NULL},
        {0x20, 0x04, NULL},
        {0x00, 0x03, NULL}, /* E141 */
        {0x00, 0x22, NULL},
        {0x03, 0x04, NULL}, /* the application has withdrawn */
        {0x00, 0x00, "FCVI-5.3.4-02"},
        {0x00, 0x04, "FCVI-T02-1"},
        {0x00, 0x21, "FCVI-T02-1"},
        {0x01, 0x05, "FCVI-T02-2"},
        {0x03, 0x05, "FCVI-T02-3"},
        {0x22, 0x00, "FCVI-T02-5"},
        {0x22, 0x05, "FCVI-T02-5"},
        {0x22, 0x21, "FCVI-T02-5"},
        {0x21, 0x00, "FCVI-T02-6"},
        {0x04, 0x05, "FCVI-T02-7"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stream s = peers(rows[i].first, rows[i].second);
        expect(&s, WHOLE, rows[i].requirement, s.count, "the lower name's answer");
        expect(&s, 0, NULL, 0, "the same with holes");
    }
    struct stream s = peers(0x22, 0x00);
    struct made first = s.frame[0]; /* A asks once it has refused: nothing crosses */
    memmove(&s.frame[0], &s.frame[1], 2 * sizeof first);
    s.frame[2] = first;
    expect(&s, WHOLE, NULL, 0, "an accept of a request that came after the refusal");
}
END_TEST

START_TEST(only_the_lower_name_refuses_with_05h)
{
    struct stream s = peers(0x05, 0x21);
    s.count = 3;
    expect(&s, WHOLE, "FCVI-5.3.4-a", 3, "05h of the higher name");
    s.name_a = 1;
    expect(&s, WHOLE, "FCVI-5.3.4-c", 3, "05h of two ports of one name");
    s.name_a = s.name_b = 0;
    expect(&s, WHOLE, NULL, 0, "05h of a port whose name is not known");
    s = peers(0x03, 0x05);
    remove_frame(&s, 3);
    expect(&s, WHOLE, "FCVI-5.3.4-b", 3, "05h before the other has answered");
    request(&s, 0x2003, 11, B, HB + 1, 2);
    struct made late = s.frame[2]; /* B has two requests under way: which one crosses is not known */
    s.frame[2] = s.frame[3];
    s.frame[3] = late;
    expect(&s, WHOLE, NULL, 0, "05h of a port with several requests under way");
}
END_TEST

/* ---- 6.12.2: setup aborts ---- */

static struct stream aborting(unsigned steps, uint32_t from, uint32_t handle)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 2);
    s.count = steps;
    struct made *f = disconnect(&s, from, 0x1002, handle, false);
    put(f->bytes, AT_FLAGS, 1, 6);
    put(f->bytes, AT_WORD_7, 4, 7);
    return s;
}

START_TEST(setup_aborts_have_the_handle_that_is_known)
{
    struct stream s = aborting(1, A, 0xFFFFFFFF);
    expect(&s, WHOLE, NULL, 0, "no handle was given");
    s = aborting(1, A, HB);
    expect(&s, WHOLE, "FCVI-6.12.2-03", 2, "a handle that nobody gave");
    s = aborting(2, A, 0xFFFFFFFF);
    expect(&s, WHOLE, NULL, 0, "RESP1 may be lost");
    s = aborting(2, A, HB);
    expect(&s, WHOLE, NULL, 0, "RESP1 may have come");
    s = aborting(3, A, 0xFFFFFFFF);
    expect(&s, WHOLE, "FCVI-6.12.2-02", 4, "RESP1 was answered");
    s = aborting(3, A, HB);
    expect(&s, WHOLE, NULL, 0, "the handle of RESP1");
    s = aborting(2, B, 0xFFFFFFFF);
    expect(&s, WHOLE, NULL, 0, "the request was answered, and T2 is not known");
    s.r_a_tov_us = R_A_TOV;
    expect(&s, WHOLE, "FCVI-6.12.2-02", 3, "the request was answered just now");
    s.frame[2].time += 2 * R_A_TOV;
    expect(&s, WHOLE, NULL, 0, "T2 may have run out");
    s = aborting(3, B, 0xFFFFFFFF);
    expect(&s, WHOLE, NULL, 0, "RESP2 may have come after T2");
    s = aborting(4, A, HB);
    expect(&s, WHOLE, NULL, 0, "RESP3 may be lost");
    struct made abort = s.frame[4];
    s.count = 4;
    send_one(&s, A, 0x1003, HB, 1, LAST);
    s.frame[s.count++] = abort;
    expect(&s, WHOLE, "FCVI-6.12.2-07", 6, "a setup abort after a Message");
}
END_TEST

/* ---- 8.3, 8.4.2, 8.5.3: what time tells ---- */

static void later(struct stream *s, unsigned from, uint64_t by)
{
    for (unsigned i = from; i < s->count; i++)
        s->frame[i].time += by;
}

START_TEST(endpoints_in_error_send_nothing)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    put(s.frame[0].bytes, AT_PREF + 16, 4, 3);
    send_one(&s, A, 0x1002, HB, 1, INITIATIVE);
    frame(&s, 0x81, A, B, 0, FIRST | LAST | END, 0x1002, 0);
    send_one(&s, A, 0x1003, HB, 2, INITIATIVE);
    expect(&s, WHOLE, NULL, 0, "an abort for a reason that is not known");
    s.r_a_tov_us = R_A_TOV;
    expect(&s, WHOLE, NULL, 0, "an abort before FCVI_ULP_TIMEOUT");
    later(&s, 5, R_A_TOV);
    expect(&s, WHOLE, "FCVI-8.4.2-e", 7, "a Message after one that timed out");
    expect(&s, 0, NULL, 0, "the same with holes");
    remove_frame(&s, 6);
    expect(&s, WHOLE, NULL, 0, "a Message soon after FCVI_ULP_TIMEOUT");
    later(&s, 5, R_A_TOV);
    expect(&s, WHOLE, "FCVI-8.4.2-a", 6, "a Message long after FCVI_ULP_TIMEOUT");
}
END_TEST

/* 8.4.2 a: only what was sent to its end waits for a response. */
START_TEST(what_was_not_sent_waits_for_nothing)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    struct made *f = send_one(&s, A, 0x1002, HB, 1, 0);
    put(f->bytes, AT_F_CTL, 3, FIRST | OFFSET);
    put(f->bytes, AT_WORD_7, 4, 16);
    f->eof = FCVI_EOF_N;
    frame(&s, 0x81, A, B, 0, FIRST | LAST | END, 0x1002, 0);
    send_one(&s, A, 0x1003, HB, 2, INITIATIVE);
    s.r_a_tov_us = R_A_TOV;
    later(&s, 5, R_A_TOV);
    expect(&s, WHOLE, NULL, 0, "a Message after one that was aborted before its end");
}
END_TEST

/* FC-FS: busy or reject sends a data frame back. A link control frame that tells of another, or resets
 * credit, does not. */
START_TEST(only_a_refusal_brings_a_frame_back)
{
    static const uint8_t none[] = {0xC6, 0xC7};
    for (unsigned i = 0; i < sizeof none; i++) {
        struct stream s = stream();
        setup(&s, 0x1001, 7, HA, HB, 1);
        struct made *f = send_one(&s, A, 0x1002, HB, 1, 0);
        put(f->bytes, AT_F_CTL, 3, FIRST | OFFSET);
        put(f->bytes, AT_WORD_7, 4, 16);
        f->eof = FCVI_EOF_N;
        frame(&s, none[i], B, A, 0, CONTEXT, 0x1002, 0);
        struct made *g = send_one(&s, A, 0x1002, HB, 1, LAST);
        put(g->bytes, AT_SEQ_ID, 1, f->bytes[AT_SEQ_ID]);
        put(g->bytes, AT_WORD_7, 4, 16);
        g->sof = FCVI_SOF_N3;
        counts(g, 0, 8);
        expect(&s, WHOLE, "FCVI-5.8.6-01", 7, "the SEQ_CNT of a frame that nobody refused");
    }
}
END_TEST

START_TEST(retries_follow_an_abort)
{
    struct stream s = stream();
    request(&s, 0x1001, 7, A, HA, 1);
    frame(&s, 0x81, A, B, 0, FIRST | LAST | END, 0x1001, 0);
    request(&s, 0x1002, 8, A, HA, 0x11);
    put(answer(&s, 0x1002, 8, B, HB, 0)->bytes, AT_FLAGS, 1, 4);
    put(resp2(&s, 0x1002, 8, A, HB)->bytes, AT_FLAGS, 1, 4);
    expect(&s, WHOLE, NULL, 0, "a retry");
    remove_frame(&s, 2);
    expect(&s, WHOLE, "FCVI-8.5.3-a", 4, "a retry of a setup that was not aborted");
    expect(&s, FCVI_TRUST_ALL | FCVI_TRUST_ORDER, NULL, 0, "the same, where the beginning may be missing");
}
END_TEST

/* ---- 7.5, 7.7.1 ---- */

START_TEST(logouts_end_connections_for_good)
{
    struct stream s = stream();
    login(&s);
    setup(&s, 0x1001, 7, HA, HB, 1);
    els(&s, 0x05, A, false, 16);
    els(&s, 0x02, B, true, 4);
    login(&s);
    send_one(&s, A, 0x1002, HB, 1, LAST);
    expect(&s, WHOLE, "FCVI-7.7.1-05", 11, "a Message over a Connection that the sender's LOGO has ended");
    expect(&s, FCVI_TRUST_ALL | FCVI_TRUST_ORDER, NULL, 0, "the same, where the beginning may be missing");
    s.count = 10;
    send_one(&s, B, 0x2002, HA, 1, LAST);
    expect(&s, WHOLE, "FCVI-7.7.1-05", 11, "the same of the port that accepted the LOGO");
    s.count = 8;
    send_one(&s, A, 0x1002, HB, 1, LAST);
    expect(&s, WHOLE, "FCVI-7.7.1-05", 9, "a Message right after the LOGO");
}
END_TEST

/* A login whose PLOGI is under way survives the LOGO that it crosses; one that is older than any frame does
 * not. */
START_TEST(a_logout_ends_what_is_settled)
{
    struct stream s = stream();
    login(&s);
    els(&s, 0x03, A, false, 116);
    els(&s, 0x05, A, false, 16);
    setup(&s, 0x1001, 7, HA, HB, 1);
    later(&s, 2, 2 * R_A_TOV);
    expect(&s, WHOLE, NULL, 0, "a setup after a PLOGI that crossed a LOGO");
    s = stream();
    send_one(&s, A, 0x1002, HB, 1, LAST);
    send_one(&s, B, 0x2002, HA, 1, LAST);
    els(&s, 0x05, A, false, 16);
    send_one(&s, A, 0x1003, HB, 2, LAST);
    later(&s, 2, 2 * R_A_TOV - 2000);
    expect(&s, FCVI_TRUST_ALL | FCVI_TRUST_ORDER, "FCVI-7.7.1-05", 4,
           "a Message after a LOGO 2 R_A_TOV after the beginning");
    s.frame[2].time--;
    expect(&s, FCVI_TRUST_ALL | FCVI_TRUST_ORDER, NULL, 0, "the same a microsecond earlier");
}
END_TEST

START_TEST(farps_name_their_ports)
{
    struct stream s = stream();
    login(&s);
    struct made *f = els(&s, 0x55, B, false, 76);
    put(f->bytes, BODY + 1, 3, A);
    put(f->bytes, BODY + 5, 3, B);
    expect(&s, WHOLE, NULL, 0, "a FARP-REPLY");
    put(f->bytes, BODY + 1, 3, C);
    expect(&s, WHOLE, "FCVI-7.5-18", 3, "a FARP-REPLY to another port");
    put(f->bytes, BODY + 1, 3, A);
    put(f->bytes, BODY + 5, 3, C);
    expect(&s, WHOLE, "FCVI-7.5-20", 3, "a FARP-REPLY for another port");
    put(f->bytes, BODY + 5, 3, B);
    put(f->bytes, BODY + 8, 8, 5);
    expect(&s, WHOLE, NULL, 0,
           "a FARP-REPLY with another Port_Name than the login, from whose port the LIP took the AL_PA");
    f->bytes[24] = 0x54;
    put(f->bytes, BODY + 1, 3, B);
    expect(&s, WHOLE, NULL, 0, "a FARP-REQ");
    put(f->bytes, BODY + 1, 3, A);
    expect(&s, WHOLE, "FCVI-7.5-03", 3, "a FARP-REQ for another port");
}
END_TEST

/* RFC 2625 5.3: fields that the reply has unchanged, whichever FC-4 of the port sends it. */
START_TEST(farp_replies_repeat_what_was_asked)
{
    static const struct {
        unsigned at, bytes;
        const char *requirement;
    } field[] = {{BODY, 1, "FCVI-7.5-17"}, {BODY + 4, 1, "FCVI-7.5-19"}, {BODY + 8, 8, "FCVI-7.5-21"}};
    for (unsigned i = 0; i < 3; i++) {
        struct stream s = stream();
        for (unsigned n = 0; n < 3; n++) { /* two FARP-REQs and the reply */
            struct made *f = els(&s, n == 2 ? 0x55 : 0x54, n == 2 ? B : A, false, 76);
            put(f->bytes, BODY, 1, 4);
            put(f->bytes, BODY + 1, 3, A);
            put(f->bytes, BODY + 4, 1, 2);
            put(f->bytes, BODY + 5, 3, n == 2 ? B : 0);
        }
        expect(&s, WHOLE, NULL, 0, "a FARP-REPLY");
        put(s.frame[2].bytes, field[i].at, field[i].bytes, 1);
        expect(&s, WHOLE, field[i].requirement, 3, "a FARP-REPLY with something else");
        expect(&s, FCVI_TRUST_ALL | FCVI_TRUST_ORDER, NULL, 0,
               "the same, where the beginning may be missing");
        put(s.frame[1].bytes, field[i].at, field[i].bytes, 1);
        expect(&s, WHOLE, NULL, 0, "a FARP-REPLY to one of two FARP-REQs that differ");
        put(s.frame[1].bytes, field[i].at, field[i].bytes, i == 0 ? 4 : i == 1 ? 2 : 0);
        struct made ask = s.frame[0], again = s.frame[1], reply = s.frame[2];
        s.count = 0;
        login(&s);
        put(s.frame[0].bytes, BODY + 16, 8, 1); /* Port_Name */
        s.frame[2] = ask, s.frame[3] = again, s.frame[4] = reply;
        s.count = 5;
        expect(&s, WHOLE, i == 2 ? NULL : field[i].requirement, i == 2 ? 0 : 5,
               "a FARP-REPLY with the name of the login");
    }
}
END_TEST

/* What is not remembered is not judged: the ports that ask first are. */
START_TEST(farps_of_many_ports)
{
    struct stream s = stream();
    for (uint32_t n = 0; n < 20; n++) {
        struct made *f = frame(&s, 0x22, 0x010100 + n, B, 0x01, FIRST | END | INITIATIVE, 0x5001, 76);
        f->bytes[24] = 0x54;
        put(f->bytes, BODY + 1, 3, 0x010100 + n);
        put(f->bytes, BODY, 1, 4);
        put(f->bytes, BODY + 4, 1, 2);
    }
    for (unsigned n = 0; n < 20; n += 19) {
        struct made *f = frame(&s, 0x22, B, 0x010100 + n, 0x01, FIRST | END | INITIATIVE, 0x5002, 76);
        f->bytes[24] = 0x55;
        put(f->bytes, BODY + 1, 3, 0x010100 + n);
        put(f->bytes, BODY + 5, 3, B);
        put(f->bytes, BODY, 1, n == 0 ? 4 : 1);
        put(f->bytes, BODY + 4, 1, 2);
    }
    expect(&s, WHOLE, NULL, 0, "a FARP-REPLY to a port that is not remembered");
    put(s.frame[20].bytes, BODY, 1, 1);
    expect(&s, WHOLE, "FCVI-7.5-17", 21, "a FARP-REPLY to one that is");
    put(s.frame[0].bytes, BODY, 1, 6);
    expect(&s, WHOLE, NULL, 0, "a FARP-REPLY to what another FC-4 may answer in its own way");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("monitor of a whole view");
    TCase *t = tcase_create("rules");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, handles_may_be_cut);
    tcase_add_test(t, aborts_and_logouts_close_all_sequences);
    tcase_add_test(t, sequences_have_one_class_and_one_type);
    tcase_add_test(t, nobody_acknowledges_class_3);
    tcase_add_test(t, resp2_has_the_name_of_the_responder);
    tcase_add_test(t, fcvi_ports_log_in_with_s_and_c);
    tcase_add_test(t, accepts_exchange_the_addresses);
    tcase_add_test(t, a_reserved_reason_is_repeated);
    tcase_add_test(t, a_reserved_reason_without_the_refusal);
    tcase_add_test(t, an_answer_that_does_not_end);
    tcase_add_test(t, messages_keep_to_the_attributes);
    tcase_add_test(t, lower_names_answer_by_table_2);
    tcase_add_test(t, only_the_lower_name_refuses_with_05h);
    tcase_add_test(t, setup_aborts_have_the_handle_that_is_known);
    tcase_add_test(t, endpoints_in_error_send_nothing);
    tcase_add_test(t, what_was_not_sent_waits_for_nothing);
    tcase_add_test(t, only_a_refusal_brings_a_frame_back);
    tcase_add_test(t, retries_follow_an_abort);
    tcase_add_test(t, logouts_end_connections_for_good);
    tcase_add_test(t, a_logout_ends_what_is_settled);
    tcase_add_test(t, farps_name_their_ports);
    tcase_add_test(t, farp_replies_repeat_what_was_asked);
    tcase_add_test(t, farps_of_many_ports);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
