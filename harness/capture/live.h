/* A live Ethernet interface through libpcap: FCoE and FIP frames received and sent, LLDP received.
 *
 * Only EtherTypes 8906h, 8914h and 88CCh pass the filter, and only what others send. Nothing blocks. */
#ifndef FCVI_LIVE_H
#define FCVI_LIVE_H

#include "capture.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest FCoE frame's payload: header, 2136 bytes of FC-2 frame, CRC and EOF (FC-BB). A tag of IEEE
 * 802.1Q comes on top of the Ethernet header. */
enum { LIVE_MTU = 2158, LIVE_ETHERNET = 14, LIVE_TAG = 4, LIVE_LONGEST = 2304 };

struct live;

/** One Ethernet frame. bytes (from the destination address on) and record.frame point into a buffer that is
 * good until the next call. The tag is not among the bytes; vlan is its VLAN, 0 of a frame without one.
 * record.kind is CAPTURE_FRAME, CAPTURE_FIP, CAPTURE_MALFORMED, or CAPTURE_FOREIGN for LLDP. */
struct live_record {
    struct capture_record record;
    const uint8_t *bytes;
    uint32_t length;
    uint16_t vlan;
};

/* What ends the line of an interface whose other end is not up: it may come up in a moment. */
#define LIVE_NO_LINK "the interface has no link"
/* What begins the reason of an interface that may not be opened, behind its name. */
#define LIVE_NOT_PERMITTED "not permitted"

/** Open an interface. NULL on failure, with one line in error (size bytes). */
struct live *fcvi_live_open(const char *interface, char *error, size_t size);

/** As fcvi_live_open, through a socket of harness/opener, which is taken over in any case. */
struct live *fcvi_live_adopt(const char *interface, int fd, char *error, size_t size);

/** The interface's own address, 6 bytes. */
const uint8_t *fcvi_live_address(const struct live *live);

/** A descriptor that is readable when fcvi_live_receive may have something. */
int fcvi_live_fd(const struct live *live);

/** Why the call before failed: one line. */
const char *fcvi_live_why(const struct live *live);

/** Whether the interface is up, and its link has been since this was last asked; 0, or -1. */
int fcvi_live_ready(struct live *live);

/** What became of the link until now does not matter. */
void fcvi_live_forget(struct live *live);

/** Next frame: 1 there is one, 0 none now, -1 the interface failed. */
int fcvi_live_receive(struct live *live, struct live_record *out);

/** From one Ethernet address to another, in a VLAN (1 to 4094) or, with 0, without a tag. */
struct live_way {
    uint8_t to[6], from[6];
    uint16_t vlan;
};
/** Send an FC-2 frame. 0; -1 on failure; -2 when FCoE cannot carry such a frame. */
int fcvi_live_send(struct live *live, const struct live_way *way, const struct fcvi_input *frame);

/** Send a whole Ethernet frame, which has no tag yet. 0, or -1. */
int fcvi_live_send_raw(struct live *live, const uint8_t *bytes, size_t length, uint16_t vlan);

/** Frames that the host lost for want of room since fcvi_live_open. */
uint64_t fcvi_live_lost(struct live *live);

void fcvi_live_close(struct live *live);

#ifdef __cplusplus
}
#endif

#endif
