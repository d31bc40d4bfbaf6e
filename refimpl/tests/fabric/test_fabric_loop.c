/* Loop Initialization: who takes part, which AL_PAs there are, and the FAN of the FL_Port (7.7.3, 7.7.4). */
#include "fabric_bench.h"

static struct net *loop(enum fcvi_topology topology, uint32_t ports, uint32_t frames)
{
    const struct fcvi_fabric_limits limits = {.ports = ports, .frames = frames, .rules = 1};
    struct fcvi_fabric_config c = n_config();
    c.topology = (uint8_t)topology;
    return n_empty(&limits, &c);
}

/* FAN has no reply: it ends its Exchange. The FL_Port's own address has AL_PA 00h. */
#define FAN(id, area, names)                                                                                 \
    "22 " id " 00 fffffe 01 380000 .. 00 0000 .... ffff 00000000 60000000 00 " area "00 " names
#define NAMES "10000000f0000001 20000000f0000001"

START_TEST(fan)
{
    struct net *n = loop(FCVI_PUBLIC_LOOP, 4, 8);
    struct fcvi_port_identity behind = n_identity(0x020300, 4);
    attach(n, 0x0101EF, 1);
    attach(n, 0x0000E8, 2); /* a private port: no Domain and Area */
    attach(n, 0x0101E4, 3);
    fcvi_fabric_attach(n->f, &behind, FCVI_PLACE_FABRIC);
    n->now = 5000;
    ck_assert_uint_eq(fcvi_fabric_lip(n->f, n->now, 0), 3);
    ck_assert_uint_eq(fcvi_fabric_now(n->f), 5000);
    hear(n, 0, I3, FAN("0101ef", "0101", NAMES));
    ck_assert_uint_eq(n->at, 5000 + 1000 + LATENCY);
    well_formed(n);
    hear(n, 2, I3, FAN("0101e4", "0101", NAMES));
    silence(n);
    fcvi_fabric_rename(n->f, 0x1111111111111111, 0x2222222222222222);
    fcvi_fabric_link(n->f, 2, false);
    ck_assert_uint_eq(fcvi_fabric_lip(n->f, n->now, 0), 2);
    hear(n, 0, I3, FAN("0101ef", "0101", "11*8 22*8"));
    silence(n);
    ck_assert_uint_eq(fcvi_fabric_lip(n->f, n->now, FCVI_LIP_NO_FAN), 2);
    n_end(n);
}
END_TEST

START_TEST(no_fan)
{
    static const enum fcvi_topology topology[] = {FCVI_POINT_TO_POINT, FCVI_PRIVATE_LOOP, FCVI_FABRIC};
    struct net *n = loop(topology[_i], 2, 8);
    attach(n, 0x0101EF, 1);
    attach(n, 0x0101E8, 2);
    ck_assert_uint_eq(fcvi_fabric_lip(n->f, 1000, FCVI_LIP_NEW_ADDRESSES), _i == 1 ? 2 : 0);
    ck_assert_uint_eq(fcvi_fabric_now(n->f), 1000);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 0), _i == 1 ? 0x010101 : 0x0101EF);
    n_end(n);
}
END_TEST

/* Without new addresses nothing is lost. */
START_TEST(same_addresses)
{
    struct net *n = loop(FCVI_PRIVATE_LOOP, 2, 8);
    attach(n, 0x0000EF, 1);
    attach(n, 0x0000E8, 2);
    say(n, 0, I3, DATA, 0x0000E8u, 0x0000EFu, 1u);
    ck_assert_uint_eq(fcvi_fabric_lip(n->f, 0, 0), 2);
    hear(n, 1, I3, DATA, 0x0000E8u, 0x0000EFu, 1u);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 0), 0x0000EF);
    n_end(n);
}
END_TEST

/* With new ones every port on the loop has another, and FAN goes there; a port in the Fabric keeps its own.
 */
