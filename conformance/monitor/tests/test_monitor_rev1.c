/* FC-VI Rev 1.0 (1999): streams put together byte by byte from the draft's tables. Each breach is found under
 * its own requirement when the whole stream is in view; nobody is accused when it is not, and no rule of 2007
 * is asked. */
#include "stream.h"

enum {
    RESP1 = 2, /* numbers of the frames of the setup */
    RESP2 = 3,
    CONNECT = 332,
    DH16 = 16,
    UNRELIABLE = 1,
    DELIVERY = 2,
    RECEPTION = 4,
    PRIORITY = 0x80
};

static struct made *iu1(struct stream *s, uint8_t opcode, uint8_t r_ctl, uint32_t from, uint32_t f_ctl,
                        uint16_t ox_id, uint32_t handle, size_t payload)
{
    const unsigned header = opcode == 1 || opcode == 2 ? 32 : DH16;
    const uint32_t offset = payload > 0 ? OFFSET : 0;
    struct made *f = frame(s, r_ctl, from, from == A ? B : A, 0x58, f_ctl | offset, ox_id, header + payload);
    put(f->bytes, AT_SEQ_ID, 1, s->count);
    put(f->bytes, 13, 1, header == DH16 ? 1 : 2);
    put(f->bytes, AT_HANDLE, 4, handle);
    put(f->bytes, AT_OPCODE, 1, opcode);
    return f;
}

/* Tables 11 and 13 to 15: A is host 1, B is host 2. */
static void connect1(struct made *f, uint32_t handle, uint8_t level, uint8_t local, uint8_t remote)
{
    uint8_t *p = f->bytes + 24 + DH16;
    put(p, 0, 4, 1);
    put(p, 4, 4, handle);
    put(p, 8, 4, 0x00100000);
    put(p, 8 + 19, 1, local);
    put(p, 156, 4, 0x00100000);
    put(p, 156 + 19, 1, remote);
    put(p, 304, 1, level);
    put(p, 308, 4, 65536);
}

static void setup1(struct stream *s, uint8_t level)
{
    struct made *f = iu1(s, 0x10, 2, A, FIRST | END | INITIATIVE, 1, 0xFFFFFFFF, CONNECT);
    put(f->bytes, AT_FLAGS, 1, 1);
    connect1(f, HA, level, 1, 2);
    f = iu1(s, 0x18, 3, B, CONTEXT | END | INITIATIVE, 1, 0xFFFFFFFF, CONNECT);
    connect1(f, HB, level, 2, 1);
    f = iu1(s, 0x19, 3, A, LAST | END, 1, HB, 0);
    counts(f, 1, 0);
}

static struct made *request(struct stream *s, uint8_t opcode, uint16_t ox_id, uint32_t id, uint32_t f_ctl)
{
    struct made *f =
        iu1(s, opcode, opcode == 2 ? 6 : 1, A, FIRST | END | f_ctl, ox_id, HB, opcode == 2 ? 0 : 8);
    put(f->bytes, AT_MSG_ID, 4, id);
    return f;
}

static struct made *response(struct stream *s, uint8_t opcode, uint16_t ox_id, uint32_t id)
{
    struct made *f =
        iu1(s, opcode, opcode == 0x0A ? 1 : 7, B, CONTEXT | LAST | END, ox_id, HA, opcode == 0x0A ? 8 : 0);
    put(f->bytes, AT_MSG_ID, 4, id);
    return f;
}

static struct made *end1(struct stream *s, bool answer, uint16_t ox_id, uint32_t id)
{
    struct made *f = answer ? iu1(s, 0x1A, 3, B, CONTEXT | LAST | END, ox_id, HA, 0)
                            : iu1(s, 0x12, 2, A, FIRST | END | INITIATIVE, ox_id, HB, 0);
    put(f->bytes, AT_FLAGS, 1, answer ? 0 : 5);
    put(f->bytes, AT_MSG_ID, 4, id);
    return f;
}

/* A setup, a Send, a Write and a Read, and a Disconnect. */
static struct stream session1(uint8_t level)
{
    struct stream s = {.sof_i = FCVI_SOF_I3, .sof_n = FCVI_SOF_N3};
    const bool answers = level == RECEPTION;
    setup1(&s, level);
    request(&s, 0, 2, 0, answers ? INITIATIVE : LAST);
    if (answers)
        response(&s, 8, 2, 0);
    request(&s, 1, 3, 1, answers ? INITIATIVE : LAST);
    if (answers)
        response(&s, 9, 3, 1);
    request(&s, 2, 4, 2, INITIATIVE);
    response(&s, 0x0A, 4, 2);
    end1(&s, false, 5, 3);
    end1(&s, true, 5, 3);
    return s;
}

static void judge1(struct verdict *v, const struct stream *s, uint8_t trust)
{
    struct fcvi_monitor_config config = {.limits = s->room, .trust = trust};
    size_t size = fcvi_monitor_size(&config.limits);
    v->monitor = fcvi_monitor_init(malloc(size), size, &config);
    v->found = (struct fcvi_monitor_findings){v->list, 16, 0};
    for (unsigned i = 0; i < s->count; i++) {
        const struct made *m = &s->frame[i];
        struct fcvi_input in = {m->bytes, m->length, m->sof, m->eof, m->crc};
        struct fcvi_frame view;
        struct fcvi_finding list[8];
        struct fcvi_findings codec = {list, 8, 0, 0};
        fcvi_decode_edition(&in, FCVI_EDITION_REV1, &view, &codec);
        struct fcvi_monitor_frame shown = {&view, i + 1, m->time, 0, codec.worst > 1 + FCVI_NOTICE};
        fcvi_monitor_frame(v->monitor, &shown, &v->found);
    }
}

