/* Faults between two NICs that are joined: the next message of one is lost, damaged or cut short, or the link
 * is cut. It is below the port, in the place that a laboratory's injector has beside a vendor's NIC. */
#ifndef FCVI_AGENT_PROVIDER_INJECT_H
#define FCVI_AGENT_PROVIDER_INJECT_H

#include <fcvi/port.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* INJECT_ALTER is damage with a CRC that fits. No port can notice it, so with it a conforming provider
 * behaves as one that does not compare the CRC. */
enum inject_fault {
    INJECT_NOTHING,
    INJECT_LOSE,
    INJECT_CORRUPT,
    INJECT_CUT,
    INJECT_LINK_DOWN,
    INJECT_LINK_UP,
    INJECT_ALTER
};

struct inject {
    enum inject_fault armed[2]; /* by the NIC that sends */
    bool begun[2], down;
    uint16_t exchange[2]; /* OX_ID of the message that the fault has met */
    uint32_t hits;        /* messages that were met */
};

/** The fault of that name; false when there is none. */
bool inject_named(const char *name, enum inject_fault *fault);
/** Arm a fault for the next message that this NIC sends, or change the link. */
void inject_arm(struct inject *i, enum inject_fault fault, size_t from);
/** What becomes of a frame that a NIC sends: false when it is lost. Its bytes and its CRC may be changed. */
bool inject_passes(struct inject *i, size_t from, uint8_t *bytes, struct fcvi_input *frame);

#endif