START_TEST(new_addresses)
{
    struct net *n = loop(FCVI_PUBLIC_LOOP, 3, 8);
    struct fcvi_port_identity behind = n_identity(0x010102, 3);
    attach(n, 0x010101, 1);
    attach(n, 0x0101E4, 2);
    fcvi_fabric_attach(n->f, &behind, FCVI_PLACE_FABRIC);
    say(n, 0, I3, DATA, 0x0101E4u, 0x010101u, 1u);
    say(n, 0, I3, DATA, 0x010102u, 0x010101u, 2u);
    ck_assert_uint_eq(fcvi_fabric_lip(n->f, 0, FCVI_LIP_NEW_ADDRESSES), 2);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 0), 0x010104); /* 02h is taken */
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 1), 0x0101E8);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 2), 0x010102);
    hear(n, 2, I3, DATA, 0x010102u, 0x010101u, 2u);
    hear(n, 0, I3, FAN("010104", "0101", NAMES));
    hear(n, 1, I3, FAN("0101e8", "0101", NAMES));
    ck_assert_uint_eq(counters(n).dropped, 1);
    n_end(n);
}
END_TEST

/* The AL_PAs of FC-AL, in their order; the FL_Port has 00h. */
static const uint8_t al_pas[] = {
    0x01, 0x02, 0x04, 0x08, 0x0F, 0x10, 0x17, 0x18, 0x1B, 0x1D, 0x1E, 0x1F, 0x23, 0x25, 0x26, 0x27,
    0x29, 0x2A, 0x2B, 0x2C, 0x2D, 0x2E, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x39, 0x3A, 0x3C, 0x43,
    0x45, 0x46, 0x47, 0x49, 0x4A, 0x4B, 0x4C, 0x4D, 0x4E, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x59,
    0x5A, 0x5C, 0x63, 0x65, 0x66, 0x67, 0x69, 0x6A, 0x6B, 0x6C, 0x6D, 0x6E, 0x71, 0x72, 0x73, 0x74,
    0x75, 0x76, 0x79, 0x7A, 0x7C, 0x80, 0x81, 0x82, 0x84, 0x88, 0x8F, 0x90, 0x97, 0x98, 0x9B, 0x9D,
    0x9E, 0x9F, 0xA3, 0xA5, 0xA6, 0xA7, 0xA9, 0xAA, 0xAB, 0xAC, 0xAD, 0xAE, 0xB1, 0xB2, 0xB3, 0xB4,
    0xB5, 0xB6, 0xB9, 0xBA, 0xBC, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCC, 0xCD, 0xCE, 0xD1,
    0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD9, 0xDA, 0xDC, 0xE0, 0xE1, 0xE2, 0xE4, 0xE8, 0xEF};
enum { AL_PAS = sizeof al_pas };

START_TEST(every_al_pa)
{
    ck_assert_uint_eq(AL_PAS, 126);
    struct net *n = loop(FCVI_PRIVATE_LOOP, 1, 1);
    attach(n, 0, 1);
    for (unsigned i = 0; i < 2 * AL_PAS; i++) {
        fcvi_fabric_lip(n->f, 0, FCVI_LIP_NEW_ADDRESSES);
        ck_assert_uint_eq(fcvi_fabric_id(n->f, 0), al_pas[i % AL_PAS]);
    }
    n_end(n);
}
END_TEST

/* A loop has 126 NL_Ports; when all have their addresses nobody can move, and one more gets none. */
START_TEST(full_loop)
{
    struct net *n = loop(FCVI_PRIVATE_LOOP, AL_PAS + 1, 1);
    for (uint32_t i = 0; i < AL_PAS; i++)
        ck_assert_uint_eq(attach(n, al_pas[i], 1), i);
    ck_assert_uint_eq(attach(n, 0, 1), AL_PAS);
    ck_assert_uint_eq(fcvi_fabric_lip(n->f, 0, FCVI_LIP_NEW_ADDRESSES), AL_PAS + 1);
    for (uint32_t i = 0; i < AL_PAS; i++)
        ck_assert_uint_eq(fcvi_fabric_id(n->f, i), al_pas[i]);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, AL_PAS), 0);
    n_end(n);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_loop");
    TCase *t = tcase_create("loop");
    tcase_add_test(t, fan);
    tcase_add_loop_test(t, no_fan, 0, 3);
    tcase_add_test(t, same_addresses);
    tcase_add_test(t, new_addresses);
    tcase_add_test(t, every_al_pa);
    tcase_add_test(t, full_loop);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