/* Exactly this requirement in this frame, from 1; NULL: none. And nothing is said of a stream that nobody
 * vouches for. */
static void expect1(const struct stream *s, const char *requirement, unsigned number, const char *what)
{
    for (unsigned trust = 0; trust <= WHOLE; trust++) {
        struct verdict v;
        judge1(&v, s, (uint8_t)trust);
        const bool wanted = trust == WHOLE && requirement != NULL;
        const struct fcvi_monitor_finding *f = &v.list[0];
        for (unsigned i = 0; i < v.found.count && i < 16; i++) {
            if (strcmp(v.list[i].what.field, "VI_LOC_ADDR HOST_IP_ADDR") != 0)
                check_place(s, &v.list[i]);
            ck_assert_msg(strncmp(v.list[i].what.requirement, "REV1-", 5) == 0 || requirement != NULL,
                          "%s: %s", what, v.list[i].what.requirement);
        }
        if (wanted)
            ck_assert_msg(v.found.count == 1 && strcmp(f->what.requirement, requirement) == 0 &&
                              f->frame == number,
                          "%s: %zu findings, %s in frame %llu, not %s in %u", what, v.found.count,
                          v.found.count ? f->what.requirement : "none",
                          (unsigned long long)(v.found.count ? f->frame : 0), requirement, number);
        else if (requirement == NULL ||
                 (trust & (FCVI_TRUST_ALL | FCVI_TRUST_ORDER)) != (FCVI_TRUST_ALL | FCVI_TRUST_ORDER))
            ck_assert_msg(v.found.count == 0, "%s, trust %u: %s in frame %llu", what, trust,
                          v.found.count ? f->what.requirement : "",
                          (unsigned long long)(v.found.count ? f->frame : 0));
        free_verdict(&v);
    }
}

/* The second frame, or the second IU, of a Message that `request` began. */
static struct made *more(struct stream *s, uint8_t opcode, uint16_t ox_id, uint32_t f_ctl, uint16_t cnt,
                         uint32_t offset)
{
    struct made *f = iu1(s, opcode, 1, A, f_ctl, ox_id, HB, 8);
    put(f->bytes, AT_MSG_ID, 4, 0);
    counts(f, cnt, offset);
    return f;
}

static struct stream connected1(uint8_t level)
{
    struct stream s = {.sof_i = FCVI_SOF_I3, .sof_n = FCVI_SOF_N3};
    setup1(&s, level);
    return s;
}

/* One IU of two frames, 4 and 5. */
static struct stream one_iu(uint8_t opcode)
{
    struct stream s = connected1(DELIVERY);
    struct made *f = request(&s, opcode, 2, 0, 0);
    put(f->bytes, AT_F_CTL, 3, FIRST | OFFSET);
    f->eof = FCVI_EOF_N;
    f = more(&s, opcode, 2, FIRST | LAST | END, 1, 8);
    f->sof = FCVI_SOF_N3;
    put(f->bytes, AT_SEQ_ID, 1, get(s.frame[3].bytes, AT_SEQ_ID, 1));
    return s;
}

START_TEST(an_iu_is_one_sequence)
{
    struct stream s = one_iu(0);
    expect1(&s, NULL, 0, "a Send of two frames");
    put(s.frame[4].bytes, AT_SEQ_ID, 1, 0x77);
    expect1(&s, "FCVI-4.2-04", 5, "the second frame has another SEQ_ID");
    s = one_iu(1);
    expect1(&s, NULL, 0, "a Write of two frames");
    put(s.frame[4].bytes, AT_VA, 8, 0x100);
    expect1(&s, "REV1-5.7.7-01", 5, "VI_RMT_VA changes within the IU");
    put(s.frame[4].bytes, AT_VA, 8, 0);
    put(s.frame[4].bytes, AT_VA_HANDLE, 4, 9);
    expect1(&s, "REV1-5.7.8-01", 5, "VI_RMT_VA_HANDLE changes within the IU");
}
END_TEST

/* Two IUs, 4 and 5. */
START_TEST(a_message_of_two_ius_is_one_exchange)
{
    struct stream s = connected1(DELIVERY);
    request(&s, 0, 2, 0, 0);
    struct made *f = more(&s, 0, 2, LAST | END, 1, 8);
    expect1(&s, NULL, 0, "a Send of two IUs");
    put(f->bytes, AT_SEQ_CNT, 2, 0);
    expect1(&s, "REV1-5.6.5-01", 5, "SEQ_CNT begins again");
    put(f->bytes, AT_F_CTL, 3, FIRST | LAST | END | OFFSET);
    expect1(&s, "REV1-5.6.5-01", 5, "SEQ_CNT begins again, as in another Exchange");
    s = connected1(RECEPTION);
    request(&s, 0, 2, 0, 0);
    f = more(&s, 0, 2, INITIATIVE | END, 1, 8);
    response(&s, 8, 2, 0);
    expect1(&s, NULL, 0, "the last IU passes Sequence Initiative");
    put(s.frame[3].bytes, AT_F_CTL, 3, FIRST | END | INITIATIVE | OFFSET);
    expect1(&s, "FCVI-5.8.1-01", 5, "both IUs pass Sequence Initiative");
}
END_TEST

