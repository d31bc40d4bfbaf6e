/* Rules of the monitor that show in which frames come, and in what order: setups, retries, identifiers in
 * use, what follows an end, class 2, logins, errata; and what the monitor does when it runs out of room. */
#include "stream.h"

static struct stream stream(void)
{
    return (struct stream){.sof_i = FCVI_SOF_I3, .sof_n = FCVI_SOF_N3};
}

/* ---- 5.3, 5.9.3, 8.1: setups and what needs one ---- */

START_TEST(setup_ius_come_in_order)
{
    static const struct {
        unsigned without, shows;
        const char *requirement;
    } cases[] = {{1, 1, "FCVI-5.3.1-05"}, {2, 2, "FCVI-5.3.1-05"}};
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    remove_frame(&s, cases[_i].without);
    s.count = cases[_i].shows;
    expect(&s, WHOLE, cases[_i].requirement, cases[_i].shows, "a setup IU is missing");
    expect(&s, 0, NULL, 0, "a setup IU is missing");
}
END_TEST

START_TEST(setup_iu_comes_once)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    insert_copy(&s, 2, 3);
    s.count = 3;
    put(s.frame[2].bytes, AT_SEQ_ID, 1, 77);
    put(s.frame[2].bytes, AT_SEQ_CNT, 2, 1);
    put(s.frame[2].bytes, AT_PARAMETER, 4, 340);
    put(s.frame[0].bytes, AT_F_CTL, 3, FIRST | END | INITIATIVE | OFFSET);
    expect(&s, WHOLE, "FCVI-5.3.1-05", 3, "a second CONNECT_RESP1");
}
END_TEST

START_TEST(message_needs_a_connection)
{
    struct stream s = stream();
    send_one(&s, A, 0x1002, HB, 1, LAST);
    expect(&s, WHOLE, "FCVI-4.2-01", 1, "a Message without a setup");
    expect(&s, FCVI_TRUST_ALL | FCVI_TRUST_ORDER, NULL, 0, "a Message whose setup is older than the capture");
}
END_TEST

START_TEST(message_waits_for_the_own_end_of_the_setup)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    s.count = 2; /* the client has not sent RESP2 */
    send_one(&s, A, 0x1002, HB, 1, LAST);
    expect(&s, WHOLE, "FCVI-5.9.3-03", 3, "a client's Message before RESP2");
    s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    s.count = 3; /* the server has not sent RESP3; the client may send (E74) */
    send_one(&s, A, 0x1002, HB, 1, LAST);
    send_one(&s, B, 0x2002, HA, 1, LAST);
    expect(&s, WHOLE, "FCVI-5.9.3-03", 5, "a server's Message before RESP3");
}
END_TEST

START_TEST(no_message_after_the_own_disconnect)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    disconnect(&s, A, 0x1002, HB, false);
    send_one(&s, B, 0x2001, HA, 1, LAST); /* B has not heard of it yet */
    expect(&s, WHOLE, NULL, 0, "a Message that crosses a Disconnect");
    send_one(&s, A, 0x1003, HB, 1, LAST);
    expect(&s, WHOLE, "FCVI-8.1-01", 7, "a Message after the sender's Disconnect");
    expect(&s, 0, NULL, 0, "a Message after the sender's Disconnect");
}
END_TEST

START_TEST(message_goes_to_the_port_of_its_handle)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *f = send_one(&s, A, 0x1002, HB, 1, LAST);
    put(f->bytes, 5, 3, C);
    expect(&s, WHOLE, "FCVI-5.9.2-01", 5, "a Message of a third port");
}
END_TEST

/* ---- 8.4, 8.5: handles, retries, FCVI_CONNECTION_IDs ---- */

static struct made *request(struct stream *s, uint16_t ox_id, uint32_t id, uint32_t handle, uint32_t to,
                            bool retry)
{
    struct made *f = iu(s, 0x10, 0x02, A, to, FIRST | END | INITIATIVE | OFFSET, ox_id, 0xFFFFFFFF, 340);
    put(f->bytes, AT_FLAGS, 1, retry ? 0x11 : 1);
    put(f->bytes, AT_WORD_7, 4, id);
    connect_payload(f, handle, 1);
    return f;
}

START_TEST(handles_in_use_are_not_given_again)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    request(&s, 0x1002, 8, HA, C, false);
    expect(&s, WHOLE, "FCVI-4.2-09", 5, "the handle of an open Connection for another port");
    expect(&s, FCVI_TRUST_ORDER, NULL, 0, "the same, where a logout may be missing");
    s.frame[4].time += 20000000;
    expect(&s, FCVI_TRUST_ORDER, NULL, 0, "the same later than R_A_TOV in a capture with holes");
    s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    disconnect(&s, A, 0x1002, HB, false);
    disconnect(&s, B, 0x1002, HA, true);
    setup(&s, 0x1003, 8, HA, HB, 1);
    expect(&s, WHOLE, NULL, 0, "a handle after a Disconnect");
    s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    request(&s, 0x1002, 8, HA, B, true);
    expect(&s, WHOLE, NULL, 0, "a retry has the handle of the first try");
    s.count = 4;
    send_one(&s, A, 0x1003, HB, 1, LAST);
    request(&s, 0x1002, 8, HA, B, true);
    expect(&s, WHOLE, "FCVI-8.5.4-a1", 6, "a retry after a Message over the Connection");
    expect(&s, FCVI_TRUST_ORDER, NULL, 0, "the same in a capture with holes");
}
END_TEST

START_TEST(retries_repeat_the_handle_with_a_new_id)
{
    struct stream s = stream();
    request(&s, 0x1001, 7, HA, B, false);
    frame(&s, 0x81, A, B, 0, FIRST | LAST | END, 0x1001, 0); /* ABTS */
    request(&s, 0x1002, 8, HA, B, true);
    expect(&s, WHOLE, NULL, 0, "a retry");
    put(s.frame[2].bytes, AT_WORD_7, 4, 7);
    expect(&s, WHOLE, "FCVI-8.5.4-a1", 3, "a retry with the ID of the first try");
    s.frame[1].crc = FCVI_CRC_BAD;
    expect(&s, WHOLE, NULL, 0, "a retry whose first try may be the frame that was damaged");
    s.frame[1].crc = FCVI_CRC_OK;
    put(s.frame[2].bytes, AT_WORD_7, 4, 8);
    put(s.frame[2].bytes, AT_CONN_HANDLE, 4, 0x77);
    expect(&s, WHOLE, "FCVI-8.5.4-a1", 3, "a retry with another handle");
    expect(&s, FCVI_TRUST_ALL | FCVI_TRUST_ORDER, NULL, 0, "a retry whose first try may be older");
}
END_TEST

START_TEST(connection_ids_are_unique_while_open)
{
    struct stream s = stream();
    request(&s, 0x1001, 7, HA, B, false);
    request(&s, 0x1002, 7, HA + 1, C, false);
    expect(&s, WHOLE, "FCVI-5.9.10-03", 2, "the ID of an open setup");
    expect(&s, 0, NULL, 0, "the ID of an open setup");
    s = stream();
    request(&s, 0x1001, 7, HA, B, false);
    frame(&s, 0x81, A, B, 0, FIRST | LAST | END, 0x1001, 0);
    request(&s, 0x1002, 8, HA + 1, C, false);
    expect(&s, WHOLE, NULL, 0, "another ID than that of an aborted setup");
}
END_TEST

