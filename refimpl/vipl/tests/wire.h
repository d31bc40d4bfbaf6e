/* Two NICs, VINIC0 and VINIC1, on two reference ports joined by a wire without loss and with virtual time,
 * and two programs that take turns: one runs until it waits in a VIPL call and nothing has happened for it,
 * so a run is the same every time. Time goes on only when both wait. */
#ifndef FCVI_VIPL_TEST_WIRE_H
#define FCVI_VIPL_TEST_WIRE_H

#include "programs.h"

/** The host addresses that the ports have, and the names "alpha" and "beta" of the name service. */
extern const unsigned char wire_host[2][16];

/** Run a on VINIC0 and b on VINIC1 at `level` (VIP_SERVICE_...). Returns NULL, or what went wrong, in memory
 * that the next run uses again. */
const char *wire_run(program *a, program *b, unsigned short level);

#endif
