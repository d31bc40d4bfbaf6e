/* The same as fuzz_pair.c with two ports of FC-VI Rev 1.0 (1999). */
#define EDITION FCVI_EDITION_REV1
#include "fuzz_pair.c"
