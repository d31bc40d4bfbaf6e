/* 8.4.2 f, 8.5.3 b: when handles and FCVI_CONNECTION_IDs may be used again; 5.3.4: who accepts of two Peers.
 */
#include "stream.h"

enum { R_A_TOV = 600000, PEER_TO_PEER = 2, CLIENT_SERVER = 1, REFUSED = 1 };

static struct stream stream(void)
{
    return (struct stream){.sof_i = FCVI_SOF_I3, .sof_n = FCVI_SOF_N3, .r_a_tov_us = R_A_TOV};
}

static struct made *request(struct stream *s, uint32_t from, uint16_t ox_id, uint32_t id, uint32_t handle,
                            uint8_t flags)
{
    struct made *f =
        iu(s, 0x10, 0x02, from, from == A ? B : A, FIRST | END | INITIATIVE | OFFSET, ox_id, 0xFFFFFFFF, 340);
    put(f->bytes, AT_FLAGS, 1, flags);
    put(f->bytes, AT_WORD_7, 4, id);
    connect_payload(f, handle, 1);
    return f;
}

/* CONNECT_RESP1 to a request of the other port */
static struct made *answer(struct stream *s, uint32_t from, uint16_t ox_id, uint32_t id, uint32_t handle,
                           uint8_t flags)
{
    struct made *f = iu(s, 0x18, 0x03, from, from == A ? B : A, CONTEXT | END | INITIATIVE | OFFSET, ox_id,
                        0xFFFFFFFF, 340);
    put(f->bytes, AT_FLAGS, 1, flags);
    put(f->bytes, AT_RX_ID, 2, 0x8001);
    put(f->bytes, AT_WORD_7, 4, id);
    if (flags & REFUSED)
        put(f->bytes, AT_FCVI_PARAMETER, 4, 0x00030000); /* 5.9.7.2.1: no match */
    connect_payload(f, flags & REFUSED ? 0xFFFFFFFF : handle, 1);
    return f;
}

/* A Connection that A ends: frames 1 to 6. */
static struct stream ended(void)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    disconnect(&s, A, 0x1002, HB, false);
    disconnect(&s, B, 0x1002, HA, true);
    return s;
}

START_TEST(handles_rest_after_a_disconnect)
{
    struct stream s = ended();
    struct made *f = request(&s, A, 0x1003, 8, HA, CLIENT_SERVER);
    expect(&s, WHOLE, "FCVI-8.4.2-f2", 7, "the handle of the client right after a Disconnect");
    expect(&s, 0, NULL, 0, "the same in a capture of which nothing is known");
    f->time = s.frame[3].time + R_A_TOV - 1000; /* A finished the setup with RESP2, in frame 3 */
    expect(&s, WHOLE, NULL, 0, "the handle R_A_TOV after the last sign of life");
    f->time = s.frame[2].time + R_A_TOV - 1;
    expect(&s, WHOLE, "FCVI-8.4.2-f2", 7, "the handle a microsecond earlier");
    put(f->bytes, AT_CONN_HANDLE, 4, HA + 1);
    expect(&s, WHOLE, NULL, 0, "another handle");
    put(f->bytes, AT_CONN_HANDLE, 4, HA);
    s.r_a_tov_us = 0;
    expect(&s, WHOLE, NULL, 0, "the handle where R_A_TOV is not known");
}
END_TEST

START_TEST(handles_of_servers_rest_too)
{
    struct stream s = ended();
    request(&s, A, 0x1003, 8, HA + 1, CLIENT_SERVER);
    struct made *f = answer(&s, B, 0x1003, 8, HB, 0);
    expect(&s, WHOLE, "FCVI-8.4.2-f2", 8, "the handle of the server right after a Disconnect");
    f->time += R_A_TOV;
    expect(&s, WHOLE, NULL, 0, "the handle of the server R_A_TOV later");
}
END_TEST

