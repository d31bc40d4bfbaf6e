/* What holds at the border of a room, whatever comes from outside: on in tests, sanitizers and fuzzing
 * (-DFCVI_ASSERTS), no code at all in a release. Never for bad input, which is answered. */
#ifndef FCVI_ASSERT_H
#define FCVI_ASSERT_H

#ifndef FCVI_ASSERT
#ifdef FCVI_ASSERTS
#include <stdio.h>
#include <stdlib.h>
#define FCVI_ASSERT(condition)                                                                               \
    ((condition) ? (void)0                                                                                   \
                 : (fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition), abort()))
#else
#define FCVI_ASSERT(condition) ((void)0)
#endif
#endif

#endif