START_TEST(setup_aborts_name_a_setup)
{
    struct stream s = stream();
    request(&s, 0x1001, 7, HA, B, false);
    struct made *f = disconnect(&s, A, 0x1002, 0xFFFFFFFF, false);
    put(f->bytes, AT_FLAGS, 1, 6);
    put(f->bytes, AT_WORD_7, 4, 7);
    expect(&s, WHOLE, NULL, 0, "an abort of a setup");
    put(f->bytes, AT_WORD_7, 4, 9);
    expect(&s, WHOLE, "FCVI-6.12.2-14", 2, "an abort of no setup");
    expect(&s, FCVI_TRUST_ALL | FCVI_TRUST_ORDER, NULL, 0, "an abort of a setup older than the capture");
    f = disconnect(&s, B, 0x3001, 0xFFFFFFFF, true);
    put(f->bytes, AT_FLAGS, 1, 6);
    put(s.frame[1].bytes, AT_WORD_7, 4, 7);
    expect(&s, WHOLE, "FCVI-6.13.1-01", 3, "an answer to no DISCONNECT_RQST");
}
END_TEST

/* ---- 5.4, 5.5: Exchanges and Sequences ---- */

START_TEST(exchanges_begin_once_and_end)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    send_one(&s, A, 0x1002, HB, 1, LAST);
    send_one(&s, A, 0x1002, HB, 2, LAST);
    expect(&s, WHOLE, NULL, 0, "an OX_ID used again at once (5.4)");
    struct made *f = send_one(&s, A, 0x1002, HB, 2, LAST);
    put(f->bytes, AT_F_CTL, 3, LAST | END | OFFSET);
    put(f->bytes, AT_WORD_7, 4, 16);
    put(f->bytes, AT_SEQ_CNT, 2, 1);
    put(f->bytes, AT_PARAMETER, 4, 8);
    put(s.frame[5].bytes, AT_WORD_7, 4, 8);
    expect(&s, WHOLE, "FCVI-5.4-01", 7, "a frame after the end of its Exchange");
    expect(&s, 0, "FCVI-5.4-01", 7, "a frame after the end of its Exchange");
}
END_TEST

START_TEST(who_answers_at_a_level_that_was_not_seen_does_not_go_on)
{
    enum { NO_START = FCVI_TRUST_ALL | FCVI_TRUST_ORDER };
    for (unsigned end = LAST; end <= (LAST | INITIATIVE); end += INITIATIVE) {
        struct stream s = stream();
        send_one(&s, A, 0x1002, HB, 1, end);
        struct made *f = iu(&s, 0x08, 0x07, B, A, CONTEXT | LAST | END, 0x1002, HA, 0);
        put(f->bytes, AT_MSG_ID, 4, 1);
        expect(&s, NO_START, NULL, 0, "a response where one may be due");
        f = iu(&s, 0x08, 0x07, B, A, CONTEXT | LAST | END, 0x1002, HA, 0);
        put(f->bytes, AT_MSG_ID, 4, 1);
        put(f->bytes, AT_SEQ_CNT, 2, 1);
        expect(&s, NO_START | FCVI_TRUST_ONCE, "FCVI-5.4-01", 3, "a second response");
    }
}
END_TEST

START_TEST(ox_ids_are_not_used_while_open)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *f = send_one(&s, A, 0x1002, HB, 1, 0);
    put(f->bytes, AT_WORD_7, 4, 16); /* eight bytes are to come */
    send_one(&s, A, 0x1002, HB, 2, LAST);
    expect(&s, WHOLE, "FCVI-4.2-02", 6, "the OX_ID of an open Exchange");
    expect(&s, 0, NULL, 0, "the OX_ID of an Exchange whose end may be missing");
}
END_TEST

START_TEST(seq_ids_are_not_used_while_open)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *f = send_one(&s, A, 0x1002, HB, 1, 0);
    put(f->bytes, AT_F_CTL, 3, FIRST | OFFSET);
    put(f->bytes, AT_WORD_7, 4, 16);
    f->eof = FCVI_EOF_N;
    f = send_one(&s, A, 0x1003, HB, 2, LAST);
    expect(&s, WHOLE, NULL, 0, "two Messages at once");
    put(f->bytes, AT_SEQ_ID, 1, 5);
    expect(&s, WHOLE, "FCVI-5.5-02", 6, "the SEQ_ID of an open Sequence");
    expect(&s, FCVI_TRUST_ORDER, NULL, 0, "the SEQ_ID of a Sequence whose end may be missing");
}
END_TEST

static struct made *ack(struct stream *s, const struct made *of, uint32_t from, uint32_t to)
{
    struct made *f =
        frame(s, 0xC0, from, to, 0, CONTEXT | 0x400000, (uint16_t)get(of->bytes, AT_OX_ID, 2), 0);
    put(f->bytes, AT_SEQ_ID, 1, of->bytes[AT_SEQ_ID]);
    put(f->bytes, AT_SEQ_CNT, 2, get(of->bytes, AT_SEQ_CNT, 2));
    f->sof = FCVI_SOF_N2;
    f->eof = FCVI_EOF_T;
    return f;
}

/* 5.5 in class 2: closed when every frame has its ACK. */
START_TEST(class2_sequences_wait_for_acks)
{
    struct stream s = {.sof_i = FCVI_SOF_I2, .sof_n = FCVI_SOF_N2};
    setup(&s, 0x1001, 7, HA, HB, 1);
    for (unsigned i = 0; i < s.count; i++)
        s.frame[i].eof = FCVI_EOF_N;
    struct made *f = send_one(&s, A, 0x1002, HB, 1, LAST);
    f->eof = FCVI_EOF_N;
    struct made *g = send_one(&s, A, 0x1003, HB, 2, LAST);
    put(g->bytes, AT_SEQ_ID, 1, f->bytes[AT_SEQ_ID]);
    g->eof = FCVI_EOF_N;
    expect(&s, WHOLE, "FCVI-5.5-05", 6, "a SEQ_ID used again before its ACK");
    s.count--;
    ack(&s, f, B, A);
    struct made again = *f;
    put(again.bytes, AT_OX_ID, 2, 0x1003);
    put(again.bytes, AT_MSG_ID, 4, 2);
    s.frame[s.count++] = again;
    expect(&s, WHOLE, NULL, 0, "a SEQ_ID used again after its ACK");
}
END_TEST

/* A Sequence of two frames, the second with SOFn2; ACK_0 stands for both. */
START_TEST(class2_sequences_wait_for_every_ack)
{
    struct stream s = {.sof_i = FCVI_SOF_I2, .sof_n = FCVI_SOF_N2};
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *first = send_one(&s, A, 0x1002, HB, 1, 0);
    put(first->bytes, AT_F_CTL, 3, FIRST | OFFSET);
    put(first->bytes, AT_WORD_7, 4, 16);
    struct made *second = iu(&s, 0x00, 0x01, A, B, FIRST | LAST | END | OFFSET, 0x1002, HB, 8);
    message(second, 1, 16);
    counts(second, 1, 8);
    second->bytes[AT_SEQ_ID] = first->bytes[AT_SEQ_ID];
    second->sof = FCVI_SOF_N2;
    first->eof = second->eof = FCVI_EOF_N;
    struct made *of_first = ack(&s, first, B, A), *of_second = ack(&s, second, B, A);
    struct made *next = send_one(&s, A, 0x1003, HB, 2, LAST);
    next->bytes[AT_SEQ_ID] = first->bytes[AT_SEQ_ID];
    expect(&s, WHOLE, NULL, 0, "the SEQ_ID after two ACKs");
    put(of_second->bytes, AT_SEQ_ID, 1, 0x77);
    expect(&s, WHOLE, "FCVI-5.5-05", 9, "the SEQ_ID after one ACK of two");
    put(of_second->bytes, AT_R_CTL, 1, 0xC1);
    expect(&s, WHOLE, "FCVI-5.5-05", 9, "the SEQ_ID after an ACK_0 of another Sequence");
    put(of_first->bytes, AT_R_CTL, 1, 0xC1);
    expect(&s, WHOLE, NULL, 0, "the SEQ_ID after ACK_0");
}
END_TEST

