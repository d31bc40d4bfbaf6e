/* The wire of the reference NIC that is the client's own stream: `--on stream`. Frames come and go as the
 * `frame` notifications of the DUT protocol, so that libvipl is a whole device over standard input and
 * output.
 *
 * Nothing here blocks but `stream_send`, which writes to the client. */
#ifndef FCVI_AGENT_PROVIDER_STREAM_H
#define FCVI_AGENT_PROVIDER_STREAM_H

#include <fcvi/codec.h>

#include <stdbool.h>

/** Use this wire. False when the host has no descriptor left. */
bool stream_open(void);
/** Readable when there may be a frame; -1 when this wire is not used. */
int stream_fd(void);
/** A frame of the client's; false when there is no room for it. Any thread. */
bool stream_put(const struct fcvi_input *frame);
/** The next frame, good until the next call; false when there is none now. One thread at a time. */
bool stream_receive(struct fcvi_input *frame);

#endif