START_TEST(a_message_shows_life)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    struct made *sent = send_one(&s, A, 0x1002, HB, 1, LAST);
    disconnect(&s, A, 0x1003, HB, false);
    disconnect(&s, B, 0x1003, HA, true);
    sent->time += R_A_TOV;
    for (unsigned i = 5; i < 7; i++)
        s.frame[i].time += R_A_TOV;
    struct made *f = request(&s, A, 0x1004, 8, HA, CLIENT_SERVER);
    f->time = sent->time + R_A_TOV - 1;
    expect(&s, WHOLE, "FCVI-8.4.2-f2", 8, "the handle too soon after a Message");
    f->time = sent->time + R_A_TOV;
    expect(&s, WHOLE, NULL, 0, "the handle R_A_TOV after the last Message");
}
END_TEST

START_TEST(handles_rest_until_a_disconnect_was_answered)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    disconnect(&s, A, 0x1002, HB, false);
    struct made *f = request(&s, A, 0x1003, 8, HA, CLIENT_SERVER);
    f->time += 10 * R_A_TOV;
    expect(&s, WHOLE, "FCVI-8.4.2-f2", 6, "a handle whose Disconnect nobody answered");
    expect(&s, FCVI_TRUST_ORDER, NULL, 0, "the same where the answer may be missing");
}
END_TEST

START_TEST(ids_of_failed_setups_rest)
{
    struct stream s = stream();
    request(&s, A, 0x1001, 7, HA, CLIENT_SERVER);
    frame(&s, 0x81, A, B, 0, FIRST | LAST | END, 0x1001, 0);
    struct made *f = request(&s, A, 0x1002, 7, HA + 1, CLIENT_SERVER);
    expect(&s, WHOLE, "FCVI-8.5.3-b", 3, "the ID of an aborted setup");
    f->time += R_A_TOV;
    expect(&s, WHOLE, "FCVI-8.5.3-b", 3, "the ID of an aborted setup, without a Disconnect");
    expect(&s, 0, NULL, 0, "the same in a capture of which nothing is known");
    put(f->bytes, AT_WORD_7, 4, 8);
    expect(&s, WHOLE, NULL, 0, "another ID");
    s.count = 2;
    f = disconnect(&s, A, 0x1003, 0xFFFFFFFF, false);
    put(f->bytes, AT_FLAGS, 1, 6); /* aborts the setup */
    put(f->bytes, AT_WORD_7, 4, 7);
    f = request(&s, A, 0x1004, 7, HA + 1, CLIENT_SERVER);
    expect(&s, WHOLE, "FCVI-8.5.3-b", 4, "the ID after a Disconnect, too soon");
    f->time = s.frame[0].time + R_A_TOV;
    expect(&s, WHOLE, NULL, 0, "the ID after a Disconnect and R_A_TOV");
}
END_TEST

/* 8.5.3 is about a setup that its originator gives up: here the responder aborts it. */
START_TEST(an_id_rests_only_after_an_abort_by_its_originator)
{
    struct stream s = stream();
    request(&s, A, 0x1001, 7, HA, CLIENT_SERVER);
    frame(&s, 0x81, B, A, 0, CONTEXT | FIRST | LAST | END, 0x1001, 0);
    request(&s, A, 0x1002, 7, HA + 1, CLIENT_SERVER);
    expect(&s, WHOLE, NULL, 0, "the ID of a setup that the responder aborted");
}
END_TEST

/* Requests of A and B that cross, frames 1 and 2; A has the higher Port_Name unless told otherwise. */
static struct stream crossing(uint64_t name_a, uint64_t name_b)
{
    struct stream s = stream();
    s.name_a = name_a;
    s.name_b = name_b;
    request(&s, A, 0x1001, 7, HA, PEER_TO_PEER);
    request(&s, B, 0x2001, 9, HB, PEER_TO_PEER);
    return s;
}