/* R02: RLTV_OFF goes on, or VI_RMT_VA does. */
START_TEST(one_of_address_and_offset_goes_on)
{
    static const struct {
        uint32_t address, offset;
        const char *requirement;
    } rows[] = {{0, 8, NULL}, {8, 0, NULL}, {8, 8, "REV1-5.7.7-01"}};
    struct stream s = connected1(DELIVERY);
    request(&s, 1, 2, 0, 0);
    struct made *f = more(&s, 1, 2, LAST | END, 1, rows[_i].offset);
    put(f->bytes, AT_VA, 8, rows[_i].address);
    expect1(&s, rows[_i].requirement, 5, "a Write of two IUs");
}
END_TEST

START_TEST(the_response_ends_the_exchange)
{
    struct stream s = connected1(RECEPTION);
    request(&s, 0, 2, 0, LAST);
    expect1(&s, "FCVI-6.2.1-05", 4, "a Send with Last_Sequence");
    s = connected1(RECEPTION);
    request(&s, 1, 2, 0, LAST);
    expect1(&s, "FCVI-6.4.1-06", 4, "a Write with Last_Sequence");
}
END_TEST

START_TEST(an_ox_id_is_that_of_one_exchange)
{
    struct stream s = connected1(DELIVERY);
    request(&s, 0, 2, 0, LAST);
    request(&s, 0, 2, 1, LAST);
    expect1(&s, NULL, 0, "the OX_ID of a Message that has ended");
    put(s.frame[3].bytes, AT_F_CTL, 3, FIRST | END | OFFSET);
    expect1(&s, "FCVI-4.2-02", 5, "the OX_ID of a Message without Last_Sequence");
    s.count = 4; /* ABTS: it is over */
    frame(&s, 0x81, A, B, 0, LAST | END, 2, 0);
    request(&s, 0, 2, 1, LAST);
    expect1(&s, NULL, 0, "the OX_ID of a Message that was aborted");
}
END_TEST

START_TEST(the_responder_names_its_rx_id)
{
    static const struct {
        uint16_t resp1, resp2;
        const char *requirement;
    } rows[] = {{0x55, 0x55, NULL},
                {0xFFFF, 0xFFFF, NULL},
                {0x55, 0xFFFF, "FCVI-5.8.1-01"},
                {0x55, 0x56, "FCVI-5.8.1-01"},
                {0xFFFF, 0x55, "FCVI-5.8.1-01"}};
    struct stream s = connected1(DELIVERY);
    put(s.frame[RESP1 - 1].bytes, AT_RX_ID, 2, rows[_i].resp1);
    put(s.frame[RESP2 - 1].bytes, AT_RX_ID, 2, rows[_i].resp2);
    expect1(&s, rows[_i].requirement, RESP2, "RESP2 after a name");
}
END_TEST

START_TEST(an_abort_has_the_name_of_its_exchange)
{
    static const struct {
        uint16_t rx_id;
        const char *requirement;
    } rows[] = {{0x55, NULL}, {0xFFFF, NULL}, {0x56, "FCVI-5.8.1-01"}};
    struct stream s = connected1(DELIVERY);
    put(s.frame[RESP1 - 1].bytes, AT_RX_ID, 2, 0x55);
    s.count = RESP1;
    struct made *f = frame(&s, 0x81, A, B, 0, FIRST | LAST | END, 1, 0);
    memcpy(f->bytes + AT_RX_ID - 2, s.frame[0].bytes + AT_RX_ID - 2, 2); /* its OX_ID */
    put(f->bytes, AT_RX_ID, 2, rows[_i].rx_id);
    expect1(&s, rows[_i].requirement, RESP1 + 1, "the RX_ID of an ABTS");
}
END_TEST

/* FC-PH: an RX_ID of FFFFh names nothing. A Read that is answered in two IUs, 5 and 6. */
START_TEST(two_names_are_one_too_many)
{
    static const struct {
        uint16_t first, second;
        const char *requirement;
    } rows[] = {
        {0x55, 0x55, NULL}, {0xFFFF, 0x55, NULL}, {0x55, 0xFFFF, NULL}, {0x55, 0x56, "FCVI-5.8.1-01"}};
    struct stream s = connected1(DELIVERY);
    request(&s, 2, 2, 0, INITIATIVE);
    put(response(&s, 0x0A, 2, 0)->bytes, AT_RX_ID, 2, rows[_i].first);
    put(s.frame[4].bytes, AT_F_CTL, 3, CONTEXT | END | OFFSET);
    struct made *f = response(&s, 0x0A, 2, 0);
    put(f->bytes, AT_RX_ID, 2, rows[_i].second);
    counts(f, 1, 8);
    expect1(&s, rows[_i].requirement, 6, "a Read of two IUs");
}
END_TEST

START_TEST(a_good_session_is_good)
{
    static const uint8_t levels[] = {UNRELIABLE, DELIVERY, RECEPTION};
    struct stream s = session1(levels[_i]);
    if (levels[_i] == UNRELIABLE) /* R14: that is a notice, under its own requirement */
        expect1(&s, "REV1-5.2.3-01", 6, "an RDMA Read at Unreliable Delivery");
    else
        expect1(&s, NULL, 0, "a session");
}
END_TEST

/* Bytes of one frame of the session at Reliable Reception: 1 to 3 the setup, 4/5 the Send, 6/7 the Write, 8/9
 * the Read, 10/11 the Disconnect. */
