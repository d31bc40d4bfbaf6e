/* What passes an Ethernet interface, written as pcapng while it passes: to a pipe, and to a ring of files.
 *
 * Unlike live.h it takes every protocol and both directions, whatever the MTU: a mirror port shows FCoE, FCIP
 * and the headers of port analyzers alike, and what is foreign is counted by who reads. */
#ifndef FCVI_TAP_H
#define FCVI_TAP_H

#include <stddef.h>
#include <stdint.h>

struct tap;

/** Open an interface. NULL on failure, with one line in error (size bytes). */
struct tap *fcvi_tap_open(const char *interface, char *error, size_t size);

/** Files ring-NNNNNN.pcapng of a directory, a new one when the latest has file_bytes; the oldest but `files`
 * are removed. */
struct tap_ring {
    const char *directory;
    unsigned files;
    uint64_t file_bytes;
};

/** Write what passes to sink until the interface fails or nobody reads: the beginning of a pcapng file at
 * once, then each packet, with the number of packets that the kernel dropped before it (epb_dropcount; told
 * at most 256 packets late). With a ring (not NULL) the same goes into its files. 0 when nobody reads sink
 * any more; -1 with fcvi_tap_why. */
int fcvi_tap_pump(struct tap *tap, int sink, const struct tap_ring *ring);
/** One line. */
const char *fcvi_tap_why(const struct tap *tap);

void fcvi_tap_close(struct tap *tap);

#endif
