/* Extended Link Services and Name Server frames by the field table. The bytes are those of captures that
 * libfc and an independent generator made; what they mean is what tshark 4.0.17 says of them, or FC-FS, RFC
 * 2625 and FC-GS. */
#include "golden.h"

#include "quiet_check.h"
#include <fcvi/table.h>
#include <stdio.h>

#define REQUEST "22 010400 00 010203 01 290000 11 00 0000 1001 ffff 00000000 "
#define REPLY "23 010203 00 010400 01 990000 01 00 0000 1001 ffff 00000000 "
#define ASKS "02 fffffc 00 010203 20 290000 1a 00 0000 100a ffff 00000000 "
#define ANSWERS "03 010203 00 fffffc 20 990000 31 00 0000 100a 4001 00000000 "

struct view {
    uint8_t bytes[GOLDEN_MAX];
    struct fcvi_frame frame;
    struct fcvi_values values;
    char text[16384];
};

/* Take the frame apart; whatever it is, it comes together again. */
static void look(struct view *v, const char *hex, uint8_t sof, uint16_t answers)
{
    uint8_t out[GOLDEN_MAX];
    size_t n = from_hex(hex, v->bytes);
    struct fcvi_input in = {v->bytes, n, sof, FCVI_EOF_NONE, FCVI_CRC_ABSENT};
    fcvi_decode(&in, &v->frame, NULL);
    ck_assert_uint_eq(v->frame.answers, 0);
    v->frame.answers = answers;
    ck_assert_int_eq(fcvi_values_of(&v->frame, &v->values), 0);
    ck_assert_uint_le(v->values.count, FCVI_MAX_VALUES);
    ck_assert_uint_eq(fcvi_encode(&v->values, out, sizeof out), n);
    ck_assert_mem_eq(out, v->bytes, n);
    ck_assert_uint_lt(fcvi_print_text(&v->frame, v->text, sizeof v->text), sizeof v->text);
}

/* The nth value of that field: a number, or the last eight bytes of a byte string. */
static bool value_of(const struct view *v, const char *structure, const char *ident, unsigned nth,
                     uint64_t *u)
{
    size_t count;
    const struct fcvi_field *table = fcvi_field_table(&count);
    const struct fcvi_structure_info *structures = fcvi_structure_table(&count);
    for (size_t i = 0; i < v->values.count; i++) {
        const struct fcvi_value *value = &v->values.list[i];
        const struct fcvi_field *f = &table[value->field];
        if (strcmp(f->ident, ident) != 0 || strcmp(structures[f->structure].ident, structure) != 0 ||
            nth-- != 0)
            continue;
        *u = f->kind == FCVI_F_BLOB ? fcvi_load(value->bytes + f->size - 8, 8) : value->u;
        return true;
    }
    return false;
}

static unsigned how_many(const struct view *v, const char *structure, const char *ident)
{
    uint64_t u;
    unsigned n = 0;
    while (value_of(v, structure, ident, n, &u))
        n++;
    return n;
}

/* ---- what is in them ---- */

#define PLOGI_BODY                                                                                           \
    "2020000a 88020840 00ff001f 000007d0 10000090fa000001 20000090fa000001 00*16 00*16 "                     \
    "8800 0000 0000 0840 00ff 0000 0001 0000 00*16 00*16"