START_TEST(of_two_peers_one_accepts)
{
    struct stream s = crossing(0x2000000000000002, 0x2000000000000001);
    answer(&s, A, 0x2001, 9, HA, 0);
    expect(&s, WHOLE, NULL, 0, "the higher Port_Name accepts");
    struct made *f = answer(&s, B, 0x1001, 7, HB, 0);
    expect(&s, WHOLE, "FCVI-5.3.4-02", 4, "the lower Port_Name accepts as well");
    expect(&s, 0, NULL, 0, "the same in a capture of which nothing is known");
    s.frame[0].bytes[AT_FLAGS] = CLIENT_SERVER;
    s.frame[1].bytes[AT_FLAGS] = CLIENT_SERVER;
    expect(&s, WHOLE, NULL, 0, "two Client-Server requests");
    s.frame[0].bytes[AT_FLAGS] = s.frame[1].bytes[AT_FLAGS] = PEER_TO_PEER;
    put(f->bytes, AT_CONN_HANDLE, 4, HB + 1);
    expect(&s, WHOLE, NULL, 0, "another Endpoint of the lower Port_Name accepts");
    put(f->bytes, AT_CONN_HANDLE, 4, HB);
    s.name_b = 0x2000000000000003;
    expect(&s, WHOLE, "FCVI-5.3.4-b", 3, "A has the lower Port_Name and does not wait");
    s.name_a = 0;
    expect(&s, WHOLE, NULL, 0, "Port_Names that nobody told");
}
END_TEST

START_TEST(the_lower_peer_waits_for_its_answer)
{
    struct stream s = crossing(0x2000000000000002, 0x2000000000000001);
    answer(&s, B, 0x1001, 7, HB, 0);
    expect(&s, WHOLE, "FCVI-5.3.4-b", 3, "an accept before the answer to the own request");
    s = crossing(0x2000000000000002, 0x2000000000000001);
    answer(&s, A, 0x2001, 9, HA, REFUSED);
    answer(&s, B, 0x1001, 7, HB, 0);
    expect(&s, WHOLE, NULL, 0, "an accept after a refusal");
    s = crossing(0x2000000000000002, 0x2000000000000001);
    frame(&s, 0x81, B, A, 0, FIRST | LAST | END, 0x2001, 0);
    answer(&s, B, 0x1001, 7, HB, 0);
    expect(&s, WHOLE, NULL, 0, "an accept after the own request was given up (E80)");
}
END_TEST

START_TEST(peers_of_one_name_do_not_connect)
{
    struct stream s = crossing(0x2000000000000002, 0x2000000000000002);
    answer(&s, A, 0x2001, 9, HA, 0);
    expect(&s, WHOLE, "FCVI-5.3.4-c", 3, "an accept between equal Port_Names");
}
END_TEST

/* CONNECT_RESP2 or CONNECT_RESP3 to a setup of this handle */
static struct made *settle(struct stream *s, uint8_t opcode, uint32_t from, uint16_t ox_id, uint32_t id,
                           uint32_t handle)
{
    struct made *f = iu(s, opcode, 0x03, from, from == A ? B : A,
                        opcode == 0x1A ? CONTEXT | LAST | END : END | INITIATIVE, ox_id, handle, 0);
    put(f->bytes, AT_RX_ID, 2, 0x8001);
    put(f->bytes, AT_WORD_7, 4, id);
    counts(f, 1, 0);
    return f;
}

static void refuse(struct made *f)
{
    put(f->bytes, AT_FLAGS, 1, 1);
    put(f->bytes, AT_FCVI_PARAMETER, 4, 0x00210000); /* Table 12: protocol error */
}

/* B has two Peers on one Connectionpoint. A accepts the request of one while the other accepts A's, and
 * completes only one of the two (5.3.4): B's, whose RESP1 is frame 3; or its own, in frame 6. Message 1 of HB
 * and of HA are frames 9 and 10. */