static const struct {
    const char *what;
    unsigned number, at, size;
    uint64_t value;
    const char *requirement;
    unsigned in; /* 0: in that frame */
} changes[] = {
    {"the first Message has 1, as in 2007", 4, AT_MSG_ID, 4, 1, "REV1-5.7.5-01", 0},
    {"a Write leaves one out", 6, AT_MSG_ID, 4, 2, "FCVI-6.4.2-08", 0},
    {"a Read leaves one out", 8, AT_MSG_ID, 4, 7, "FCVI-6.6.2-06", 0},
    {"a response to another Message", 5, AT_MSG_ID, 4, 1, "REV1-5.7.5-03", 0},
    {"RESP1 with another VI_MSG_ID", RESP1, AT_MSG_ID, 4, 1, "REV1-5.7.5-03", 0},
    {"RESP2 with another VI_MSG_ID", RESP2, AT_MSG_ID, 4, 1, "REV1-5.7.5-03", 0},
    {"data of another Message", 9, AT_MSG_ID, 4, 1, "REV1-6.6-03", 0},
    {"a Disconnect with the last id, as in 2007", 10, AT_MSG_ID, 4, 2, "REV1-6.10-01", 0},
    {"an answer to another Disconnect", 11, AT_MSG_ID, 4, 0, "REV1-6.11-01", 0},
    {"a handle that nobody gave", 4, AT_HANDLE, 4, 0x77, "REV1-5.7.4-02", 0},
    {"RESP1 with a handle that nobody gave", RESP1, AT_HANDLE, 4, 0x77, "REV1-5.7.4-01", 0},
    {"RESP2 with a handle that nobody gave", RESP2, AT_HANDLE, 4, 0x77, "REV1-5.7.4-02", 0},
    {"RESP1 with the requester's handle (R03)", RESP1, AT_HANDLE, 4, HA, NULL, 0},
    {"RESP2 with FFFFFFFFh (R03)", RESP2, AT_HANDLE, 4, 0xFFFFFFFF, NULL, 0},
    {"RESP2 goes on from RESP1's count (R06)", RESP1, AT_SEQ_CNT, 2, 1, NULL, 0},
    {"RESP2 has the number of frames before it (R06)", RESP2, AT_SEQ_CNT, 2, 2, NULL, 0},
    {"RESP2 leaves a count out", RESP2, AT_SEQ_CNT, 2, 3, "REV1-5.6.5-01", 0},
    {"a response begins with 5", 5, AT_SEQ_CNT, 2, 5, "REV1-5.6.5-01", 0},
    {"a response goes on from the request (R06)", 5, AT_SEQ_CNT, 2, 1, NULL, 0},
    {"another level is accepted", RESP1, 24 + 16 + 304, 1, DELIVERY, "REV1-4.2-02", 0},
    {"another size is accepted", RESP1, 24 + 16 + 308, 4, 4096, "REV1-4.2-02", 0},
    {"a Send is answered as a Write", 5, AT_OPCODE, 1, 9, "FCVI-6.5.1-01", 0},
    {"the data of a Read begin with 8", 9, AT_PARAMETER, 4, 8, "REV1-5.6.6-01", 0},
    {"one Message has PREF", 6, AT_CS_CTL, 1, PRIORITY, "REV1-5.6.2-02", 0},
    {"one response has PREF", 7, AT_CS_CTL, 1, PRIORITY, "REV1-5.6.2-02", 0},
    {"RESP2 alone has PREF (R26)", RESP2, AT_CS_CTL, 1, PRIORITY, NULL, 0},
    {"the Disconnect has PREF", 10, AT_CS_CTL, 1, PRIORITY, "REV1-5.6.2-02", 0},
    {"PREF in the requests alone, as in 2007", 1, AT_CS_CTL, 1, PRIORITY, "REV1-5.6.2-01", 4},
};

START_TEST(each_breach_is_found_in_its_frame)
{
    struct stream s = session1(RECEPTION);
    const unsigned i = (unsigned)_i;
    put(s.frame[changes[i].number - 1].bytes, changes[i].at, changes[i].size, changes[i].value);
    if (changes[i].at == AT_MSG_ID) /* else the next does not fit it either */
        s.count = changes[i].number;
    if (changes[i].at == AT_SEQ_CNT && changes[i].number == RESP1)
        put(s.frame[RESP2 - 1].bytes, AT_SEQ_CNT, 2, changes[i].value + 1);
    expect1(&s, changes[i].requirement, changes[i].in ? changes[i].in : changes[i].number, changes[i].what);
}
END_TEST

/* R26: whether the IUs of a setup are frames of the Connection is open. */
START_TEST(a_setup_without_pref_is_before_the_connection)
{
    struct stream s = session1(RECEPTION);
    for (unsigned i = RESP2; i < s.count; i++)
        put(s.frame[i].bytes, AT_CS_CTL, 1, PRIORITY);
    expect1(&s, NULL, 0, "PREF behind the setup");
    put(s.frame[s.count - 1].bytes, AT_CS_CTL, 1, 0);
    expect1(&s, "REV1-5.6.2-01", s.count, "PREF in all but the last");
}
END_TEST