static const struct {
    const char *hex;
    uint16_t answers;
    const char *structure, *ident;
    unsigned nth;
    uint64_t value;
    const char *text; /* what stands behind the value in words, or NULL */
} cases[] = {
    {REQUEST "03000000 " PLOGI_BODY, 0, "LOGIN", "CIRO", 0, 1, NULL},
    {REQUEST "03000000 " PLOGI_BODY, 0, "LOGIN", "Random_Offset", 0, 0, NULL},
    {REQUEST "03000000 " PLOGI_BODY, 0, "LOGIN", "SEQ_CNT_S", 0, 1, NULL},
    {REQUEST "03000000 " PLOGI_BODY, 0, "LOGIN", "Alternate_BB_Credit", 0, 1, NULL},
    {REQUEST "03000000 " PLOGI_BODY, 0, "LOGIN", "F_Port", 0, 0, NULL},
    {REQUEST "03000000 " PLOGI_BODY, 0, "LOGIN", "E_D_TOV_Resolution", 0, 0, "1 ms"},
    {REQUEST "03000000 " PLOGI_BODY, 0, "LOGIN", "E_D_TOV", 0, 2000, NULL},
    {REQUEST "03000000 " PLOGI_BODY, 0, "LOGIN", "Port_Name", 0, 0x10000090fa000001, NULL},
    {REQUEST "03000000 " PLOGI_BODY, 0, "CLASS", "Class_Validity", 0, 0, NULL}, /* class 2 */
    {REQUEST "03000000 " PLOGI_BODY, 0, "CLASS", "Class_Validity", 1, 1, NULL},
    {REQUEST "03000000 " PLOGI_BODY, 0, "CLASS", "Sequential_Delivery", 1, 1, NULL},
    {REQUEST "03000000 " PLOGI_BODY, 0, "CLASS", "Class_Data_Field_Size", 1, 2112, NULL},
    {REQUEST "03000000 " PLOGI_BODY, 0, "CLASS", "Concurrent_Sequences", 1, 255, NULL},
    {REQUEST "03000000 " PLOGI_BODY, 0, "CLASS", "Open_Sequences", 1, 1, NULL},
    {REQUEST "04000000 " PLOGI_BODY, 0, "LOGIN", "BB_Credit", 0, 10, NULL},
    {REQUEST "50000000 " PLOGI_BODY, 0, "LOGIN", "BB_Credit", 0, 10, NULL},
    {REQUEST "51000000 " PLOGI_BODY, 0, "LOGIN", "BB_Credit", 0, 10, NULL},
    {REPLY "02000000 " PLOGI_BODY, 0, "LOGIN", "BB_Credit", 0, 10, NULL}, /* by its length */
    {REPLY "02000000 " PLOGI_BODY, 0x03, "LOGIN", "BB_Credit", 0, 10, NULL},
    {REPLY "01000000 00 09 1e 00", 0, "LS_RJT", "LS_Reason", 0, 9, "Unable to perform command request"},
    {REPLY "01000000 00 09 1e 00", 0, "LS_RJT", "LS_Explanation", 0, 0x1e, "N_Port Login required"},
    {REPLY "01000000 00 0b 2c 00", 0x54, "LS_RJT", "LS_Reason", 0, 0x0b, "Command not supported"},
    {REQUEST "05000000 00010203 10000090fa000001", 0, "LOGO", "LOGO_N_Port_Identifier", 0, 0x010203, NULL},
    {REQUEST "05000000 00010203 10000090fa000001", 0, "LOGO", "LOGO_Port_Name", 0, 0x10000090fa000001, NULL},
    {REQUEST "52000000 00000000 10000090fa000001 20000090fa000001 00010203", 0, "ADISC", "ADISC_Node_Name", 0,
     0x20000090fa000001, NULL},
    {REPLY "02000000 00000000 10000090fa000001 20000090fa000001 00010203", 0x52, "ADISC",
     "ADISC_N_Port_Identifier", 0, 0x010203, NULL},
    {REQUEST "12000000 00010203 10022002", 0, "RRQ", "RRQ_RX_ID", 0, 0x2002, NULL},
    {REQUEST "13000000 00010101 0001ffff", 0, "RRQ", "RRQ_S_ID", 0, 0x010101, NULL}, /* REC */
    {REQUEST "60000000 00010200 2000525400fc00fe 1000525400fc00fe", 0, "FAN", "FAN_Node_Name", 0,
     0x1000525400fc00fe, NULL},
    {REQUEST "62000000 00000003", 0, "SCR", "SCR_Function", 0, 3, "Full registration"},
    {REQUEST "61040008 00010200", 0, "RSCN_PAGE", "RSCN_Identifier", 0, 0x010200, NULL},
    {REQUEST "61040010 00010200 05010300 0a010400", 0, "RSCN_PAGE", "RSCN_Format", 1, 1, "Area"},
    {REQUEST "61040010 00010200 05010300 0a010400", 0, "RSCN_PAGE", "RSCN_Event", 2, 2, NULL},
    {"22 ffffff 00 010203 01 380000 14 00 0000 1004 ffff 00000000 54000000 04010203 02000000 "
     "10000090fa000001 "
     "20000090fa000001 00*16 00*12 c0000201 00*12 c0000202",
     0, "FARP", "Match_Code_Points", 0, 4, "IP address of responder"},
    {REQUEST "55000000 04010203 02010400 10000090fa000001 20000090fa000001 10000090fa000002 20000090fa000002 "
             "00*12 c0000201 00*12 c0000202",
     0, "FARP", "Responder_Action", 0, 2, "Send FARP-REPLY"},
    {REQUEST "55000000 04010203 02010400 10000090fa000001 20000090fa000001 10000090fa000002 20000090fa000002 "
             "00*12 c0000201 00*12 c0000202",
     0, "FARP", "Responding_IP_Address", 0, 0xc0000202, NULL},
    {ASKS "01000000 fc020000 01b10000 00000000 00*12 c0000202", 0, "CT", "CT_Command", 0, 0x01b1, "GID_IPP"},
    {ASKS "01000000 fc020000 01b10000 00000000 00*12 c0000202", 0, "CT", "GS_Type", 0, 0xfc,
     "Directory Service"},
    {ASKS "01000000 fc020000 01b10000 00000000 00*12 c0000202", 0, "GID_IPP", "GID_IPP_Address", 0,
     0xc0000202, NULL},
    {ANSWERS "01000000 fc020000 80020000 00000000 80010400", 0x01b1, "PORT_ID", "PORT_ID_Identifier", 0,
     0x010400, NULL},
    {ANSWERS "01000000 fc020000 80020000 00000000 00010400 80010500", 0x01b1, "PORT_ID", "PORT_ID_Control", 1,
     0x80, "Last"},
    {ANSWERS "01000000 fc020000 80010000 00090b00", 0x01b1, "CT", "CT_Explanation", 0, 0x0b,
     "Port IP address not registered"},
    {ANSWERS "01000000 fc020000 80010000 00090b00", 0x01b1, "CT", "CT_Reason", 0, 9,
     "Unable to perform command request"},
    {ANSWERS "01000000 fc020000 80010000 00090b00", 0, "CT", "CT_Command", 0, 0x8001, "CT_RJT"},
};

