/* The same as fuzz_port.c with a port of FC-VI Rev 1.0 (1999). */
#define EDITION FCVI_EDITION_REV1
#include "fuzz_port.c"