START_TEST(acks_answer_frames)
{
    struct stream s = {.sof_i = FCVI_SOF_I2, .sof_n = FCVI_SOF_N2};
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *f = send_one(&s, A, 0x1002, HB, 1, LAST);
    f = ack(&s, f, B, A);
    expect(&s, WHOLE, NULL, 0, "an ACK");
    put(f->bytes, AT_SEQ_CNT, 2, 3);
    expect(&s, WHOLE, "FCVI-5.8.1-01", 6, "an ACK of a frame that was not sent");
    expect(&s, 0, NULL, 0, "an ACK of a frame that may be missing");
}
END_TEST

/* FC-FS: what busy sent back may come again, with the same SEQ_CNT. */
START_TEST(busy_frames_come_again)
{
    struct stream s = {.sof_i = FCVI_SOF_I2, .sof_n = FCVI_SOF_N2};
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *f = send_one(&s, A, 0x1002, HB, 1, LAST);
    struct made *busy = ack(&s, f, B, A);
    struct made again = *f;
    s.frame[s.count++] = again;
    send_one(&s, A, 0x1003, HB, 2, LAST);
    expect(&s, WHOLE, "FCVI-5.9.6-04", 7, "a Message sent twice"); /* as the second Message */
    put(busy->bytes, AT_R_CTL, 1, 0xC4);
    expect(&s, WHOLE, NULL, 0, "a frame sent again after P_BSY");
}
END_TEST

START_TEST(only_the_holder_of_the_initiative_sends)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    struct made *f = send_one(&s, A, 0x1002, HB, 1, INITIATIVE);
    f = send_one(&s, A, 0x1002, HB, 1, INITIATIVE);
    put(f->bytes, AT_F_CTL, 3, END | OFFSET | INITIATIVE);
    counts(f, 1, 8);
    f->length = AT_PAYLOAD; /* no more data: only the initiative is wrong */
    expect(&s, WHOLE, "FCVI-5.8.1-01", 6, "a Sequence without the initiative");
    expect(&s, 0, NULL, 0, "a Sequence whose initiative may be missing");
}
END_TEST

START_TEST(nothing_follows_an_abort)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *f = send_one(&s, A, 0x1002, HB, 1, 0);
    put(f->bytes, AT_WORD_7, 4, 16);
    frame(&s, 0x81, A, B, 0, FIRST | LAST | END, 0x1002, 0);
    f = frame(&s, 0x84, B, A, 0, CONTEXT | LAST | END, 0x1002, 12);
    put(f->bytes, 24 + 4, 2, 0x1002);
    expect(&s, WHOLE, NULL, 0, "an abort");
    put(f->bytes, 24 + 4, 2, 0x1003);
    expect(&s, WHOLE, "FCVI-5.8.1-01", 7, "a BA_ACC of another Exchange");
    expect(&s, 0, "FCVI-5.8.1-01", 7, "a BA_ACC of another Exchange");
    put(f->bytes, 24 + 4, 2, 0x1002);
    f = iu(&s, 0x00, 0x01, A, B, LAST | END | OFFSET, 0x1002, HB, 8);
    message(f, 1, 16);
    counts(f, 1, 8);
    expect(&s, WHOLE, "FCVI-5.8.1-01", 8, "a frame after the sender's ABTS");
}
END_TEST

/* E38: a Disconnect has an Exchange of its own. */
START_TEST(ius_have_their_exchange)
{
    struct stream s = stream();
    request(&s, 0x1001, 7, HA, B, false);
    struct made *f = disconnect(&s, A, 0x1001, 0xFFFFFFFF, false);
    put(f->bytes, AT_FLAGS, 1, 6);
    put(f->bytes, AT_WORD_7, 4, 7);
    counts(f, 1, 0);
    expect(&s, WHOLE, "FCVI-T01-DISCONNECT_RQST-pos", 2, "a Disconnect within the setup's Exchange");
}
END_TEST

/* E44: a CONNECT_RQST in two frames; its fields stand in either. */
static void request_in_two(struct stream *s)
{
    struct made *f = request(s, 0x1001, 7, HA, B, false);
    struct made rest = *f;
    f->length = AT_PAYLOAD + 200;
    f->eof = FCVI_EOF_N;
    put(f->bytes, AT_F_CTL, 3, FIRST | OFFSET);
    memmove(rest.bytes + AT_PAYLOAD, rest.bytes + AT_PAYLOAD + 200, 140);
    rest.length = AT_PAYLOAD + 140;
    rest.sof = FCVI_SOF_N3;
    counts(&rest, 1, 200);
    s->frame[s->count++] = rest;
}

START_TEST(ius_in_several_frames)
{
    struct stream s = stream();
    request_in_two(&s);
    expect(&s, WHOLE, NULL, 0, "a CONNECT_RQST in two frames");
    s.frame[1].sof = FCVI_SOF_I3;
    expect(&s, WHOLE, "FCVI-4.2-04", 2, "SOFi3 within a Sequence");
    s.frame[1].sof = FCVI_SOF_N3;
    s.frame[0].sof = FCVI_SOF_N3;
    expect(&s, WHOLE, "FCVI-4.2-04", 1, "SOFn3 at the start of a Sequence");
    s.frame[0].sof = FCVI_SOF_I3;
    put(s.frame[1].bytes, AT_WORD_7, 4, 8);
    expect(&s, WHOLE, "FCVI-6.8.2-08", 2, "FCVI_CONNECTION_ID changes within the IU");
    put(s.frame[1].bytes, AT_WORD_7, 4, 7);
    /* the level stands in the second frame */
    struct made *f = iu(&s, 0x18, 0x03, B, A, CONTEXT | END | INITIATIVE | OFFSET, 0x1001, 0xFFFFFFFF, 340);
    put(f->bytes, AT_WORD_7, 4, 7);
    connect_payload(f, HB, 2);
    expect(&s, WHOLE, "FCVI-4.2-39", 3, "another Reliability Level");
}
END_TEST

START_TEST(frames_not_understood_excuse_what_follows)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    put(s.frame[1].bytes, AT_OPCODE, 1, 0x55);
    send_one(&s, A, 0x1002, HB, 9, LAST);
    expect(&s, WHOLE, NULL, 0, "a setup with an unknown IU");
    put(s.frame[1].bytes, AT_OPCODE, 1, 0x18);
    put(s.frame[1].bytes, AT_F_CTL, 3, END | INITIATIVE | OFFSET);
    expect(&s, WHOLE, NULL, 0, "a CONNECT_RESP1 of the wrong side");
}
END_TEST

/* ---- 5.2: what a level allows ---- */