START_TEST(the_setup_has_its_order)
{
    struct stream s = session1(RECEPTION);
    remove_frame(&s, RESP1); /* the handles are not known then */
    counts(&s.frame[1], 1, 0);
    s.count = 2;
    expect1(&s, "REV1-5.3-03", 2, "RESP2 without a RESP1");
    put(s.frame[1].bytes, AT_FLAGS, 1, 1);
    put(s.frame[1].bytes, AT_FCVI_PARAMETER, 4, 0x00030000);
    expect1(&s, NULL, 0, "RESP2 of a client that has waited long enough (5.7.6)");
    s = session1(RECEPTION);
    s.count = 3;
    remove_frame(&s, 1);
    remove_frame(&s, 2);
    expect1(&s, "REV1-5.3-02", 1, "RESP1 without a request");
    s = session1(RECEPTION);
    s.count = RESP2;
    struct made *f = iu1(&s, 0x1A, 3, B, CONTEXT | LAST | END, 1, HA, 0); /* that was CONNECT_RESP3 in 2007 */
    counts(f, 1, 0);
    expect1(&s, "REV1-5.1-09", 4, "a fourth IU");
    s = session1(RECEPTION);
    s.count = RESP2;
    insert_copy(&s, RESP2, RESP2 + 1);
    counts(&s.frame[RESP2], (uint16_t)(get(s.frame[RESP2 - 1].bytes, AT_SEQ_CNT, 2) + 1), 0);
    expect1(&s, "REV1-5.1-09", 4, "a second RESP2");
    /* R08: what follows a refusal */
    s = session1(RECEPTION);
    s.count = RESP2;
    put(s.frame[1].bytes, AT_FLAGS, 1, 1);
    put(s.frame[1].bytes, AT_FCVI_PARAMETER, 4, 0x00010000);
    expect1(&s, NULL, 0, "a refusal and RESP2 with flags 0");
    put(s.frame[2].bytes, AT_FLAGS, 1, 1);
    put(s.frame[1].bytes, AT_FCVI_PARAMETER, 4, 0x00200000);
    put(s.frame[2].bytes, AT_FCVI_PARAMETER, 4, 0x00200000);
    expect1(&s, NULL, 0, "RESP2 repeats a reason that is reserved");
    put(s.frame[1].bytes, AT_FCVI_PARAMETER, 4, 0x00010000);
    expect1(&s, "REV1-5.7.2-09", 3, "RESP2 has a reason that is reserved, and not that of the refusal");
    put(s.frame[1].bytes, AT_FLAGS, 1, 0);
    put(s.frame[1].bytes, AT_FCVI_PARAMETER, 4, 0);
    expect1(&s, "REV1-5.7.2-09", 3, "RESP2 after an accept has a reason that is reserved");
    s.count = RESP1;
    expect1(&s, NULL, 0, "an answer and nothing");
}
END_TEST

/* Nothing of FC-VI was before it. */
START_TEST(a_login_before_every_iu_ends_nothing)
{
    struct stream s = {.sof_i = FCVI_SOF_I3, .sof_n = FCVI_SOF_N3};
    login_els(&s, 0x03, A, B, false, 0x5001);
    login_els(&s, 0x02, B, A, true, 0x5001);
    setup1(&s, RECEPTION);
    expect1(&s, NULL, 0, "a setup behind a login");
    remove_frame(&s, 3);
    s.count = 3;
    expect1(&s, "REV1-5.3-02", 3, "RESP1 without a request, behind a login");
    login_els(&s, 0x03, A, B, false, 0x5002);
    login_els(&s, 0x02, B, A, true, 0x5002);
    response(&s, 8, 2, 0);
    remove_frame(&s, 3);
    expect1(&s, "FCVI-6.3.1-01", 5, "a response without a request, behind two logins");
    setup1(&s, RECEPTION);
    remove_frame(&s, 5);
    login_els(&s, 0x03, A, B, false, 0x5003);
    login_els(&s, 0x02, B, A, true, 0x5003);
    response(&s, 8, 2, 0);
    expect1(&s, NULL, 0, "a response behind a login that ended what was before");
}
END_TEST

/* R23: a Disconnect need not say that it begins an Exchange, whose OX_ID an earlier one may have had. */
START_TEST(a_disconnect_begins_an_exchange)
{
    struct stream s = {.sof_i = FCVI_SOF_I3, .sof_n = FCVI_SOF_N3};
    setup1(&s, UNRELIABLE);
    request(&s, 0, 2, 0, LAST);
    struct made *f = iu1(&s, 0x12, 2, A, END | INITIATIVE, 1, HB, 0);
    put(f->bytes, AT_FLAGS, 1, 5);
    put(f->bytes, AT_MSG_ID, 4, 1);
    end1(&s, true, 1, 1);
    expect1(&s, NULL, 0, "a Disconnect without First_Sequence, by the OX_ID of the setup");
}
END_TEST

/* No sentence of the draft forbids these: they are counted, in true words, and nobody is accused. what: 0:
 * both ports disconnect; 1: a Message before FCVI_CONNECT_RESP2; 2: one behind its sender's Disconnect. */
START_TEST(what_the_draft_does_not_say_is_counted_as_that)
{
    struct stream s = {.sof_i = FCVI_SOF_I3, .sof_n = FCVI_SOF_N3};
    setup1(&s, DELIVERY);
    if (_i == 1) {
        remove_frame(&s, 3);
        request(&s, 0, 2, 0, LAST);
        counts(iu1(&s, 0x19, 3, A, LAST | END, 1, HB, 0), 1, 0);
    }
    end1(&s, false, 5, _i == 1);
    end1(&s, true, 5, _i == 1);
    if (_i == 2)
        request(&s, 0, 6, 1, LAST);
    put(iu1(&s, 0x12, 2, B, FIRST | END | INITIATIVE, 7, HA, 0)->bytes, AT_FLAGS, 1, 5);
    iu1(&s, 0x1A, 3, A, CONTEXT | LAST | END, 7, HB, 0);
    expect1(&s, NULL, 0, "what the draft does not say");
    struct verdict v;
    judge1(&v, &s, WHOLE);
    ck_assert_uint_eq(fcvi_monitor_unjudged(v.monitor, FCVI_UNJUDGED_UNSAID).frames, _i != 0);
    ck_assert_uint_eq(fcvi_monitor_unjudged(v.monitor, FCVI_UNJUDGED_SETUP).frames, 0);
    free_verdict(&v);
}
END_TEST