static struct stream two_accept(void)
{
    struct stream s = stream();
    request(&s, B, 0x2001, 9, HB, PEER_TO_PEER);
    request(&s, A, 0x1001, 7, HA, PEER_TO_PEER);
    answer(&s, A, 0x2001, 9, HA, 0);
    settle(&s, 0x19, B, 0x2001, 9, HA);
    answer(&s, B, 0x1001, 7, HB + 1, 0);
    refuse(settle(&s, 0x19, A, 0x1001, 7, HB + 1));
    settle(&s, 0x1A, A, 0x2001, 9, HB);
    settle(&s, 0x1A, B, 0x1001, 7, HA);
    send_one(&s, B, 0x2002, HA, 1, LAST);
    send_one(&s, A, 0x1002, HB, 1, LAST);
    return s;
}

START_TEST(what_a_peer_accepted_outlives_its_own_request)
{
    struct stream s = two_accept();
    expect(&s, WHOLE, NULL, 0, "Messages over the Connection of two that came about");
    expect(&s, 0, NULL, 0, "the same in a capture of which nothing is known");
    struct made *f = send_one(&s, B, 0x2003, HA, 3, LAST);
    expect(&s, WHOLE, "FCVI-5.9.6-04", 11, "a Message left out");
    put(f->bytes, AT_MSG_ID, 4, 2);
    disconnect(&s, B, 0x2004, HA, false);
    disconnect(&s, A, 0x2004, HB, true);
    f = request(&s, B, 0x2005, 10, HB, CLIENT_SERVER);
    f->time += R_A_TOV;
    expect(&s, WHOLE, NULL, 0, "the handle after the Disconnect of its Connection");
    send_one(&s, B, 0x2006, HA, 3, LAST);
    expect(&s, WHOLE, "FCVI-8.1-01", 15, "a Message after the Disconnect");
}
END_TEST

/* HA accepts after its own request was accepted, and gets Messages before it ends that one. */
START_TEST(peers_accept_in_any_order)
{
    struct stream s = two_accept();
    struct made accept = s.frame[2], confirm = s.frame[3];
    s.frame[2] = s.frame[4];
    s.frame[3] = accept;
    s.frame[4] = confirm;
    expect(&s, WHOLE, NULL, 0, "an accept after the answer to the own request");
    insert_copy(&s, 9, 6);
    remove_frame(&s, 10);
    struct made *f = send_one(&s, B, 0x2003, HA, 2, LAST);
    expect(&s, WHOLE, NULL, 0, "a Message before the own request is ended");
    send_one(&s, B, 0x2004, HA, 4, LAST);
    expect(&s, WHOLE, "FCVI-5.9.6-04", 12, "a Message left out");
    put(f->bytes, AT_HANDLE, 4, HB);
    s.count = 11;
    expect(&s, WHOLE, "FCVI-5.9.2-01", 11, "a Message to no handle of the receiver");
}
END_TEST

START_TEST(a_peer_speaks_only_over_what_it_completed)
{
    struct stream s = two_accept();
    for (unsigned after = 5; after <= 7; after++) {
        s.count = after;
        send_one(&s, A, 0x1002, HB + 1, 1, LAST);
        expect(&s, WHOLE, "FCVI-5.9.3-03", after + 1, "a Message over the setup that failed");
        s = two_accept();
    }
    s.count = 6;
    send_one(&s, A, 0x1002, HB, 1, LAST);
    expect(&s, WHOLE, "FCVI-5.9.3-03", 7, "a Message before the own RESP3");
    s = two_accept();
    struct made *good = settle(&s, 0x19, A, 0x1001, 7, HB + 1);
    s.frame[5] = *good; /* A completes its own request after all: both may speak */
    s.frame[6] = s.frame[7];
    s.count = 7;
    send_one(&s, A, 0x1002, HB + 1, 1, LAST);
    send_one(&s, B, 0x2002, HA, 1, LAST);
    expect(&s, WHOLE, NULL, 0, "Messages over the Connection that A asked for");
}
END_TEST