START_TEST(responses_need_reliable_reception)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 2);
    send_one(&s, A, 0x1002, HB, 1, INITIATIVE | LAST);
    struct made *f = iu(&s, 0x08, 0x07, B, A, CONTEXT | LAST | END, 0x1002, HA, 0);
    message(f, 1, 0);
    s.frame[4].bytes[AT_F_CTL] =
        0x28 | 0x01; /* First, End, Initiative: the request's own fault is not Last */
    put(s.frame[4].bytes, AT_F_CTL, 3, FIRST | END | LAST | OFFSET);
    put(s.frame[5].bytes, AT_OX_ID, 2, 0x1002);
    expect(&s, FCVI_TRUST_ALL, "FCVI-6.3.1-03", 6, "FCVI_SEND_RESP in Reliable Delivery");
    expect(&s, 0, NULL, 0, "the same, where the handle may have been freed");
    s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    f = iu(&s, 0x02, 0x06, A, B, FIRST | END | INITIATIVE, 0x1002, HB, 0);
    message(f, 1, 16);
    expect(&s, WHOLE, "FCVI-6.6.1-02", 5, "an RDMA Read in Unreliable Delivery");
    expect(&s, FCVI_TRUST_ALL, "FCVI-6.6.1-02", 5, "an RDMA Read in Unreliable Delivery");
    expect(&s, 0, NULL, 0, "the same, where the handle may have been freed");
}
END_TEST

START_TEST(responses_need_a_request)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    struct made *f = iu(&s, 0x08, 0x07, B, A, CONTEXT | LAST | END, 0x1002, HA, 0);
    message(f, 1, 0);
    expect(&s, WHOLE, "FCVI-5.2.1-01", 5, "a response without a request");
    expect(&s, 0, NULL, 0, "a response whose request may be missing");
}
END_TEST

START_TEST(the_exchange_stays_open_for_a_response)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    struct made *f = send_one(&s, A, 0x1002, HB, 1, LAST);
    expect(&s, WHOLE, "FCVI-6.2.1-05", 5, "Last_Sequence where a response is due");
    expect(&s, FCVI_TRUST_ALL, "FCVI-6.2.1-05", 5, "Last_Sequence where a response is due");
    expect(&s, 0, NULL, 0, "the same, where the handle may have been freed");
    put(f->bytes, AT_F_CTL, 3, FIRST | END | OFFSET);
    expect(&s, WHOLE, "FCVI-5.8.4-02", 5, "no Sequence Initiative where a response is due");
    put(f->bytes, AT_OPCODE, 1, 1);
    put(f->bytes, AT_F_CTL, 3, FIRST | END | LAST | OFFSET);
    expect(&s, WHOLE, "FCVI-6.4.1-06", 5, "Last_Sequence where a response is due");
}
END_TEST

START_TEST(messages_are_as_long_as_they_say)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *f = send_one(&s, A, 0x1002, HB, 1, LAST);
    put(f->bytes, AT_WORD_7, 4, 9);
    expect(&s, WHOLE, "FCVI-5.9.10-01", 5, "a Message that ends early");
    expect(&s, 0, "FCVI-5.9.10-01", 5, "a Message that ends early");
    s = stream();
    setup(&s, 0x1001, 7, HA, HB, 2);
    f = iu(&s, 0x02, 0x06, A, B, FIRST | END | INITIATIVE, 0x1002, HB, 0);
    message(f, 1, 4);
    f = iu(&s, 0x0A, 0x01, B, A, CONTEXT | LAST | END | OFFSET, 0x1002, HA, 8);
    message(f, 1, 4);
    expect(&s, WHOLE, "FCVI-5.9.10-01", 6, "a READ_RESP that goes beyond what was asked");
    put(f->bytes, AT_FLAGS, 1, 5); /* E42: RESP_ERR */
    expect(&s, WHOLE, NULL, 0, "a READ_RESP that failed");
    put(f->bytes, AT_FLAGS, 1, 0);
    f->length = AT_PAYLOAD + 4;
    expect(&s, WHOLE, NULL, 0, "a READ_RESP of the length asked");
    put(f->bytes, AT_WORD_7, 4, 8);
    put(f->bytes, AT_PARAMETER, 4, 0);
    f->length = AT_PAYLOAD + 8;
    expect(&s, WHOLE, "FCVI-6.7.2-11", 6, "a READ_RESP with another FCVI_TOT_LEN");
}
END_TEST

START_TEST(read_responses_repeat_the_region)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 2);
    struct made *f = iu(&s, 0x02, 0x06, A, B, FIRST | END | INITIATIVE, 0x1002, HB, 0);
    message(f, 1, 8);
    region(f, 0x1000, 5);
    f = iu(&s, 0x0A, 0x01, B, A, CONTEXT | LAST | END | OFFSET, 0x1002, HA, 8);
    message(f, 1, 8);
    region(f, 0x1000, 6);
    expect(&s, WHOLE, "FCVI-6.7.2-09", 6, "another FCVI_RMT_VA_HANDLE");
    expect(&s, FCVI_TRUST_ALL, "FCVI-6.7.2-09", 6, "another FCVI_RMT_VA_HANDLE");
    expect(&s, 0, NULL, 0, "the same, where the handle may have been freed");
    region(f, 0x2000, 5);
    expect(&s, FCVI_TRUST_ALL, "FCVI-6.7.2-07", 6, "another FCVI_RMT_VA");
    region(f, 0x1000, 5);
    put(f->bytes, AT_MSG_ID, 4, 2);
    expect(&s, WHOLE, "FCVI-6.7.2-04", 6, "another FCVI_MSG_ID");
    put(f->bytes, AT_MSG_ID, 4, 1);
    put(f->bytes, AT_HANDLE, 4, 0x99);
    expect(&s, WHOLE, "FCVI-6.7.2-02", 6, "another handle");
}
END_TEST

START_TEST(immediate_data_stay)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *f = iu(&s, 0x00, 0x01, A, B, FIRST | END | OFFSET, 0x1002, HB, 8);
    message(f, 1, 16);
    put(f->bytes, AT_FLAGS, 1, 1);
    put(f->bytes, AT_FCVI_PARAMETER, 4, 5);
    f = iu(&s, 0x00, 0x01, A, B, LAST | END | OFFSET, 0x1002, HB, 8);
    message(f, 1, 16);
    counts(f, 1, 8);
    expect(&s, 0, "FCVI-6.2.2-05", 6, "the last IU lacks Immediate Data");
    put(f->bytes, AT_FLAGS, 1, 1);
    put(f->bytes, AT_FCVI_PARAMETER, 4, 6);
    expect(&s, 0, "FCVI-6.2.2-06", 6, "other Immediate Data");
    put(f->bytes, AT_FCVI_PARAMETER, 4, 5);
    expect(&s, WHOLE, NULL, 0, "Immediate Data in every IU (E43)");
}
END_TEST

START_TEST(immediate_data_are_those_of_the_whole_iu)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *f = iu(&s, 0x00, 0x01, A, B, FIRST | OFFSET, 0x1002, HB, 8);
    message(f, 1, 16);
    f = iu(&s, 0x00, 0x01, A, B, FIRST | LAST | END | OFFSET, 0x1002, HB, 8);
    message(f, 1, 16);
    put(f->bytes, AT_SEQ_ID, 1, s.frame[4].bytes[AT_SEQ_ID]);
    f->sof = s.sof_n;
    counts(f, 1, 8);
    expect(&s, WHOLE, NULL, 0, "no Immediate Data");
    put(f->bytes, AT_FLAGS, 1, 1);
    put(f->bytes, AT_FCVI_PARAMETER, 4, 5);
    expect(&s, WHOLE, "FCVI-6.2.2-05", 6, "IMM_DATA in the second frame only");
    expect(&s, 0, NULL, 0, "the same, where the first frames of another IU may be missing");
    put(s.frame[4].bytes, AT_FLAGS, 1, 1);
    expect(&s, WHOLE, "FCVI-6.2.2-06", 6, "FCVI_PARAMETER in the second frame only");
    put(s.frame[4].bytes, AT_FCVI_PARAMETER, 4, 5);
    expect(&s, WHOLE, NULL, 0, "Immediate Data in both frames");
    put(s.frame[4].bytes, AT_FLAGS, 1, 0);
    put(s.frame[4].bytes, AT_FCVI_PARAMETER, 4, 0);
    put(s.frame[4].bytes, AT_F_CTL, 3, FIRST | END | OFFSET);
    put(f->bytes, AT_F_CTL, 3, LAST | END | OFFSET);
    put(f->bytes, AT_SEQ_ID, 1, s.frame[4].bytes[AT_SEQ_ID] + 1u);
    f->sof = s.sof_i;
    expect(&s, WHOLE, NULL, 0, "Immediate Data in the last IU only (E43)");
}
END_TEST