START_TEST(values_and_what_they_mean)
{
    struct view v;
    uint64_t u;
    char line[128];
    look(&v, cases[_i].hex, FCVI_SOF_I3, cases[_i].answers);
    ck_assert_msg(value_of(&v, cases[_i].structure, cases[_i].ident, cases[_i].nth, &u), "%s.%s is not there",
                  cases[_i].structure, cases[_i].ident);
    ck_assert_uint_eq(u, cases[_i].value);
    if (cases[_i].text != NULL) {
        snprintf(line, sizeof line, "  %s\n", cases[_i].text);
        ck_assert_ptr_nonnull(strstr(v.text, line));
    }
}
END_TEST

/* ---- what is not in them ---- */

/* Cut short, or without the request that would tell: the ELS command alone, the rest as it is. */
START_TEST(bodies_that_are_not_there)
{
    static const struct {
        const char *hex;
        uint16_t answers;
        size_t rest;
    } frames[] = {
        {REPLY "02000000", 0, 0},
        {REPLY "02000000", 0x05, 0},
        {REPLY "02000000 00000000 10000090fa000001 20000090fa000001 00010203", 0, 24}, /* ADISC or RLS? */
        {REPLY "02000000 00000000 10000090fa000001 20000090fa000001 00010203", 0x0f, 24},
        {REPLY "02000000 0001ffff 00010101 00010200 58000000 e0000000", 0x13, 20}, /* REC: another layout */
        {REPLY "02000000 00010200 05010300", 0x61, 8},
        {REPLY "02000000 " PLOGI_BODY, 0x78, 112},
        {REPLY "02100014 08002100 00000000 00000000 00000012", 0x20, 16}, /* PRLI */
        {REQUEST "03000000 20200010", 0, 4},
        {REQUEST "52000000 00000000 10000090fa000001 20000090fa000001", 0, 20},
        {REQUEST "20100014 58002000 00*12", 0, 16},
        {REQUEST "61080010 00010200 05010300 0a010400", 0, 12}, /* pages of another length */
        {REQUEST "61040004 00010200", 0, 4},                    /* none, says the payload length */
        {REQUEST "61040000 00010200", 0, 4},
    };
    struct view v;
    look(&v, frames[_i].hex, FCVI_SOF_NONE, frames[_i].answers);
    ck_assert_uint_eq(how_many(&v, "ELS", "ELS_Command"), 1);
    ck_assert_uint_eq(v.values.rest_length, frames[_i].rest);
}
END_TEST

