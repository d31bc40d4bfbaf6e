/* A gzip file is one compressed member after another, and zeros behind the last (RFC 1952, 2.2). */
#include "gunzip.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>

struct gunzip {
    struct inflate_state state;
    struct inflate_state before; /* as state was when bytes were asked of it last */
    bool over;                   /* nothing but zeros may follow */
    const char *broken;          /* what was wrong behind what was given last; NULL: nothing */
};

static void begin_member(struct inflate_state *s)
{
    isal_inflate_reset(s);
    s->crc_flag = ISAL_GZIP;
}

struct gunzip *fcvi_gunzip_open(void)
{
    struct gunzip *g = calloc(1, sizeof *g);
    if (g == NULL)
        return NULL;
    isal_inflate_init(&g->state);
    begin_member(&g->state);
    return g;
}

void fcvi_gunzip_feed(struct gunzip *g, const uint8_t *bytes, size_t length)
{
    g->state.next_in = (uint8_t *)(uintptr_t)bytes; /* it only reads */
    g->state.avail_in = (uint32_t)length;
}

bool fcvi_gunzip_hungry(const struct gunzip *g)
{
    return g->state.avail_in == 0;
}

bool fcvi_gunzip_ended(const struct gunzip *g)
{
    return g->over || g->state.block_state == ISAL_BLOCK_FINISH;
}

/* Behind a member. False: what follows is none. */
static bool go_on(struct gunzip *g)
{
    struct inflate_state *s = &g->state;
    while (s->avail_in != 0 && *s->next_in == 0) {
        g->over = true;
        s->next_in++;
        s->avail_in--;
    }
    if (s->avail_in == 0)
        return true;
    if (g->over || *s->next_in != 0x1F)
        return false;
    begin_member(s);
    return true;
}

static const char *wrong_with(int status)
{
    if (status == ISAL_DECOMP_OK || status == ISAL_END_INPUT)
        return NULL;
    return status == ISAL_INCORRECT_CHECKSUM ? "its check value is wrong: the file was damaged"
                                             : "it is damaged";
}

/* Where igzip meets damage on its fast way it has given bytes that are none: a copy from before the
 * beginning. Byte by byte it gives what is right, and no more. */
static int inflate_exactly(struct gunzip *g)
{
    struct inflate_state *s = &g->state;
    int status = isal_inflate(s);
    if (wrong_with(status) == NULL)
        return status;
    *s = g->before;
    uint32_t left = s->avail_in;
    do {
        s->avail_in = left != 0 ? 1 : 0;
        left -= s->avail_in;
        status = isal_inflate(s);
        left += s->avail_in;
    } while (wrong_with(status) == NULL && left != 0 && s->avail_out != 0 && !fcvi_gunzip_ended(g));
    s->avail_in = left;
    return status;
}

/* What came before the damage is given first, so that it does not depend on how much was fed at once. */
ssize_t fcvi_gunzip_next(struct gunzip *g, uint8_t *out, size_t capacity, const char **why)
{
    struct inflate_state *s = &g->state;
    s->next_out = out;
    s->avail_out = (uint32_t)capacity;
    while (g->broken == NULL && s->avail_out == capacity) {
        if (fcvi_gunzip_ended(g) && !go_on(g)) {
            g->broken = "something else follows behind its end";
            break;
        }
        if (fcvi_gunzip_ended(g))
            return 0; /* all is taken */
        const uint32_t before = s->avail_in;
        g->before = *s;
        g->broken = wrong_with(inflate_exactly(g));
        if (g->broken == NULL && s->avail_out == capacity && s->avail_in == before && !fcvi_gunzip_ended(g))
            return 0;
    }
    if (g->broken != NULL && s->avail_out == capacity) {
        *why = g->broken;
        return -1;
    }
    return (ssize_t)(capacity - s->avail_out);
}

void fcvi_gunzip_close(struct gunzip *g)
{
    free(g);
}