START_TEST(preference_is_as_said)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    put(s.frame[0].bytes, AT_PREF, 1, 0x80);
    struct made *f = send_one(&s, A, 0x1002, HB, 1, LAST);
    expect(&s, WHOLE, "FCVI-5.8.2-03", 5, "no Preference where FCVI_PREF was 80h");
    expect(&s, FCVI_TRUST_ALL, "FCVI-5.8.2-03", 5, "no Preference where FCVI_PREF was 80h");
    expect(&s, 0, NULL, 0, "the same, where the handle may have been freed");
    put(f->bytes, AT_CS_CTL, 1, 0x80);
    expect(&s, WHOLE, NULL, 0, "Preference");
    send_one(&s, B, 0x2002, HA, 1, LAST); /* E34: each end for itself */
    expect(&s, WHOLE, NULL, 0, "no Preference the other way");
    put(f->bytes, AT_CS_CTL, 1, 0);
    put(f->bytes, AT_F_CTL, 3, FIRST | LAST | END | OFFSET | 0x020000);
    expect(&s, WHOLE, NULL, 0, "a priority in place of CS_CTL");
}
END_TEST

/* ---- 5.9.6: FCVI_MSG_ID ---- */

START_TEST(message_ids_wrap_to_zero)
{
    struct stream s = stream();
    send_one(&s, A, 0x1002, HB, 0xFFFFFFFF, LAST);
    struct made *f = send_one(&s, A, 0x1003, HB, 0, LAST);
    expect(&s, 0, NULL, 0, "FCVI_MSG_ID 0 after FFFFFFFFh");
    f = send_one(&s, A, 0x1004, HB, 1, LAST);
    s.count = 0;
    setup(&s, 0x1001, 7, HA, HB, 1);
    send_one(&s, A, 0x1002, HB, 0xFFFFFFFF, LAST);
    f = send_one(&s, A, 0x1003, HB, 1, LAST);
    struct verdict v;
    struct fcvi_monitor_config config = {.trust = WHOLE};
    judge(&v, &s, &config);
    ck_assert_uint_eq(v.found.count, 2); /* the jump to FFFFFFFFh, and that 0 was left out */
    ck_assert_str_eq(v.list[0].what.requirement, "FCVI-5.9.6-03");
    ck_assert_str_eq(v.list[1].what.requirement, "FCVI-5.9.6-05");
    free_verdict(&v);
    put(f->bytes, AT_MSG_ID, 4, 0);
    judge(&v, &s, &config);
    ck_assert_uint_eq(v.found.count, 1);
    free_verdict(&v);
}
END_TEST

/* ---- errata that tolerate two readings ---- */

static void expect_notice(const struct stream *s, const char *requirement, const char *erratum)
{
    struct verdict v;
    struct fcvi_monitor_config config = {.trust = WHOLE};
    judge(&v, s, &config);
    ck_assert_uint_eq(v.found.count, 1);
    ck_assert_str_eq(v.list[0].what.requirement, requirement);
    ck_assert_str_eq(v.list[0].what.erratum, erratum);
    ck_assert_uint_eq(v.list[0].what.cls, FCVI_NOTICE);
    free_verdict(&v);
}

START_TEST(tolerated_readings)
{
    struct stream s = stream(); /* E18: one count for both sides */
    setup(&s, 0x1001, 7, HA, HB, 1);
    for (unsigned i = 0; i < 4; i++)
        put(s.frame[i].bytes, AT_SEQ_CNT, 2, i);
    expect_notice(&s, "FCVI-5.6-01", "E18");
    s = stream(); /* E14: RESP3 of a refusal */
    setup(&s, 0x1001, 7, HA, HB, 1);
    put(s.frame[1].bytes, AT_FLAGS, 1, 1);
    put(s.frame[1].bytes, AT_FCVI_PARAMETER, 4, 0x00040000);
    put(s.frame[1].bytes, AT_CONN_HANDLE, 4, 0xFFFFFFFF);
    put(s.frame[2].bytes, AT_HANDLE, 4, 0xFFFFFFFF);
    expect(&s, WHOLE, NULL, 0, "RESP3 with the handle of the request");
    put(s.frame[3].bytes, AT_HANDLE, 4, 0xFFFFFFFF);
    expect(&s, WHOLE, NULL, 0, "RESP3 with FFFFFFFFh");
    s = stream(); /* E05: FFFFFFFFh for what is not known */
    struct made *f = request(&s, 0x1001, 7, HA, B, false);
    f = disconnect(&s, A, 0x1002, 0xFFFFFFFF, false);
    put(f->bytes, AT_FLAGS, 1, 6);
    put(f->bytes, AT_WORD_7, 4, 7);
    f = disconnect(&s, B, 0x1002, 0xFFFFFFFF, true);
    put(f->bytes, AT_FLAGS, 1, 7);
    put(f->bytes, AT_FCVI_PARAMETER, 4, 0x004A0000);
    put(f->bytes, AT_WORD_7, 4, 0xFFFFFFFF);
    expect_notice(&s, "FCVI-6.13.2-11", "E05");
    s = stream(); /* E28: what completed where nothing was sent */
    setup(&s, 0x1001, 7, HA, HB, 1);
    f = disconnect(&s, A, 0x1002, HB, false);
    put(f->bytes, AT_MSG_ID, 4, 1);
    expect_notice(&s, "FCVI-6.12.2-11", "E28");
}
END_TEST

/* ---- 5.6, 7.7: logins ---- */

START_TEST(setups_need_login_parameters)
{
    struct stream s = stream();
    login_els(&s, 0x03, A, B, false, 0x5001);
    struct made *acc = login_els(&s, 0x02, B, A, true, 0x5001);
    request(&s, 0x1001, 7, HA, B, false);
    expect(&s, WHOLE, NULL, 0, "a setup after a login");
    put(acc->bytes, 32, 4, 0x80000000);
    expect(&s, WHOLE, "FCVI-5.6-06", 3, "a setup towards a port without S");
    put(acc->bytes, 32, 4, 0x00020000);
    expect(&s, WHOLE, "FCVI-5.6-11", 3, "a setup towards a port without C");
    s = stream();
    login_els(&s, 0x03, A, B, false, 0x5001);
    login_els(&s, 0x02, B, A, true, 0x5001);
    put(s.frame[0].bytes, 32, 4, 0x80000000);
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct verdict v;
    struct fcvi_monitor_config config = {.trust = WHOLE};
    judge(&v, &s, &config);
    ck_assert_uint_eq(v.found.count, 2); /* who lacks it, and who accepts it */
    ck_assert_str_eq(v.list[0].what.requirement, "FCVI-5.6-03");
    ck_assert_uint_eq(v.list[0].frame, 3);
    ck_assert_str_eq(v.list[1].what.requirement, "FCVI-5.6-05");
    ck_assert_uint_eq(v.list[1].frame, 4);
    free_verdict(&v);
}
END_TEST