/* 5.3.4. The first byte has the top bit: 128 bits without a sign. */
START_TEST(the_codes_of_the_arbitration_fit_the_addresses)
{
    static const struct {
        uint8_t a, b, reason; /* the first byte of the requester's address and of the responder's */
        const char *requirement;
    } rows[] = {
        {1, 2, 5, "REV1-5.3.4-01"},
        {2, 1, 5, NULL},
        {0x7F, 0x80, 5, "REV1-5.3.4-01"},
        {0x80, 0x7F, 5, NULL},
        {1, 1, 5, "REV1-5.3.4-03"},
        {1, 1, 7, NULL},
        {1, 1, 6, NULL}, /* R05; the codec notes it */
        {1, 2, 7, "REV1-5.3.4-03"},
        {2, 1, 6, "REV1-5.3.4-03"},
        {1, 2, 4, NULL},
    };
    struct stream s = session1(RECEPTION);
    s.count = RESP1;
    put(s.frame[0].bytes, AT_FLAGS, 1, 2);
    put(s.frame[1].bytes, AT_FLAGS, 1, 1);
    put(s.frame[1].bytes, AT_FCVI_PARAMETER, 4, (uint32_t)rows[_i].reason << 16);
    put(s.frame[0].bytes, 24 + 16 + 8 + 4, 16, 0);
    put(s.frame[0].bytes, 24 + 16 + 156 + 4, 16, 0);
    put(s.frame[0].bytes, 24 + 16 + 8 + 4, 1, rows[_i].a);
    put(s.frame[0].bytes, 24 + 16 + 156 + 4, 1, rows[_i].b);
    expect1(&s, rows[_i].requirement, 2, "an answer to a Peer");
    put(s.frame[0].bytes, AT_FLAGS, 1, 1); /* of a Client no code is compared */
    expect1(&s, NULL, 0, "an answer to a Client");
}
END_TEST

START_TEST(local_is_the_side_of_the_sender)
{
    struct stream s = session1(RECEPTION);
    connect1(&s.frame[1], HB, RECEPTION, 1, 2);
    struct verdict v;
    judge1(&v, &s, WHOLE);
    ck_assert_uint_eq(v.found.count, 1);
    ck_assert_str_eq(v.list[0].what.requirement, "REV1-6.8-03");
    free_verdict(&v);
}
END_TEST

START_TEST(no_level_answers_that_has_no_answers)
{
    struct stream s = session1(DELIVERY);
    s.count = 4;
    put(s.frame[3].bytes, AT_F_CTL, 3, FIRST | END | INITIATIVE | OFFSET);
    response(&s, 8, 2, 0);
    expect1(&s, "REV1-6.2-01", 5, "a response at Reliable Delivery");
    s = session1(DELIVERY);
    s.count = RESP2;
    request(&s, 1, 2, 0, INITIATIVE);
    response(&s, 9, 2, 0);
    expect1(&s, "FCVI-6.5.1-02", 5, "the same of a Write");
    s = session1(RECEPTION);
    s.count = 5;
    counts(response(&s, 8, 2, 0), 1, 0);
    expect1(&s, "REV1-6.2-01", 6, "two responses");
}
END_TEST

static struct made *part(struct stream *s, uint8_t opcode, uint32_t f_ctl, uint16_t cnt, uint32_t offset)
{
    struct made *f = request(s, opcode, 9, 0, 0);
    put(f->bytes, AT_F_CTL, 3, f_ctl | FIRST | OFFSET);
    put(f->bytes, AT_SEQ_ID, 1, 9);
    f->eof = f_ctl & END ? FCVI_EOF_T : FCVI_EOF_N;
    f->sof = cnt == 0 ? FCVI_SOF_I3 : FCVI_SOF_N3;
    counts(f, cnt, offset);
    return f;
}

START_TEST(frames_of_an_iu_go_on)
{
    struct stream s = session1(RECEPTION);
    s.count = RESP2;
    part(&s, 0, 0, 0, 0);
    part(&s, 0, 0, 1, 8);
    part(&s, 0, END | INITIATIVE, 2, 16);
    expect1(&s, NULL, 0, "a Send of three frames");
    struct stream t = s;
    counts(&t.frame[4], 1, 4);
    t.count = 5;
    expect1(&t, "REV1-5.6.6-01", 5, "an offset that goes back");
    t = s;
    put(t.frame[4].bytes, AT_FCVI_PARAMETER, 4, 1);
    put(t.frame[4].bytes, AT_FLAGS, 1, 0x80);
    t.count = 5;
    expect1(&t, "REV1-6.1-01", 5, "a Device_Header that changes");
    t = s;
    counts(&t.frame[4], 3, 8);
    t.count = 5;
    expect1(&t, "REV1-5.6.5-01", 5, "a count that is left out");
    /* R22: without Relative Offset Present word 5 says nothing */
    t = s;
    put(t.frame[4].bytes, AT_F_CTL, 3, FIRST);
    put(t.frame[4].bytes, AT_PARAMETER, 4, 0);
    expect1(&t, NULL, 0, "a frame without an offset");
}
END_TEST