/* Every cut of one of each: nothing beyond the frame is read. */
START_TEST(cut_everywhere)
{
    uint8_t bytes[GOLDEN_MAX];
    size_t n = from_hex(cases[_i].hex, bytes);
    for (size_t cut = 0; cut < n; cut++) {
        struct fcvi_values values;
        struct fcvi_frame frame;
        char text[16384];
        uint8_t out[GOLDEN_MAX], *copy = malloc(cut + 1);
        memcpy(copy + 1, bytes, cut);
        struct fcvi_input in = {copy + 1, cut, FCVI_SOF_I3, FCVI_EOF_NONE, FCVI_CRC_ABSENT};
        fcvi_decode(&in, &frame, NULL);
        frame.answers = cases[_i].answers;
        fcvi_print_text(&frame, text, sizeof text);
        fcvi_print_json(&frame, text, sizeof text);
        if (fcvi_values_of(&frame, &values) == 0) {
            ck_assert_uint_eq(fcvi_encode(&values, out, sizeof out), cut);
            ck_assert_mem_eq(out, bytes, cut);
        }
        free(copy);
    }
}
END_TEST

/* Longer lists than there is room for: what is left over stays as bytes. */
START_TEST(long_lists)
{
    static const char *const heads[] = {REQUEST "61040800", ANSWERS "01000000 fc020000 80020000 00000000"};
    static const char *const structures[][2] = {{"RSCN_PAGE", "RSCN_Format"},
                                                {"PORT_ID", "PORT_ID_Identifier"}};
    struct view v;
    char hex[2048];
    snprintf(hex, sizeof hex, "%s 00*1000", heads[_i]);
    look(&v, hex, FCVI_SOF_I3, _i == 0 ? 0 : 0x01b1);
    unsigned shown = how_many(&v, structures[_i][0], structures[_i][1]);
    ck_assert_uint_ge(shown, 16);
    ck_assert_uint_eq(v.values.rest_length, 1000 - 4 * shown);
}
END_TEST

/* An RSCN has no more pages than it has bytes, and a list of ports ends with the last. */
START_TEST(lists_that_lie)
{
    struct view v;
    look(&v, REQUEST "61040100 00010200 00010300 0001", FCVI_SOF_I3, 0);
    ck_assert_uint_eq(how_many(&v, "RSCN_PAGE", "RSCN_Format"), 2);
    ck_assert_uint_eq(v.values.rest_length, 2);
    look(&v, ANSWERS "01000000 fc020000 80020000 00000000 80010400 00010500", FCVI_SOF_I3, 0x01b1);
    ck_assert_uint_eq(how_many(&v, "PORT_ID", "PORT_ID_Control"), 1);
    ck_assert_uint_eq(v.values.rest_length, 4);
    look(&v, ANSWERS "01000000 fc020000 80020000 00000000 00010400 0001", FCVI_SOF_I3, 0x01b1);
    ck_assert_uint_eq(how_many(&v, "PORT_ID", "PORT_ID_Control"), 1);
}
END_TEST

/* ---- FC-CT ---- */

/* Where there is a CT header, and what a frame is called; FC-GS numbers the commands of each service by
 * itself. */
