/* What the agent needs beside the 41 calls of vipl.h: the NIC to open. provider_reference.c makes one of the
 * reference port; provider_plain.c opens the NIC of a vendor's libvipl, which is configured by its own means.
 */
#ifndef FCVI_AGENT_PROVIDER_H
#define FCVI_AGENT_PROVIDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vipl.h>

#include "vipl_has.h" /* what the guide has and this vipl.h does not */

/** Room for whatever VIP_QOS points to. */
struct provider_qos {
    uint64_t place[4];
};

/** Call this in each thread that begins to wait in a VIPL call; before anything is started. A provider that
 * cannot tell calls nothing: then the agent gives a call that blocks a moment before it takes the next line.
 */
void provider_when_waiting(void (*waits)(void));

/** Put the NIC on a wire, before the first reset: `--on`. False with one line in why. */
bool provider_on(const char *spec, char *why, size_t size);

/** A frame of FC-2 without SOF, CRC and EOF. sof, eof: the codes of FC-BB. */
struct provider_frame {
    const uint8_t *bytes;
    size_t length;
    uint8_t sof, eof;
    bool crc_ok;
};
typedef void provider_sink(void *context, const struct provider_frame *frame);
/** Give what the NIC sends to this client, in whatever thread sends it; NULL: to nobody. False when the
 * frames go another way. */
bool provider_frames_to(void *context, provider_sink *sink);
/** The client puts a frame on the wire. False when there is no room for it, or when frames go another way. */
bool provider_frame(const struct provider_frame *frame);
/** Take in what has arrived on the wire: called before each line of the client, so that what it says next
 * finds a device that has seen what was sent before. */
void provider_turn(void);
/** Bring the NIC into the configuration of `reset`, which was checked. Returns the name for VipOpenNic, or
 * NULL with the reason. */
const char *provider_start(const char *device, const json_t *config, const char **why);
/** The names of the NICs that a run of calls alone uses when none were given: at most room of them into
 * names. Returns how many there are. */
size_t provider_devices(const char **names, size_t room);
/** Bring the NICs up for calls alone: nothing is opened. config: `reset` of wire "api". False with the
 * reason. */
bool provider_start_calls(const char *const *devices, size_t count, const json_t *config, const char **why);
/** The NIC is about to be closed: its connections need not be ended in peace, and nothing more is sent. */
void provider_cut(void);
/** No handle of the NIC is open any more. */
void provider_stop(void);
/** A link event of clause 7.7: "lip", "nos", "lr" or "logo". */
void provider_link(const char *event);
/** Do this to the next message of the NIC of that place, or to the link: "lose", "corrupt", "cut",
 * "link-down", "link-up" or "nothing". Returns how many messages were met since the start, -1 when the
 * provider has no such means. */
int provider_inject(const char *fault, size_t from);
/** VIP_QOS for FCVI_PREF and FCVI_PIPELINE_DEPTH; false when the provider has no such thing. */
bool provider_qos(struct provider_qos *room, bool preference, uint32_t depth, VIP_QOS *qos);
void provider_read_qos(VIP_QOS qos, bool *preference, uint32_t *depth);
/** The PICS, a new object: what the NIC of that name says of itself, as far as it does. */
json_t *provider_pics(const char *device);

#endif