/* R02: the next IU goes on, or begins again with an address that goes on. */
START_TEST(ius_of_a_message_go_on_in_either_way)
{
    for (unsigned way = 0; way < 4; way++) {
        struct stream s = session1(RECEPTION);
        s.count = RESP2;
        put(part(&s, 1, END, 0, 0)->bytes, AT_VA, 8, 0x1000);
        struct made *f = part(&s, 1, END | INITIATIVE, 1, way == 0 || way == 3 ? 8 : 0);
        put(f->bytes, AT_SEQ_ID, 1, 10);
        f->sof = FCVI_SOF_I3;
        put(f->bytes, AT_VA, 8, way == 1 ? 0x1008 : 0x1000);
        if (way == 3)
            counts(f, 1, 12);
        expect1(&s, way < 2 ? NULL : "REV1-5.6.6-01", 5, "a Write of two IUs"); /* way 2 is a notice (R02) */
    }
}
END_TEST

/* The second IU of a Message comes first; the answer goes on from both (R06). */
START_TEST(an_answer_goes_on_from_an_iu_that_has_overtaken)
{
    for (uint16_t count = 0; count < 4; count++) {
        struct stream s = connected1(RECEPTION);
        more(&s, 0, 2, INITIATIVE | END, 1, 8);
        request(&s, 0, 2, 0, 0);
        counts(response(&s, 8, 2, 0), count, 0);
        struct verdict v;
        judge1(&v, &s, WHOLE);
        bool told = false;
        for (unsigned i = 0; i < v.found.count; i++)
            told |= strcmp(v.list[i].what.requirement, "REV1-5.6.5-01") == 0;
        ck_assert_msg(told == (count == 3), "SEQ_CNT %u", count);
        free_verdict(&v);
    }
}
END_TEST

/* All that follows the first IU overtakes it: the answer goes on from the last of them (R06). */
START_TEST(an_answer_goes_on_from_the_last_of_two_that_have_overtaken)
{
    for (uint16_t count = 3; count < 5; count++) {
        struct stream s = connected1(RECEPTION);
        more(&s, 0, 2, 0, 1, 8);
        more(&s, 0, 2, INITIATIVE | END, 2, 16);
        request(&s, 0, 2, 0, 0);
        counts(response(&s, 8, 2, 0), count, 0);
        struct verdict v;
        judge1(&v, &s, WHOLE);
        bool told = false;
        for (unsigned i = 0; i < v.found.count; i++)
            told |= strcmp(v.list[i].what.requirement, "REV1-5.6.5-01") == 0;
        ck_assert_msg(told == (count == 4), "SEQ_CNT %u", count);
        free_verdict(&v);
    }
}
END_TEST

START_TEST(what_comes_twice_accuses_nobody)
{
    for (unsigned number = 1; number <= 11; number++) {
        struct stream s = session1(RECEPTION);
        insert_copy(&s, number, number + 1);
        struct verdict v;
        judge1(&v, &s, WHOLE & ~FCVI_TRUST_ONCE);
        ck_assert_msg(v.found.count == 0, "frame %u twice: %s", number, v.list[0].what.requirement);
        free_verdict(&v);
        for (unsigned i = 0; i < s.count; i++)
            s.frame[i].sof = FCVI_SOF_I2; /* sent again after a busy */
        judge1(&v, &s, WHOLE);
        ck_assert_msg(v.found.count == 0, "frame %u again: %s", number, v.list[0].what.requirement);
        free_verdict(&v);
    }
}
END_TEST

START_TEST(what_is_missing_accuses_nobody)
{
    for (unsigned number = 1; number <= 11; number++)
        for (uint8_t trust = 0; trust < WHOLE; trust++) {
            struct stream s = session1(RECEPTION);
            remove_frame(&s, number);
            struct verdict v;
            if ((trust & FCVI_TRUST_ALL) != 0)
                continue;
            judge1(&v, &s, trust);
            ck_assert_msg(v.found.count == 0, "frame %u is missing: %s", number, v.list[0].what.requirement);
            free_verdict(&v);
        }
}
END_TEST

START_TEST(the_count_wraps)
{
    struct stream s = session1(RECEPTION);
    s.count = RESP2;
    request(&s, 0, 2, 0xFFFFFFFF, INITIATIVE);
    request(&s, 0, 3, 0, INITIATIVE);
    expect1(&s, "REV1-5.7.5-01", 4, "FFFFFFFFh is not the first, and 0 follows it");
    s.count = 4;
    request(&s, 0, 3, 1, INITIATIVE);
    struct verdict v;
    judge1(&v, &s, WHOLE);
    ck_assert_uint_eq(v.found.count, 2);
    ck_assert_str_eq(v.list[1].what.requirement, "REV1-5.7.5-02");
    free_verdict(&v);
}
END_TEST

/* The second frame of an answer has the number that its first one may have by the count of the request. */
START_TEST(the_end_of_an_answer_comes_twice)
{
    struct stream s = {.sof_i = FCVI_SOF_I2, .sof_n = FCVI_SOF_N2};
    setup1(&s, DELIVERY);
    request(&s, 2, 2, 0, INITIATIVE);
    struct made *f = response(&s, 0x0A, 2, 0);
    put(f->bytes, AT_F_CTL, 3, CONTEXT | LAST | OFFSET);
    f->eof = FCVI_EOF_N;
    f = response(&s, 0x0A, 2, 0);
    put(f->bytes, AT_SEQ_ID, 1, f[-1].bytes[AT_SEQ_ID]);
    counts(f, 1, 8);
    f->sof = FCVI_SOF_N2;
    expect1(&s, NULL, 0, "an answer of two frames");
    insert_copy(&s, s.count, s.count + 1);
    struct verdict v;
    judge1(&v, &s, WHOLE);
    ck_assert_msg(v.found.count == 0, "its end again: %s", v.list[0].what.requirement);
    free_verdict(&v);
}
END_TEST