START_TEST(frames_fit_the_receiver)
{
    struct stream s = stream();
    login_els(&s, 0x03, A, B, false, 0x5001);
    struct made *acc = login_els(&s, 0x02, B, A, true, 0x5001);
    put(acc->bytes, 24 + 4 + 4, 4, 0x80020000 | 256); /* common; 32 + 340 bytes do not fit */
    request(&s, 0x1001, 7, HA, B, false);
    expect(&s, WHOLE, "FCVI-5.8.1-01", 3, "a Data_Field longer than the login allows");
    put(acc->bytes, 24 + 4 + 64 + 6, 2, 512); /* class 3 */
    expect(&s, WHOLE, NULL, 0, "a Data_Field that the login allows");
    expect(&s, 0, NULL, 0, "a Data_Field, where another login may be missing");
}
END_TEST

/* E33: FCVI_PIPELINE_DEPTH 1 lets two Messages wait. */
START_TEST(pipelines_have_their_depth)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    put(s.frame[0].bytes, AT_PREF + 16, 4, 1);
    send_one(&s, A, 0x1002, HB, 1, INITIATIVE);
    send_one(&s, A, 0x1003, HB, 2, INITIATIVE);
    send_one(&s, B, 0x2001, HA, 1, INITIATIVE);
    expect(&s, WHOLE, NULL, 0, "two Messages at depth 1");
    struct made *f = iu(&s, 0x08, 0x07, B, A, CONTEXT | LAST | END, 0x1002, HA, 0);
    message(f, 1, 0);
    send_one(&s, A, 0x1004, HB, 3, INITIATIVE);
    expect(&s, WHOLE, NULL, 0, "a third after a response");
    send_one(&s, A, 0x1005, HB, 4, INITIATIVE);
    expect(&s, WHOLE, "FCVI-7.3-14", 10, "three Messages at depth 1");
    expect(&s, 0, NULL, 0, "three Messages, where a response may be missing");
    put(s.frame[1].bytes, AT_PREF + 16, 4, 2);
    expect(&s, WHOLE, NULL, 0, "three Messages where the server's FCVI_PIPELINE_DEPTH is 2");
    put(s.frame[1].bytes, AT_PREF + 16, 4, 0);
    f->crc = FCVI_CRC_BAD;
    expect(&s, WHOLE, NULL, 0, "three Messages, where a frame between was damaged");
    s.count = 10;
    setup(&s, 0x1006, 8, HA + 1, HB + 1, 3);
    send_one(&s, A, 0x1007, HB + 1, 1, INITIATIVE);
    send_one(&s, A, 0x1008, HB + 1, 2, INITIATIVE);
    expect(&s, WHOLE, "FCVI-7.3-14", 16, "two Messages at depth 0 of a Connection that is set up after it");
}
END_TEST

/* FC-FS, 7.3: what F_BSY sent back comes again. Where frames may be delivered twice that looks like a second
 * response; its Message waits no more all the same. */
START_TEST(busy_responses_end_the_wait)
{
    struct stream s = {.sof_i = FCVI_SOF_I2, .sof_n = FCVI_SOF_N2};
    setup(&s, 0x1001, 7, HA, HB, 3);
    struct made *f = iu(&s, 0x02, 0x06, A, B, FIRST | END | INITIATIVE, 0x1002, HB, 0);
    message(f, 1, 16);
    f = iu(&s, 0x0A, 0x01, B, A, CONTEXT | OFFSET, 0x1002, HA, 8);
    message(f, 1, 16);
    struct made *busy = ack(&s, f, A, B), again = *f;
    put(busy->bytes, AT_R_CTL, 1, 0xC5);
    put(busy->bytes, AT_F_CTL, 3, 0x400000);
    s.frame[s.count++] = again;
    f = iu(&s, 0x0A, 0x01, B, A, CONTEXT | LAST | END | OFFSET, 0x1002, HA, 8);
    message(f, 1, 16);
    counts(f, 1, 8);
    f->bytes[AT_SEQ_ID] = again.bytes[AT_SEQ_ID];
    f->sof = FCVI_SOF_N2;
    send_one(&s, A, 0x1003, HB, 2, INITIATIVE);
    expect(&s, WHOLE & ~(unsigned)FCVI_TRUST_ONCE, NULL, 0,
           "a second Message after a response of which a frame came again");
    send_one(&s, A, 0x1004, HB, 3, INITIATIVE);
    expect(&s, WHOLE & ~(unsigned)FCVI_TRUST_ONCE, "FCVI-7.3-14", 11,
           "a third Message, while the second waits");
}
END_TEST

START_TEST(setups_are_retried_once)
{
    struct stream s = stream();
    request(&s, 0x1001, 7, HA, B, false);
    frame(&s, 0x81, A, B, 0, FIRST | LAST | END, 0x1001, 0);
    request(&s, 0x1002, 8, HA, B, true);
    frame(&s, 0x81, A, B, 0, FIRST | LAST | END, 0x1002, 0);
    request(&s, 0x1003, 9, HA, B, true);
    expect(&s, WHOLE, "FCVI-8.5.4-01", 5, "a second retry");
    s.frame[4].bytes[AT_FLAGS] = 1;
    expect(&s, WHOLE, NULL, 0, "another first try");
}
END_TEST

START_TEST(an_abort_has_the_name_of_its_exchange)
{
    static const struct {
        uint16_t rx_id;
        const char *requirement;
    } rows[] = {{0x8001, NULL}, {0xFFFF, NULL}, {0x8002, "FCVI-5.8.1-01"}};
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (unsigned responder = 0; responder < 2; responder++) {
            struct stream s = stream();
            setup(&s, 0x1001, 7, HA, HB, 1);
            s.count = 2; /* RESP1 has named 8001h */
            struct made *f = frame(&s, 0x81, responder ? B : A, responder ? A : B, 0,
                                   (responder ? CONTEXT : FIRST) | LAST | END, 0x1001, 0);
            put(f->bytes, AT_RX_ID, 2, rows[i].rx_id);
            expect(&s, WHOLE, rows[i].requirement, 3, "the RX_ID of an ABTS");
            expect(&s, 0, NULL, 0, "an ABTS that may mean another Exchange");
        }
}
END_TEST

START_TEST(ba_acc_answers_an_abort)
{
    struct stream s = stream();
    request(&s, 0x1001, 7, HA, B, false);
    struct made *f = frame(&s, 0x84, B, A, 0, CONTEXT | LAST | END, 0x1001, 12);
    put(f->bytes, 24 + 4, 2, 0x1001);
    expect(&s, WHOLE, "FCVI-5.8.1-01", 2, "a BA_ACC without an ABTS");
    expect(&s, 0, NULL, 0, "a BA_ACC whose ABTS may be missing");
}
END_TEST

START_TEST(no_message_after_a_logout)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    login_els(&s, 0x05, B, A, false, 0x5001);
    send_one(&s, A, 0x1002, HB, 1, LAST); /* A has not heard of it yet */
    expect(&s, WHOLE, NULL, 0, "a Message that crosses a LOGO");
    login_els(&s, 0x02, A, B, true, 0x5001);
    send_one(&s, A, 0x1003, HB, 2, LAST);
    expect(&s, WHOLE, "FCVI-7.7.1-05", 8, "a Message after the sender accepted a LOGO");
    expect(&s, 0, NULL, 0, "a Message after a LOGO, where a PLOGI may be missing");
    s.count--;
    login_els(&s, 0x03, A, B, false, 0x5002);
    login_els(&s, 0x02, B, A, true, 0x5002);
    setup(&s, 0x1003, 7, HA, HB, 1);
    expect(&s, WHOLE, NULL, 0, "a setup after another login, with the same identifiers");
}
END_TEST

/* A LOGO may overtake the ACC of a PLOGI before it, and the ports are logged in; without that PLOGI this
 * cannot be told from a login that is over. */