/* The setup of HB and HA, or its RESP1, is not seen: which of the two HA is in only RESP2 tells. */
START_TEST(peers_accept_what_was_not_seen)
{
    static const unsigned lost[] = {1, 3};
    struct stream s = two_accept();
    send_one(&s, A, 0x1003, HB, 2, LAST);
    disconnect(&s, B, 0x2004, HA, false);
    disconnect(&s, A, 0x2004, HB, true);
    s.frame[lost[_i] - 1].crc = FCVI_CRC_BAD;
    expect(&s, WHOLE, NULL, 0, "Messages over a Connection whose setup was damaged");
    remove_frame(&s, lost[_i]);
    expect(&s, 0, NULL, 0, "Messages over a Connection whose setup is not in the capture");
    if (lost[_i] == 1)
        expect(&s, WHOLE & ~FCVI_TRUST_START, NULL, 0, "a stream that begins in a setup");
    s = stream();
    send_one(&s, A, 0x1001, HB, 1, LAST)->crc = FCVI_CRC_BAD;
    send_one(&s, A, 0x1002, HB, 2, LAST);
    request(&s, A, 0x1003, 7, HA, PEER_TO_PEER);
    answer(&s, B, 0x1003, 7, HB + 1, 0);
    send_one(&s, B, 0x2002, HA, 1, LAST);
    expect(&s, WHOLE, "FCVI-5.9.3-03", 5, "a Message before RESP3 where nothing else was accepted");
}
END_TEST

/* Between the first try and the retry HA may have accepted another request (8.5.3 a, 2). */
START_TEST(retries_may_follow_what_was_not_seen)
{
    enum { RETRY = 0x10, RESP_RETRY = 4 };
    struct stream s = stream();
    send_one(&s, A, 0x1001, HB, 1, LAST)->crc = FCVI_CRC_BAD;
    send_one(&s, A, 0x1002, HB, 2, LAST);
    struct made *f = request(&s, A, 0x1003, 7, HA, PEER_TO_PEER | RETRY);
    answer(&s, B, 0x1003, 7, HB + 1, RESP_RETRY);
    send_one(&s, B, 0x2002, HA, 1, LAST);
    expect(&s, WHOLE, NULL, 0, "a Message of whom HA may have accepted before");
    put(f->bytes, AT_FLAGS, 1, CLIENT_SERVER | RETRY);
    expect(&s, WHOLE, "FCVI-5.9.3-03", 5, "a Message to a client, which accepts nothing");
    put(f->bytes, AT_FLAGS, 1, PEER_TO_PEER | RETRY);
    s.count = 4;
    put(settle(&s, 0x19, A, 0x1003, 7, HB + 1)->bytes, AT_FLAGS, 1, RESP_RETRY);
    send_one(&s, B, 0x2002, HA, 1, LAST);
    expect(&s, WHOLE, "FCVI-5.9.3-03", 6, "a Message before RESP3, and HA completed the retry");
}
END_TEST

/* C rule 9: a server may answer a repeated request for the Connection that it has. */
START_TEST(an_accept_without_its_request_changes_no_connection)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    put(s.frame[0].bytes, AT_PREF, 1, 0x80);
    answer(&s, B, 0x1002, 8, HB, 0);
    send_one(&s, A, 0x1003, HB, 1, LAST);
    expect(&s, FCVI_TRUST_ALL, "FCVI-5.8.2-03", 6, "no Preference over a Connection that was accepted again");
    expect(&s, 0, NULL, 0, "the same, where the handle may have been freed");
    remove_frame(&s, 4);
    remove_frame(&s, 3);
    expect(&s, FCVI_TRUST_ALL, NULL, 0, "the same where nothing confirmed the Connection");
}
END_TEST