/* The handles serve a second Connection after the Disconnect of the first: it counts from 0 again. */
START_TEST(a_handle_may_be_given_again)
{
    struct stream s = session1(RECEPTION);
    setup1(&s, RECEPTION);
    request(&s, 0, 2, 0, INITIATIVE);
    response(&s, 8, 2, 0);
    expect1(&s, NULL, 0, "a second Connection");
    put(s.frame[14].bytes, AT_MSG_ID, 4, 3);
    put(s.frame[15].bytes, AT_MSG_ID, 4, 3);
    expect1(&s, "REV1-5.7.5-01", 15, "a second Connection that goes on counting");
}
END_TEST

/* ABTS of the setup by a server that missed RESP2 (R01): what the client sends meanwhile is its right. */
START_TEST(a_setup_that_was_aborted_is_not_followed)
{
    struct stream s = session1(RECEPTION);
    s.count = RESP2;
    struct made *f = frame(&s, 0x81, B, A, 0, CONTEXT | END | LAST, 1, 0);
    f->bytes[AT_SEQ_ID] = 2;
    request(&s, 0, 2, 7, INITIATIVE);
    expect1(&s, NULL, 0, "a Message on a Connection whose setup was aborted");
}
END_TEST

/* Whatever is wrong with it: nothing is read beyond its end, and what is found points into the frame. */
START_TEST(a_stream_of_any_bytes_is_followed)
{
    uint32_t random = 7;
    for (unsigned round = 0; round < 2000; round++) {
        struct stream s = session1(RECEPTION);
        s.room = (struct fcvi_monitor_limits){4, 2 + round % 8, 2, 2, 2}; /* some make room for others */
        for (unsigned n = 0; n < 1 + round % 6; n++) {
            random = random * 1664525u + 1013904223u;
            struct made *f = &s.frame[(random >> 8) % s.count];
            random = random * 1664525u + 1013904223u;
            const size_t headers = f->length < 64 ? f->length + 1 : 64; /* the frame may be gone */
            f->bytes[(random >> 8) % headers] ^= (uint8_t)(1u << (random >> 29));
            if ((random >> 4) % 16 == 0)
                f->length = (random >> 12) % (f->length + 1);
            if ((random >> 5) % 16 == 0)
                insert_copy(&s, 1 + (random >> 12) % s.count, 1 + (random >> 20) % s.count);
        }
        struct verdict v;
        judge1(&v, &s, (uint8_t)(round % 2 ? WHOLE : round / 2 % 16));
        for (unsigned i = 0; i < v.found.count && i < 16; i++) {
            const struct fcvi_monitor_finding *f = &v.list[i];
            ck_assert_uint_le(f->what.byte + f->what.size, s.frame[f->frame - 1].length);
            ck_assert_uint_lt(f->other, f->frame);
        }
        free_verdict(&v);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("monitor_rev1");
    TCase *tc = tcase_create("rev1");
    tcase_add_test(tc, an_iu_is_one_sequence);
    tcase_add_test(tc, a_message_of_two_ius_is_one_exchange);
    tcase_add_loop_test(tc, one_of_address_and_offset_goes_on, 0, 3);
    tcase_add_test(tc, the_response_ends_the_exchange);
    tcase_add_test(tc, an_ox_id_is_that_of_one_exchange);
    tcase_add_loop_test(tc, the_responder_names_its_rx_id, 0, 5);
    tcase_add_loop_test(tc, an_abort_has_the_name_of_its_exchange, 0, 3);
    tcase_add_loop_test(tc, two_names_are_one_too_many, 0, 4);
    tcase_add_loop_test(tc, a_good_session_is_good, 0, 3);
    tcase_add_loop_test(tc, each_breach_is_found_in_its_frame, 0, (int)(sizeof changes / sizeof changes[0]));
    tcase_add_test(tc, a_setup_without_pref_is_before_the_connection);
    tcase_add_test(tc, an_answer_goes_on_from_an_iu_that_has_overtaken);
    tcase_add_test(tc, an_answer_goes_on_from_the_last_of_two_that_have_overtaken);
    tcase_add_test(tc, the_setup_has_its_order);
    tcase_add_test(tc, a_login_before_every_iu_ends_nothing);
    tcase_add_test(tc, a_disconnect_begins_an_exchange);
    tcase_add_loop_test(tc, what_the_draft_does_not_say_is_counted_as_that, 0, 3);
    tcase_add_loop_test(tc, the_codes_of_the_arbitration_fit_the_addresses, 0, 10);
    tcase_add_test(tc, local_is_the_side_of_the_sender);
    tcase_add_test(tc, no_level_answers_that_has_no_answers);
    tcase_add_test(tc, frames_of_an_iu_go_on);
    tcase_add_test(tc, ius_of_a_message_go_on_in_either_way);
    tcase_add_test(tc, what_comes_twice_accuses_nobody);
    tcase_add_test(tc, the_end_of_an_answer_comes_twice);
    tcase_add_test(tc, what_is_missing_accuses_nobody);
    tcase_add_test(tc, the_count_wraps);
    tcase_add_test(tc, a_handle_may_be_given_again);
    tcase_add_test(tc, a_setup_that_was_aborted_is_not_followed);
    tcase_add_test(tc, a_stream_of_any_bytes_is_followed);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