START_TEST(logouts_may_cross_logins_that_were_not_seen)
{
    struct stream s = stream();
    s.r_a_tov_us = 1000000;
    struct made *plogi = login_els(&s, 0x03, A, B, false, 0x5001);
    login_els(&s, 0x02, B, A, true, 0x5001);
    login_els(&s, 0x05, B, A, false, 0x5002);
    login_els(&s, 0x02, A, B, true, 0x5002);
    request(&s, 0x1001, 7, HA, B, false);
    expect(&s, WHOLE, NULL, 0, "a setup after a PLOGI and the LOGO that overtook its ACC");
    plogi->crc = FCVI_CRC_BAD;
    expect(&s, WHOLE, NULL, 0, "a setup after a PLOGI that was damaged");
    for (unsigned i = 2; i < s.count; i++)
        s.frame[i].time += 2 * s.r_a_tov_us;
    expect(&s, WHOLE, "FCVI-7.7.1-05", 5, "a setup after the LOGO of a login that is old");
    memmove(s.frame, s.frame + 1, --s.count * sizeof s.frame[0]);
    expect(&s, WHOLE, "FCVI-7.7.1-05", 4, "a setup after the LOGO of a login before the stream");
    for (unsigned i = 1; i < s.count; i++)
        s.frame[i].time -= 2 * s.r_a_tov_us;
    expect(&s, WHOLE & ~FCVI_TRUST_START, NULL, 0, "a setup after a PLOGI before the stream");
}
END_TEST

/* E14: the responder was done with the Exchange when its CONNECT_RQST and CONNECT_RESP2 came again. */
START_TEST(second_answers_may_refuse)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    insert_copy(&s, 2, 5);
    insert_copy(&s, 4, 6);
    put(s.frame[4].bytes, AT_FLAGS, 1, 1);
    put(s.frame[4].bytes, AT_FCVI_PARAMETER, 4, 3);
    for (unsigned i = 4; i < s.count; i++) {
        put(s.frame[i].bytes, AT_RX_ID, 2, 0x8002);
        put(s.frame[i].bytes, AT_SEQ_ID, 1, 0x40 + i);
    }
    put(s.frame[5].bytes, AT_HANDLE, 4, 0xFFFFFFFF);
    expect(&s, 0, NULL, 0, "a refusal after a setup that came again");
    insert_copy(&s, 6, 5);
    s.count = 5;
    put(s.frame[4].bytes, AT_RX_ID, 2, 0x8001);
    s.answered = true;
    expect(&s, 0, "FCVI-6.11.2-02", 5, "another end of the setup without its handle");
}
END_TEST

/* ---- limits, networks, gaps, snapshots ---- */

START_TEST(limits)
{
    struct fcvi_monitor_config config = {.limits = {.exchanges = 1u << 21}};
    ck_assert_uint_eq(fcvi_monitor_size(&config.limits), 0);
    config.limits.exchanges = 16;
    size_t size = fcvi_monitor_size(&config.limits);
    void *memory = malloc(size);
    ck_assert_ptr_null(fcvi_monitor_init(memory, size - 1, &config));
    ck_assert_ptr_nonnull(fcvi_monitor_init(memory, size, &config));
    free(memory);
}
END_TEST

START_TEST(networks_do_not_mix)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    send_one(&s, A, 0x1002, HB, 1, INITIATIVE);
    put(send_one(&s, A, 0x1003, HB, 1, INITIATIVE)->bytes, AT_MSG_ID, 4, 1);
    s.frame[5].network = 1;
    expect(&s, FCVI_TRUST_ALL, NULL, 0, "the same identifiers on another VLAN");
    s.frame[5].network = 0;
    expect(&s, FCVI_TRUST_ALL, "FCVI-4.2-12", 6, "the same identifiers on the same VLAN");
}
END_TEST

/* Two Messages of two frames each, which take turns; their OX_IDs and SEQ_IDs are the same. */
static struct stream taking_turns(uint32_t other_from, uint32_t other_to, uint32_t other_network)
{
    struct stream s = stream();
    for (unsigned i = 0; i < 4; i++) {
        bool end = i >= 2;
        uint32_t f_ctl = FIRST | OFFSET | (end ? LAST | END : 0);
        struct made *f = i % 2 == 0 ? iu(&s, 0x00, 0x01, A, B, f_ctl, 0x1002, HB, 8)
                                    : iu(&s, 0x00, 0x01, other_from, other_to, f_ctl, 0x1002, HB, 8);
        message(f, 1 + i % 2, 16);
        counts(f, end, end ? 8 : 0);
        f->bytes[AT_SEQ_ID] = 9;
        f->sof = end ? FCVI_SOF_N3 : FCVI_SOF_I3;
        f->network = i % 2 == 0 ? 0 : other_network;
    }
    return s;
}

START_TEST(exchanges_belong_to_their_ports)
{
    enum { NO_START = FCVI_TRUST_ALL | FCVI_TRUST_ORDER };
    struct stream s = taking_turns(A, C, 0);
    expect(&s, NO_START, NULL, 0, "one OX_ID and SEQ_ID to two ports");
    s = taking_turns(C, B, 0);
    expect(&s, NO_START, NULL, 0, "one OX_ID and SEQ_ID of two ports");
    s = taking_turns(B, A, 0);
    expect(&s, NO_START, NULL, 0, "one OX_ID and SEQ_ID there and back");
    for (unsigned bit = 0; bit < 24; bit++) {
        s = taking_turns(A, B, 1u << bit);
        expect(&s, NO_START, NULL, 0, "one OX_ID and SEQ_ID on two VLANs");
    }
    s = taking_turns(A, B, 0);
    struct verdict v;
    struct fcvi_monitor_config config = {.trust = NO_START};
    judge(&v, &s, &config);
    ck_assert_uint_gt(v.found.count, 0);
    free_verdict(&v);
}
END_TEST

/* 4.2-12: the last eight Messages to a handle are remembered, by sender. */
START_TEST(message_ids_come_once)
{
    for (unsigned again = 1; again <= 9; again++) {
        struct stream s = stream();
        for (unsigned id = 1; id <= 9; id++)
            send_one(&s, A, (uint16_t)(0x1000 + id), HB, id, LAST);
        struct made *f = send_one(&s, A, 0x1010, HB, again, LAST);
        expect(&s, FCVI_TRUST_ALL, again == 1 ? NULL : "FCVI-4.2-12", again == 1 ? 0 : 10,
               "an FCVI_MSG_ID of before");
        expect(&s, 0, NULL, 0, "the same, where another Connection may have begun");
        put(f->bytes, 5, 3, C);
        expect(&s, FCVI_TRUST_ALL, NULL, 0, "the FCVI_MSG_ID of another port");
        put(f->bytes, 5, 3, A);
        f->time += 10000000;
        expect(&s, FCVI_TRUST_ALL, NULL, 0, "an FCVI_MSG_ID of long before");
    }
}
END_TEST

