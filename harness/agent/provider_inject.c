/* Frames between two NICs, and what an injector does to them. A message is the frames of one Exchange that
 * carry data (FC-VI 5.2.1: R_CTL 01h), up to the end of the Sequence. */
#include "provider_inject.h"

#include <string.h>

enum { R_CTL = 0, SOLICITED_DATA = 0x01, F_CTL = 9, END_SEQUENCE = 0x08, OX_ID = 16, HEADER = 24 };

bool inject_named(const char *name, enum inject_fault *fault)
{
    static const char *const names[] = {"nothing", "lose", "corrupt", "cut", "link-down", "link-up", "alter"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) {
            *fault = (enum inject_fault)i;
            return true;
        }
    return false;
}

void inject_arm(struct inject *i, enum inject_fault fault, size_t from)
{
    if (fault == INJECT_LINK_DOWN || fault == INJECT_LINK_UP) {
        i->down = fault == INJECT_LINK_DOWN;
        return;
    }
    i->armed[from & 1] = fault;
    i->begun[from & 1] = false;
}

static void damage(enum inject_fault fault, uint8_t *bytes, struct fcvi_input *frame)
{
    bytes[frame->length - 1] ^= 0x5a;
    if (fault != INJECT_ALTER)
        frame->crc = FCVI_CRC_BAD;
}

bool inject_passes(struct inject *i, size_t from, uint8_t *bytes, struct fcvi_input *frame)
{
    if (i->down)
        return false;
    enum inject_fault fault = i->armed[from];
    if (fault == INJECT_NOTHING || frame->length <= HEADER || bytes[R_CTL] != SOLICITED_DATA)
        return true;
    uint16_t exchange = (uint16_t)(bytes[OX_ID] << 8 | bytes[OX_ID + 1]);
    bool first = !i->begun[from], last = (bytes[F_CTL] & END_SEQUENCE) != 0;
    if (!first && exchange != i->exchange[from])
        return true;
    if (first)
        i->hits++;
    i->begun[from] = true;
    i->exchange[from] = exchange;
    if (last)
        i->armed[from] = INJECT_NOTHING;
    if (fault == INJECT_LOSE)
        return false;
    bool whole = first && last; /* it has no frame that could be missing */
    if (last && (fault != INJECT_CUT || whole))
        damage(fault, bytes, frame);
    return fault != INJECT_CUT || first;
}
