/* The rig with four VIs that are all connected. */
#ifndef FCVI_TEST_MANY_H
#define FCVI_TEST_MANY_H

#include "../rig.h"

enum { VIS = 4 };

struct many {
    struct rig *r;
    uint32_t vi[VIS], handle[VIS]; /* the tester's handles are 0000a000h and on */
};

static inline struct many begin(struct rig *r)
{
    struct many m = {.r = r};
    r->limits.vis = VIS;
    rig_start(r);
    m.vi[0] = r->vi;
    for (unsigned i = 0; i < VIS; i++) {
        if (i > 0)
            m.vi[i] = w_vi(&r->w, 0, &r->attributes);
        m.handle[i] = rig_serve(r, m.vi[i], 0xa000 + i, 0x200 + i);
    }
    return m;
}

/* Not yet: the frames wait until the host asks for them. */
static inline void post(struct many *m, unsigned i, enum fcvi_op op, uint32_t length)
{
    ck_assert_int_eq(w_post(&m->r->w, 0, m->vi[i], op, m->r->mem, 0, length, 0x7000, 0x77), VIP_SUCCESS);
}

/* Which VI the nth frame is from: its FCVI_HANDLE. */
static inline unsigned from(const struct many *m, unsigned nth)
{
    ck_assert_uint_eq(rig_field(m->r, nth, 8, 1), FCVI_TYPE);
    return rig_field(m->r, nth, 24, 4) - 0xa000;
}

/* FCVI_READ_RESP of no data to the nth frame. */
static inline void answer_read(struct many *m, unsigned nth)
{
    rig_hear(m->r,
             "01 010100 00 010200 58 980000 09 02 0000 %04x 8001 00000000 "
             "%08x 0a 00 0000 %08x 00000000 0000000000007000 00000077 00000000",
             rig_ox(m->r, nth), m->handle[from(m, nth)], rig_field(m->r, nth, 32, 4));
}

static inline void acknowledge(struct many *m, unsigned nth)
{
    rig_hear(m->r, "c0 010100 00 010200 00 c00000 %02x 00 %04x %04x 8001 00000001",
             rig_field(m->r, nth, 12, 1), rig_field(m->r, nth, 14, 2), rig_ox(m->r, nth));
}

#endif
