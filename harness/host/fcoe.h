/* The wire of a NIC: an Ethernet interface with FCoE, point-to-point (harness/capture/live.h).
 *
 * Addresses follow from the N_Port_IDs of each frame (FPMA, FC-BB). Nothing here blocks. */
#ifndef FCVI_HOST_FCOE_H
#define FCVI_HOST_FCOE_H

#include <fcvi/codec.h>

#include <stdbool.h>
#include <stddef.h>

struct fcoe;

/** Open the interface of fcoe:IFACE. NULL with one line in why. */
struct fcoe *fcoe_open(const char *spec, char *why, size_t size);
void fcoe_close(struct fcoe *f);
/** Readable when there may be a frame. */
int fcoe_fd(const struct fcoe *f);
/** The address of the interface, 6 bytes. */
const uint8_t *fcoe_address(const struct fcoe *f);
/** The next frame, good until the next call; false when there is none now. */
bool fcoe_receive(struct fcoe *f, struct fcvi_input *frame);
/** Send a frame; it is lost when the interface is down. */
void fcoe_send(struct fcoe *f, const struct fcvi_input *frame);

#endif
