/* The wire of the reference NIC: an Ethernet interface with FCoE, point-to-point (harness/capture/live.h).
 *
 * Addresses follow from the N_Port_IDs of each frame (FPMA, FC-BB). Nothing here blocks. */
#ifndef FCVI_AGENT_PROVIDER_WIRE_H
#define FCVI_AGENT_PROVIDER_WIRE_H

#include <fcvi/codec.h>

#include <stdbool.h>
#include <stddef.h>

/** Open the interface of fcoe:IFACE, and give up what only that needs. False with one line in why. */
bool wire_open(const char *spec, char *why, size_t size);
/** Readable when there may be a frame; -1 without a wire. */
int wire_fd(void);
/** The next frame, good until the next call; false when there is none now. */
bool wire_receive(struct fcvi_input *frame);
/** Send a frame; it is lost when the interface is down. */
void wire_send(const struct fcvi_input *frame);

#endif