START_TEST(names_of_ct_frames)
{
    static const struct {
        const char *hex;
        uint8_t sof;
        const char *title;
        unsigned headers;
    } frames[] = {
        {ASKS "01000000 fc020000 01b10000 00000000 00*16", FCVI_SOF_NONE, "GID_IPP, ", 1},
        {ASKS "01000000 fc020000 01b10000 00000000 00*16", FCVI_SOF_I2, "GID_IPP, ", 1},
        {ASKS "01000000 fc020000 01b10000 00000000 00*12", FCVI_SOF_I3, "GID_IPP, ", 1}, /* cut short */
        {ASKS "01000000 fc020000 7fff0000 00000000", FCVI_SOF_I3, "FC-CT, ", 1},
        {ASKS "01000000 fa020000 01b10000 00000000", FCVI_SOF_I3, "FC-CT, ", 1}, /* Management Service */
        {ASKS "01000000 fc030000 01b10000 00000000", FCVI_SOF_I3, "FC-CT, ", 1},
        {ANSWERS "01000000 fa010000 80020000 00000000", FCVI_SOF_I3, "CT_ACC, ", 1},
        {ANSWERS "01000000 fc020000 80020000 00000000 80010400", FCVI_SOF_N3, "FC-CT, ", 0}, /* goes on */
        {"03 010203 00 fffffc 20 990000 31 00 0001 100a 4001 00000000 01000000 fc020000 80020000 00000000",
         FCVI_SOF_NONE, "FC-CT, ", 0},
        {"04 010203 00 fffffc 20 990000 31 00 0000 100a 4001 00000000 01000000 fc020000 80020000 00000000",
         FCVI_SOF_I3, "FC-CT, ", 0},
        {"03 010203 00 fffffc 20 990000 31 40 0000 100a 4001 00000000 01000000 fc020000 80020000 00000000",
         FCVI_SOF_I3, "FC-CT, ", 0}, /* ESP_Header */
        {"02 010203 00 fffffc 20 990000 31 01 0000 100a 4001 00000000 00*16 01000000 fc020000 01b10000 "
         "00000000",
         FCVI_SOF_I3, "GID_IPP, ", 0}, /* Device_Header: not taken apart */
        {ANSWERS "01000000 fc020000", FCVI_SOF_I3, "FC-CT, ", 0},
        {"02 010203 00 fffffc 08 290000 31 00 0000 100a 4001 00000000 00*16", FCVI_SOF_I3, "FCP, ", 0},
    };
    struct view v;
    look(&v, frames[_i].hex, frames[_i].sof, 0);
    ck_assert_msg(strncmp(v.text, frames[_i].title, strlen(frames[_i].title)) == 0, "%.40s", v.text);
    ck_assert_uint_eq(how_many(&v, "CT", "CT_Command"), frames[_i].headers);
}
END_TEST

/* What accepts another query than GID_IPP, or one that nobody has seen, stays as it is. */
START_TEST(accepts_of_other_queries)
{
    static const uint16_t queries[] = {0, 0x0171, 0x01b2};
    struct view v;
    look(&v, ANSWERS "01000000 fc020000 80020000 00000000 80010400", FCVI_SOF_I3, queries[_i]);
    ck_assert_uint_eq(how_many(&v, "CT", "CT_Command"), 1);
    ck_assert_uint_eq(v.values.rest_length, 4);
}
END_TEST

/* The explanations of another service are numbers only. */
START_TEST(explanations_of_another_service)
{
    struct view v;
    look(&v, ANSWERS "01000000 fa010000 80010000 00090b00", FCVI_SOF_I3, 0);
    ck_assert_ptr_nonnull(strstr(v.text, "Unable to perform command request\n"));
    ck_assert_ptr_null(strstr(v.text, "Port IP address not registered"));
}
END_TEST

#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

int main(void)
{
    Suite *s = suite_create("link services");
    TCase *t = tcase_create("link services");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, values_and_what_they_mean, 0, COUNT(cases));
    tcase_add_loop_test(t, bodies_that_are_not_there, 0, 14);
    tcase_add_loop_test(t, cut_everywhere, 0, COUNT(cases));
    tcase_add_loop_test(t, long_lists, 0, 2);
    tcase_add_test(t, lists_that_lie);
    tcase_add_loop_test(t, names_of_ct_frames, 0, 14);
    tcase_add_loop_test(t, accepts_of_other_queries, 0, 3);
    tcase_add_test(t, explanations_of_another_service);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