/* 6.11.2 lets a RESP3 answer a RESP2 with status as it answers any other. */
START_TEST(a_resp3_alone_confirms_nothing)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    request(&s, A, 0x1002, 8, HA + 1, CLIENT_SERVER);
    answer(&s, B, 0x1002, 8, HB, 0);
    expect(&s, FCVI_TRUST_ALL | FCVI_TRUST_ORDER, "FCVI-4.2-09", 6,
           "the handle of a Connection that is open");
    refuse(&s.frame[2]);
    expect(&s, WHOLE, NULL, 0, "the handle of a setup that the client gave up");
    remove_frame(&s, 3);
    expect(&s, FCVI_TRUST_ORDER, NULL, 0, "the same where that was not seen");
}
END_TEST

/* FC-FS: Port_Name in bytes 20 to 27 of PLOGI and LS_ACC. */
static void login(struct stream *s, uint32_t from, bool reply, uint64_t port_name)
{
    struct made *f = frame(s, reply ? 0x23 : 0x22, from, from == A ? B : A, 0x01,
                           reply ? CONTEXT | LAST | END : FIRST | END | INITIATIVE, 0x5001, 116);
    f->bytes[24] = reply ? 0x02 : 0x03;
    put(f->bytes, 24 + 4 + 4, 4, 0x80020000); /* C and S */
    put(f->bytes, 24 + 20, 8, port_name);
}

/* Two Peers log in, their requests cross, and both accept: A, with the higher Port_Name, in frame 5, B in 6.
 */
static struct stream logged_in_and_crossing(void)
{
    struct stream s = stream();
    login(&s, A, false, 0x2000000000000002);
    login(&s, B, true, 0x2000000000000001);
    request(&s, A, 0x1001, 7, HA, PEER_TO_PEER);
    request(&s, B, 0x2001, 9, HB, PEER_TO_PEER);
    answer(&s, A, 0x2001, 9, HA, 0);
    answer(&s, B, 0x1001, 7, HB, 0);
    return s;
}

START_TEST(logins_tell_the_names)
{
    struct stream s = logged_in_and_crossing();
    expect(&s, WHOLE, "FCVI-5.3.4-02", 6, "a second accept, of the lower Port_Name");
    put(s.frame[0].bytes, 24 + 20, 8, 0x1000000000000002);
    expect(&s, WHOLE, "FCVI-5.3.4-b", 5, "an accept of the lower Port_Name");
}
END_TEST

/* A login tells a name when it was accepted, and on one Fabric only. */
START_TEST(only_accepted_logins_tell_names)
{
    struct stream s = logged_in_and_crossing();
    for (unsigned i = 0; i < s.count; i++)
        s.frame[i].network = 5;
    expect(&s, WHOLE, "FCVI-5.3.4-02", 6, "a second accept on a VLAN");
    s.frame[0].network = s.frame[1].network = 6;
    expect(&s, WHOLE, NULL, 0, "names of ports on another VLAN");
    s.frame[0].network = s.frame[1].network = 5;
    struct made *reply = &s.frame[1];
    put(reply->bytes, AT_OX_ID, 2, 0x5002);
    expect(&s, WHOLE, NULL, 0, "an ACC of another Exchange than the PLOGI's");
    put(reply->bytes, AT_OX_ID, 2, 0x5001);
    reply->bytes[24] = 0x01; /* LS_RJT */
    expect(&s, WHOLE, NULL, 0, "a PLOGI that was refused");
    reply->bytes[24] = 0x02;
    put(reply->bytes, AT_R_CTL, 1, 0x22);
    expect(&s, WHOLE, NULL, 0, "an ACC that is no reply");
}
END_TEST

/* ---- more goes on at once than there is room for ---- */

/* Two setups of other Endpoints. */
static void crowd(struct stream *s)
{
    for (unsigned i = 0; i < 2; i++)
        request(s, A, (uint16_t)(0x1100 + s->count), 100 + s->count, 0x100 + s->count, CLIENT_SERVER);
}