START_TEST(damaged_frames_excuse_what_follows)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    send_one(&s, A, 0x1002, HB, 1, LAST);
    send_one(&s, A, 0x1003, HB, 3, LAST);
    expect(&s, WHOLE, "FCVI-5.9.6-04", 6, "a step of two");
    insert_copy(&s, 5, 6);
    s.frame[5].crc = FCVI_CRC_BAD;
    expect(&s, WHOLE, NULL, 0, "a step of two with a damaged frame between");
    s.frame[5].crc = FCVI_CRC_OK;
    s.frame[5].eof = FCVI_EOF_NI;
    expect(&s, WHOLE, NULL, 0, "a step of two with a frame between that ends with EOFni");
    s.frame[5].eof = FCVI_EOF_A;
    expect(&s, WHOLE, NULL, 0, "a step of two with a frame between that ends with EOFa");
    s.frame[5].eof = FCVI_EOF_T;
    s.frame[5].crc = FCVI_CRC_BAD;
    struct verdict v;
    struct fcvi_monitor_config config = {.trust = WHOLE};
    judge(&v, &s, &config);
    ck_assert_uint_eq(fcvi_monitor_unjudged(v.monitor, FCVI_UNJUDGED_DAMAGED).frames, 1);
    ck_assert_uint_eq(fcvi_monitor_unjudged(v.monitor, FCVI_UNJUDGED_DAMAGED).first, 6);
    free_verdict(&v);
}
END_TEST

START_TEST(what_is_not_judged_is_said)
{
    struct stream s = stream();
    send_one(&s, A, 0x1002, HB, 5, LAST);
    struct verdict v;
    struct fcvi_monitor_config config = {0};
    judge(&v, &s, &config);
    struct fcvi_monitor_count c = fcvi_monitor_unjudged(v.monitor, FCVI_UNJUDGED_SETUP);
    ck_assert_uint_ge(c.frames, 1);
    ck_assert_uint_eq(c.first, 1);
    for (unsigned r = 0; r < FCVI_UNJUDGED_COUNT; r++)
        ck_assert_uint_gt(strlen(fcvi_monitor_unjudged_text((enum fcvi_monitor_unjudged)r)), 10);
    free_verdict(&v);
}
END_TEST

/* Far more Exchanges, handles, IDs and ports than there is room for: the oldest make room, nothing is made
 * up, and a copy of the block goes on as the original does. */
START_TEST(floods)
{
    struct fcvi_monitor_config config = {.limits = {16, 16, 16, 16, 16}, .trust = WHOLE, .seed = 5};
    size_t size = fcvi_monitor_size(&config.limits);
    void *memory = malloc(size), *copy = malloc(size);
    struct fcvi_monitor *m = fcvi_monitor_init(memory, size, &config);
    struct fcvi_monitor_finding list[4];
    struct fcvi_monitor_findings found = {list, 4, 0};
    uint64_t number = 0;
    for (unsigned round = 0; round < 400; round++) {
        static struct stream s;
        s = stream();
        setup(&s, (uint16_t)round, 1000 + round, round, 5000 + round, 1);
        send_one(&s, A, (uint16_t)(20000 + round), 5000 + round, 1, LAST);
        for (unsigned i = 0; i < s.count; i++) {
            put(s.frame[i].bytes, i % 2 == 0 || i == 4 ? 1 : 5, 3, 0x020000 + round);
            struct fcvi_input in = {s.frame[i].bytes, s.frame[i].length, s.sof_i, FCVI_EOF_T, FCVI_CRC_OK};
            struct fcvi_frame view;
            fcvi_decode(&in, &view, NULL);
            struct fcvi_monitor_frame shown = {&view, ++number, number * 1000, 0, false};
            if (round == 200 && i == 2) {
                memcpy(copy, memory, size);
                fcvi_monitor_frame((struct fcvi_monitor *)copy, &shown, &found);
                memcpy(memory, copy, size);
                continue;
            }
            fcvi_monitor_frame(m, &shown, &found);
        }
    }
    ck_assert_uint_eq(found.count, 0);
    ck_assert_uint_gt(fcvi_monitor_unjudged(m, FCVI_UNJUDGED_EVICTED).frames, 100);
    free(memory);
    free(copy);
}
END_TEST

START_TEST(forgetting)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    send_one(&s, A, 0x1002, HB, 9, LAST);
    struct verdict v;
    struct fcvi_monitor_config config = {.trust = WHOLE};
    struct made last = s.frame[4];
    s.count = 4;
    judge(&v, &s, &config);
    fcvi_monitor_forget(v.monitor);
    struct fcvi_input in = {last.bytes, last.length, last.sof, last.eof, FCVI_CRC_OK};
    struct fcvi_frame view;
    fcvi_decode(&in, &view, NULL);
    struct fcvi_monitor_frame shown = {&view, 5, 5000, 0, false};
    fcvi_monitor_frame(v.monitor, &shown, &v.found);
    ck_assert_uint_eq(v.found.count, 0);
    free_verdict(&v);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("monitor order");
    TCase *t = tcase_create("rules");
    tcase_add_loop_test(t, setup_ius_come_in_order, 0, 2);
    tcase_add_test(t, setup_iu_comes_once);
    tcase_add_test(t, message_needs_a_connection);
    tcase_add_test(t, message_waits_for_the_own_end_of_the_setup);
    tcase_add_test(t, no_message_after_the_own_disconnect);
    tcase_add_test(t, message_goes_to_the_port_of_its_handle);
    tcase_add_test(t, handles_in_use_are_not_given_again);
    tcase_add_test(t, retries_repeat_the_handle_with_a_new_id);
    tcase_add_test(t, connection_ids_are_unique_while_open);
    tcase_add_test(t, setup_aborts_name_a_setup);
    tcase_add_test(t, exchanges_begin_once_and_end);
    tcase_add_test(t, who_answers_at_a_level_that_was_not_seen_does_not_go_on);
    tcase_add_test(t, ox_ids_are_not_used_while_open);
    tcase_add_test(t, seq_ids_are_not_used_while_open);
    tcase_add_test(t, class2_sequences_wait_for_acks);
    tcase_add_test(t, class2_sequences_wait_for_every_ack);
    tcase_add_test(t, acks_answer_frames);
    tcase_add_test(t, busy_frames_come_again);
    tcase_add_test(t, only_the_holder_of_the_initiative_sends);
    tcase_add_test(t, nothing_follows_an_abort);
    tcase_add_test(t, ius_have_their_exchange);
    tcase_add_test(t, ius_in_several_frames);
    tcase_add_test(t, frames_not_understood_excuse_what_follows);
    tcase_add_test(t, responses_need_reliable_reception);
    tcase_add_test(t, responses_need_a_request);
    tcase_add_test(t, the_exchange_stays_open_for_a_response);
    tcase_add_test(t, messages_are_as_long_as_they_say);
    tcase_add_test(t, read_responses_repeat_the_region);
    tcase_add_test(t, immediate_data_stay);
    tcase_add_test(t, immediate_data_are_those_of_the_whole_iu);
    tcase_add_test(t, preference_is_as_said);
    tcase_add_test(t, message_ids_wrap_to_zero);
    tcase_add_test(t, tolerated_readings);
    tcase_add_test(t, setups_need_login_parameters);
    tcase_add_test(t, no_message_after_a_logout);
    tcase_add_test(t, logouts_may_cross_logins_that_were_not_seen);
    tcase_add_test(t, second_answers_may_refuse);
    tcase_add_test(t, frames_fit_the_receiver);
    tcase_add_test(t, pipelines_have_their_depth);
    tcase_add_test(t, busy_responses_end_the_wait);
    tcase_add_test(t, setups_are_retried_once);
    tcase_add_test(t, an_abort_has_the_name_of_its_exchange);
    tcase_add_test(t, ba_acc_answers_an_abort);
    tcase_add_test(t, limits);
    tcase_add_test(t, networks_do_not_mix);
    tcase_add_test(t, exchanges_belong_to_their_ports);
    tcase_add_test(t, message_ids_come_once);
    tcase_add_test(t, damaged_frames_excuse_what_follows);
    tcase_add_test(t, what_is_not_judged_is_said);
    tcase_add_test(t, floods);
    tcase_add_test(t, forgetting);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
