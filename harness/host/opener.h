/* An Ethernet interface that the process may not open: fcvi-open (harness/opener) opens it, if an
 * administrator has given that program CAP_NET_RAW. */
#ifndef FCVI_HOST_OPENER_H
#define FCVI_HOST_OPENER_H

#include <stddef.h>

/** A packet socket that is bound to the interface, which is the caller's to close. -1 with one line in why,
 * or with why as it was where there is no such program. It takes 10 seconds at most. */
int opener_take(const char *interface, char *why, size_t size);

#endif
