/* FC-2 frames out of TCP segments of port 3225 (RFC 3821). */
#ifndef FCVI_FCIP_H
#define FCVI_FCIP_H

#include "capture.h"

struct fcip;

/* Connections of other ports that were seen to carry frames: the two ports, the lower one first. */
enum { FCIP_PORTS = 32 };
struct fcip_ports {
    unsigned count;
    struct fcip_pair {
        uint16_t low, high;
        bool ifcp;
    } pair[FCIP_PORTS];
};
/** Take a record of CAPTURE_TCP: it becomes one of CAPTURE_PART where the connection carries FCIP, which the
 * header that each frame begins with shows, and foreign as iFCP where that is what it carries. */
void fcvi_fcip_recognise(struct fcip_ports *ports, struct capture_record *record);

/** NULL with a line in error when the library that puts streams together is not there. */
struct fcip *fcvi_fcip_open(char *error, size_t size);
/** Take a record of CAPTURE_PART whose frame is an IP packet; then it says what came of that: its first
 * frame, CAPTURE_PART when a part of one is all, or CAPTURE_FOREIGN. 0, or -1 with a line in error. */
int fcvi_fcip_take(struct fcip *fcip, struct capture_record *record, char *error, size_t size);
/** The next frame of the same packet, or after fcvi_fcip_flush of what was waiting. Their bytes stay until
 * the next packet. */
bool fcvi_fcip_more(const struct fcip *fcip);
void fcvi_fcip_next(struct fcip *fcip, struct capture_record *record);
/** The capture ends. 0, or -1 with a line in error. */
int fcvi_fcip_flush(struct fcip *fcip, char *error, size_t size);
void fcvi_fcip_close(struct fcip *fcip);

#endif