START_TEST(a_setup_that_made_room_may_have_been_finished)
{
    struct stream s = stream();
    request(&s, A, 0x1001, 7, HA, CLIENT_SERVER);
    answer(&s, B, 0x1001, 7, HB, 0);
    crowd(&s);
    settle(&s, 0x19, A, 0x1001, 7, HB);
    settle(&s, 0x1A, B, 0x1001, 7, HA);
    send_one(&s, A, 0x1002, HB, 1, LAST);
    send_one(&s, B, 0x2002, HA, 1, LAST);
    expect(&s, WHOLE, NULL, 0, "Messages over a Connection");
    s.room.exchanges = 2;
    expect(&s, WHOLE, NULL, 0, "the same where the setup's Exchange made room before its end");
    s.room.exchanges = 0;
    remove_frame(&s, 5);
    remove_frame(&s, 5);
    s.count = 5;
    expect(&s, WHOLE, "FCVI-5.9.3-03", 5, "a Message before the end of the setup");
}
END_TEST

START_TEST(a_message_that_made_room_waits_no_longer)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 3);
    for (unsigned id = 1; id <= 3; id++) {
        send_one(&s, A, (uint16_t)(0x1001 + id), HB, id, INITIATIVE);
        crowd(&s);
        message(iu(&s, 0x08, 0x07, B, A, CONTEXT | LAST | END, (uint16_t)(0x1001 + id), HA, 0), id, 0);
    }
    s.room.exchanges = 2;
    expect(&s, WHOLE & ~FCVI_TRUST_START, NULL, 0, "Messages that are answered one after the other");
}
END_TEST

START_TEST(a_login_that_made_room_may_have_ended_connections)
{
    struct stream s = stream();
    setup(&s, 0x1001, 7, HA, HB, 1);
    login(&s, A, false, 1);
    login(&s, B, true, 2);
    for (unsigned i = 0; i < 2; i++) {
        login(&s, A, false, 1);
        put(s.frame[s.count - 1].bytes, 1, 3, C + i);
    }
    request(&s, A, 0x1002, 8, HA, CLIENT_SERVER);
    expect(&s, WHOLE, NULL, 0, "a handle after a login");
    s.room.pairs = 2;
    expect(&s, WHOLE, NULL, 0, "the same where others logged in since");
    remove_frame(&s, 5);
    remove_frame(&s, 5);
    s.room.pairs = 0;
    expect(&s, WHOLE, "FCVI-4.2-09", 7, "a handle that is in use");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("monitor reuse");
    TCase *t = tcase_create("rules");
    tcase_add_test(t, handles_rest_after_a_disconnect);
    tcase_add_test(t, handles_of_servers_rest_too);
    tcase_add_test(t, a_message_shows_life);
    tcase_add_test(t, handles_rest_until_a_disconnect_was_answered);
    tcase_add_test(t, ids_of_failed_setups_rest);
    tcase_add_test(t, an_id_rests_only_after_an_abort_by_its_originator);
    tcase_add_test(t, of_two_peers_one_accepts);
    tcase_add_test(t, the_lower_peer_waits_for_its_answer);
    tcase_add_test(t, peers_of_one_name_do_not_connect);
    tcase_add_test(t, what_a_peer_accepted_outlives_its_own_request);
    tcase_add_test(t, peers_accept_in_any_order);
    tcase_add_test(t, a_peer_speaks_only_over_what_it_completed);
    tcase_add_loop_test(t, peers_accept_what_was_not_seen, 0, 2);
    tcase_add_test(t, retries_may_follow_what_was_not_seen);
    tcase_add_test(t, an_accept_without_its_request_changes_no_connection);
    tcase_add_test(t, only_accepted_logins_tell_names);
    tcase_add_test(t, a_resp3_alone_confirms_nothing);
    tcase_add_test(t, logins_tell_the_names);
    tcase_add_test(t, a_setup_that_made_room_may_have_been_finished);
    tcase_add_test(t, a_message_that_made_room_waits_no_longer);
    tcase_add_test(t, a_login_that_made_room_may_have_ended_connections);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
